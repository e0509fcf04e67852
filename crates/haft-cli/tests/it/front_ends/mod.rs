//! Front-ends beside the command line and the screen.
mod editor;
mod multi_client;
mod telegram;
