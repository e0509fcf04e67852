//! [`help`] (`haft help`): topics, and the help of each command.
use super::{command_line, overview::overview};
use haft_app::Failure;
use haft_core::schema::nearest;
use haft_terminal::Exit;
use std::io::{Write, stdout};

/// A topic: its name, what it is about, its page.
struct Topic(&'static str, &'static str, &'static str);

const TOPICS: [Topic; 4] = [
    Topic("permissions", "what runs without approval", include_str!("../help/permissions.txt")),
    Topic("sessions", "journals, resuming, undo", include_str!("../help/sessions.txt")),
    Topic("models", "providers, local servers, keys", include_str!("../help/models.txt")),
    Topic("configuration", "files, variables, options", include_str!("../help/configuration.txt")),
];

/// Without words, prints the commands and topics; with `topics`, only the topics; otherwise the page of a topic or the help
/// of a command. A topic takes precedence over a command of the same name, whose help `haft COMMAND --help` prints.
pub(crate) fn help(words: &[String]) -> Result<Exit, Failure> {
    let page = match words {
        [] => format!("{}\n{}", overview(&command_line::command()), topics()),
        [word] if word == "topics" => topics(),
        [word] => match TOPICS.iter().find(|topic| topic.0 == word) {
            Some(Topic(_, _, page)) => (*page).to_owned(),
            None => of_command(words)?,
        },
        words => of_command(words)?,
    };
    write!(stdout(), "{page}")?;
    Ok(Exit::Success)
}

fn topics() -> String {
    let lines = TOPICS.iter().map(|Topic(name, about, _)| format!("  {name:<14} {about}\n"));
    format!("Topics, with `haft help TOPIC`:\n{}", lines.collect::<String>())
}

fn of_command(words: &[String]) -> Result<String, Failure> {
    let mut command = command_line::command();
    let mut found = &mut command;
    for word in words {
        let known: Vec<String> = found.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        if found.find_subcommand(word).is_none() {
            return Err(unknown(words, word, &known));
        }
        found = found.find_subcommand_mut(word).expect("it was found");
    }
    Ok(found.render_long_help().to_string())
}

fn unknown(words: &[String], word: &str, known: &[String]) -> Failure {
    let topics = TOPICS.iter().map(|topic| topic.0).filter(|_| words.len() == 1);
    let names: Vec<&str> = topics.chain(known.iter().map(String::as_str)).collect();
    let near = nearest(word, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no help for `{}`", words.join(" ")))
        .hint(format!("{near}`haft help` lists commands and topics"))
}
