//! [`ProfileRules`]: the rules of a profile. They can only restrict; permissions are granted by the user's rules.
use haft_core::{Rule, Ruling};
use serde::{Deserialize, Deserializer, de::Error};

/// Rules as a person writes them, which stand before the person's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileRules {
    /// Effects that are denied.
    #[serde(deserialize_with = "denying")]
    pub deny: Vec<Rule>,
    /// The only commands, and the only targets, that may be asked for; all are where none is named.
    #[serde(deserialize_with = "limiting")]
    pub only: Vec<Rule>,
}

impl ProfileRules {
    pub(crate) fn all(&self) -> impl Iterator<Item = Rule> + use<> {
        [self.deny.clone(), self.only.clone()].into_iter().flatten()
    }
}

fn denying<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    rules(deserializer, Ruling::Deny)
}

fn limiting<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    rules(deserializer, Ruling::Only)
}

fn rules<'de, D: Deserializer<'de>>(deserializer: D, ruling: Ruling) -> Result<Vec<Rule>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| Rule::parse(ruling, text).map_err(D::Error::custom)).collect()
}
