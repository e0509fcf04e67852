//! [`Topic`]: a page of the documentation that is built into the program. [`page`] and [`sections`] find pages by
//! words.

/// A page of `docs/`.
pub struct Topic {
    /// The name of its file, without `.md`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    markdown: &'static str,
}

macro_rules! topics {
    ($($name:literal $about:literal,)*) => {
        &[$(Topic {
            name: $name,
            about: $about,
            markdown: include_str!(concat!("../docs/", $name, ".md")),
        }),*]
    };
}

/// The pages for users of Haft; the ones to read first come first.
pub const TOPICS: &[Topic] = topics! {
    "terminal" "the screen: keys, slash commands, approvals",
    "models" "providers, local servers, models inside Haft",
    "eval" "your own benchmark: models on your tasks",
    "updating" "newer releases, and the one before",
    "secrets" "API keys, and what commands see of them",
    "permissions" "what runs without approval, and rules",
    "plan-and-goal" "a plan before the work, a check that ends it",
    "outbox" "a night without questions: what waits for you",
    "memory" "lines of AGENTS.md that sessions show",
    "security" "the sandbox: what a confined command may do",
    "sessions" "journals, resuming, forks, undo",
    "proof" "sessions that others can verify",
    "bundle-format" "the format of chains and bundles",
    "agents" "notes, skills, saved prompts, agents, hooks",
    "ecosystem" "files of other systems, and plugins",
    "configuration" "settings: files, variables, options",
    "tools" "tools that a model can call, with their arguments",
    "lsp" "language servers, and what a change breaks",
    "profiles" "prompts, limits and output formats as data",
    "limits" "limits and timeouts",
    "jobs" "build, debug, review and triage",
    "mcp" "tools of MCP servers, and Haft as one",
    "editors" "Haft in editors that speak ACP",
    "serve" "sessions and jobs over HTTP, and fleets",
    "users" "users of a server, their roles, and the log of what they did",
    "deploy" "a server or a fleet in production",
    "ci" "GitHub, GitLab, and Harbor with Terminal-Bench",
    "telemetry" "traces and metrics for OpenTelemetry",
    "telegram" "Haft as a Telegram bot",
    "embedding" "Haft as a library",
    "performance" "what was measured",
    "compatibility" "formats and versions, and what is promised",
    "demonstrations" "what is different, shown by commands",
    "comparison" "beside Codex, Claude Code, opencode and pi",
    "troubleshooting" "messages, and what to do about them",
};

/// Words that occur in no heading, with the page or the section that they stand for.
const SYNONYMS: [(&str, &str); 13] = [
    ("sandbox", "security"),
    ("key", "secrets"),
    ("login", "secrets"),
    ("policy", "permissions"),
    ("rules", "permissions"),
    ("providers", "models"),
    ("timeouts", "limits"),
    ("acp", "editors"),
    ("fleet", "a fleet"),
    ("library", "embedding"),
    ("plan", "plan-and-goal"),
    ("goal", "plan-and-goal"),
    ("benchmark", "eval"),
];

/// The sections of one page that match.
pub struct Sections {
    /// The name of the page.
    pub topic: &'static str,
    /// The text of the sections, in Markdown.
    pub markdown: String,
}

/// The page with this name or synonym, in Markdown. A link to another page becomes a `haft help` command.
#[must_use]
pub fn page(word: &str) -> Option<String> {
    let meant = meant(word);
    TOPICS.iter().find(|topic| topic.name == meant).map(|topic| readable(topic.markdown))
}

/// The sections whose heading is `words`, or what `words` is a synonym for, in the order of the pages.
#[must_use]
pub fn sections(words: &str) -> Vec<Sections> {
    let meant = plain(meant(words));
    matching(&|heading| heading == meant)
}

/// The sections whose heading contains all of `words`.
#[must_use]
pub fn related_sections(words: &str) -> Vec<Sections> {
    let words = plain(words);
    matching(&|heading| {
        let is_there = |word| heading.split([' ', ',', '.']).any(|part| part == word);
        words.split(' ').all(is_there)
    })
}

/// All words that [`page`] and [`sections`] know, to find the nearest match of an unknown word.
#[must_use]
pub fn words() -> Vec<String> {
    let names = TOPICS.iter().map(|topic| topic.name.to_owned());
    let headings =
        TOPICS.iter().flat_map(|topic| headings(topic.markdown)).map(|heading| plain(heading.title));
    names.chain(SYNONYMS.iter().map(|(word, _)| (*word).to_owned())).chain(headings).collect()
}

fn meant(word: &str) -> &str {
    SYNONYMS.iter().find(|(synonym, _)| *synonym == word).map_or(word, |(_, meant)| meant)
}

fn matching(is_meant: &dyn Fn(&str) -> bool) -> Vec<Sections> {
    let of = |topic: &Topic| {
        let found = headings(topic.markdown).into_iter().filter(|heading| is_meant(&plain(heading.title)));
        let text: Vec<String> = found.map(|heading| readable(heading.section)).collect();
        (!text.is_empty()).then(|| Sections { topic: topic.name, markdown: text.join("\n") })
    };
    TOPICS.iter().filter_map(of).collect()
}

struct Heading<'a> {
    title: &'a str,
    /// The text from the heading to the next one of the same or a higher level.
    section: &'a str,
}

fn headings(markdown: &str) -> Vec<Heading<'_>> {
    let (mut place, mut is_code) = (0, false);
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for line in markdown.split_inclusive('\n') {
        is_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !is_code && level > 0 && title.starts_with(' ') {
            found.push((place, level, title.trim()));
        }
        place += line.len();
    }
    let end = |start: usize, level: usize| {
        let next = found.iter().find(|(place, other, _)| *place > start && *other <= level);
        next.map_or(markdown.len(), |(place, ..)| *place)
    };
    found
        .iter()
        .map(|(start, level, title)| Heading { title, section: &markdown[*start..end(*start, *level)] })
        .collect()
}

/// A heading as a user types it: in lower case, without markup.
fn plain(heading: &str) -> String {
    heading.to_lowercase().replace(['`', '[', ']'], "")
}

/// Removes comments. Replaces links to pages by the command that shows the page; removes the targets of links within a
/// page.
fn readable(markdown: &str) -> String {
    let lines = markdown.lines().filter(|line| !line.starts_with("<!--")).map(|line| {
        let mut parts = line.split("](");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |line, part| match part.split_once(')') {
            Some((target, rest)) => format!("{line}](<{}>){rest}", shown(target)),
            None => format!("{line}]({part}"),
        })
    });
    lines.map(|line| line + "\n").collect()
}

/// The target of a link, for a reader who has only the program.
fn shown(target: &str) -> String {
    let file = target.split('#').next().unwrap_or_default();
    let topic = file.strip_suffix(".md").filter(|name| TOPICS.iter().any(|topic| topic.name == *name));
    match topic {
        Some(name) => format!("haft help {name}"),
        None if target.contains("://") => target.to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_find_pages_and_sections() {
        let first = |found: Vec<Sections>| -> Vec<(&str, String)> {
            let heading = |found: &Sections| found.markdown.lines().next().unwrap_or_default().to_owned();
            found.iter().map(|found| (found.topic, heading(found))).collect()
        };
        let one = |topic, heading: &str| vec![(topic, heading.to_owned())];
        let hooks = [("agents", "## Hooks".to_owned()), ("configuration", "### `[[hooks]]`".to_owned())];
        assert_eq!(first(sections("Hooks")), hooks);
        assert_eq!(first(sections("notes")), one("agents", "## Notes"));
        assert_eq!(first(sections("bash")), one("tools", "## `bash`"));
        assert_eq!(first(sections("login keeps")), []);
        assert_eq!(first(related_sections("login keeps")), one("secrets", "## Keys that `haft login` keeps"));
        for (word, title) in [("sandbox", "# What commands may do"), ("key", "# Secrets"), ("jobs", "# Jobs")]
        {
            assert!(page(word).is_some_and(|page| page.starts_with(title)), "{word}");
        }
        let keys = [("terminal", "## Keys".to_owned()), ("configuration", "### `keys`".to_owned())];
        assert_eq!(first(sections("keys")), keys);
        assert_eq!(page("hooks"), None);
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let page = "# A\n\n```sh\n# no heading\n```\n\n## B\n\n### C\n\nc\n\n## D\n";
        let found: Vec<(&str, &str)> =
            headings(page).into_iter().map(|heading| (heading.title, heading.section)).collect();
        let expected =
            [("A", page), ("B", "## B\n\n### C\n\nc\n\n"), ("C", "### C\n\nc\n\n"), ("D", "## D\n")];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_lead_where_a_reader_of_the_program_gets() {
        let table = [
            ("[a](jobs.md) and [b](agents.md#notes)", "[a](<haft help jobs>) and [b](<haft help agents>)"),
            ("[a](#b)", "[a](<>)"),
            ("[a](pictures/a.txt) (b)", "[a](<>) (b)"),
            ("[a](https://b.example/c)", "[a](<https://b.example/c>)"),
            ("<!-- a -->", ""),
        ];
        for (line, expected) in table {
            assert_eq!(readable(line).trim_end(), expected, "{line}");
        }
    }

    #[test]
    fn every_synonym_means_something() {
        for (word, meant) in SYNONYMS {
            assert!(page(word).is_some() || !sections(word).is_empty(), "{word}: {meant}");
        }
    }

    /// Pages for developers of Haft, and pages of the site.
    const INTERNAL: [&str; 8] = [
        "README",
        "SUMMARY",
        "faults",
        "faults-coverage",
        "faults-found",
        "releasing",
        "requirements",
        "requirements-coverage",
    ];

    #[test]
    fn every_page_for_users_is_a_topic() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let pages = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
        let mut pages: Vec<String> =
            pages.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let mut known: Vec<&str> = TOPICS.iter().map(|topic| topic.name).chain(INTERNAL).collect();
        pages.sort();
        known.sort_unstable();
        assert_eq!(pages, known);
    }
}
