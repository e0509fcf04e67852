//! Haft over HTTP ([`serve`]): an API for sessions and jobs, a page that shows and controls them, and an
//! OpenAI-compatible endpoint.
//!
//! | module | content |
//! | --- | --- |
//! | `parts` | what the binary passes in |
//! | `error` | the errors that a client reads |
//! | `figures`, `process_figures` | the metrics at `/metrics` |
//! | `access_log` | a line of JSON for each request |
//! | `bearer` | the token of a request |
//! | `gate` | access control, before anything else is done |
//! | `users`, `audit` | users with their own tokens, and the log of their changes |
//! | `login` | users who log in at an OpenID provider |
//! | `requests` | requests with an `Idempotency-Key`, which are executed once |
//! | `hub` | the open sessions, and those on disk |
//! | `follow` | the events of a session, as server-sent events |
//! | `timeline` | the items that the page draws |
//! | `crew` | works on jobs |
//! | `push` | notifies devices of questions and of ended turns and jobs |
//! | `api` | the routes below `/v1` |
//! | `openai` | `/v1/chat/completions` and `/v1/responses` |
//! | `page` | the page at `/`, and a session as one file with that page in it |
//! | `readiness` | whether the server could take a prompt, for `/readyz` |
//! | `router` | all routes, and the API description that is generated from them |
//! | `kept` | a session as it is stored on disk, and a job as the fleet's database stores it |
//! | `fleet` | jobs of many machines; this process runs none of them |
//! | `server` | accepts connections, and shuts down |
//! | `socket` | the lines of a session over a WebSocket |
//! | `attach` | the client: sessions of a server in a terminal |
//!
//! It uses `haft-engine` for sessions and jobs, and `haft-present` for texts and diffs for the user. Begin with
//! [`serve`] and [`Settings`].
//!
//! How it works inside: `README.md` of this crate.

mod access_log;
mod api;
pub mod attach;
pub mod audit;
mod bearer;
mod bucket;
mod connection;
mod conversations;
mod crew;
mod description;
mod error;
mod figures;
mod fleet;
mod follow;
mod gate;
mod highlight;
mod hub;
mod kept;
mod login;
mod openai;
mod page;
mod parts;
mod process_figures;
mod push;
mod readiness;
mod requests;
mod router;
mod server;
mod socket;
mod timeline;
mod users;

pub use fleet::{
    Fleet,
    overview::{FleetLimit, FleetOverview},
};
pub use page::export_html;
pub use parts::{LoginSettings, Settings};
pub use server::{FleetSettings, Listening, listen, routes, serve, serve_fleet};
