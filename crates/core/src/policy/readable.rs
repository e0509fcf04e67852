//! [`Readable`]: what may be read below a folder that may be read. Rules apply to each file that a search finds.
use super::{Policy, Rule, Ruling};
use crate::Effect;
use std::path::{Path, PathBuf};

/// What a call may read of the folders that it may read.
///
/// Whether a folder itself may be read was judged before; this is about what is below it.
#[derive(Clone, Debug, Default)]
pub struct Readable {
    /// Rules about reading, in order, without those that the call was allowed to pass.
    rules: Vec<Rule>,
    workspace: PathBuf,
    /// Folders of the session itself, which no rule is about.
    own: Vec<PathBuf>,
}

impl Readable {
    /// What `policy` lets a call read that was allowed its `effects`. A rule that asks hides nothing where the answer
    /// to it was yes. All paths are absolute, and lead through no link.
    pub fn new(policy: &Policy, workspace: &Path, effects: &[Effect], own: Vec<PathBuf>) -> Self {
        let is_answered = |rule: &Rule| {
            let is_read = |effect: &Effect| matches!(effect, Effect::Read(path) if rule.is_about_reading(path, workspace));
            rule.ruling == Ruling::Ask && effects.iter().any(is_read)
        };
        let rules = policy.rules.iter().filter(|rule| rule.is_of_reading() && !is_answered(rule));
        Self { rules: rules.cloned().collect(), workspace: workspace.to_owned(), own }
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
