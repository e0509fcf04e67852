//! [`Rule`]: a rule over effects. Parses rules and matches them against effects.
use super::{FollowedLink, Links, commands::commands, git, normal};
use crate::{Effect, Execution};
use globset::{Glob, GlobBuilder, GlobMatcher};
use haft_shell::Runs;
use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, OnceLock},
};

/// What a rule does with the effects that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Effects that match run.
    Allow,
    /// The user is asked.
    Ask,
    /// Effects that match do not run.
    Deny,
    /// Commands or network targets that do not match are denied. The other rules decide on those that match.
    Only,
}

impl Ruling {
    /// A stricter ruling has a higher number.
    pub(super) fn strictness(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask => 1,
            Self::Deny | Self::Only => 2,
        }
    }

    /// Returns its name, as the configuration writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Only => "only",
        }
    }
}

/// A rule: one line of the configuration, e.g. `deny = ["write:/etc/**"]`.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) ruling: Ruling,
    pub(super) text: String,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    Read(PathGlob),
    /// `names_git`: the pattern itself names `.git`.
    Write {
        glob: PathGlob,
        names_git: bool,
    },
    /// `folder`: `None` means the workspace's root for a rule that allows, and any folder for other rules.
    Execute {
        folder: Option<PathGlob>,
        words: Words,
    },
    Network(Words),
}

/// A glob over paths. Its matcher is built at the first use: most rules are never matched, and building a matcher takes
/// longer than judging a call.
#[derive(Clone, Debug)]
struct PathGlob {
    glob: Glob,
    /// Shared by all copies of the rule.
    matcher: Arc<OnceLock<GlobMatcher>>,
}

impl PathGlob {
    fn is_match(&self, path: impl AsRef<Path>) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(path)
    }
}

/// The words of a command, and whether further words may follow.
#[derive(Clone, Debug)]
struct Words {
    words: String,
    more: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Execute,
    Network,
}

/// The error for a rule that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read the rule `{rule}`: {why}; expected e.g. `write:src/**`, `execute:git status`, \
     `execute@crates/*:cargo test *` or `network:*`"
)]
pub struct BadRule {
    rule: String,
    why: String,
}

/// Writes the rule as in the configuration: `deny write:/etc/**`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ruling = match self.ruling {
            Ruling::Allow => "allow",
            Ruling::Ask => "ask",
            Ruling::Deny => "deny",
            Ruling::Only => "only",
        };
        write!(f, "{ruling} {}", self.text)
    }
}

impl Rule {
    /// Returns the rule as it was written: `execute:cargo test *`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what the rule does with the effects that it matches.
    pub fn ruling(&self) -> Ruling {
        self.ruling
    }

    /// Reads `KIND:PATTERN` with `read`, `write`, `execute` or `network`; `execute@FOLDER:PATTERN` for commands in a
    /// folder.
    ///
    /// Paths are matched as globs: a relative pattern against the path inside the workspace, one that starts with `/`
    /// against the absolute path, one that starts with `**` against both. A rule that asks or denies about a folder
    /// also applies to everything below it. A rule that allows writing covers git's own files only if its pattern names
    /// `.git`.
    ///
    /// A command is matched word for word; a `*` at the end stands for any further words, and no `allow` rule matches a
    /// command with anything but plain words (pipes, substitutions, quotes …). A rule that asks or denies applies to
    /// each simple command of a line at any depth, to commands that other programs run (`env`, `xargs`, `sh -c` …), and
    /// to a line whose commands cannot be determined. `FOLDER` is a glob like those of paths; `.` is the workspace's
    /// root. Without a folder, a rule that allows applies to the workspace's root, and any other rule to every folder.
    /// No rule allows a command in a folder outside of the workspace.
    ///
    /// If there are `only` rules about commands, each command of a line (`a && b | c`) must match one of them. A line
    /// that cannot be parsed matches none.
    pub fn parse(ruling: Ruling, rule: &str) -> Result<Self, BadRule> {
        let bad = |why: String| BadRule { rule: rule.to_owned(), why };
        let (kind, pattern) = rule.split_once(':').ok_or_else(|| bad("there is no `:`".into()))?;
        let (kind, folder) = match kind.split_once('@') {
            Some((kind, folder)) => (kind, Some(folder)),
            None => (kind, None),
        };
        let kind = Kind::from_str(kind).map_err(bad)?;
        if folder.is_some() && kind != Kind::Execute {
            return Err(bad("only commands run in a folder".into()));
        }
        if ruling == Ruling::Only && matches!(kind, Kind::Read | Kind::Write) {
            return Err(bad("`only` is about commands and the network".into()));
        }
        let pattern = match kind {
            Kind::Read => Pattern::Read(glob(pattern).map_err(bad)?),
            Kind::Write => {
                let names_git = git::names_git(pattern);
                Pattern::Write { glob: glob(pattern).map_err(bad)?, names_git }
            }
            Kind::Execute => {
                let folder = folder.map(|folder| folder_glob(ruling, folder)).transpose().map_err(bad)?;
                Pattern::Execute { folder, words: Words::of(&server_call(pattern)) }
            }
            Kind::Network => Pattern::Network(Words::of(pattern)),
        };
        Ok(Self { ruling, text: rule.to_owned(), pattern })
    }

    /// `is_gits_own`: whether `effect` writes one of git's own files.
    pub(super) fn matches(&self, effect: &Effect, workspace: &Path, is_gits_own: bool) -> bool {
        match (&self.pattern, effect) {
            (Pattern::Read(glob), Effect::Read(path)) => self.matches_path(glob, path, workspace),
            (Pattern::Write { glob, names_git }, Effect::Write(path)) => {
                let covers = self.ruling != Ruling::Allow || *names_git || !is_gits_own;
                covers && self.matches_path(glob, path, workspace)
            }
            (Pattern::Execute { folder, words }, Effect::Execute(Execution { command, folder: at, .. })) => {
                let is_allowed = self.ruling != Ruling::Allow || is_plain(command);
                is_allowed && words.are_in(command) && self.holds_in(folder.as_ref(), at, workspace)
            }
            (Pattern::Network(words), Effect::Network(target)) => words.begin(target),
            _ => false,
        }
    }

    /// Whether the rule, if it is about commands, may apply to `command`, a part of the line that `execution` runs. If
    /// the line changes its folder, the command may run in any folder.
    pub(super) fn may_match(
        &self,
        command: &haft_shell::Command,
        moves: bool,
        at: &Path,
        workspace: &Path,
    ) -> bool {
        let Pattern::Execute { folder, words } = &self.pattern else { return false };
        let own: Vec<&str> = words.words.split(' ').filter(|word| !word.is_empty()).collect();
        let is_there = |at| self.holds_in(folder.as_ref(), at, workspace);
        match self.ruling {
            Ruling::Allow => {
                let line = command.literal().filter(|line| is_plain(line) && words.are_in(line));
                line.is_some() && !moves && is_there(at)
            }
            Ruling::Ask | Ruling::Deny | Ruling::Only => {
                command.may_be(&own, words.more) && (moves || is_there(at))
            }
        }
    }

    /// Whether the rule, if it denies or asks about commands, applies to a line that cannot be parsed.
    pub(super) fn holds_unread(&self, text: Option<&str>) -> bool {
        let Pattern::Execute { words, .. } = &self.pattern else { return false };
        let own: Vec<&str> = words.words.split(' ').filter(|word| !word.is_empty()).collect();
        matches!(self.ruling, Ruling::Ask | Ruling::Deny)
            && text.is_none_or(|text| Runs::mentions(text, &own))
    }

    /// Whether the rule is an `only` rule that limits effects of this kind.
    pub(super) fn limits(&self, effect: &Effect) -> bool {
        let is_alike = match effect {
            Effect::Execute(_) => matches!(self.pattern, Pattern::Execute { .. }),
            Effect::Network(_) => matches!(self.pattern, Pattern::Network(_)),
            Effect::Read(_) | Effect::Write(_) => false,
        };
        self.ruling == Ruling::Only && is_alike
    }

    /// Returns copies of the rule for the targets of links, if it asks or denies about paths of the workspace. These
    /// are the links in the path before its first glob sign, and the links below that path which the rule matches. For
    /// a rule that begins with `**/` that path is the workspace's root.
    pub(super) fn through_links(&self, workspace: &Path, links: Links<'_>) -> Vec<Self> {
        let (Pattern::Read(glob) | Pattern::Write { glob, .. }) = &self.pattern else { return Vec::new() };
        let pattern = glob.glob.glob();
        let pattern = pattern.strip_prefix("**/").unwrap_or(pattern);
        let is_literal = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let literal = pattern.split('/').take_while(is_literal).collect::<Vec<_>>().join("/");
        let path = normal(&workspace.join(&literal));
        if self.ruling == Ruling::Allow || literal.is_empty() || !path.starts_with(workspace) {
            return Vec::new();
        }
        // A link to the workspace or to a folder above it adds no rule.
        let is_meant = |place: &Path, link: &Path| place != link && !workspace.starts_with(place);
        let mut passed = (links.follow)(&path);
        let end = passed.pop().unwrap_or_else(|| path.clone());
        let rest = Some(&pattern[literal.len()..]).filter(|rest| *rest != "/**").unwrap_or_default();
        let mut rules: Vec<Self> = passed
            .iter()
            .filter(|place| is_meant(place, &path))
            .filter_map(|place| self.about(place, ""))
            .collect();
        rules.extend(is_meant(&end, &path).then(|| self.about(&end, rest)).flatten());
        for FollowedLink { link, places } in (links.below)(&end) {
            let Ok(inside) = link.strip_prefix(&end) else { continue };
            if self.matches_path(glob, &path.join(inside), workspace) {
                let places = places.iter().filter(|place| is_meant(place, &link));
                rules.extend(places.filter_map(|place| self.about(place, "")));
            }
        }
        rules
    }

    /// Escapes `path` for a pattern that matches exactly this path: wildcards lose their meaning.
    pub fn escape(path: &Path) -> String {
        globset::escape(&path.to_string_lossy())
    }

    /// Copies the rule for `path`, followed by `rest` of its pattern.
    fn about(&self, path: &Path, rest: &str) -> Option<Self> {
        let glob = glob(&(Self::escape(path) + rest)).ok()?;
        let pattern = match &self.pattern {
            Pattern::Read(_) => Pattern::Read(glob),
            Pattern::Write { names_git, .. } => Pattern::Write { glob, names_git: *names_git },
            Pattern::Execute { .. } | Pattern::Network(_) => return None,
        };
        Some(Self { pattern, ..self.clone() })
    }

    /// Whether the rule is about reading `path`.
    pub(super) fn is_about_reading(&self, path: &Path, workspace: &Path) -> bool {
        matches!(&self.pattern, Pattern::Read(glob) if self.matches_path(glob, path, workspace))
    }

    /// Whether both the rule and `effect` are about reading paths, or both are about writing paths.
    pub(super) fn is_about_paths_like(&self, effect: &Effect) -> bool {
        matches!(
            (&self.pattern, effect),
            (Pattern::Read(_), Effect::Read(_)) | (Pattern::Write { .. }, Effect::Write(_))
        )
    }

    pub(super) fn is_of_reading(&self) -> bool {
        matches!(self.pattern, Pattern::Read(_))
    }

    /// A rule that asks or denies about a folder also applies to its contents.
    fn matches_path(&self, glob: &PathGlob, path: &Path, workspace: &Path) -> bool {
        let absolute = normal(&workspace.join(path));
        let is_match = |path: &Path| {
            path.strip_prefix(workspace).is_ok_and(|inside| glob.is_match(inside)) || glob.is_match(path)
        };
        // The names of the folders above the workspace do not count for its files.
        let is_inside = absolute.starts_with(workspace);
        let mut above = absolute.ancestors().take_while(|path| !is_inside || path.starts_with(workspace));
        match self.ruling {
            Ruling::Allow => is_match(&absolute),
            Ruling::Ask | Ruling::Deny | Ruling::Only => above.any(is_match),
        }
    }

    fn holds_in(&self, folder: Option<&PathGlob>, at: &Path, workspace: &Path) -> bool {
        let absolute = normal(&workspace.join(at));
        let inside = absolute.strip_prefix(workspace).ok();
        match (folder, self.ruling, inside) {
            (None, Ruling::Allow, inside) => inside == Some(Path::new("")),
            (None, Ruling::Ask | Ruling::Deny | Ruling::Only, _) => true,
            (Some(glob), _, Some(inside)) => glob.is_match(inside) || glob.is_match(&absolute),
            (Some(_), Ruling::Allow, None) => false,
            (Some(glob), Ruling::Ask | Ruling::Deny | Ruling::Only, None) => glob.is_match(&absolute),
        }
    }
}

/// Whether one of `rules`, which are all `only` rules, matches each command that `effect` runs, or its target.
pub(super) fn within(rules: &[&Rule], effect: &Effect, workspace: &Path) -> bool {
    let Effect::Execute(execution) = effect else {
        return rules.iter().any(|rule| rule.matches(effect, workspace, false));
    };
    let is_one = |command: String| {
        let one = Effect::Execute(Execution { command, ..execution.clone() });
        rules.iter().any(|rule| rule.matches(&one, workspace, false))
    };
    commands(&execution.command).is_some_and(|all| all.into_iter().all(is_one))
}

impl Words {
    fn of(pattern: &str) -> Self {
        let words = pattern.strip_suffix('*').unwrap_or(pattern);
        Self { words: squeeze(words), more: words.len() < pattern.len() }
    }

    fn are_in(&self, command: &str) -> bool {
        let command = squeeze(command);
        let rest = command.strip_prefix(self.words.as_str());
        let goes_on = self.more && self.words.is_empty();
        rest.is_some_and(|rest| rest.is_empty() || goes_on || (self.more && rest.starts_with(' ')))
    }

    fn begin(&self, target: &str) -> bool {
        if self.more { target.starts_with(self.words.as_str()) } else { target == self.words }
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
            other => Err(format!("`{other}` is not a kind of effect")),
        }
    }
}

/// Normalizes the names in a call of an MCP tool, `mcp:SERVER TOOL …`, or in a pattern for such calls, to the form that
/// effects use: `_` replaces each character that is neither a letter, a digit, `_`, `-` nor a wildcard. Other commands
/// are returned unchanged.
pub fn server_call(command: &str) -> Cow<'_, str> {
    let Some(named) = command.strip_prefix("mcp:") else { return Cow::Borrowed(command) };
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-* ".contains(c);
    let mut words = 0;
    let cleaned = named.chars().map(|c| {
        words += usize::from(c == ' ');
        // The fingerprint follows the server and the tool.
        if words > 1 || fits(c) { c } else { '_' }
    });
    Cow::Owned(format!("mcp:{}", cleaned.collect::<String>()))
}

fn glob(pattern: &str) -> Result<PathGlob, String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| PathGlob { glob, matcher: Arc::default() }).map_err(|error| error.to_string())
}

/// Normalizes the folder of a rule: `./sub/` becomes `sub`, and `.` the root, whose path is empty.
fn folder_glob(ruling: Ruling, folder: &str) -> Result<PathGlob, String> {
    let leads_out = folder.starts_with('/') || folder.split('/').any(|part| part == "..");
    match folder {
        "" => Err("no folder is named between `@` and `:`".into()),
        _ if leads_out && ruling == Ruling::Allow => {
            Err("a command outside of the workspace is always asked for; name the folder relative to it"
                .into())
        }
        _ if leads_out => glob(folder),
        _ => glob(&normal(&PathBuf::from(folder)).to_string_lossy()),
    }
}

fn squeeze(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether every shell runs the words unchanged: one program, no expansion, no assignment.
fn is_plain(command: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " \t_-./,:@%+".contains(c);
    command.chars().all(plain)
}
