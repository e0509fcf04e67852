//! [`FilePattern`]: a glob that is matched against paths below a folder.
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use haft_core::{ToolError, ToolErrorKind};
use std::path::{Path, PathBuf};

/// `*.rs` matches at any depth, `src/*.rs` only in `src`, `!*.rs` all files that `*.rs` does not match.
pub(crate) struct FilePattern {
    set: GlobSet,
    others: bool,
}

impl FilePattern {
    pub(crate) fn new(pattern: &str, ignore_case: bool) -> Result<Self, ToolError> {
        let (pattern, others) = pattern.strip_prefix('!').map_or((pattern, false), |rest| (rest, true));
        let pattern = pattern.trim_start_matches("./");
        let anywhere = if pattern.contains('/') { "" } else { "**/" };
        // `src/` matches everything below `src`.
        let all = if pattern.ends_with('/') { "**" } else { "" };
        let glob = format!("{anywhere}{}{all}", pattern.trim_start_matches('/'));
        let built = GlobBuilder::new(&glob).literal_separator(true).case_insensitive(ignore_case).build();
        let set = built.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let set = set.map_err(|error| refused(pattern, &error))?;
        Ok(Self { set, others })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.set.is_match(path) != self.others
    }
}

fn refused(pattern: &str, error: &globset::Error) -> ToolError {
    let why = format!("cannot use `{pattern}` as a pattern of files: {}", error.kind());
    ToolError::new(ToolErrorKind::User, why)
        .hint("for example: `*.rs`, `src/**/*.{ts,tsx}`; a backslash takes a sign literally: `\\[`")
}

/// Whether the pattern explicitly matches names that begin with a dot.
pub(crate) fn asks_for_hidden(pattern: &str) -> bool {
    pattern.split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// The folder that a pattern begins with, and the rest: `src/**/*.rs` is split into `src` and `/**/*.rs`. With a
/// folder, the rest keeps a leading slash, so that it matches only at its own depth.
pub(crate) fn split(pattern: &str) -> (PathBuf, String) {
    let sign = pattern.find(['*', '?', '[', '{', '\\', '!']).unwrap_or(pattern.len());
    match pattern[..sign].rfind('/') {
        Some(slash) => (PathBuf::from(&pattern[..=slash]), pattern[slash..].to_owned()),
        None => (PathBuf::new(), pattern.to_owned()),
    }
}

/// Whether a text is a pattern, rather than a part of a name.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_people_mean_by_it() {
        let table = [
            ("*.rs", vec!["a.rs", "src/a.rs", "src/b/c.rs"]),
            ("./*.rs", vec!["a.rs", "src/a.rs", "src/b/c.rs"]),
            ("/*.rs", vec!["a.rs"]),
            ("src/*.rs", vec!["src/a.rs"]),
            ("src/b/", vec!["src/b/c.rs"]),
            ("src/**/*.rs", vec!["src/a.rs", "src/b/c.rs"]),
            ("**/c.{rs,txt}", vec!["src/b/c.rs", "src/c.txt"]),
            ("!*.rs", vec!["src/c.txt", "A.RS"]),
            ("?.txt", vec!["src/c.txt"]),
        ];
        let paths = ["a.rs", "src/a.rs", "src/b/c.rs", "src/c.txt", "A.RS"];
        for (pattern, expected) in table {
            let compiled = FilePattern::new(pattern, false).unwrap();
            let matched: Vec<_> = paths.into_iter().filter(|path| compiled.matches(path.as_ref())).collect();
            assert_eq!(matched, expected, "{pattern}");
        }
        assert!(FilePattern::new("*.rs", true).unwrap().matches("A.RS".as_ref()));
        assert!(FilePattern::new("a[", false).is_err());
    }

    #[test]
    fn a_pattern_is_taken_apart_where_its_signs_begin() {
        let table = [
            ("*.rs", "", "*.rs"),
            ("a.rs", "", "a.rs"),
            ("src/a.rs", "src/", "/a.rs"),
            ("src/**/*.rs", "src/", "/**/*.rs"),
            ("/etc/*.conf", "/etc/", "/*.conf"),
            ("../x/*", "../x/", "/*"),
            ("a{b/c,d}", "", "a{b/c,d}"),
        ];
        for (pattern, folder, rest) in table {
            assert_eq!(split(pattern), (folder.into(), rest.into()), "{pattern}");
        }
    }
}
