//! [`Reader`]: reads the user's lines: from a terminal with editing, completion and history, or from a pipe.
use crate::{console, history, host::Surroundings};
use crossterm::{event::DisableBracketedPaste, execute, style::Print};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{
    Config, Context, Editor, Helper,
    completion::{Completer, Pair},
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::MemHistory,
    validate::Validator,
};
use std::{
    io::{BufRead, IsTerminal, Write, stdin, stdout},
    path::PathBuf,
};

/// The source of lines.
pub(super) enum Reader {
    Terminal(Box<Editor<Words, MemHistory>>, Option<PathBuf>),
    Pipe,
}

/// The words that can be completed after a `/`.
pub(super) struct Words(Vec<String>);

impl Helper for Words {}
impl Highlighter for Words {}
impl Validator for Words {}

impl Hinter for Words {
    type Hint = String;
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..at).unwrap_or_default();
        let fitting = self.0.iter().filter(|name| typed.starts_with('/') && name.starts_with(typed));
        let pairs = fitting.map(|name| Pair { display: name.clone(), replacement: format!("{name} ") });
        Ok((0, pairs.collect()))
    }
}

impl Reader {
    pub(super) fn new(around: &Surroundings) -> anyhow::Result<Self> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            return Ok(Self::Pipe);
        }
        let mut editor = Editor::with_history(Config::default(), MemHistory::new())?;
        let names = console::names(&around.prompts).into_iter().map(|(name, _)| name);
        editor.set_helper(Some(Words(names.collect())));
        for line in around.history.as_deref().map(history::load).unwrap_or_default() {
            editor.add_history_entry(line)?;
        }
        Ok(Self::Terminal(Box::new(editor), around.history.clone()))
    }

    /// Reads a line; `None` at the end of the input. A `\` at the end of a line continues it on the next one.
    fn line(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        let mut text = String::new();
        let mut prompt = prompt;
        while let Some(line) = self.one(prompt)? {
            match line.trim_end_matches(['\n', '\r']).strip_suffix('\\') {
                Some(begun) => {
                    text += &format!("{begun}\n");
                    prompt = "  ";
                }
                None => {
                    text += &line;
                    self.remember(&text)?;
                    return Ok(Some(text));
                }
            }
        }
        Ok((!text.is_empty()).then_some(text))
    }

    fn one(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        match self {
            Self::Terminal(editor, _) => match editor.readline(prompt) {
                Ok(line) => Ok(Some(line)),
                Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
                Err(ReadlineError::Eof) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::Pipe => {
                super::print_now(prompt)?;
                let mut line = String::new();
                Ok((stdin().lock().read_line(&mut line)? > 0).then_some(line))
            }
        }
    }

    fn remember(&mut self, text: &str) -> anyhow::Result<()> {
        let Self::Terminal(editor, path) = self else { return Ok(()) };
        if text.trim().is_empty() || text.trim().eq_ignore_ascii_case("exit") {
            return Ok(());
        }
        editor.add_history_entry(text)?;
        let kept = path.as_deref().map_or(Ok(()), |path| history::append(path, text));
        kept.or_else(|error| Ok(writeln!(std::io::stderr(), "note: cannot save what you type: {error}")?))
    }
}

/// The mode of the terminal before lines were read from it, restored if the program exits while a line is edited.
pub(super) struct Before(Option<Termios>);

impl Before {
    pub(super) fn now(reader: &Reader) -> Self {
        Self(matches!(reader, Reader::Terminal(..)).then(|| tcgetattr(stdin()).ok()).flatten())
    }

    pub(super) fn restore(&self) {
        if let Some(before) = &self.0 {
            // While a line is edited, bracketed paste is on.
            let _the_terminal_may_be_gone = execute!(stdout(), DisableBracketedPaste, Print('\n'));
            let _the_terminal_may_be_gone = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}

/// Reads a line on a separate thread, since reading from a terminal blocks.
pub(super) async fn read(mut reader: Reader, prompt: String) -> anyhow::Result<(Option<String>, Reader)> {
    tokio::task::spawn_blocking(move || {
        let line = reader.line(&prompt)?;
        Ok((line, reader))
    })
    .await?
}
