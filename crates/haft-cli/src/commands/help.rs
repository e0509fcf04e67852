//! [`help`] (`haft help`): prints pages of the documentation, sections of pages, and the help of each command.
use super::{command_line, look::of_questions, overview::overview};
use crate::CliContext;
use haft_app::{
    Failure,
    topics::{self, Sections, TOPICS},
};
use haft_core::schema::nearest;
use haft_terminal::{Exit, document};
use std::io::{IsTerminal, Write, stdout};

/// Without words, prints the commands and topics; with `topics`, only the topics; otherwise a page, sections, or the
/// help of a command. A page or a section of exactly this name has precedence over a command of the same name; `haft
/// COMMAND --help` prints the help of the command.
pub(crate) fn help(cli: &CliContext, words: &[String]) -> Result<Exit, Failure> {
    let typed = words.join(" ").to_lowercase();
    let text = match (typed.as_str(), command_at(words)) {
        ("", _) => format!("{}\n{}", overview(&command_line::command()), topics()),
        ("topics", _) => topics(),
        (typed, command) => match (documented(typed), command) {
            (Some(text), None) => drawn(cli, &text),
            (Some(text), Some(_)) => drawn(cli, &text) + &format!("\nOptions: `haft {typed} --help`\n"),
            (None, Some(mut command)) => command.render_long_help().to_string(),
            (None, None) => match with_pages(topics::related_sections(typed)) {
                Some(text) => drawn(cli, &text),
                None => return Err(unknown(words)),
            },
        },
    };
    write!(stdout(), "{text}")?;
    Ok(Exit::Success)
}

fn topics() -> String {
    let lines = TOPICS.iter().map(|topic| format!("  {:<16} {}\n", topic.name, topic.about));
    let lines: String = lines.collect();
    format!("Topics, with `haft help TOPIC`; sections have names, too: `haft help hooks`\n{lines}")
}

/// The page or the sections with this name, in Markdown.
fn documented(typed: &str) -> Option<String> {
    topics::page(typed).or_else(|| with_pages(topics::sections(typed)))
}

/// Sections, each with the name of its page.
fn with_pages(sections: Vec<Sections>) -> Option<String> {
    let with_page =
        |Sections { topic, markdown }| format!("{markdown}\nThe whole page: `haft help {topic}`\n");
    let texts: Vec<String> = sections.into_iter().map(with_page).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Formats a page for the terminal, without a pager: sections are short, the terminal scrolls, and `| less` is as short
/// as a setting for it.
fn drawn(cli: &CliContext, markdown: &str) -> String {
    document::drawn(markdown, stdout().is_terminal().then(|| of_questions(cli)))
}

/// The command that `words` name, starting from the root command.
fn command_at(words: &[String]) -> Option<clap::Command> {
    let below = |found: clap::Command, word: &String| found.find_subcommand(word).cloned();
    words.iter().try_fold(command_line::command(), below)
}

fn unknown(words: &[String]) -> Failure {
    let known = (0..words.len()).rev().find_map(|count| Some((count, command_at(&words[..count])?)));
    let (count, command) = known.unwrap_or_else(|| (0, command_line::command()));
    let topics = if count == 0 { topics::words() } else { Vec::new() };
    let commands = command.get_subcommands().map(clap::Command::get_name);
    let names: Vec<&str> = topics.iter().map(String::as_str).chain(commands).collect();
    let near = nearest(&words[count..].join(" "), &names);
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no help for `{}`", words.join(" ")))
        .hint(format!("{near}`haft help` lists commands and topics"))
}
