//! [`TimeoutsFile`] (`[timeouts]`): how long Haft waits for models, in seconds.
use haft_providers::Timeouts;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::time::Duration;

/// What a person sets of [`Timeouts`], for all vendors or for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsFile {
    /// Maximum time until the first byte of a reply (default: 60; 600 for local servers).
    #[serde(deserialize_with = "seconds")]
    pub first_byte: Option<u64>,
    /// Maximum time until the first byte if the model reasons without streaming (default: 300).
    #[serde(deserialize_with = "seconds")]
    pub thinking: Option<u64>,
    /// Maximum time between two parts of a reply (default: 60).
    #[serde(deserialize_with = "seconds")]
    pub idle: Option<u64>,
    /// Maximum time of repeated content before a reply is ended (default: 120).
    #[serde(deserialize_with = "seconds")]
    pub repeating: Option<u64>,
    /// Maximum time for a whole reply (default: 3,600; 14,400 for local servers).
    #[serde(deserialize_with = "seconds")]
    pub reply: Option<u64>,
}

/// A longer time is a slip of the hand.
const MAX_SECONDS: u64 = 86_400;

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let seconds = u64::deserialize(from)?;
    match (1..=MAX_SECONDS).contains(&seconds) {
        true => Ok(Some(seconds)),
        false => Err(D::Error::custom(format!("expected seconds from 1 to {MAX_SECONDS}, found {seconds}"))),
    }
}

impl TimeoutsFile {
    /// What is set here takes the place of what `all` says.
    pub fn over(self, all: Self) -> Self {
        Self {
            first_byte: self.first_byte.or(all.first_byte),
            thinking: self.thinking.or(all.thinking),
            idle: self.idle.or(all.idle),
            repeating: self.repeating.or(all.repeating),
            reply: self.reply.or(all.reply),
        }
    }

    /// The times in force, where `usual` are the defaults.
    pub fn in_place_of(self, usual: Timeouts) -> Timeouts {
        let or = |seconds: Option<u64>, usual| seconds.map_or(usual, Duration::from_secs);
        let first_byte = or(self.first_byte, usual.first_byte);
        Timeouts {
            first_byte,
            thinking: or(self.thinking, usual.thinking).max(first_byte),
            idle: or(self.idle, usual.idle),
            repeating: or(self.repeating, usual.repeating),
            reply: or(self.reply, usual.reply),
            whole: usual.whole.max(first_byte),
        }
    }
}
