//! [`refuse`] and [`reply`]: answer questions if no user can be asked.
use haft_core::{
    Answer, CallId, Command, Effect, Mode, Policy, Rule, Ruling, SessionOpened, Verdict,
    policy::is_git_object,
};
use haft_engine::Session;
use std::{collections::BTreeSet, path::Path};

/// Refuses an approval, since no user can be asked.
pub fn refuse(session: &Session, call: &CallId) {
    let _session_is_closed = session.send(Command::answer(call.clone(), Answer::Unanswered));
}

/// Answers a tool's question with nothing, since no user can be asked.
pub fn reply(session: &Session, call: &CallId) {
    let _session_is_closed = session.send(Command::reply(call.clone(), None));
}

/// Hint what would have allowed `effects` in `session`: the narrowest mode, or rules.
pub fn hint(session: &Session, effects: &[Effect]) -> String {
    let entries = session.entries();
    let workspace = SessionOpened::of(&entries).map_or(Path::new(""), |opened| &opened.workspace);
    narrowest(effects, workspace, &session.policy().rules)
}

/// The effect in general form for a rule: Git objects never have the same name again, so one rule covers all of a
/// repository.
fn in_general(effect: &Effect) -> Effect {
    match effect {
        Effect::Write(path) if is_git_object(path) => {
            let objects = path.ancestors().find(|folder| folder.ends_with("objects"));
            Effect::Write(objects.unwrap_or(path).join("**"))
        }
        effect => effect.clone(),
    }
}

/// Hint what would allow `effects` in `workspace` with `rules`: the narrowest mode, or additional rules.
pub fn narrowest(effects: &[Effect], workspace: &Path, rules: &[Rule]) -> String {
    let allowed = |policy: &Policy, effects: &[Effect]| {
        let is_repository =
            |path: &Path| path.extension().is_some_and(|end| end == "git") || path.ends_with(".git");
        policy.judge(effects, workspace, &is_repository) == Verdict::Allow
    };
    // Effects that need no approval need no rule.
    let usual = Policy { rules: rules.to_vec(), ..Policy::default() };
    let is_open = |effect: &&Effect| allowed(&usual, std::slice::from_ref(*effect));
    let effects: Vec<Effect> = effects.iter().filter(|effect| !is_open(effect)).cloned().collect();
    // The user's rules that allow come before the built-in ones, which ask.
    let place = rules.iter().rposition(|rule| rule.ruling() != Ruling::Ask).map_or(0, |last| last + 1);
    let allows = |mode: Mode, more: Vec<Rule>| {
        let (before, behind) = rules.split_at(place);
        allowed(&Policy { rules: [before, &more, behind].concat(), mode }, &effects)
    };
    if allows(Mode::AcceptEdits, Vec::new()) {
        return "`--permission accept-edits` allows it".to_owned();
    }
    let texts: BTreeSet<String> = effects.iter().map(|effect| in_general(effect).to_string()).collect();
    let more = texts.iter().filter_map(|text| Rule::parse(Ruling::Allow, text).ok()).collect();
    let by_rules =
        format!("`allow = {}` under `[rules]` in your configuration allows it", serde_json::json!(texts));
    match (allows(Mode::ReadOnly, more), allows(Mode::Full, Vec::new())) {
        (true, true) => format!("{by_rules}, `--permission full` allows everything"),
        (true, false) => by_rules,
        (false, true) => "`--permission full` allows it, and everything else".to_owned(),
        (false, false) => "`haft policy check EFFECT` shows the rule that decides".to_owned(),
    }
}
