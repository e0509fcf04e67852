//! Pages that the program writes or that quote it.
mod generated_pages;
mod manual;
mod requirements;
mod troubleshooting;
