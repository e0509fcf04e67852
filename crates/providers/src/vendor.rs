//! [`Vendor`]: a company or a server that answers requests. [`crate::vendors()`] lists all of them.
use crate::{
    Timeouts, Wire,
    quirks::Quirks,
    sign_in::{Missing, SignIn, Variables},
};
use std::time::Duration;

/// A provider of models: a company's API, or a server on this machine.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// The name in `--model NAME/MODEL`.
    pub name: &'static str,
    /// Other names that users try.
    pub aliases: &'static [&'static str],
    /// The name that messages show.
    pub title: &'static str,
    /// The format of its requests and replies.
    pub wire: Wire,
    /// The base URL; paths of the wire are appended.
    pub base_url: &'static str,
    /// The environment variable that customarily holds the key; `None` if no key is needed.
    pub key_variable: Option<&'static str>,
    /// The page where users create a key.
    pub key_page: Option<&'static str>,
    /// A path after the base URL that only a valid key may read, if the list of models is public.
    pub key_path: Option<&'static str>,
    /// The environment variable that customarily holds another base URL.
    pub base_url_variable: Option<&'static str>,
    /// Used if the key is set and no model is named.
    pub default_model: Option<&'static str>,
    /// The command that starts the server, if it runs on this machine.
    pub start: Option<&'static str>,
    /// The command that installs a model, if the server runs on this machine.
    pub install: Option<&'static str>,
    /// Whether the server runs on this machine.
    pub local: bool,
    /// How to sign in without a key, if the vendor is a cloud.
    pub sign_in: Option<SignIn>,
    /// The differences from the wire's usual form.
    pub quirks: Quirks,
}

impl Vendor {
    /// Defaults for the fields that an entry omits.
    pub(crate) const NONE: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        wire: Wire::OpenaiChat,
        base_url: "",
        key_variable: None,
        key_page: None,
        key_path: None,
        base_url_variable: None,
        default_model: None,
        start: None,
        install: None,
        local: false,
        sign_in: None,
        quirks: Quirks::NONE,
    };

    /// The base URL: `given`, or the vendor's own. The address of a cloud contains a region, a project or a resource,
    /// which `variables` name.
    ///
    /// # Errors
    ///
    /// If `variables` do not name the region, project or resource.
    pub fn address(&self, given: Option<&str>, variables: &Variables) -> Result<String, Missing> {
        match self.sign_in {
            Some(sign_in) => sign_in.address(given, variables, self.wire),
            None => Ok(given.unwrap_or(self.base_url).to_owned()),
        }
    }

    /// A name for the identity that signs requests to a cloud: `the login of az`. `None` for a vendor that takes only
    /// keys. Makes no request.
    ///
    /// # Errors
    ///
    /// If no source of credentials is configured, or its configuration is incomplete.
    pub fn signed_in(&self, variables: &Variables) -> Option<Result<String, Missing>> {
        Some(self.sign_in?.named(variables))
    }

    /// The default timeouts with the vendor's quirks, as they apply at `base_url`: a server at another address of a
    /// service need not be as slow. Each user of a cloud has a different address.
    pub fn timeouts_at(&self, base_url: &str) -> Timeouts {
        let is_own = self.local || self.sign_in.is_some() || base_url.trim_end_matches('/') == self.base_url;
        let quirk = |seconds: Option<u64>| seconds.filter(|_| is_own).map(Duration::from_secs);
        let usual = Timeouts::default();
        let first_byte = quirk(self.quirks.first_byte_seconds).unwrap_or(usual.first_byte);
        // Ollama and others send a call only once the model has written it completely.
        let idle = if self.local { first_byte } else { usual.idle };
        Timeouts {
            first_byte,
            idle,
            thinking: usual.thinking.max(first_byte),
            reply: quirk(self.quirks.reply_seconds).unwrap_or(usual.reply),
            whole: usual.whole.max(first_byte),
            ..usual
        }
    }
}
