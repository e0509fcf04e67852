//! [`Index`]: the content of the index of releases, read after its signature was verified.
use crate::Failure;
use minisign_verify::{PublicKey, Signature};
use semver::Version;
use serde::Deserialize;
use std::{cmp::Ordering, collections::BTreeMap};

/// The version of the index format that this program reads.
const FORMAT: u64 = 1;

/// The newest release.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Index {
    /// Its version.
    pub(super) version: Version,
    /// Its package for each system, by the names of Rust's targets.
    pub(super) files: BTreeMap<String, Package>,
}

/// A package of a release: `haft-VERSION-TARGET.tar.gz`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Package {
    /// Its address, relative to that of the index.
    pub(super) url: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub(super) sha256: String,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// The field with the version of the format.
#[derive(Deserialize)]
struct Form {
    format: u64,
}

/// The public keys in `text`: one, or several separated by commas.
pub(super) fn keys(text: &str) -> Result<Vec<PublicKey>, Failure> {
    let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(|key| {
        PublicKey::from_base64(key).map_err(|_| {
            Failure::usage(format!("`update.key` is invalid: `{key}` is not a public minisign key"))
                .hint("it is the line of a `.pub` file that begins with `RW`")
        })
    });
    keys.collect()
}

impl Index {
    /// Verifies that one of `keys` signed `text`, and only then parses it. `address`: the source of the index.
    pub(super) fn verified(
        text: &[u8],
        signature: &[u8],
        keys: &[PublicKey],
        address: &str,
    ) -> Result<Self, Failure> {
        let tampered = "nothing was changed; it was altered on its way, or `update.key` is not the key of these releases";
        let decoded = str::from_utf8(signature).ok().and_then(|text| Signature::decode(text).ok());
        let signature = decoded.ok_or_else(|| {
            Failure::failed(format!("`{address}.minisig` is not a minisign signature")).hint(tampered)
        })?;
        if !keys.iter().any(|key| key.verify(text, &signature, false).is_ok()) {
            return Err(Failure::failed(format!("the signature of `{address}` is wrong")).hint(tampered));
        }
        Self::read(text).map_err(|why| {
            Failure::failed(format!("cannot read the index of releases `{address}`: {why}"))
                .hint("nothing was changed; a newer Haft may be needed: install it by hand")
        })
    }

    fn read(text: &[u8]) -> Result<Self, String> {
        let Form { format } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if format != FORMAT {
            return Err(format!("its format is {format}, and this version reads format {FORMAT}"));
        }
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// Whether this release is newer than `version`. Otherwise, nothing is changed.
    pub(super) fn is_newer_than(&self, version: &Version) -> bool {
        self.version.cmp_precedence(version) == Ordering::Greater
    }

    /// The package for the system `target`.
    pub(super) fn package(&self, target: &str) -> Result<&Package, Failure> {
        self.files.get(target).ok_or_else(|| {
            let known: Vec<&str> = self.files.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "no system".to_owned() } else { known.join(", ") };
            Failure::failed(format!("haft {} has no package for `{target}`, only for {known}", self.version))
                .hint("nothing was changed; build it from source")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_greater_version_is_newer() {
        let table = [
            ("0.2.0", "0.1.0", true),
            ("0.10.0", "0.9.0", true),
            ("1.0.0", "1.0.0-rc.1", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0+new", "0.1.0", false),
            ("0.1.0-rc.1", "0.1.0", false),
            ("0.0.9", "0.1.0", false),
        ];
        for (offered, current, expected) in table {
            let text = format!(r#"{{"format": 1, "version": "{offered}", "files": {{}}}}"#);
            let index = Index::read(text.as_bytes()).unwrap();
            assert_eq!(index.is_newer_than(&current.parse().unwrap()), expected, "{offered} {current}");
        }
    }

    #[test]
    fn an_index_of_another_form_is_an_error() {
        let table = [
            (r#"{"format": 2, "releases": []}"#, "its format is 2, and this version reads format 1"),
            (r#"{"format": 1, "version": "new", "files": {}}"#, "unexpected character 'n'"),
            ("{}", "missing field `format`"),
            ("<html>", "expected value"),
        ];
        for (text, expected) in table {
            let error = Index::read(text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
