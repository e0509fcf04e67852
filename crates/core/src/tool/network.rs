//! [`Network`]: the network access of confined commands, as data.
use crate::Host;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The network access of confined commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Network {
    /// No access, without a question.
    Off,
    /// No access, unless a call asks for it and the user allows it.
    #[default]
    Ask,
    /// These hosts, without a question, and no others.
    Hosts(Vec<Host>),
    /// The network of this machine. Such a command needs approval like one that is not confined.
    On,
}

impl Network {
    /// Reads `off`, `ask`, `on`, or names of hosts with commas between them.
    ///
    /// # Errors
    /// Fails if a host is invalid, and says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => Ok(Self::Off),
            "ask" => Ok(Self::Ask),
            "on" => Ok(Self::On),
            hosts => {
                let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
                hosts.map(Host::parse).collect::<Result<_, _>>().map(Self::Hosts)
            }
        }
    }

    /// Limits the access to what `limit` allows.
    #[must_use]
    pub fn within(self, limit: &Self) -> Self {
        match (self, limit) {
            (own, Self::On) | (own @ (Self::Off | Self::Ask | Self::Hosts(_)), Self::Ask) => own,
            (Self::On, Self::Ask) => Self::Ask,
            (Self::Hosts(own), Self::Hosts(limit)) => {
                Self::Hosts(own.into_iter().filter(|host| limit.contains(host)).collect())
            }
            // A list allows hosts without a question, which a parent without a list does not permit.
            (_, Self::Off | Self::Hosts(_)) => Self::Off,
        }
    }

    /// The access of a command that requests nothing.
    pub fn unasked(&self) -> Reach {
        match self {
            Self::Off | Self::Ask => Reach::Nothing,
            Self::Hosts(hosts) if hosts.is_empty() => Reach::Nothing,
            Self::Hosts(hosts) => Reach::Hosts(hosts.clone()),
            Self::On => Reach::Everything,
        }
    }

    /// Why a command may not have `host` (or, without one, all of the network).
    pub fn refusal(&self, host: Option<&str>) -> Option<String> {
        match (self, host) {
            (Self::Ask | Self::On, _) => None,
            (Self::Off, _) => Some("commands have no network here (`network = \"off\"`)".into()),
            (Self::Hosts(hosts), Some(host)) if hosts.iter().any(|known| known.to_string() == host) => None,
            (Self::Hosts(_), _) => Some(format!("commands reach only these hosts here: {self}")),
        }
    }
}

impl fmt::Display for Network {
    /// Writes the form that [`Network::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Ask => f.write_str("ask"),
            Self::On => f.write_str("on"),
            Self::Hosts(hosts) => {
                f.write_str(&hosts.iter().map(Host::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl TryFrom<String> for Network {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

/// The network access of one confined process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// A loopback of its own.
    #[default]
    Nothing,
    /// These hosts additionally, through Haft's proxy.
    Hosts(Vec<Host>),
    /// The network of this machine.
    Everything,
}
