//! [`Readable`]: what a call may read below its readable folders, and after redirects. Rules apply to each file that a
//! search finds, and to each redirect.
use super::{Policy, Rule, Ruling, Verdict};
use crate::Effect;
use std::path::{Path, PathBuf};

/// What a call may read below the folders that it may read.
///
/// The folder itself was judged before; this type is about the files below it.
#[derive(Clone, Debug, Default)]
pub struct Readable {
    /// Rules about reading, in order, without the rules that the approval of the call covers.
    rules: Vec<Rule>,
    workspace: PathBuf,
    /// Folders of the session itself, which are exempt from the rules.
    own: Vec<PathBuf>,
    /// The policy for addresses.
    policy: Policy,
}

impl Readable {
    /// What `policy` allows a call with approved `effects` to read. A rule that asks hides nothing if the user
    /// approved. All paths are absolute, and lead through no link.
    pub fn new(policy: &Policy, workspace: &Path, effects: &[Effect], own: Vec<PathBuf>) -> Self {
        let is_answered = |rule: &Rule| {
            let is_read = |effect: &Effect| matches!(effect, Effect::Read(path) if rule.is_about_reading(path, workspace));
            rule.ruling == Ruling::Ask && effects.iter().any(is_read)
        };
        let rules = policy.rules.iter().filter(|rule| rule.is_of_reading() && !is_answered(rule));
        let (rules, policy) = (rules.cloned().collect(), policy.clone());
        Self { rules, workspace: workspace.to_owned(), own, policy }
    }

    /// Whether a call that may fetch the address `from` may also fetch `to`, to which it was redirected: if `to` is
    /// allowed without a question, or needs the same approval.
    pub fn covers(&self, from: &str, to: &str) -> bool {
        let [from, to] = [from, to].map(|address| Effect::Network(address.to_owned()));
        let [from, to] = [&from, &to].map(|effect| self.policy.ground(effect, &self.workspace, &|_| false));
        let is_same = from == to;
        match to.verdict(&[]) {
            Verdict::Allow => true,
            Verdict::Ask { .. } => is_same,
            Verdict::Deny { .. } => false,
        }
    }

    /// Whether every file may be read, so that no question is needed.
    pub fn is_everything(&self) -> bool {
        self.rules.iter().all(|rule| rule.ruling == Ruling::Allow)
    }

    /// Whether `path`, which is absolute and leads through no link, may be read.
    pub fn holds(&self, path: &Path) -> bool {
        let rule = self.rules.iter().find(|rule| rule.is_about_reading(path, &self.workspace));
        rule.is_none_or(|rule| rule.ruling == Ruling::Allow)
            || self.own.iter().any(|own| path.starts_with(own))
    }

    /// Whether nothing below `folder` may be read.
    pub fn excludes(&self, folder: &Path) -> bool {
        let may_allow = self.rules.iter().any(|rule| rule.ruling == Ruling::Allow);
        !may_allow && !self.holds(folder)
    }
}
