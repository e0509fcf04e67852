//! [`line`]: writes a call as a line of a shell block; [`examples`]: examples of such lines.
use crate::writing::{ArgumentMap, bare};
use serde_json::Value;

/// A line of a shell block, in the tool's own grammar if possible.
pub(super) fn line(name: &str, arguments: &ArgumentMap) -> String {
    let text = |key: &str| arguments.get(key).map(|value| quoted(&bare(value)));
    let keys: Vec<&str> = arguments.keys().map(String::as_str).collect();
    let has_only = |known: &[&str]| keys.iter().all(|key| known.contains(key));
    let path = || text("path").map_or_else(String::new, |path| format!(" {path}"));
    match (name, arguments.get("action").and_then(Value::as_str)) {
        ("file", None | Some("read")) if has_only(&["path", "action"]) => format!("file{}", path()),
        ("search", None) if has_only(&["query", "path"]) && text("query").is_some() => {
            format!("search -t {}{}", text("query").unwrap_or_default(), path())
        }
        ("code_edit", Some("append")) => {
            format!("code_edit -f{} -a {}", path(), text("text").unwrap_or_default())
        }
        ("code_edit", Some("replace")) if text("start").is_some() => {
            let start = text("start").unwrap_or_default();
            let end = text("end").unwrap_or_else(|| start.clone());
            format!("code_edit -f{} -l {start}:{end} -r {}", path(), text("text").unwrap_or_default())
        }
        ("navigate", Some(action)) if has_only(&["path", "action"]) && text("path").is_some() => {
            format!("navigate {action}{}", path())
        }
        ("git", Some(action)) if has_only(&["action", "words"]) => {
            let words = arguments.get("words").and_then(Value::as_array).into_iter().flatten();
            format!(
                "git {action}{}",
                words.map(|word| format!(" {}", quoted(&bare(word)))).collect::<String>()
            )
        }
        ("bash", _) if keys == ["command"] => format!("bash -c {}", text("command").unwrap_or_default()),
        _ => {
            let named = |(key, value): (&String, &Value)| format!(" --{key} {}", quoted(&bare(value)));
            format!("{name}{}", arguments.iter().map(named).collect::<String>())
        }
    }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Calls of PedroCLI's tools as shell lines, which cannot be derived from their schemas.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("file", &["file notes.md", "file --path notes.md --action write --content \"All of the file\""]),
    (
        "code_edit",
        &[
            "code_edit -f notes.md -l 2:3 -r \"In place of these lines\"",
            "code_edit -f notes.md -l 2 -i \"Before this line\"",
            "code_edit -f notes.md -l 2:3 -d",
            "code_edit -f notes.md -a \"At the end\"",
        ],
    ),
    ("search", &["search -t \"func New\" pkg/", "search -d New", "search -f \"*.go\""]),
    ("navigate", &["navigate outline main.go"]),
    ("git", &["git status"]),
    ("bash", &["bash echo \"any command\""]),
    ("test", &["test"]),
];

/// A block with calls of all tools with known examples.
pub(super) fn examples(tools: &[&str]) -> Option<String> {
    let of = |tool: &&str| COMMANDS.iter().find(|(name, _)| name == tool).map(|(_, lines)| *lines);
    let lines: Vec<&str> = tools.iter().filter_map(of).flatten().copied().collect();
    (!lines.is_empty()).then(|| format!("```bash\n{}\n```", lines.join("\n")))
}
