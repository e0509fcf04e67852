//! [`StatusLine`]: what the last line of the screen shows: a template of the user, or the output of a command.
use crate::paint::links::visible;
use haft_core::schema::nearest;
use haft_present::safe;
use haft_process::{Exit, Program};
use serde_json::Value;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// Names in a template, with their meaning.
pub const STATUS_FIELDS: &[(&str, &str)] = &[
    ("model", "the model"),
    ("effort", "how hard it thinks, if that was chosen"),
    ("agent", "the agent, if it is not the usual one"),
    ("mode", "the permission mode"),
    ("session", "the name of the session, or its ID"),
    ("folder", "the last part of the folder's path"),
    ("window", "how full the model's window is"),
    ("tokens", "tokens of the session"),
    ("cost", "dollars that the session cost"),
    ("goal", "the goal, and how often it was checked"),
    ("tasks", "how many background tasks run"),
    ("vim", "the mode of the keys of vi"),
];

/// Separates the parts of a template. A part is left out if none of its names has a value.
const SEPARATOR: &str = " · ";
/// Timeout of a command.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes of output that are kept.
const MAX_OUTPUT: usize = 16 << 10;

/// The content of the last line; by default Haft's own.
#[derive(Clone, Debug, Default)]
pub struct StatusLine {
    /// The template, in parts.
    template: Option<Vec<Vec<Piece>>>,
    /// The command, which `sh` interprets.
    command: Option<StatusCommand>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Field(&'static str),
}

/// A command whose first line of output is shown.
#[derive(Clone, Debug)]
pub(crate) struct StatusCommand(String);

/// The input of the status line's command, and its output.
#[derive(Default)]
pub(crate) struct StatusOutput {
    pub(crate) line: Option<String>,
    pub(crate) told: Option<Value>,
    pub(crate) started: Option<Instant>,
    pub(crate) is_running: bool,
    /// A command that fails repeatedly is reported only once.
    pub(crate) has_failed: bool,
}

impl StatusLine {
    /// A status line with `template`, in which `{NAME}` stands for one of [`STATUS_FIELDS`], and a `command` whose
    /// output takes precedence over the template.
    ///
    /// # Errors
    ///
    /// If the template has an unknown name; the error names it.
    pub fn new(template: Option<&str>, command: Option<String>) -> Result<Self, String> {
        let template =
            template.map(|template| template.split(SEPARATOR).map(pieces).collect::<Result<_, _>>());
        Ok(Self { template: template.transpose()?, command: command.map(StatusCommand) })
    }

    pub(crate) fn command(&self) -> Option<&StatusCommand> {
        self.command.as_ref()
    }

    /// The template with the values that `fact` returns for its names; `None` without a template.
    pub(crate) fn filled(&self, fact: impl Fn(&str) -> Option<String>) -> Option<String> {
        let parts = self.template.as_ref()?.iter().filter_map(|part| filled(part, &fact));
        Some(parts.collect::<Vec<_>>().join(SEPARATOR))
    }
}

impl StatusCommand {
    /// Runs the command in `folder` with `environment`, with `facts` on its standard input, and returns the first line
    /// of its output without control characters. The error says why the command failed.
    pub(crate) async fn run(
        self,
        folder: &Path,
        environment: Arc<[(String, String)]>,
        facts: String,
    ) -> Result<String, String> {
        let program = Program {
            program: "sh".into(),
            arguments: vec!["-c".into(), self.0.into()],
            folder: folder.to_owned(),
            environment,
            timeout: Some(TIMEOUT),
            capture: MAX_OUTPUT,
            confinement: None,
        };
        let ended = program.run_with(facts.as_bytes(), |_| ()).await;
        let ended = ended.map_err(|error| error.to_string())?;
        match ended.exit {
            Exit::Code(0) => Ok(clean(ended.stdout.text.lines().next().unwrap_or_default())),
            Exit::Code(code) => {
                let said = clean(ended.stderr.text.trim().lines().next().unwrap_or_default());
                Err(format!("exit code {code}{}{said}", if said.is_empty() { "" } else { ": " }))
            }
            Exit::Signal(signal) => Err(format!("ended by signal {signal}")),
            Exit::TimedOut => Err(format!("took more than {} s", TIMEOUT.as_secs())),
        }
    }
}

fn pieces(mut part: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    while let Some((text, rest)) = part.split_once('{') {
        let (name, rest) = rest.split_once('}').ok_or("a `{` has no `}`")?;
        pieces.push(Piece::Text(text.to_owned()));
        pieces.push(Piece::Field(known(name)?));
        part = rest;
    }
    pieces.push(Piece::Text(part.to_owned()));
    Ok(pieces)
}

fn known(name: &str) -> Result<&'static str, String> {
    let names: Vec<&'static str> = STATUS_FIELDS.iter().map(|(name, _)| *name).collect();
    names.iter().copied().find(|known| *known == name).ok_or_else(|| {
        let near = nearest(name, &names).map(|near| format!("; did you mean `{{{near}}}`?"));
        let all = || format!("; there are {{{}}}", names.join("}, {"));
        format!("there is no `{{{name}}}`{}", near.unwrap_or_else(all))
    })
}

/// Fills in a part; `None` if it has names, and none of them has a value.
fn filled(part: &[Piece], fact: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut text, mut has_names, mut has_facts) = (String::new(), false, false);
    for piece in part {
        match piece {
            Piece::Text(said) => text += said,
            Piece::Field(name) => {
                let said = fact(name);
                (has_names, has_facts) = (true, has_facts || said.is_some());
                text += &said.unwrap_or_default();
            }
        }
    }
    (has_facts || !has_names).then_some(text)
}

/// Removes colors and control characters.
pub(crate) fn clean(line: &str) -> String {
    safe::text(&visible(line).collect::<String>()).replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_shows_what_there_is() {
        let table = [
            ("{model} · {mode}", Ok("m · ask")),
            ("{model} · {cost} · in {folder}", Ok("m · in w")),
            ("<{model}{cost}>", Ok("<m>")),
            ("hello · {cost}", Ok("hello")),
            ("", Ok("")),
            ("{modell}", Err("there is no `{modell}`; did you mean `{model}`?")),
            ("{model", Err("a `{` has no `}`")),
        ];
        let facts = [("model", "m"), ("mode", "ask"), ("folder", "w")];
        for (template, expected) in table {
            let fact = |name: &str| {
                let found = facts.iter().find(|(known, _)| *known == name);
                found.map(|(_, said)| (*said).to_owned())
            };
            let line = StatusLine::new(Some(template), None);
            let line = line.map(|line| line.filled(fact).unwrap());
            assert_eq!(line, expected.map(str::to_owned).map_err(str::to_owned), "{template}");
        }
        assert!(StatusLine::default().filled(|_| None).is_none());
    }

    #[test]
    fn nothing_of_a_command_reaches_the_terminal_as_a_control() {
        assert_eq!(clean("\x1b[31mred\x1b[0m\t\u{7}a\u{9b}b"), "red ab");
    }
}
