//! [`page`]: generates `docs/configuration.md` from the table of settings and the types of the files.
use super::{ProjectFile, SETTINGS, Setting, UserFile};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;
use std::{fmt::Write, fs, path::Path};

/// The text above the tables.
const INTRODUCTION: &str = "\
# Configuration

Haft works without a configuration. It reads settings from these places; the first one that has a value wins:

1. command-line options,
2. environment variables `HAFT_*`,
3. your own file, `~/.config/haft/config.toml` (`haft config path` prints where it is),
4. the profile.

The file `.haft/config.toml` of a project comes with the repository, so Haft does not trust it: it can only restrict what
the others allow. `haft config show` prints each value in effect and its source, `haft config get KEY` one value alone
(exit code 1 if it is not set). An unknown key or an invalid
value is an error that names the file, the line, and the expected value.

`haft config set KEY VALUE` writes a value to your own file and keeps your comments: `haft config set model anthropic`,
`haft config set timeouts.idle 120`. It never writes an invalid file. `haft config unset KEY` removes a value.

One exception: a `--max-…` option replaces the profile's value, even with a larger one, but cannot exceed the value in your
configuration, your `HAFT_*` variable or the project's file.

## Settings

";

/// The text below the settings.
const VARIABLES: &str = "
## Other variables

| variable | what it does |
| --- | --- |
| `HAFT_HOME` | Folder of sessions, jobs and keys in place of `haft` in `XDG_DATA_HOME`, or `~/.local/share/haft` |
| `XDG_CONFIG_HOME`, `XDG_CACHE_HOME` | Folders in place of `~/.config` and `~/.cache` |
| `HAFT_MODELS` | Folder of downloaded models in place of `models` in that folder |
| `HAFT_PLAIN` | With any value, a conversation is printed line by line and draws no screen, as with `--plain` |
| `HAFT_FLEET` | Address of a fleet's database, `postgres://…`, for `haft worker`, `haft fleet` and `haft serve --fleet` |
| `HAFT_FLEET_KEY` | Key of a fleet's secrets: 64 hexadecimal digits, the same on all of its machines |
| `HAFT_SERVE_TOKEN` | Token that `haft attach` sends |
| `HAFT_RECORD` | File to which exchanges with a provider are recorded, to be played back in tests |
| `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy` | Proxy through which Haft reaches providers and other servers, and the hosts that need none; in small or capital letters |
| `SSL_CERT_FILE` | PEM file with the certificate authorities that Haft trusts, in place of the system's |
| `NO_COLOR` | With any value, there are no colors |

Keys of providers are variables, too (`OPENAI_API_KEY` …): `haft help models` lists them.
";

#[test]
fn the_page_of_the_configuration_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "run `UPDATE_DOCS=1 cargo test -p haft-app up_to_date`");
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page += "| key | option | variable | in a project's file | default | what it does |\n| --- | --- | --- | --- | --- | --- |\n";
    page.extend(SETTINGS.iter().map(row));
    page += VARIABLES;
    page += "\n## Tables of your own file\n";
    tables(&mut page, &[], &schema::<UserFile>());
    page += "\n## Tables of a project's file\n";
    tables(&mut page, &[], &schema::<ProjectFile>());
    page
}

fn row(setting: &Setting) -> String {
    let option = match (setting.has_flag, setting.value) {
        (false, _) => String::new(),
        (true, "") => format!("`{}`", setting.flag()),
        (true, value) => format!("`{} {}`", setting.flag(), cell(value)),
    };
    let project = if setting.is_narrowed { "can only restrict" } else { "" };
    let otherwise = if setting.is_of_profile { "as the profile says" } else { setting.otherwise };
    let (key, variable) = (setting.key, setting.variable());
    format!("| `{key}` | {option} | `{variable}` | {project} | {otherwise} | {} |\n", cell(setting.help))
}

/// The schema of `T` without any `$ref`.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Adds a section for each table below `schema`, whose path is `path`.
fn tables(page: &mut String, path: &[&str], schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (key, property) in properties {
        let (below, kind) = inside(property);
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).chain(kind).collect();
        let text = description(property);
        match below["properties"].as_object() {
            Some(keys) => {
                let values: Vec<_> = keys.iter().filter(|(_, value)| !is_table(value)).collect();
                let name = path.join(".");
                let name = if below == property || kind.is_some() {
                    format!("[{name}]")
                } else {
                    format!("[[{name}]]")
                };
                writeln!(page, "\n### `{name}`\n\n{}.", without_ids(text)).unwrap();
                if !values.is_empty() {
                    page.push_str("\n| key | value | what it does |\n| --- | --- | --- |\n");
                }
                for (key, value) in values {
                    writeln!(page, "| `{key}` | {} | {} |", type_of(value), cell(description(value)))
                        .unwrap();
                }
                tables(page, &path, below);
            }
            None if path.len() == 1 => {
                writeln!(page, "\n### `{key}`\n\n{text}. Value: {}.", type_of(property)).unwrap()
            }
            None => {}
        }
    }
}

/// The table in a property, which may be in a list or under names that the user chooses.
fn inside(property: &Value) -> (&Value, Option<&'static str>) {
    match (&property["items"], &property["additionalProperties"]) {
        (items, _) if items["properties"].is_object() => (items, None),
        (_, named) if named["properties"].is_object() => (named, Some("NAME")),
        _ => (property, None),
    }
}

fn is_table(property: &Value) -> bool {
    inside(property).0["properties"].is_object()
}

fn type_of(property: &Value) -> String {
    let choices = property["oneOf"].as_array().or(property["anyOf"].as_array());
    if let Some(choices) = choices {
        let choices = choices.iter().filter(|choice| choice["type"] != "null").map(type_of);
        let choices: Vec<String> = choices.collect();
        let are_words = choices.iter().all(|choice| choice.starts_with('`'));
        return choices.join(if are_words { ", " } else { " or " });
    }
    let names = |names: &[Value]| {
        names
            .iter()
            .filter(|name| !name.is_null())
            .map(|name| format!("`{}`", text(name)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match property {
        one if one["const"].is_string() => names(&[one["const"].clone()]),
        some if some["enum"].is_array() => names(some["enum"].as_array().expect("it is one")),
        list if !list["items"].is_null() => format!("list of {}", type_of(&list["items"])),
        named if named["additionalProperties"].is_object() => {
            format!("table of {} by name", type_of(&named["additionalProperties"]))
        }
        other => {
            let kind = &other["type"];
            let kind =
                kind.as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).unwrap_or(kind);
            match kind.as_str() {
                Some("boolean") => "`true` or `false`".to_owned(),
                Some("integer") => "whole number".to_owned(),
                Some("number") => "number".to_owned(),
                Some("object") => "table".to_owned(),
                _ => "text".to_owned(),
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn description(property: &Value) -> &str {
    text(&property["description"]).trim_end_matches('.')
}

/// Removes requirement IDs from the text of comments.
fn without_ids(text: &str) -> String {
    let ids = regex::Regex::new(r" \([A-Z]-\d+(, [A-Z]-\d+)*\)").expect("the pattern is constant");
    ids.replace_all(text, "").into_owned()
}

fn cell(text: &str) -> String {
    without_ids(text).replace('\n', " ").replace('|', "\\|")
}
