//! [`between`]: the differences between the installed files of a plugin and newer ones.
use crate::Failure;
use haft_present::file_diff::hunks;
use ignore::WalkBuilder;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// Files and their contents; for a link, its target.
fn contents(folder: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let walk = WalkBuilder::new(folder).standard_filters(false).build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    files
        .map(|entry| {
            let content = match entry.path_is_symlink() {
                true => fs::read_link(entry.path())?.into_os_string().into_encoded_bytes(),
                false => fs::read(entry.path())?,
            };
            Ok((entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_owned(), content))
        })
        .collect()
}

/// A line for each file: `+` if it is added, `-` if it is removed, `~` if it is changed. Below it, the lines of a text
/// that differ.
pub(super) fn between(before: &Path, after: &Path) -> Result<String, Failure> {
    let (before, after) = (contents(before)?, contents(after)?);
    let mut told = String::new();
    let names: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        let sign = match (old, new) {
            (None, _) => '+',
            (_, None) => '-',
            (Some(_), Some(_)) => '~',
        };
        let _always_fits = writeln!(told, "{sign} {}", name.display());
        let (old, new) = (text(old), text(new));
        for line in hunks(old, new).iter().flatten().filter(|line| line.is_added() || line.is_removed()) {
            let sign = if line.is_added() { '+' } else { '-' };
            let _always_fits = writeln!(told, "    {sign} {}", line.text());
        }
    }
    Ok(told)
}

/// The content as text; empty for other contents, which are only compared as a whole.
fn text(content: Option<&Vec<u8>>) -> &str {
    content.and_then(|content| str::from_utf8(content).ok()).unwrap_or_default()
}
