//! Pages of the documentation that the program itself writes.
use crate::kit::Place;
use serde_json::Value;
use std::{fs, path::Path};

/// Ends what people wrote.
const GENERATED: &str =
    "<!-- What follows is generated: UPDATE_DOCS=1 cargo test -p haft-cli --test it generated_pages -->\n";

#[test]
fn the_page_of_the_tools_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let written = fs::read_to_string(&file).unwrap();
    let (introduction, list) = written.split_once(GENERATED).expect("the page says where it is generated");
    let tools: Value = serde_json::from_str(&Place::new().run(&["tools", "schema"]).out).unwrap();
    let generated: String = tools.as_array().unwrap().iter().map(section).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, format!("{introduction}{GENERATED}{generated}")).unwrap();
    } else {
        assert!(list == generated, "run `UPDATE_DOCS=1 cargo test -p haft-cli --test it generated_pages`");
    }
}

/// A profile file that has a key which there is not is told of all that there are.
#[test]
fn the_page_of_profiles_has_every_key_and_every_profile() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiles.md");
    let page = fs::read_to_string(page).unwrap();
    let place = Place::new();
    let file = place.write("mine.toml", "no_such_key = 1\n");
    let ran = place.run(&["run", "--model", "script/m", "--profile", file.to_str().unwrap(), "go"]);
    let (_, known) = ran.err.split_once("expected one of").expect("the error lists the keys");
    let known: Vec<&str> = known.lines().next().unwrap().split('`').skip(1).step_by(2).collect();
    assert!(known.len() > 20, "{ran:?}");
    let listed = place.run(&["profiles", "list"]).out;
    let names = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    for word in known.into_iter().chain(names) {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
}

fn section(tool: &Value) -> String {
    let (function, parameters) = (&tool["function"], &tool["function"]["parameters"]);
    let mut section = format!("\n## `{}`\n\n{}\n", text(&function["name"]), text(&function["description"]));
    let required = parameters["required"].as_array().cloned().unwrap_or_default();
    section += "\n| argument | value | what it is |\n| --- | --- | --- |\n";
    for (name, parameter) in parameters["properties"].as_object().expect("parameters are an object") {
        let optional = if required.contains(&name.as_str().into()) { "" } else { ", optional" };
        let what = text(&parameter["description"]).replace('|', "\\|");
        section += &format!("| `{name}` | {}{optional} | {what} |\n", value(parameter));
    }
    section
}

fn value(parameter: &Value) -> String {
    if let Some(choices) = parameter["enum"].as_array() {
        return choices.iter().map(|choice| format!("`{}`", text(choice))).collect::<Vec<_>>().join(", ");
    }
    match text(&parameter["type"]) {
        "array" => format!("list of {}", value(&parameter["items"])),
        "object" => {
            let keys = parameter["properties"].as_object().expect("an object says its keys").keys();
            format!("`{{{}}}`", keys.map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        "integer" => "whole number".into(),
        "boolean" => "`true` or `false`".into(),
        _ => "text".into(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
