//! [`FENCED_SHELL`], PedroCLI's first form: calls as lines of a shell block. The first word is a tool; otherwise the
//! block is prose (X-07).
//!
//! ````text
//! ```bash
//! search -t "GenerateInstances" pkg/recurrence/
//! file pkg/recurrence/generator.go
//! code_edit -f generator.go -l 10:12 -r "func New() {"
//! code_edit -f notes.md -a "One more line"
//! file --path notes.md --action write --content "All of it"
//! ```
//! ````
//!
//! One line is one call. A quote may span lines, a `\` at the end of a line continues it on the next one, and a
//! here-document (`<<EOF`) adds lines.
use super::fences::{self, Blocks};
use crate::{Call, Dialect, Results, Said, Setting, leading::behind_thoughts, tokens::say, writing::Writing};

mod grammar;
mod words;
mod written;

pub(super) use grammar::from_flags;
use words::Command;

pub(crate) static FENCED_SHELL: Dialect = Dialect {
    examples: Some(written::examples),
    ..Dialect::own(
        "fenced_shell",
        &["pedro"],
        |setting| behind_thoughts(fences::reader(Shell(setting.clone())), setting),
        Writing::Own(|name, arguments| format!("```bash\n{}\n```", written::line(name, arguments))),
    )
    .results(Results::Numbered)
};

struct Shell(Setting);

impl Blocks for Shell {
    fn fits(&self, language: &str) -> bool {
        self.0.find_calls && ["bash", "sh", "shell"].contains(&language)
    }

    fn begins(&self, body: &str) -> Option<bool> {
        let begun = words::without_comments(body);
        let end = begun.find(char::is_whitespace)?;
        Some(self.0.tool(&begun[..end]).is_some())
    }

    fn read(&mut self, body: &str, _: &str) -> Option<Vec<Said>> {
        let first = words::without_comments(body).split_whitespace().next()?;
        self.0.tool(first)?;
        let mut said = Vec::new();
        for command in words::commands(body) {
            match self.call(&command) {
                Ok(call) => said.push(Said::Call(call)),
                // A line that cannot be parsed stays text, and the model gets the problem; the other lines are run.
                Err(why) => {
                    say(&mut said, Said::Text, &format!("{}\n", command.raw));
                    said.push(Said::problem(format!("`{}`: {why}", command.raw)));
                }
            }
        }
        Some(said)
    }
}

impl Shell {
    fn call(&self, command: &Command<'_>) -> Result<Call, String> {
        let words = match &command.words {
            // The command of `bash` is not split into words.
            words if command.raw.starts_with("bash ") && (command.document.is_some() || words.is_err()) => {
                vec!["bash"]
            }
            words => words.as_ref().map_err(String::clone)?.iter().map(String::as_str).collect(),
        };
        match self.0.tool(words[0]) {
            None => Err(format!("`{}` is not a tool", words[0])),
            Some(tool) => grammar::call(tool, &words[1..], command.raw, command.document),
        }
    }
}
