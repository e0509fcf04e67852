//! [`ClaudeRules`]: the permissions in a `settings.json` of Claude Code, as rules of Haft.
use super::{Places, Rules};
use crate::{system::System, untrusted_file};
use haft_core::{Rule, Ruling};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The permissions of one file. Source of the format: code.claude.com/docs/en/permissions, read 2026-11.
#[derive(Clone, Debug)]
pub(crate) struct ClaudeRules {
    pub(crate) file: PathBuf,
    /// The rules. Those that deny and ask are applied; those that allow are only shown.
    pub(crate) rules: Rules,
    /// Rules that Haft cannot express, each with the list that it comes from: `deny Bash(git * main)`.
    pub(crate) untranslated: Vec<String>,
    /// Why the file gives no rules, if it cannot be read.
    problem: Option<String>,
}

impl ClaudeRules {
    fn unread(file: PathBuf, why: String) -> Self {
        Self { file, rules: Rules::default(), untranslated: Vec::new(), problem: Some(why) }
    }

    /// Warnings for rules that the user relies on but that are not applied: rules that deny or ask, and a whole file
    /// that cannot be read.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let file = self.file.display();
        let unread =
            self.problem.iter().map(move |why| format!("`{file}` was ignored, with its rules: {why}"));
        let guards = |rule: &&String| rule.starts_with("deny ") || rule.starts_with("ask ");
        let file = self.file.display();
        let rules = self.untranslated.iter().filter(guards);
        unread.chain(
            rules.map(move |rule| format!("`{rule}` of `{file}` has no effect: Haft has no such rule")),
        )
    }
}

/// The folders that paths in a file are relative to.
struct Bases<'a> {
    home: Option<&'a Path>,
    /// For `/path`: the folder of the user's settings, or the project.
    settings: Option<&'a Path>,
}

/// The files that exist: the user's, the project's, and the project's file for this user alone. A file that cannot be
/// read gives no rules; Haft names it when a session starts and in `haft config show`.
pub(super) fn load(places: &Places, workspace: &Path) -> Vec<ClaudeRules> {
    let files = files(places, workspace).into_iter();
    files.filter_map(|(file, within)| read(places, file, within)).collect()
}

/// The files with permissions and hooks. For files of a project, also the folder that must contain them.
pub(crate) fn files<'a>(places: &Places, workspace: &'a Path) -> Vec<(PathBuf, Option<&'a Path>)> {
    let person = places.folder_of(System::Claude).map(|folder| (folder.join("settings.json"), None));
    let project = [".claude/settings.json", ".claude/settings.local.json"];
    person.into_iter().chain(project.map(|name| (workspace.join(name), Some(workspace)))).collect()
}

fn read(places: &Places, file: PathBuf, within: Option<&Path>) -> Option<ClaudeRules> {
    let written: Value = match untrusted_file::read(&file, within) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(written) => written,
            Err(error) => return Some(ClaudeRules::unread(file, error.to_string())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(ClaudeRules::unread(file, error.to_string())),
    };
    // Relative patterns of Haft begin in the folder of the project.
    let settings = if within.is_some() { None } else { file.parent() };
    let bases = Bases { home: places.person.as_deref(), settings };
    let mut untranslated = Vec::new();
    let permissions = &written["permissions"];
    let mut list = |ruling: Ruling| {
        let all = &permissions[ruling.name()];
        let mut found: Vec<String> = Vec::new();
        // A value that is no list, and an element that is no text, is reported as written.
        for rule in all.as_array().map_or(std::slice::from_ref(all), Vec::as_slice) {
            let rules = rule.as_str().filter(|_| all.is_array()).and_then(|rule| bases.translate(rule));
            match rules.filter(|all| all.iter().all(|rule| Rule::parse(ruling, rule).is_ok())) {
                Some(rules) => found.extend(rules),
                None if rule.is_null() => {}
                None => untranslated.push(format!("{} {}", ruling.name(), words(rule))),
            }
        }
        found.dedup();
        found
    };
    let (deny, ask, allow) = (list(Ruling::Deny), list(Ruling::Ask), list(Ruling::Allow));
    let is_other = |name: &&String| !["deny", "ask", "allow", "defaultMode"].contains(&name.as_str());
    match permissions {
        Value::Object(fields) => untranslated.extend(fields.keys().filter(is_other).cloned()),
        Value::Null if written.is_object() => {}
        wrong if written.is_object() => untranslated.push(format!("permissions {}", words(wrong))),
        _ => untranslated.push(words(&written).chars().take(60).collect()),
    }
    let rules = Rules { deny, ask, allow, only: Vec::new() };
    Some(ClaudeRules { file, rules, untranslated, problem: None })
}

/// A text without its quotes; other values as written.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Bases<'_> {
    /// The rules with the same meaning as `TOOL` or `TOOL(WHAT)`; `None` if Haft cannot express it.
    fn translate(&self, rule: &str) -> Option<Vec<String>> {
        let rule = rule.trim();
        let (tool, what) = match rule.split_once('(') {
            Some((tool, what)) => (tool.trim(), what.strip_suffix(')')?.trim()),
            None => (rule, "*"),
        };
        let one = |rule: String| Some(vec![rule]);
        match tool {
            "Bash" => one(format!("execute:{}", command(what)?)),
            "Read" => one(format!("read:{}", self.path(what)?)),
            // Haft has no separate tool for notebooks.
            "NotebookEdit" if what == "*" => one("write:**/*.ipynb".to_owned()),
            "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => one(format!("write:{}", self.path(what)?)),
            "WebFetch" if what == "*" => one("network:*".to_owned()),
            "WebFetch" => {
                let host = what.strip_prefix("domain:").filter(|host| !host.contains(['*', '/']))?;
                Some(["http", "https"].iter().map(|scheme| format!("network:{scheme}://{host}/*")).collect())
            }
            _ => match tool.strip_prefix("mcp__")?.split_once("__") {
                None => one(format!("execute:mcp:{} *", tool.trim_start_matches("mcp__"))),
                Some((server, "*")) => one(format!("execute:mcp:{server} *")),
                Some((server, tool)) => one(format!("execute:mcp:{server} {tool} *")),
            },
        }
    }

    /// Translates a pattern as in `.gitignore`: a name without `/` matches in every folder.
    fn path(&self, pattern: &str) -> Option<String> {
        let join = |base: Option<&Path>, rest: &str| Some(base?.join(rest).display().to_string());
        let pattern = pattern.trim_end_matches('/');
        if pattern == "*" {
            return Some("**".to_owned());
        }
        match pattern {
            "" => None,
            _ if pattern.starts_with('!') => None,
            _ if pattern.starts_with("//") => Some(pattern[1..].to_owned()),
            _ if pattern.starts_with("~/") => join(self.home, &pattern[2..]),
            _ if pattern.starts_with('/') && self.settings.is_some() => join(self.settings, &pattern[1..]),
            _ if pattern.starts_with('/') => Some(pattern[1..].to_owned()),
            _ if pattern.starts_with("./") => Some(pattern[2..].to_owned()),
            _ if pattern.contains('/') || pattern.starts_with("**") => Some(pattern.to_owned()),
            _ => Some(format!("**/{pattern}")),
        }
    }
}

/// Translates a command with or without `*` at its end. In Haft, `*` is allowed only at the end, as a word of its own.
fn command(words: &str) -> Option<String> {
    let (words, more) = match words.strip_suffix(":*").or_else(|| words.strip_suffix(" *")) {
        Some(words) => (words, " *"),
        None if words == "*" => ("", "*"),
        None => (words, ""),
    };
    let is_plain = !words.contains(['*', '"', '\'', '\\', '$', '`', '&', '|', ';', '<', '>', '(', '\n']);
    is_plain.then(|| format!("{words}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_the_rule_that_says_the_same_or_none() {
        let bases = Bases { home: Some(Path::new("/home/ann")), settings: None };
        let user = Bases { settings: Some(Path::new("/home/ann/.claude")), ..bases };
        let table: &[(&str, &[&str])] = &[
            ("Bash", &["execute:*"]),
            ("Bash(*)", &["execute:*"]),
            ("Bash(npm run build)", &["execute:npm run build"]),
            ("Bash(npm run test:*)", &["execute:npm run test *"]),
            ("Bash(git push *)", &["execute:git push *"]),
            ("Bash(git * main)", &[]),
            ("Bash(npm run test*)", &[]),
            ("Bash(a && b)", &[]),
            ("Read", &["read:**"]),
            ("Read(.env)", &["read:**/.env"]),
            ("Read(./.env)", &["read:.env"]),
            ("Read(./secrets/**)", &["read:secrets/**"]),
            ("Read(secrets/)", &["read:**/secrets"]),
            ("Read(~/.zshrc)", &["read:/home/ann/.zshrc"]),
            ("Read(//etc/passwd)", &["read:/etc/passwd"]),
            ("Read(!keep)", &[]),
            ("Edit(/docs/**)", &["write:docs/**"]),
            ("Write(src/*.rs)", &["write:src/*.rs"]),
            (
                "WebFetch(domain:example.org)",
                &["network:http://example.org/*", "network:https://example.org/*"],
            ),
            ("WebFetch(domain:*.example.org)", &[]),
            ("mcp__mail", &["execute:mcp:mail *"]),
            ("mcp__mail__*", &["execute:mcp:mail *"]),
            ("mcp__mail__send", &["execute:mcp:mail send *"]),
            ("WebSearch", &[]),
            ("Task(Explore)", &[]),
            ("Bash(open", &[]),
        ];
        for (rule, expected) in table {
            assert_eq!(bases.translate(rule).unwrap_or_default(), *expected, "{rule}");
        }
        assert_eq!(user.translate("Edit(/docs/**)").unwrap(), ["write:/home/ann/.claude/docs/**"]);
    }
}
