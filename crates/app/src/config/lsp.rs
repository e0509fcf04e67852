//! [`LspFile`]: the language servers in the user's file.
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{collections::BTreeMap, fmt, num::NonZeroU32};

/// `lsp = false`, or tables `[lsp.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub enum LspFile {
    /// No server starts.
    Off,
    /// Servers by name, in addition to those that Haft knows.
    On(BTreeMap<String, LspServerFile>),
}

/// A language server. What is left out is as Haft knows it, if it knows a server of this name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LspServerFile {
    /// Program to start, which speaks LSP on standard input and output: a name to look up in `PATH`, or an absolute path.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(alias = "args")]
    pub arguments: Option<Vec<String>>,
    /// Files that it is for: the end of the name, and what LSP calls the language, e.g., `{ rb = "ruby" }`.
    pub files: Option<BTreeMap<String, String>>,
    /// Names of files that mark the root of a project, e.g., `["Gemfile"]`.
    pub markers: Option<Vec<String>>,
    /// Environment variables for it, in addition to those of commands.
    #[serde(alias = "env", skip_serializing)]
    pub environment: BTreeMap<String, String>,
    /// What it is told when it starts and when it asks for its configuration.
    #[cfg_attr(test, schemars(with = "Option<BTreeMap<String, serde_json::Value>>"))]
    pub options: Option<toml::Table>,
    /// Maximum seconds for its start and for each answer (default: 30 for its start, 10 for a question to you, 45 for a tool).
    pub timeout: Option<NonZeroU32>,
    /// Do not start it.
    pub off: bool,
}

impl Default for LspFile {
    fn default() -> Self {
        Self::On(BTreeMap::new())
    }
}

impl Serialize for LspFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => false.serialize(serializer),
            Self::On(servers) => servers.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LspFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = LspFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`false`, or a table for each language server")
    }

    fn visit_bool<E>(self, is_on: bool) -> Result<LspFile, E> {
        Ok(if is_on { LspFile::default() } else { LspFile::Off })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LspFile, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(LspFile::On)
    }
}
