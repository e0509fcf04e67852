//! [`read`]: reads an agent that was written for another system.
use super::{FoundAgent, RESERVED};
use crate::{
    header::Fields,
    source_dir::SourceDir,
    untrusted_file::{self, Warn},
};
use haft_core::{Mode, Registry};
use haft_engine::Agent;
use haft_tools::SKILL;
use serde_json::Value;
use std::path::PathBuf;

/// The tools that write files: an agent that lacks one of them gets none of them.
const WRITING: [&str; 6] = ["write", "edit", "multi_edit", "apply_patch", "code_edit", "file"];

/// The tools that run commands.
const RUNNING: [&str; 5] = ["bash", "job", "test", "git", "publish"];

/// The agent in `file`; `name` comes from the name of the file. `None` if it cannot be used, which `warn` reports, or
/// if it is switched off.
pub(super) fn read(dir: &SourceDir, name: &str, file: PathBuf, warn: Warn<'_>) -> Option<FoundAgent> {
    let text = untrusted_file::text(&file, dir.within.as_deref(), warn)?;
    let left_out = |why: String| warn(format!("the agent in `{}` was ignored: {why}", file.display()));
    let (mut fields, system) = Fields::of(&text).map_err(|bad| left_out(bad.to_string())).ok()?;
    if fields.text("disable").is_some_and(|value| value == "true") {
        return None;
    }
    let name = fields.text("name").unwrap_or_else(|| name.to_owned());
    let name = name.to_lowercase().replace([' ', ':'], "-");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) || RESERVED.contains(&name.as_str()) {
        left_out(format!("it cannot be called `{}`", name.escape_debug()));
        return None;
    }
    let agent = Agent {
        name: dir.named(name),
        description: fields.text("description").unwrap_or_default(),
        system: dir.filled(system.trim()),
        tools: tools(&mut fields),
        model: model(&mut fields, dir.is_own()),
        max_rounds: max_rounds(&mut fields),
        permission: permission(&mut fields),
        ..Agent::default()
    };
    let shadows = Vec::new();
    Some(FoundAgent { agent, file: Some(file), shadows, notes: fields.notes(), system: dir.system })
}

/// The model, if the file is the user's own and Haft knows the provider.
fn model(fields: &mut Fields, is_own: bool) -> Option<String> {
    let model = fields.text("model").filter(|model| model != "inherit")?;
    let is_known =
        model.split_once('/').is_some_and(|(provider, _)| crate::model::vendor_of(provider).is_some());
    let why = match (is_known, is_own) {
        (true, true) => return Some(model),
        (true, false) => "only a file of your own selects a model",
        (false, _) => "it is not `PROVIDER/MODEL`; the session's model is used",
    };
    fields.note(format!("`model: {model}` is ignored: {why}"));
    None
}

fn max_rounds(fields: &mut Fields) -> Option<u32> {
    let names = ["maxTurns", "max_turns", "maxSteps", "steps"];
    names.iter().filter_map(|name| fields.text(name)).find_map(|value| value.parse().ok())
}

/// The mode that the fields ask for, unless it would grant more than a file may.
fn permission(fields: &mut Fields) -> Option<Mode> {
    match fields.text("permissionMode")?.as_str() {
        "plan" => Some(Mode::ReadOnly),
        "default" => Some(Mode::Ask),
        other => {
            let note = format!("`permissionMode: {other}` is ignored: a file grants no permission");
            fields.note(note);
            None
        }
    }
}

/// The names of Haft's tools that the agent may call; `None` for all.
fn tools(fields: &mut Fields) -> Option<Vec<String>> {
    let all = haft_tools::builtin(&haft_tools::Settings::default());
    let listed = fields.list("tools").filter(|names| names != &["*"]);
    let mut left_out: Vec<String> = fields.list("disallowedTools").unwrap_or_default();
    if let Some(Value::Object(switches)) = fields.value("tools") {
        left_out.extend(switches.into_iter().filter(|(_, is_on)| is_on == false).map(|(name, _)| name));
    }
    if let Some(permission) = fields.value("permission") {
        left_out.extend(denied(&permission).map(str::to_owned));
        if !denies_alone(&permission) {
            fields.note("`permission`: only a tool that is denied as a whole is left out");
        }
    }
    let named =
        listed.map(|names| names.iter().filter_map(|name| tool(&all, name, fields)).collect::<Vec<_>>());
    if left_out.is_empty() {
        return named;
    }
    let left_out: Vec<String> = left_out.iter().flat_map(|name| with_its_like(&all, name)).collect();
    let offered = || all.names().map(str::to_owned).chain([SKILL.to_owned()]).collect();
    let named = named.unwrap_or_else(offered).into_iter();
    Some(named.filter(|name| !left_out.contains(name)).collect())
}

/// The tools that `permission` denies, such as `edit: deny`.
fn denied(permission: &Value) -> impl Iterator<Item = &str> {
    let all = permission.as_object().into_iter().flatten();
    all.filter(|(_, ruling)| *ruling == "deny").map(|(name, _)| name.as_str())
}

/// Whether `permission` only denies tools.
fn denies_alone(permission: &Value) -> bool {
    permission.as_object().is_some_and(|all| all.values().all(|ruling| ruling == "deny"))
}

/// Haft's name of a tool that another system calls `name`; tools of MCP servers keep their names.
fn tool(all: &Registry, name: &str, fields: &mut Fields) -> Option<String> {
    let (plain, limits) = name.split_once('(').map_or((name, None), |(plain, limits)| (plain, Some(limits)));
    if limits.is_some() {
        fields.note(format!("`tools`: what stands in brackets of `{name}` is ignored: your rules decide"));
    }
    if plain.starts_with("mcp__") {
        return Some(plain.to_owned());
    }
    let known = own_name(all, plain);
    if known.is_none() {
        fields.note(format!("`tools`: Haft has no tool `{plain}`"));
    }
    known
}

fn own_name(all: &Registry, name: &str) -> Option<String> {
    let of_skills = || name.eq_ignore_ascii_case(SKILL).then(|| SKILL.to_owned());
    all.get(name).map(|known| known.tool.spec().name.clone()).or_else(of_skills)
}

/// The tool and those with the same effect: an agent that must not edit must not apply patches, either.
fn with_its_like(all: &Registry, name: &str) -> Vec<String> {
    let Some(own) = own_name(all, name) else { return vec![name.to_owned()] };
    let alike = [&WRITING[..], &RUNNING[..]].into_iter().find(|names| names.contains(&own.as_str()));
    alike.map_or_else(|| vec![own.clone()], |names| names.iter().map(|name| (*name).to_owned()).collect())
}
