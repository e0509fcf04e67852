//! [`overview`]: the page of `haft --help` and `haft help`, generated from the commands and their descriptions.
use clap::Command;
use std::fmt::Write as _;

/// Headings, each with its lines. A line names commands that belong together.
const GROUPS: [(&str, &[&[&str]]); 4] = [
    ("Talk and work:", &[&["run"], &["chat", "attach"], &["resume"], &["undo", "redo"]]),
    ("Jobs:", &[&["build", "debug"], &["review", "triage"], &["jobs", "outbox"]]),
    (
        "See and set up:",
        &[
            &["sessions"],
            &["verify", "bundle"],
            &["blame", "attempts"],
            &["usage"],
            &["login", "logout"],
            &["models", "memory"],
            &["config", "policy"],
            &["doctor", "update"],
            &["agents", "profiles"],
            &["skills", "plugins"],
            &["commands", "tools"],
            &["help"],
        ],
    ),
    (
        "Serve and script:",
        &[
            &["serve", "telegram"],
            &["worker", "fleet"],
            &["acp", "mcp"],
            &["eval", "parse"],
            &["completions", "man"],
        ],
    ),
];

/// The text below the commands.
const COMMON: &str = "
Common options (all: `haft run --help`; version: `haft -V`):
  -m, --model PROVIDER/MODEL   `openai/gpt-5`, `ollama/qwen3` or `anthropic`
  -c, --continue               Continue the newest session in this directory
      --permission MODE        read-only, ask, accept-edits or full
Examples:
  haft                                     open a conversation here
  git diff | haft \"write a commit message\" ask once, with piped input
";

/// The page. A command that belongs to no group gets a line of its own at the end, so that none is missing.
pub(crate) fn overview(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!("{about}\n\nUsage: haft [OPTIONS] [PROMPT]... or haft COMMAND\n\n");
    for (heading, lines) in GROUPS {
        let _always_fits = writeln!(page, "{heading}");
        lines.iter().for_each(|names| page += &line(command, names));
    }
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, lines)| lines.concat().contains(&name));
    let rest = command.get_subcommands().filter(|found| !found.is_hide_set());
    for found in rest.filter(|found| !is_grouped(found.get_name())) {
        page += &line(command, &[found.get_name()]);
    }
    page + COMMON
}

fn line(command: &Command, names: &[&str]) -> String {
    let found: Vec<&Command> = names.iter().filter_map(|name| command.find_subcommand(name)).collect();
    let names =
        found.iter().flat_map(|found| [found.get_name()].into_iter().chain(found.get_visible_aliases()));
    let names = names.collect::<Vec<_>>().join(", ");
    let abouts: Vec<String> =
        found.iter().map(|found| found.get_about().map(ToString::to_string).unwrap_or_default()).collect();
    format!("  {names:<16}  {}\n", in_one_sentence(&abouts))
}

/// `List agents` and `List profiles`: `List agents; list profiles`.
fn in_one_sentence(abouts: &[String]) -> String {
    let lower = |text: &String| {
        let mut letters = text.chars();
        letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
    };
    let rest = abouts.iter().skip(1).map(lower);
    abouts.iter().take(1).cloned().chain(rest).collect::<Vec<String>>().join("; ")
}
