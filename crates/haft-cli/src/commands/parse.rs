//! [`parse`] (`haft parse`): shows the calls in a model's text.
use crate::{CliContext, args::ParseArgs};
use haft_app::{Failure, config::Settings, session};
use haft_core::ToolSpec;
use haft_dialects::{Call, DIALECTS, Dialect, Said, Setting, ToolSchema, dialect, guess, read};
use haft_terminal::Exit;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write, stdin, stdout},
    path::Path,
    sync::Arc,
};

/// `haft parse`
pub(crate) fn parse(cli: &CliContext, args: &ParseArgs) -> Result<Exit, Failure> {
    let named = named(&args.dialect)?;
    let tools = tools(cli, args.tools.as_deref())?;
    let setting = Setting { tools, beginnings: false, ..Setting::default() };
    let text = text_of(&args.file)?;
    let spoken = named.or_else(|| guess(&setting, &text));
    // Without calls only thoughts are told apart, and nearly all write those as Hermes does.
    let setting = Setting { find_calls: spoken.is_some(), ..setting };
    let said = spoken.or_else(|| dialect("hermes")).map(|dialect| read(dialect, &setting, [text.as_str()]));
    writeln!(stdout(), "{:#}", account(spoken, said.unwrap_or_default()))?;
    Ok(Exit::Success)
}

fn text_of(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot read `{}`: {error}", file.display()));
    if file == Path::new("-") {
        let mut text = String::new();
        stdin().read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(failed)
}

/// Those of a file with definitions as `haft tools schema` prints them; else the built-in ones.
fn tools(cli: &CliContext, file: Option<&Path>) -> Result<Arc<[ToolSchema]>, Failure> {
    let Some(file) = file else {
        let workspace = session::workspace(None)?;
        let config = cli.config(&workspace, &Settings::default())?;
        let specs = session::tools(&cli.environment, &config.profile()?, &[], None)?.specs();
        let schema = |tool: &ToolSpec| {
            let ToolSpec { name, description, parameters, .. } = tool.clone();
            ToolSchema { name, description, parameters }
        };
        return Ok(specs.iter().map(schema).collect());
    };
    let wrong = |why: String| Failure::usage(format!("cannot read `{}`: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let list: Vec<Value> = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let specs = list.iter().map(|tool| spec(tool).ok_or_else(|| wrong(format!("`{tool}` has no name"))));
    specs.collect()
}

/// `{"type":"function","function":{…}}`, or the inner object alone.
fn spec(tool: &Value) -> Option<ToolSchema> {
    let tool = tool.get("function").unwrap_or(tool);
    Some(ToolSchema {
        name: tool["name"].as_str()?.into(),
        description: tool["description"].as_str().unwrap_or_default().into(),
        parameters: tool.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"})),
    })
}

/// `None` where it is to be guessed. Said before the text is read, which may come from a keyboard.
fn named(name: &str) -> Result<Option<&'static Dialect>, Failure> {
    if name == "auto" {
        return Ok(None);
    }
    dialect(name).map(Some).ok_or_else(|| {
        let known: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        Failure::usage(format!("there is no tool-call format `{name}`"))
            .hint(format!("there are {}", known.join(", ")))
    })
}

fn account(dialect: Option<&Dialect>, said: Vec<Said>) -> Value {
    let (mut content, mut reasoning) = (String::new(), String::new());
    let (mut calls, mut problems) = (Vec::new(), Vec::new());
    for said in said {
        match said {
            Said::Text(text) => content += &text,
            Said::Thinking(text) => reasoning += &text,
            Said::Problem(problem) => problems.push(problem.text),
            Said::ThinkingEnd => {}
            Said::Call(call) => {
                let arguments = call.object();
                let Call { id, name, .. } = call;
                let id = if id.is_empty() { format!("call_{}", calls.len()) } else { id };
                match arguments {
                    Ok(arguments) => calls.push(json!({"id": id, "name": name, "arguments": arguments})),
                    Err(why) => problems.push(why),
                }
            }
        }
    }
    json!({
        "content": content, "reasoning": reasoning, "tool_calls": calls, "problems": problems,
        "dialect": dialect.map(|dialect| dialect.name),
    })
}
