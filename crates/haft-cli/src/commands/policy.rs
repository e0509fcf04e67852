//! [`policy`] (`haft policy check`): shows which rule decides about an effect, and how.
use crate::{
    CliContext,
    args::{Policy as Verb, PolicyCheck},
};
use haft_app::{
    Failure,
    config::{SETTINGS, Settings},
    session,
};
use haft_call::is_repository;
use haft_core::{Effect, Execution, Policy, Sandbox, Verdict};
use haft_present::unattended;
use haft_terminal::Exit;
use haft_tools::refusal;
use serde_json::json;
use std::{
    io::{Write, stdout},
    path::Path,
};

/// `haft policy …`
pub(crate) fn policy(cli: &CliContext, command: Verb) -> Result<Exit, Failure> {
    let Verb::Check(PolicyCheck { words, permission, profile, cwd, json }) = command;
    let workspace = session::workspace(cwd.as_deref())?;
    let settings = Settings { permission, profile, ..Settings::default() };
    let config = cli.config(&workspace, &settings)?;
    let profile = config.profile()?;
    let own = config.policy(&cli.places)?;
    let rules = profile.rules.deny.iter().chain(&profile.rules.only).cloned().chain(own.rules).collect();
    let policy = Policy { rules, mode: own.mode };
    let effect = effect(&words.join(" "), &workspace)?;
    // As the engine does: where the system gives a command a view of its own, it can do nothing but change that.
    let is_confined = matches!(effect, Effect::Execute(_))
        && config.sandbox(&profile) != Sandbox::Off
        && session::command_views(&cli.places, &config, &workspace).is_ok();
    let effect = if is_confined { effect.confined() } else { effect };
    let (verdict, rules) = policy.explain(&effect, &workspace, &is_repository);
    let (verdict, reason, by) = in_words(verdict, &effect, is_confined);
    let by = by.unwrap_or_else(|| match rules.as_slice() {
        [] => {
            let setting = SETTINGS.iter().find(|setting| setting.key == "permission");
            let from = setting.map(|setting| config.in_force(setting, &profile).1).unwrap_or_default();
            format!("the mode `{}` ({from})", policy.mode.name())
        }
        rules => rules.iter().map(|rule| config.told_of(rule, &profile)).collect::<Vec<_>>().join(", "),
    });
    let way = (verdict == "ask").then(|| unattended::narrowest(std::slice::from_ref(&effect), &workspace));
    if json {
        let rules: Vec<&str> = rules.iter().map(|rule| rule.text()).collect();
        let object = json!({
            "effect": effect.to_string(), "verdict": verdict, "reason": reason, "decided_by": by, "rules": rules,
            "mode": policy.mode.name(), "hint": way,
        });
        writeln!(stdout(), "{object}")?;
        return Ok(Exit::Success);
    }
    writeln!(stdout(), "{verdict:<6} {reason}\nby     {by}")?;
    if let Some(way) = way {
        writeln!(stdout(), "hint   {way}")?;
    }
    Ok(Exit::Success)
}

/// The verdict in one word, why, and who decides where neither a rule nor the mode does.
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

/// `read:PATH`, `write:PATH`, `network:TARGET`, `execute:COMMAND`, `execute@FOLDER:COMMAND`; all else is a command.
fn effect(words: &str, workspace: &Path) -> Result<Effect, Failure> {
    let path = |text: &str| {
        let path = workspace.join(text);
        path.canonicalize().unwrap_or(path)
    };
    let effect = match words.split_once(':') {
        Some(("read", file)) => Effect::Read(path(file)),
        Some(("write", file)) => Effect::Write(path(file)),
        Some(("network", target)) => Effect::Network(target.to_owned()),
        Some(("execute", command)) => Effect::execute(command),
        Some((kind, command)) if kind.starts_with("execute@") => {
            Effect::execute_in(command, kind.trim_start_matches("execute@"))
        }
        _ => Effect::execute(words),
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
            assert_eq!(effect(words, workspace).unwrap().to_string(), expected, "{words}");
        }
    }
}
