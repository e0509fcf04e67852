//! [`Exec`]: a model behind a one-shot command: a prompt in, text out, no calls (P-03, P-14 to P-17).
//!
//! ```text
//! ollama run qwen3-coder:30b "System: …\n\nUser: …\n\nAssistant: "
//! ```
//!
//! The protocol has no calls; to use tools, wrap the provider in `TextToolCalls` of `haft-text-calls`.
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

/// Placeholder of the prompt in an argument; if no argument has it, the prompt goes to the standard input.
const PROMPT: &str = "{prompt}";
/// Placeholder of the model's name in an argument.
const MODEL: &str = "{model}";
/// Default of [`Exec::patience`]: a command may load a model before its first output.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// Default of [`Exec::reply`]: four hours, as for local servers, since a model on this machine may be slow.
const REPLY: Duration = Duration::from_secs(14_400);

/// A command that answers one prompt. It is started for each reply. If the reply is dropped, the command and all its
/// children are killed.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Name in messages: `exec/NAME`.
    pub name: String,
    /// A path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// The arguments, which no shell interprets. `{prompt}` and `{model}` are replaced.
    pub arguments: Vec<String>,
    /// The working directory. `None`: that of this process.
    pub folder: Option<PathBuf>,
    /// The whole environment of the command, which inherits none of this process's variables.
    pub environment: Vec<(String, String)>,
    /// Maximum time without output.
    pub patience: Duration,
    /// The limit that [`crate::Timeouts::repeating`] describes.
    pub repeating: Duration,
    /// The limit that [`crate::Timeouts::reply`] describes.
    pub reply: Duration,
}

impl Exec {
    /// A command with the default limits, which runs in the directory of this process.
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

    /// The arguments with placeholders replaced. NUL is removed, since arguments cannot contain it.
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
