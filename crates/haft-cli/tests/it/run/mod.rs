//! `haft run` and `haft chat`: a turn from a shell.
mod attempts;
mod chat;
mod ci;
mod evidence;
mod first_request;
mod goal;
mod interrupts;
mod limits;
mod plan;
mod prompt;
mod rounds;
mod schema;
mod telemetry;
mod verbose;
