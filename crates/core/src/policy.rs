//! Who may do what: rules over effects, and a mode for what no rule settles.
use crate::{Change, Effect};
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use std::{
    path::{Component, Path, PathBuf},
    str::FromStr,
};

/// What may happen to a call. Ordered: the strictest verdict over all its effects counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`reason` is told to the model or the person")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask { reason: String },
    /// It does not run.
    Deny { reason: String },
}

/// What happens with an effect that no rule settles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reading in the workspace runs; all else is denied.
    ReadOnly,
    /// Reading in the workspace runs; all else is asked for.
    #[default]
    Ask,
    /// Reading and writing in the workspace runs; all else is asked for.
    AcceptEdits,
    /// Everything runs.
    Full,
}

impl Mode {
    /// From the strictest to the widest.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::AcceptEdits, Self::Full];

    /// As configuration files and options write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Full => "full",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Rules first, in order, then the mode.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The first rule that matches an effect settles it.
    pub rules: Vec<Rule>,
    /// For what no rule matches.
    pub mode: Mode,
}

/// What a rule says of the effects that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// They run.
    Allow,
    /// A person is asked.
    Ask,
    /// They do not run.
    Deny,
}

/// One line of the configuration, e.g. `deny = ["write:/etc/**"]`.
#[derive(Clone, Debug)]
pub struct Rule {
    ruling: Ruling,
    text: String,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    Path { kind: Kind, glob: GlobMatcher },
    Words { kind: Kind, words: String, more: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Execute,
    Network,
}

/// A rule that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read the rule `{rule}`: {why}; expected e.g. `write:src/**`, `execute:git status` or `network:*`"
)]
pub struct BadRule {
    rule: String,
    why: String,
}

impl Rule {
    /// `KIND:PATTERN` with `read`, `write`, `execute` or `network`.
    ///
    /// Paths are matched as globs: a relative pattern against the path inside the workspace, one that starts with
    /// `/` against the absolute path, one that starts with `**` against both. A command is matched word for word;
    /// a `*` at the end stands for any further words, and a command with anything but plain words in it (pipes,
    /// substitutions, quotes …) is matched by no `allow` rule.
    pub fn parse(ruling: Ruling, rule: &str) -> Result<Self, BadRule> {
        let bad = |why: String| BadRule { rule: rule.to_owned(), why };
        let (kind, pattern) = rule.split_once(':').ok_or_else(|| bad("there is no `:`".into()))?;
        let kind = Kind::from_str(kind).map_err(bad)?;
        let pattern = match kind {
            Kind::Read | Kind::Write => {
                let glob = GlobBuilder::new(pattern).literal_separator(true).build();
                let glob = glob.map_err(|error| bad(error.to_string()))?.compile_matcher();
                Pattern::Path { kind, glob }
            }
            Kind::Execute | Kind::Network => {
                let words = pattern.strip_suffix('*').unwrap_or(pattern);
                Pattern::Words { kind, words: squeeze(words), more: words.len() < pattern.len() }
            }
        };
        Ok(Self { ruling, text: rule.to_owned(), pattern })
    }

    fn matches(&self, effect: &Effect, workspace: &Path) -> bool {
        match (&self.pattern, effect) {
            (Pattern::Path { kind: Kind::Read, glob }, Effect::Read(path))
            | (Pattern::Path { kind: Kind::Write, glob }, Effect::Write(path)) => {
                let absolute = normal(&workspace.join(path));
                let inside = absolute.strip_prefix(workspace).is_ok_and(|inside| glob.is_match(inside));
                inside || glob.is_match(&absolute)
            }
            (Pattern::Words { kind: Kind::Execute, words, more }, Effect::Execute(command)) => {
                (self.ruling != Ruling::Allow || is_plain(command)) && same_words(words, *more, command)
            }
            (Pattern::Words { kind: Kind::Network, words, more }, Effect::Network(target)) => {
                if *more {
                    target.starts_with(words.as_str())
                } else {
                    target == words
                }
            }
            _ => false,
        }
    }

    fn verdict(&self, effect: &Effect) -> Verdict {
        let reason = |what: &str| format!("`{effect}` {what} by the rule `{}`", self.text);
        match self.ruling {
            Ruling::Allow => Verdict::Allow,
            Ruling::Ask => Verdict::Ask { reason: reason("must be asked for") },
            Ruling::Deny => Verdict::Deny { reason: reason("is denied") },
        }
    }
}

impl Policy {
    /// Before a call: what it says it will touch. `effects` must be resolved.
    pub fn judge(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        effects.iter().map(|effect| self.judge_one(effect, workspace)).max().unwrap_or(Verdict::Allow)
    }

    /// After a call, before its changes are settled: what it did.
    pub fn judge_changes(&self, changes: &[Change], workspace: &Path) -> Verdict {
        let effects: Vec<Effect> = changes.iter().map(|change| Effect::Write(change.path.clone())).collect();
        self.judge(&effects, workspace)
    }

    fn judge_one(&self, effect: &Effect, workspace: &Path) -> Verdict {
        match self.rules.iter().find(|rule| rule.matches(effect, workspace)) {
            Some(rule) => rule.verdict(effect),
            None => self.mode.verdict(effect, workspace),
        }
    }
}

impl Mode {
    fn verdict(self, effect: &Effect, workspace: &Path) -> Verdict {
        let inside = |path: &Path| normal(&workspace.join(path)).starts_with(workspace);
        let runs = match (self, effect) {
            (Self::Full, _) => true,
            (_, Effect::Read(path)) => inside(path),
            (Self::AcceptEdits, Effect::Write(path)) => inside(path),
            (Self::ReadOnly | Self::Ask | Self::AcceptEdits, _) => false,
        };
        match self {
            _ if runs => Verdict::Allow,
            Self::ReadOnly => {
                Verdict::Deny { reason: format!("`{effect}` is denied: permission is `read-only`") }
            }
            Self::Ask | Self::AcceptEdits | Self::Full => {
                Verdict::Ask { reason: format!("`{effect}` needs approval") }
            }
        }
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(kind: &str) -> Result<Self, String> {
        match kind {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "execute" => Ok(Self::Execute),
            "network" => Ok(Self::Network),
            other => Err(format!("`{other}` is no kind of effect")),
        }
    }
}

/// `.` and `..` removed without looking at the disk.
pub fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

fn squeeze(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn same_words(words: &str, more: bool, command: &str) -> bool {
    let command = squeeze(command);
    let rest = command.strip_prefix(words);
    rest.is_some_and(|rest| rest.is_empty() || (more && (words.is_empty() || rest.starts_with(' '))))
}

/// Only words that every shell takes as they are: one program, no expansion, no assignment.
fn is_plain(command: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " \t_-./,:@%+".contains(c);
    command.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rules: &[(Ruling, &str)], mode: Mode, effect: Effect) -> &'static str {
        let rules = rules.iter().map(|(ruling, rule)| Rule::parse(*ruling, rule).unwrap()).collect();
        match (Policy { rules, mode }).judge(&[effect], Path::new("/w")) {
            Verdict::Allow => "allow",
            Verdict::Ask { .. } => "ask",
            Verdict::Deny { .. } => "deny",
        }
    }
    fn read(path: &str) -> Effect {
        Effect::Read(path.into())
    }
    fn write(path: &str) -> Effect {
        Effect::Write(path.into())
    }
    fn execute(command: &str) -> Effect {
        Effect::Execute(command.into())
    }

    // X-23, O-40, C-72
    #[test]
    fn the_mode_settles_what_no_rule_does() {
        use Mode::{AcceptEdits, Ask, Full, ReadOnly};
        let table = [
            (read("a"), ["allow", "allow", "allow", "allow"]),
            (read("/etc/passwd"), ["deny", "ask", "ask", "allow"]),
            (read("../x"), ["deny", "ask", "ask", "allow"]),
            (write("a"), ["deny", "ask", "allow", "allow"]),
            (write("/w/../etc/x"), ["deny", "ask", "ask", "allow"]),
            (execute("ls"), ["deny", "ask", "ask", "allow"]),
            (Effect::Network("http://x/".into()), ["deny", "ask", "ask", "allow"]),
        ];
        for (effect, expected) in table {
            let got = [ReadOnly, Ask, AcceptEdits, Full].map(|mode| verdict(&[], mode, effect.clone()));
            assert_eq!(got, expected, "{effect}");
        }
    }

    // P-12, X-23
    #[test]
    fn the_first_rule_that_matches_settles_an_effect() {
        use Ruling::{Allow, Ask, Deny};
        let rules = [
            (Deny, "read:**/.ssh/**"),
            (Deny, "write:/etc/**"),
            (Ask, "write:.git/hooks/**"),
            (Deny, "execute:rm -rf *"),
            (Allow, "write:src/**"),
            (Allow, "execute:git status"),
            (Allow, "execute:cargo test *"),
            (Allow, "network:https://example.org/*"),
        ];
        let table = [
            (read("/home/me/.ssh/id"), "deny"),
            (write("/etc/passwd"), "deny"),
            (write("src/a/b.rs"), "allow"),
            (write("/w/src/b.rs"), "allow"),
            (write("src/../Cargo.toml"), "ask"),
            (write(".git/hooks/pre-commit"), "ask"),
            (execute("git  status"), "allow"),
            (execute("git status -s"), "ask"),
            (execute("git statusx"), "ask"),
            (execute("cargo test -p a"), "allow"),
            (execute("cargo test"), "allow"),
            (execute("cargo test; ./t.sh"), "ask"),
            (execute("cargo test $(./t.sh)"), "ask"),
            (execute("cargo test\n./t.sh"), "ask"),
            (execute("rm -rf $HOME"), "deny"),
            (Effect::Network("https://example.org/a".into()), "allow"),
            (Effect::Network("https://example.org.evil/a".into()), "ask"),
        ];
        for (effect, expected) in table {
            assert_eq!(verdict(&rules, Mode::Ask, effect.clone()), expected, "{effect}");
        }
    }

    #[test]
    fn the_strictest_verdict_over_all_effects_counts() {
        let policy = Policy { rules: vec![Rule::parse(Ruling::Deny, "write:b").unwrap()], mode: Mode::Full };
        assert!(matches!(policy.judge(&[write("a"), write("b")], Path::new("/w")), Verdict::Deny { .. }));
        assert_eq!(policy.judge(&[], Path::new("/w")), Verdict::Allow);
    }

    #[test]
    fn a_bad_rule_says_what_was_expected() {
        let told = |rule: &str| Rule::parse(Ruling::Allow, rule).unwrap_err().to_string();
        assert!(told("ls").starts_with("cannot read the rule `ls`: there is no `:`; expected e.g."));
        assert!(told("eat:x").contains("`eat` is no kind of effect"));
        assert!(told("write:[").contains("cannot read the rule `write:[`"));
    }
}
