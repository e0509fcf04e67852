//! Front-ends beside the command line and the screen.
mod multi_client;
mod telegram;
