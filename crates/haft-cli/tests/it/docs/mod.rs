//! Pages that the program writes or that quote it.
mod compatibility;
mod contributing;
mod demonstrations;
mod generated_pages;
mod manual;
mod requirements;
mod site;
mod troubleshooting;
