//! [`Policy`]: judges the effects of a call by rules, and by a [`Mode`] where no rule matches.
mod commands;
mod git;
mod outbox;
mod readable;
mod rule;

pub use git::{is_data as is_git_data, is_gits_own, is_object as is_git_object};
pub use readable::Readable;
pub use rule::{BadRule, Rule, Ruling, server_call};

use crate::{Change, Effect, Execution, Tracking};
use haft_shell::{Command, Runs};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
};

/// The judgment of a call. Verdicts are ordered: the strictest one over all effects of the call counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`reason` is told to the model or the person")]
pub enum Verdict {
    /// The call runs.
    Allow,
    /// The user is asked.
    Ask { reason: String },
    /// The call does not run.
    Deny { reason: String },
}

impl Verdict {
    /// Returns the stricter verdict; if both are equally strict, with the reasons of both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ask { reason }, Self::Ask { reason: other }) => {
                Self::Ask { reason: format!("{reason}; {other}") }
            }
            (Self::Deny { reason }, Self::Deny { reason: other }) => {
                Self::Deny { reason: format!("{reason}; {other}") }
            }
            (this, other) => this.max(other),
        }
    }
}

/// Decides on effects that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reading in the workspace runs; everything else is denied.
    ReadOnly,
    /// Reading in the workspace runs, and so do commands that can change only their view, which is dropped; everything
    /// else is denied. The model makes a plan, and the user decides on it.
    Plan,
    /// Reading in the workspace runs; everything else is asked for.
    #[default]
    Ask,
    /// Reading and writing in the workspace runs, except for git's own files; everything else is asked for.
    AcceptEdits,
    /// Everything runs.
    Full,
}

impl Mode {
    /// All modes, from the strictest to the most permissive.
    pub const ALL: [Self; 5] = [Self::ReadOnly, Self::Plan, Self::Ask, Self::AcceptEdits, Self::Full];

    /// Returns its name, as configuration files and options write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Full => "full",
        }
    }

    /// Returns the mode of this name; `None` if there is no such mode.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Rules, applied in order, and the mode for effects that no rule matches.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// An effect that [`Ruling::Only`] leaves out is denied; otherwise the first other rule that matches an effect
    /// decides.
    pub rules: Vec<Rule>,
    /// Decides on effects that no rule matches.
    pub mode: Mode,
}

/// Whether a folder is the `.git` folder of a repository, whatever its name. Decided by its content.
pub type IsRepository<'a> = &'a dyn Fn(&Path) -> bool;

/// The symbolic links of the file system, as rules need them.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "functions show nothing of themselves")]
pub struct Links<'a> {
    /// Follows a path: returns the links that it passes through, and last the path where it ends, which need not exist.
    /// Returns only the path itself if it passes through no link.
    pub follow: &'a dyn Fn(&Path) -> Vec<PathBuf>,
    /// The links below a folder.
    pub below: &'a dyn Fn(&Path) -> Vec<FollowedLink>,
}

/// A symbolic link, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedLink {
    /// Path of the link itself.
    pub link: PathBuf,
    /// The result of following the link, as [`Links::follow`] returns it.
    pub places: Vec<PathBuf>,
}

/// Whether a file is git's own: git reads it, and may run the programs that it names.
type IsGitsOwn<'a> = &'a dyn Fn(&Path) -> bool;

impl Policy {
    /// Judges a call before it runs, by the effects that it declares. `effects` must be resolved.
    pub fn judge(&self, effects: &[Effect], workspace: &Path, is_repository: IsRepository<'_>) -> Verdict {
        self.judge_as(effects, workspace, &|path| belongs_to_git(path, workspace, is_repository))
    }

    /// Judges a call after it ran, before its changes are settled: each path of `changes` and of `bulk`. For a command
    /// that worked in a view, files that `git` wrote as its data are judged like other files; Git never runs them.
    pub fn judge_changes(
        &self,
        changes: &[Change],
        bulk: &[PathBuf],
        how: Tracking,
        workspace: &Path,
        is_repository: IsRepository<'_>,
    ) -> Verdict {
        let is_data = |change: &&Change| how == Tracking::Staged && git::is_data(change);
        let (data, others): (Vec<_>, Vec<_>) = changes.iter().partition(is_data);
        let path = |change: &&'_ Change| change.path.clone();
        let others = others.iter().map(path).chain(bulk.iter().cloned()).map(Effect::Write);
        let rest = self.judge(&others.collect::<Vec<_>>(), workspace, is_repository);
        let data = data.iter().map(path).map(Effect::Write);
        let data = self.judge_as(&data.collect::<Vec<_>>(), workspace, &|_| false);
        data.and(rest).and(self.judge_rights(changes))
    }

    /// Judges `effects`, whose paths are as a call spells them, only by the rules that ask or deny. [`Policy::judge`]
    /// judges the targets of links.
    pub fn judge_names(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        let ruled = |effect: &Effect| {
            let mut others = self.rules.iter().filter(|rule| rule.ruling != Ruling::Only);
            match others.find(|rule| rule.matches(effect, workspace, false)) {
                Some(rule) if rule.ruling != Ruling::Allow => MatchedBy::Rule(rule).verdict(&[effect]),
                _ => Verdict::Allow,
            }
        };
        effects.iter().map(ruled).reduce(Verdict::and).unwrap_or(Verdict::Allow)
    }

    /// Extends the policy for effects like `effects`: its rules that ask or deny about paths of the workspace also
    /// apply to the targets of symbolic links. These are the links in the folder or file that a pattern begins with,
    /// and the links below that folder that the pattern matches.
    #[must_use]
    pub fn through_links(self, effects: &[Effect], workspace: &Path, links: Links<'_>) -> Self {
        let with_targets = |rule: Rule| {
            let is_about = effects.iter().any(|effect| rule.is_about_paths_like(effect));
            let targets = if is_about { rule.through_links(workspace, links) } else { Vec::new() };
            std::iter::once(rule).chain(targets)
        };
        Self { rules: self.rules.into_iter().flat_map(with_targets).collect(), ..self }
    }

    /// Asks for approval of files that become setuid or setgid: rules about writing do not cover the rights of another
    /// user.
    fn judge_rights(&self, changes: &[Change]) -> Verdict {
        let given = changes.iter().filter(|change| change.gives_rights() && self.mode != Mode::Full);
        let written: Vec<Effect> = given.map(|change| Effect::Write(change.path.clone())).collect();
        match &written[..] {
            [] => Verdict::Allow,
            written => {
                let names = named(&written.iter().collect::<Vec<_>>());
                let needs = if written.len() == 1 { "needs" } else { "need" };
                let why = "a program that is setuid or setgid runs with the rights of its owner";
                Verdict::Ask { reason: format!("{names} {needs} approval: {why}") }
            }
        }
    }

    fn judge_as(&self, effects: &[Effect], workspace: &Path, is_gits_own: IsGitsOwn<'_>) -> Verdict {
        let (mut grounds, mut seen) = (Vec::<(MatchedBy<'_>, Vec<&Effect>)>::new(), HashSet::new());
        let runs = effects.iter().any(|effect| matches!(effect, Effect::Execute(_)));
        for effect in effects.iter().filter(|effect| seen.insert(*effect)) {
            let ground = match effect {
                // In plan mode a fetching tool may use the network. A command with network is denied, because it could
                // do anything there.
                Effect::Network(_) if runs && self.mode == Mode::Plan => MatchedBy::Closed(self.mode),
                _ => self.ground(effect, workspace, is_gits_own),
            };
            match grounds.iter_mut().find(|(known, _)| *known == ground) {
                Some((_, alike)) => alike.push(effect),
                None => grounds.push((ground, vec![effect])),
            }
        }
        let verdicts = grounds.into_iter().map(|(ground, effects)| ground.verdict(&effects));
        verdicts.reduce(Verdict::and).unwrap_or(Verdict::Allow)
    }

    /// Returns the verdict on `effect` alone, and the rules that decide it, or `None` if the mode decides it. `effect`
    /// must be resolved.
    pub fn explain(
        &self,
        effect: &Effect,
        workspace: &Path,
        is_repository: IsRepository<'_>,
    ) -> (Verdict, Vec<&Rule>) {
        let ground = self.ground(effect, workspace, &|path| belongs_to_git(path, workspace, is_repository));
        let rules = match &ground {
            MatchedBy::Rule(rule) | MatchedBy::Unread(rule) => vec![*rule],
            MatchedBy::Outside(rules) | MatchedBy::Each(rules) => rules.clone(),
            MatchedBy::Open
            | MatchedBy::Asked
            | MatchedBy::GitsOwn
            | MatchedBy::Elsewhere
            | MatchedBy::Closed(_) => Vec::new(),
        };
        (ground.verdict(&[effect]), rules)
    }

    /// Returns the rules or the mode that decide on `effect`.
    fn ground(&self, effect: &Effect, workspace: &Path, is_gits_own: IsGitsOwn<'_>) -> MatchedBy<'_> {
        let is_gits_own = match effect {
            Effect::Write(path) => is_gits_own(&normal(&workspace.join(path))),
            Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => false,
        };
        // Rules that allow apply to the work, not to plan mode.
        if self.mode == Mode::Plan && !is_for_planning(effect, workspace) {
            return MatchedBy::Closed(self.mode);
        }
        let limits: Vec<&Rule> = self.rules.iter().filter(|rule| rule.limits(effect)).collect();
        if !limits.is_empty() && !rule::within(&limits, effect, workspace) {
            return MatchedBy::Outside(limits);
        }
        let first = |effect: &Effect| {
            let mut others = self.rules.iter().filter(|rule| rule.ruling != Ruling::Only);
            others.find(|rule| rule.matches(effect, workspace, is_gits_own))
        };
        let whole = first(effect).map(|rule| (rule.ruling, MatchedBy::Rule(rule)));
        let inside = match effect {
            Effect::Execute(execution) => self.strictest_inside(execution, workspace),
            Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
        };
        let settled = inside.into_iter().chain(whole).max_by_key(|(ruling, _)| ruling.strictness());
        match (settled, effect) {
            (Some((_, ground)), _) => return ground,
            (None, Effect::Execute(execution)) => {
                // Rules that allow match no command with quotes, expansions or redirections.
                let allowed = |command: &str| {
                    let one = Effect::Execute(Execution { command: command.into(), ..execution.clone() });
                    first(&one).filter(|rule| rule.ruling == Ruling::Allow)
                };
                let joined = commands::joined(&execution.command);
                if let Some(rules) = joined.and_then(|all| all.into_iter().map(allowed).collect()) {
                    return MatchedBy::Each(rules);
                }
            }
            (None, Effect::Read(_) | Effect::Write(_) | Effect::Network(_)) => {}
        }
        self.mode.ground(effect, workspace, is_gits_own)
    }

    /// Returns the strictest match over all commands in the line that `execution` runs; `None` if no rule that asks or
    /// denies matches a command.
    fn strictest_inside(&self, execution: &Execution, workspace: &Path) -> Option<(Ruling, MatchedBy<'_>)> {
        if !self.rules.iter().any(|rule| rule.holds_unread(None)) {
            return None;
        }
        let runs = Runs::of(&execution.command);
        let first = |command: &Command| {
            let matches = |rule: &&Rule| rule.may_match(command, runs.moves, &execution.folder, workspace);
            self.rules.iter().filter(|rule| rule.ruling != Ruling::Only).find(matches)
        };
        let read = runs.commands.iter().filter_map(first).map(|rule| (rule.ruling, MatchedBy::Rule(rule)));
        let read = read.filter(|(ruling, _)| *ruling != Ruling::Allow);
        let unread = self.rules.iter().filter(|rule| {
            let is_mentioned = || runs.texts.iter().any(|text| rule.holds_unread(Some(text)));
            if runs.is_whole { is_mentioned() } else { rule.holds_unread(None) }
        });
        let unread = unread.map(|rule| (rule.ruling, MatchedBy::Unread(rule)));
        read.chain(unread).max_by_key(|(ruling, _)| ruling.strictness())
    }
}

/// The path of the workspace does not count: a working tree may lie within the `.git` folder of its repository.
fn belongs_to_git(file: &Path, workspace: &Path, is_repository: IsRepository<'_>) -> bool {
    let inside = file.strip_prefix(workspace).ok();
    let above = file.ancestors().skip(1);
    let mut folders = above.take_while(|folder| inside.is_none() || folder.starts_with(workspace));
    git::is_gits_own(inside.unwrap_or(file)) || folders.any(is_repository)
}

/// Why an effect runs, is asked for, or does not run.
enum MatchedBy<'a> {
    Rule(&'a Rule),
    /// The line cannot be parsed completely, and may run a command that this rule matches.
    Unread(&'a Rule),
    /// Each command of the line is allowed by one of these rules.
    Each(Vec<&'a Rule>),
    /// None of these `only` rules matches.
    Outside(Vec<&'a Rule>),
    /// The mode allows it.
    Open,
    /// The mode asks.
    Asked,
    /// The mode asks, since the user's next `git` command would execute what the effect writes.
    GitsOwn,
    /// The mode asks, since the command would run outside of the workspace.
    Elsewhere,
    /// The mode denies it: `read-only` or `plan`.
    Closed(Mode),
}

impl PartialEq for MatchedBy<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rule(rule), Self::Rule(other)) | (Self::Unread(rule), Self::Unread(other)) => {
                std::ptr::eq(*rule, *other)
            }
            (Self::Outside(rules), Self::Outside(others)) | (Self::Each(rules), Self::Each(others)) => {
                std::ptr::eq(rules[0], others[0])
            }
            (this, other) => std::mem::discriminant(this) == std::mem::discriminant(other),
        }
    }
}

const UNREADABLE_NOTE: &str = ", which holds for what cannot be read as plain commands; write them out";

impl MatchedBy<'_> {
    fn verdict(self, effects: &[&Effect]) -> Verdict {
        let (names, is_one) = (named(effects), effects.len() == 1);
        let (needs, is) = if is_one { ("needs", "is") } else { ("need", "are") };
        match self {
            Self::Open | Self::Each(_) => Verdict::Allow,
            Self::Asked => Verdict::Ask { reason: format!("{names} {needs} approval") },
            Self::GitsOwn => Verdict::Ask {
                reason: format!("{names} {needs} approval: git reads such files, and may run what they name"),
            },
            Self::Elsewhere => Verdict::Ask {
                reason: format!("{names} {needs} approval: the folder lies outside of the workspace"),
            },
            Self::Closed(mode) => {
                Verdict::Deny { reason: format!("{names} {is} denied: permission is `{}`", mode.name()) }
            }
            Self::Outside(rules) => {
                let texts: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.text)).collect();
                Verdict::Deny {
                    reason: format!("{names} {is} denied: the rules allow only {}", texts.join(", ")),
                }
            }
            Self::Unread(rule) => match Self::Rule(rule).verdict(effects) {
                Verdict::Allow => Verdict::Allow,
                Verdict::Ask { reason } => Verdict::Ask { reason: reason + UNREADABLE_NOTE },
                Verdict::Deny { reason } => Verdict::Deny { reason: reason + UNREADABLE_NOTE },
            },
            Self::Rule(Rule { ruling, text, .. }) => match ruling {
                Ruling::Allow => Verdict::Allow,
                Ruling::Ask => {
                    Verdict::Ask { reason: format!("{names} must be asked for by the rule `{text}`") }
                }
                Ruling::Deny | Ruling::Only => {
                    Verdict::Deny { reason: format!("{names} {is} denied by the rule `{text}`") }
                }
            },
        }
    }
}

/// Whether `effect` changes nothing outside of a view, so that a plan may need it. Rules decide which files it reads
/// and which hosts it reaches.
fn is_for_planning(effect: &Effect, workspace: &Path) -> bool {
    match effect {
        Effect::Read(_) | Effect::Network(_) => true,
        Effect::Write(_) => false,
        Effect::Execute(execution) => {
            execution.stays_inside() && normal(&workspace.join(&execution.folder)).starts_with(workspace)
        }
    }
}

/// Maximum effects that a reason names; it counts the others. The question to the user names them all.
const MAX_NAMED_EFFECTS: usize = 4;

fn named(effects: &[&Effect]) -> String {
    let names: Vec<String> =
        effects.iter().take(MAX_NAMED_EFFECTS).map(|effect| format!("`{effect}`")).collect();
    match (names.split_last(), effects.len().saturating_sub(MAX_NAMED_EFFECTS)) {
        (Some((last, [])), 0) => last.clone(),
        (Some((last, before)), 0) => format!("{} and {last}", before.join(", ")),
        (_, more) => format!("{} and {more} more", names.join(", ")),
    }
}

impl Mode {
    fn ground<'a>(self, effect: &Effect, workspace: &Path, is_gits_own: bool) -> MatchedBy<'a> {
        let inside = |path: &Path| normal(&workspace.join(path)).starts_with(workspace);
        match (self, effect) {
            (Self::Full, _) => MatchedBy::Open,
            (_, Effect::Read(path)) if inside(path) => MatchedBy::Open,
            (Self::ReadOnly, _) => MatchedBy::Closed(self),
            (_, Effect::Write(_)) if is_gits_own => MatchedBy::GitsOwn,
            (Self::AcceptEdits, Effect::Write(path)) if inside(path) => MatchedBy::Open,
            (_, Effect::Execute(Execution { folder, .. })) if !inside(folder) => MatchedBy::Elsewhere,
            // The command can change only its view, and these changes are judged afterwards.
            (_, Effect::Execute(execution)) if execution.stays_inside() => MatchedBy::Open,
            (Self::Plan, _) => MatchedBy::Closed(self),
            (Self::Ask | Self::AcceptEdits, _) => MatchedBy::Asked,
        }
    }
}

/// Returns `path` with `.` and `..` removed, without accessing the file system.
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
