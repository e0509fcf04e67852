//! HTTP clients, all made in one place, so that each chooses the same library for encrypted connections and none follows a
//! redirect that nobody asked for.
//!
//! [`builder`] is where every client of Haft begins; who needs more sets it on what that returns. It uses `reqwest`, over
//! `rustls` with `ring`, and does no IO of its own.
mod tls;

use reqwest::{Client, ClientBuilder, redirect};

/// Returns the builder of a client that follows no redirect.
pub fn builder() -> ClientBuilder {
    tls::choose();
    Client::builder().redirect(redirect::Policy::none())
}
