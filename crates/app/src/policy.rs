//! [`PolicyCheck`]: the verdict of the policy on an effect, and the rule that decided.
use crate::{
    App, Failure,
    config::{SETTINGS, Settings},
    session,
};
use haft_call::{is_repository, through_links};
use haft_core::{Effect, Execution, Policy, Sandbox, Verdict, policy::server_call, schema::nearest};
use haft_present::unattended;
use haft_tools::refusal;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    slice,
};

/// The verdict of the policy on an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyCheck {
    /// The effect as rules write it: `KIND:WHAT`.
    pub effect: String,
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// The reason, as a sentence for users.
    pub reason: String,
    /// The rules or the mode that decided, with the file of each.
    pub decided_by: String,
    /// The text of the rules that decided.
    pub rules: Vec<String>,
    /// The mode, which decides on effects that no rule matches.
    pub mode: &'static str,
    /// If an approval would be asked for: how to allow the effect without one.
    pub hint: Option<String>,
}

impl App {
    /// Judges `effect` as a session in `workspace` would. `effect` is `read:PATH`, `write:PATH`, `network:TARGET`,
    /// `execute:COMMAND` or `execute@FOLDER:COMMAND`; any other text is a command.
    ///
    /// # Errors
    ///
    /// If `effect` is empty, or the configuration is invalid.
    pub fn check_policy(
        &self,
        workspace: &Path,
        settings: &Settings,
        effect: &str,
    ) -> Result<PolicyCheck, Failure> {
        let config = self.config(workspace, settings)?;
        let profile = config.profile()?;
        let own = config.policy(&self.places)?;
        let rules = profile.rules.deny.iter().chain(&profile.rules.only).cloned().chain(own.rules).collect();
        let spelled = parsed(effect, workspace)?;
        let policy = through_links(Policy { rules, mode: own.mode }, slice::from_ref(&spelled), workspace);
        let found = |path: PathBuf| path.canonicalize().unwrap_or(path);
        // A rule may match the name of a link, or its target.
        let effect = match (policy.judge_names(slice::from_ref(&spelled), workspace), spelled) {
            (Verdict::Allow, Effect::Read(path)) => Effect::Read(found(path)),
            (Verdict::Allow, Effect::Write(path)) => Effect::Write(found(path)),
            (_, spelled) => spelled,
        };
        // As in the engine: a command in a view can change only the view. An MCP server runs outside of any view.
        let is_of_server = effect.to_string().starts_with("execute:mcp:");
        let is_confined = matches!(effect, Effect::Execute(_))
            && !is_of_server
            && config.sandbox(&profile) != Sandbox::Off
            && session::command_views(&self.places, &config, workspace).is_ok();
        let effect = if is_confined { effect.confined() } else { effect };
        let (verdict, rules) = policy.explain(&effect, workspace, &is_repository);
        let (verdict, reason, by) = in_words(verdict, &effect, is_confined);
        let decided_by = by.unwrap_or_else(|| match rules.as_slice() {
            [] => {
                let setting = SETTINGS.iter().find(|setting| setting.key == "permission");
                let from = setting.map(|setting| config.in_force(setting, &profile).1).unwrap_or_default();
                format!("the mode `{}` ({from})", policy.mode.name())
            }
            rules => rules.iter().map(|rule| config.told_of(rule, &profile)).collect::<Vec<_>>().join(", "),
        });
        Ok(PolicyCheck {
            hint: (verdict == "ask")
                .then(|| unattended::narrowest(std::slice::from_ref(&effect), workspace, &policy.rules)),
            effect: effect.to_string(),
            verdict,
            reason,
            decided_by,
            rules: rules.iter().map(|rule| rule.text().to_owned()).collect(),
            mode: policy.mode.name(),
        })
    }
}

/// The verdict in one word, the reason, and who decides if neither a rule nor the mode does.
fn in_words(verdict: Verdict, effect: &Effect, is_confined: bool) -> (&'static str, String, Option<String>) {
    let guarded = match effect {
        Effect::Execute(Execution { command, .. }) => refusal(command),
        Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
    };
    let guard = || Some("the guard, regardless of rules".to_owned());
    let viewed = "runs in a view of the workspace; its changes are judged afterward";
    match (verdict, guarded) {
        (Verdict::Deny { reason }, _) => ("deny", reason, None),
        (_, Some(why)) => ("deny", format!("`{effect}` is denied: {why}"), guard()),
        (Verdict::Ask { reason }, None) => ("ask", reason, None),
        (Verdict::Allow, None) if is_confined => ("allow", format!("`{effect}` {viewed}"), None),
        (Verdict::Allow, None) => ("allow", format!("`{effect}` runs without approval"), None),
    }
}

const KINDS: [&str; 4] = ["read", "write", "network", "execute"];

/// Parses `read:PATH`, `write:PATH`, `network:TARGET`, `execute:COMMAND` or `execute@FOLDER:COMMAND`; any other text is
/// a command.
fn parsed(words: &str, workspace: &Path) -> Result<Effect, Failure> {
    let path = |text: &str| workspace.join(text);
    let effect = match words.split_once(':') {
        Some(("read", file)) => Effect::Read(path(file)),
        Some(("write", file)) => Effect::Write(path(file)),
        Some(("network", target)) => Effect::Network(target.to_owned()),
        Some(("execute", command)) => Effect::execute(server_call(command)),
        Some((kind, command)) if kind.starts_with("execute@") => {
            Effect::execute_in(command, kind.trim_start_matches("execute@"))
        }
        Some((kind, value)) if let Some(near) = nearest(kind, &KINDS) => {
            let why = format!("there is no effect `{kind}`");
            return Err(Failure::usage(why).hint(format!("did you mean `{near}:{value}`?")));
        }
        _ => Effect::execute(server_call(words)),
    };
    let is_empty = matches!(&effect, Effect::Execute(Execution { command, .. }) if command.trim().is_empty());
    match is_empty {
        true => Err(Failure::usage("nothing to check").hint("e.g. `haft policy check \"git push\"`")),
        false => Ok(effect),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_kind_is_a_command() {
        let workspace = Path::new("/no/such/folder");
        let table = [
            ("git push", "execute:git push"),
            ("curl http://x", "execute:curl http://x"),
            ("execute@sub:make", "execute@sub:make"),
            ("read:a", "read:/no/such/folder/a"),
            ("write:/etc/x", "write:/etc/x"),
            ("network:example.org", "network:example.org"),
        ];
        for (words, expected) in table {
            assert_eq!(parsed(words, workspace).unwrap().to_string(), expected, "{words}");
        }
        let Err(typo) = parsed("wirte:src/a.rs", workspace) else { panic!() };
        assert_eq!(typo.hint.as_deref(), Some("did you mean `write:src/a.rs`?"));
    }
}
