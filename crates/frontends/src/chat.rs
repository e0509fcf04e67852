//! A conversation line by line, without a full screen.
use crate::{
    Exit,
    print::{self, Options},
    signals::Interrupts,
};
use haft_core::{Command, Part, Seq};
use haft_engine::Session;
use rustyline::{DefaultEditor, error::ReadlineError};
use std::io::{BufRead, IsTerminal, Write, stdin, stdout};

/// Talks until the person leaves: `exit`, or the end of the input. `meant` gives what a line stands for;
/// nothing where it stands for nothing, which the person was told.
pub async fn run(
    session: &Session,
    options: &Options,
    interrupts: &mut Interrupts,
    meant: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Exit> {
    let chat = &options.chat;
    let prompt = chat.prompt.clone().unwrap_or_else(|| "> ".into());
    print_now(chat.banner.as_deref().unwrap_or("Type `exit` to leave.\n"))?;
    let mut reader = Reader::new()?;
    loop {
        let (line, back) = read(reader, prompt.clone()).await?;
        reader = back;
        let Some(line) = line else { break };
        let said = line.trim();
        if said.eq_ignore_ascii_case("exit") {
            break;
        }
        let command = match said {
            "/compact" => Command::Compact,
            said => match meant(said).filter(|said| !said.is_empty()) {
                Some(said) => Command::Prompt { parts: vec![Part::text(said)], channel: None },
                None => continue,
            },
        };
        print_now(chat.reply.as_deref().unwrap_or_default())?;
        print::turn(session, command, next(session), options, interrupts).await?;
        print_now(if chat.reply.is_some() { "\n\n" } else { "\n" })?;
    }
    Ok(Exit::Success)
}

/// The entry that is recorded next.
pub fn next(session: &Session) -> Seq {
    session.entries().last().map_or(Seq(0), |entry| Seq(entry.seq.0 + 1))
}

/// With editing and history on a terminal, plain lines from a pipe.
enum Reader {
    Terminal(Box<DefaultEditor>),
    Pipe,
}

impl Reader {
    fn new() -> anyhow::Result<Self> {
        match stdin().is_terminal() && stdout().is_terminal() {
            true => Ok(Self::Terminal(Box::new(DefaultEditor::new()?))),
            false => Ok(Self::Pipe),
        }
    }

    /// `None` at the end of the input.
    fn line(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        match self {
            Self::Terminal(editor) => match editor.readline(prompt) {
                Ok(line) => {
                    editor.add_history_entry(&line)?;
                    Ok(Some(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
                Err(ReadlineError::Eof) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::Pipe => {
                print_now(prompt)?;
                let mut line = String::new();
                Ok((stdin().lock().read_line(&mut line)? > 0).then_some(line))
            }
        }
    }
}

/// Reads on a thread of its own: a terminal blocks.
async fn read(mut reader: Reader, prompt: String) -> anyhow::Result<(Option<String>, Reader)> {
    tokio::task::spawn_blocking(move || {
        let line = reader.line(&prompt)?;
        Ok((line, reader))
    })
    .await?
}

fn print_now(text: &str) -> std::io::Result<()> {
    write!(stdout(), "{text}")?;
    stdout().flush()
}
