//! [`Root`]: a folder outside of the workspace whose files are judged like those of the workspace.
use haft_core::{Mode, Rule, Ruling};
use std::path::{Path, PathBuf};

/// A folder, with the rules that allow access to it. They come after the user's rules, so that denials of the user stay
/// effective.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) folder: PathBuf,
    reads: Vec<Rule>,
    writes: Vec<Rule>,
}

impl Root {
    pub(crate) fn new(folder: PathBuf) -> Self {
        let (reads, writes) = (allowed("read", &folder), allowed("write", &folder));
        Self { folder, reads, writes }
    }

    /// The rules that allow here what `mode` allows in the workspace.
    pub(crate) fn rules(&self, mode: Mode) -> impl Iterator<Item = &Rule> {
        let writes = if mode == Mode::AcceptEdits { self.writes.as_slice() } else { &[] };
        self.reads.iter().chain(writes)
    }
}

/// Rules that allow the folder itself and everything below it. A folder that no rule can name gets no rules, and the
/// user is asked about it.
fn allowed(kind: &str, folder: &Path) -> Vec<Rule> {
    let folder = escaped(&folder.to_string_lossy());
    let texts = [format!("{kind}:{folder}"), format!("{kind}:{folder}/**")];
    texts.iter().filter_map(|text| Rule::parse(Ruling::Allow, text).ok()).collect()
}

/// Escapes a path as a glob that matches only this path.
fn escaped(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '*' | '?' | '[' | ']' | '{' | '}' => glob.extend(['[', letter, ']']),
            '\\' => glob.push_str("\\\\"),
            _ => glob.push(letter),
        }
    }
    glob
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Effect, Policy, Verdict};

    #[test]
    fn a_root_is_judged_as_the_workspace_is_and_its_name_matches_nothing_else() {
        let root = Root::new("/x/a [1]*".into());
        let deny = Rule::parse(Ruling::Deny, "read:**/.env").unwrap();
        let judge = |mode, effect: Effect| {
            let rules = [deny.clone()].iter().chain(root.rules(mode)).cloned().collect();
            Policy { rules, mode }.judge(&[effect], Path::new("/w"), &|_| false)
        };
        let read = |path: &str| Effect::Read(path.into());
        let write = |path: &str| Effect::Write(path.into());
        let table = [
            (Mode::ReadOnly, read("/x/a [1]*/b"), "allow"),
            (Mode::ReadOnly, read("/x/a [1]*"), "allow"),
            (Mode::ReadOnly, write("/x/a [1]*/b"), "deny"),
            (Mode::Ask, read("/x/a [1]*/b/c"), "allow"),
            (Mode::Ask, read("/x/a [1]*/.env"), "deny"),
            (Mode::Ask, read("/x/a 1b/c"), "ask"),
            (Mode::Ask, write("/x/a [1]*/b"), "ask"),
            (Mode::AcceptEdits, write("/x/a [1]*/b"), "allow"),
            (Mode::AcceptEdits, write("/x/a [1]*/.git/config"), "ask"),
            (Mode::AcceptEdits, write("/x/other"), "ask"),
            (Mode::Plan, write("/x/a [1]*/b"), "deny"),
        ];
        for (mode, effect, expected) in table {
            let verdict = match judge(mode, effect.clone()) {
                Verdict::Allow => "allow",
                Verdict::Ask { .. } => "ask",
                Verdict::Deny { .. } => "deny",
            };
            assert_eq!(verdict, expected, "{mode:?} {effect}");
        }
    }
}
