//! A model behind a one-shot command: a prompt in, text out, no calls (P-03, P-14 to P-17).
//!
//! ```text
//! ollama run qwen3-coder:30b "System: …\n\nUser: …\n\nAssistant: "
//! ```
//!
//! Nothing in the protocol knows calls; to work with tools, wrap it in `TextToolCalls` of `haft-text-calls`.
mod clean;
mod prompt;
mod running;

use crate::{Timeouts, patience::Course};
use async_stream::try_stream;
use clean::Clean;
use futures::stream::BoxStream;
use haft_core::{Delta, Provider, ProviderError, Request, StopReason, Usage, clip, reply::MAX_TEXT};
use running::Running;
use std::{path::PathBuf, time::Duration};

/// Stands for the prompt in an argument; where no argument has it, the prompt goes to the standard input.
const PROMPT: &str = "{prompt}";
/// Stands for the model's name in an argument.
const MODEL: &str = "{model}";
/// A command may load a model before it says anything.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// A model on this machine may be slow: four hours, as for its servers.
const REPLY: Duration = Duration::from_secs(14_400);

/// A command that answers one prompt. It is started for each reply, and killed with all that it started when the reply
/// is dropped.
#[derive(Clone, Debug)]
pub struct Exec {
    /// How it is called in messages: `exec/NAME`.
    pub name: String,
    /// Looked up in the `PATH`; or a path.
    pub program: PathBuf,
    /// What it is given, one by one; no shell reads them. `{prompt}` and `{model}` stand for what their names say.
    pub arguments: Vec<String>,
    /// The folder that it starts in. `None`: where this process runs.
    pub folder: Option<PathBuf>,
    /// The whole environment of the command, which inherits none of this process's variables.
    pub environment: Vec<(String, String)>,
    /// For how long it may say nothing.
    pub patience: Duration,
    /// The limit that [`crate::Timeouts::repeating`] describes.
    pub repeating: Duration,
    /// The limit that [`crate::Timeouts::reply`] describes.
    pub reply: Duration,
}

impl Exec {
    /// A command with the default limits, which starts in the folder of this process.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments,
            folder: None,
            environment: Vec::new(),
            patience: COMMAND_TIMEOUT,
            repeating: Timeouts::default().repeating,
            reply: REPLY,
        }
    }

    fn takes_prompt(&self) -> bool {
        self.arguments.iter().any(|argument| argument.contains(PROMPT))
    }

    /// What the program is given. No argument can hold a NUL.
    fn filled(&self, prompt: &str, model: &str) -> Vec<String> {
        let fill = |argument: &String| {
            let pieces: Vec<String> =
                argument.split(PROMPT).map(|piece| piece.replace(MODEL, model)).collect();
            pieces.join(prompt).replace('\0', "")
        };
        self.arguments.iter().map(fill).collect()
    }

    fn rejected(&self, message: String, hint: &str) -> ProviderError {
        ProviderError::Rejected { provider: self.title(), message, hint: Some(hint.to_owned()) }
    }

    fn broken(&self, what: &str) -> ProviderError {
        let message = format!("`{}` {what}", self.program.display());
        ProviderError::Connection { provider: self.title(), message, source: None }
    }

    fn title(&self) -> String {
        format!("exec/{}", self.name)
    }
}

impl Provider for Exec {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let exec = self.clone();
        Box::pin(try_stream! {
            let prompt = prompt::render(&request);
            let mut running = Running::start(&exec, &prompt, &request.model)?;
            let (mut clean, mut said) = (Clean::default(), String::new());
            let mut course = Course::new(exec.repeating, exec.reply);
            let mut stop = StopReason::EndTurn;
            while let Some(bytes) = running.next(&exec).await? {
                let text = clean.push(&bytes);
                if text.is_empty() {
                    continue;
                }
                running.wait_on(&exec);
                said.push_str(&text);
                let delta = Delta::Text(text);
                let over = course.is_over_with(&delta);
                yield delta;
                if let Some(why) = over.or((said.len() > MAX_TEXT).then_some(StopReason::Endless)) {
                    stop = why;
                    break;
                }
            }
            if stop == StopReason::EndTurn {
                running.finish(&exec).await?;
            }
            yield Delta::Usage(usage(&prompt, &said));
            yield Delta::Stop(stop);
        })
    }
}

/// P-17: an estimate, since a command reports no usage.
fn usage(prompt: &str, said: &str) -> Usage {
    let tokens = |text| clip::tokens(text) as u64;
    Usage { input: tokens(prompt), output: tokens(said), ..Usage::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let exec = |arguments: &[&str]| {
            Exec::new("x", "x", arguments.iter().map(|argument| (*argument).to_owned()).collect())
        };
        let table = [
            (exec(&["run", "{model}", "{prompt}"]), vec!["run", "m", "say {model} {prompt}"], true),
            (exec(&["--p={prompt};{prompt}"]), vec!["--p=say {model} {prompt};say {model} {prompt}"], true),
            (exec(&["run", "{model}"]), vec!["run", "m"], false),
        ];
        for (exec, expected, takes_prompt) in table {
            assert_eq!(exec.filled("say {model} {prompt}\0", "m"), expected);
            assert_eq!(exec.takes_prompt(), takes_prompt);
        }
    }
}
