//! [`App::reply_parser`]: finds the calls in a model's text.
use crate::{App, Failure, config::Settings, model::call_format, session};
use haft_core::ToolSpec;
use haft_dialects::{Call, Dialect, Said, Setting, ToolSchema, dialect, guess, read};
use serde_json::{Value, json};
use std::{fmt, fs, path::Path, sync::Arc};

/// Parses replies of a model.
#[derive(Clone)]
pub struct ReplyParser {
    /// The dialect; `None` to detect it from the text.
    dialect: Option<&'static Dialect>,
    tools: Arc<[ToolSchema]>,
}

impl fmt::Debug for ReplyParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyParser")
            .field("dialect", &self.dialect.map(|dialect| dialect.name))
            .finish_non_exhaustive()
    }
}

impl App {
    /// Makes a parser for the tool-call format `name`, or `auto`, and for the tools in a file as `haft tools schema`
    /// prints them; without a file, for Haft's own tools.
    ///
    /// # Errors
    ///
    /// If there is no such format, or the file cannot be read.
    pub fn reply_parser(&self, name: &str, tools: Option<&Path>) -> Result<ReplyParser, Failure> {
        let dialect = match name {
            "auto" => None,
            name => Some(call_format(name)?),
        };
        Ok(ReplyParser { dialect, tools: self.schemas(tools)? })
    }

    /// The schemas of a file in the format of `haft tools schema`; without a file, those of the built-in tools.
    fn schemas(&self, file: Option<&Path>) -> Result<Arc<[ToolSchema]>, Failure> {
        let Some(file) = file else {
            let workspace = session::workspace(None)?;
            let config = self.config(&workspace, &Settings::default())?;
            let specs = session::tools(&self.environment, &config.profile()?, &[], None)?.specs();
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
}

impl ReplyParser {
    /// Parses `text` to `{"content","reasoning","tool_calls","problems","dialect"}`.
    pub fn parse(&self, text: &str) -> Value {
        let setting = Setting { tools: self.tools.clone(), beginnings: false, ..Setting::default() };
        let spoken = self.dialect.or_else(|| guess(&setting, text));
        // Without calls, only thoughts are separated, and nearly all models write those as Hermes does.
        let setting = Setting { find_calls: spoken.is_some(), ..setting };
        let said = spoken.or_else(|| dialect("hermes")).map(|dialect| read(dialect, &setting, [text]));
        account(spoken, said.unwrap_or_default())
    }
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
