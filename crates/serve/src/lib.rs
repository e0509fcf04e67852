//! Haft over HTTP: an API over sessions and jobs, a page that shows and steers them, and an endpoint that speaks OpenAI's
//! words.
//!
//! | module | what it is |
//! | --- | --- |
//! | `parts` | what the binary gives in |
//! | `error` | what a client reads where something does not work |
//! | `figures` | what `/metrics` tells |
//! | `gate` | who is let in, before anything else is done |
//! | `requests` | an `Idempotency-Key`, by which one is done once |
//! | `hub` | the sessions that are open, and those that lie on disk |
//! | `follow` | what happens in a session, as server-sent events |
//! | `crew` | works on jobs |
//! | `api` | the routes below `/v1` |
//! | `openai` | `/v1/chat/completions` and `/v1/responses` |
//! | `page` | the page at `/` |
//! | `router` | all of them, and the description that is made of them |
//! | `fleet` | jobs of many machines, which nothing here does |
//! | `server` | connections, and the end of it all |
//!
//! It uses `haft-engine` for sessions and jobs, and `haft-present` for the words and diffs that people see. Begin with
//! [`serve`] and [`Settings`].
//!
//! How it works inside: `README.md` of this crate.

mod api;
mod connection;
mod conversations;
mod crew;
mod description;
mod error;
mod figures;
mod fleet;
mod follow;
mod gate;
mod hub;
mod openai;
mod page;
mod parts;
mod requests;
mod router;
mod server;

pub use fleet::{Fleet, Make};
pub use parts::{Begun, Export, Format, Jobs, Open, Problem, Settings, Wanted};
pub use server::{FleetSettings, Listening, listen, serve, serve_fleet};
