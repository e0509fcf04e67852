//! [`login`]: begins a login in a browser, or on another device.
use super::{BrowserLogin, DeviceLogin, LoginError, Target, device, discovered::Discovered};
use crate::client::settings::McpServer;

/// A login that has begun.
pub enum Login {
    /// The person opens an address in a browser of this machine, or pastes the one that the browser ends at.
    Browser(Box<BrowserLogin>),
    /// The person opens an address on any device, and enters a code there.
    Device(Box<DeviceLogin>),
}

/// Where a person logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    /// In a browser.
    Browser,
    /// Log in on another device, with a code.
    Device,
    /// Log in on another device if the authorization server can do that, otherwise in a browser.
    Either,
}

/// Begins a login to `server`.
///
/// # Errors
///
/// If the server has no OAuth, its authorization server cannot be used, or the port is taken.
pub async fn login(server: &McpServer, way: LoginWay) -> Result<Login, LoginError> {
    let target = Target::of(server)?;
    let found = Discovered::of(&target).await?;
    let on_device = match way {
        LoginWay::Browser => false,
        LoginWay::Device => true,
        LoginWay::Either => found.endpoint(device::ENDPOINT).is_some(),
    };
    match on_device {
        true => Ok(Login::Device(Box::new(device::begin(&target, found).await?))),
        false => Ok(Login::Browser(Box::new(BrowserLogin::begin(&target, found).await?))),
    }
}
