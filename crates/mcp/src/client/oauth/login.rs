//! [`login`]: begins a login in a browser, or on another device.
use super::{BrowserLogin, DeviceLogin, LoginError, Target, device, discovered::Discovered};
use crate::client::settings::McpServer;

/// A login that has begun.
pub enum Login {
    /// The user opens an address in a browser of this machine, or pastes the address to which the browser is
    /// redirected.
    Browser(Box<BrowserLogin>),
    /// The user opens an address on any device, and enters a code there.
    Device(Box<DeviceLogin>),
}

/// Where the user logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    /// In a browser.
    Browser,
    /// On another device, with a code.
    Device,
    /// On another device if the authorization server supports that, otherwise in a browser.
    Either,
}

/// Begins a login at `server`.
///
/// # Errors
///
/// If the server does not support OAuth, its authorization server cannot be used, or the port is taken.
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
