//! [`QueuedCall`]: a call that waits in the outbox until the user sends it, because its effect cannot be undone. Also
//! decides which calls are queued.
use crate::{CallId, Effect, ToolCall, ToolResult};
use haft_shell::{Command, Runs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What sending an item would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Run a command with effects outside of its view.
    Command,
    /// Push commits, a package or an image.
    Push,
    /// Send a request to a server.
    Request,
    /// Call a tool of an MCP server.
    Mcp,
    /// Send a message to other users.
    Message,
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Command => "command",
            Self::Push => "push",
            Self::Request => "request",
            Self::Mcp => "mcp",
            Self::Message => "message",
        })
    }
}

/// A call that was queued instead of run; the model was told so. The fields of [`crate::Fact::Queued`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedCall {
    /// The call.
    pub call: CallId,
    /// The ID of the item, see [`crate::outbox::item_id`].
    pub item: String,
    /// What sending the item would do.
    pub kind: ItemKind,
    /// The host, the remote, `SERVER/TOOL` or the program.
    pub target: String,
    /// Why it is queued.
    pub reason: String,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: Value,
    /// The call that sends the item: with the tool's own parameter names, and with everything that it needs outside of
    /// a view.
    pub sends: ToolCall,
    /// The result that the model reads.
    pub result: ToolResult,
}

/// Commands that have no use inside a view, each as its first words, and what they do.
static SENDERS: [(&[&str], ItemKind); 32] = [
    (&["git", "push"], ItemKind::Push),
    (&["git", "send-email"], ItemKind::Message),
    (&["gh", "pr", "create"], ItemKind::Request),
    (&["gh", "pr", "merge"], ItemKind::Request),
    (&["gh", "pr", "comment"], ItemKind::Request),
    (&["gh", "pr", "close"], ItemKind::Request),
    (&["gh", "pr", "edit"], ItemKind::Request),
    (&["gh", "pr", "review"], ItemKind::Request),
    (&["gh", "issue", "create"], ItemKind::Request),
    (&["gh", "issue", "comment"], ItemKind::Request),
    (&["gh", "issue", "close"], ItemKind::Request),
    (&["gh", "release", "create"], ItemKind::Request),
    (&["gh", "workflow", "run"], ItemKind::Request),
    (&["gh", "api"], ItemKind::Request),
    (&["npm", "publish"], ItemKind::Push),
    (&["pnpm", "publish"], ItemKind::Push),
    (&["yarn", "publish"], ItemKind::Push),
    (&["cargo", "publish"], ItemKind::Push),
    (&["twine", "upload"], ItemKind::Push),
    (&["gem", "push"], ItemKind::Push),
    (&["docker", "push"], ItemKind::Push),
    (&["podman", "push"], ItemKind::Push),
    (&["helm", "push"], ItemKind::Push),
    (&["kubectl", "apply"], ItemKind::Command),
    (&["kubectl", "delete"], ItemKind::Command),
    (&["terraform", "apply"], ItemKind::Command),
    (&["ssh"], ItemKind::Command),
    (&["scp"], ItemKind::Command),
    (&["sftp"], ItemKind::Command),
    (&["mail"], ItemKind::Message),
    (&["sendmail"], ItemKind::Message),
    (&["mutt"], ItemKind::Message),
];

/// Programs that send requests and read the responses.
const REQUESTERS: [&str; 4] = ["curl", "wget", "http", "https"];

/// Prefixes of the options with which these programs send data.
const SENDING_OPTIONS: [&str; 13] = [
    "-XPOST",
    "-XPUT",
    "-XPATCH",
    "-XDELETE",
    "-d",
    "--data",
    "-F",
    "--form",
    "-T",
    "--upload-file",
    "--json",
    "--post-data",
    "--post-file",
];

/// HTTP methods that change something.
const SENDING_METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// Whether this command line certainly has effects outside of its view, so that running it in a view has no use: `git
/// push`, `curl -d …`. A request to this machine counts only if the line runs no other command that could answer it.
pub fn reaches_out(line: &str) -> bool {
    let runs = Runs::of(line);
    if sender(&runs).is_some() {
        return true;
    }
    let is_request = runs.commands.iter().any(is_requester);
    let sends = line.split([' ', '=', '\t', '\n']).map(|word| word.trim_matches(['\'', '"']));
    let sends = sends.into_iter().any(|word| {
        SENDING_METHODS.contains(&word) || SENDING_OPTIONS.iter().any(|option| word.starts_with(option))
    });
    is_request && sends && (runs.commands.len() == 1 || !named_host(line).is_some_and(|host| is_here(&host)))
}

/// The first command of a line that is in [`SENDERS`], with its row. A word that a shell expands matches no row: such a
/// line runs in a view, where it has no network.
fn sender(runs: &Runs) -> Option<(&Command, &'static [&'static str], ItemKind)> {
    let row = |command| {
        let row = SENDERS.iter().find(|(words, _)| Command::begins_with(command, words));
        row.map(|(words, kind)| (command, *words, *kind))
    };
    runs.commands.iter().find_map(row)
}

fn is_requester(command: &Command) -> bool {
    REQUESTERS.iter().any(|program| command.begins_with(&[program]))
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.starts_with("127.") || host == "[::1]"
}

/// The host of the first address in a command line, without its port.
fn named_host(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("://")?;
    let authority = rest.split(['/', '?', '#', ' ', '\'', '"', ')']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = if host.starts_with('[') { host.find(']').map(|at| at + 1) } else { host.find(':') };
    Some(host[..end.unwrap_or(host.len())].to_owned()).filter(|host| !host.is_empty())
}

/// Returns what a call with these effects would do outside of its view, and the target.
pub fn kind_of(effects: &[Effect]) -> (ItemKind, String) {
    let hosts = effects.iter().filter_map(|effect| match effect {
        Effect::Network(target) => Some(named_host(target).unwrap_or_else(|| target.clone())),
        Effect::Read(_) | Effect::Write(_) | Effect::Execute(_) => None,
    });
    let hosts = hosts.collect::<Vec<_>>().join(", ");
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Execute(execution) => Some(execution.command.as_str()),
        Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => None,
    });
    let lines: Vec<&str> = lines.collect();
    if let Some((kind, target)) = lines.iter().find_map(|line| kind_of_line(line)) {
        return (kind, if target.is_empty() { hosts } else { target });
    }
    match (lines.first(), hosts.is_empty()) {
        (None, _) => (ItemKind::Request, hosts),
        (Some(_), false) => (ItemKind::Command, hosts),
        (Some(line), true) => {
            let program = line.split_whitespace().next().unwrap_or_default();
            (ItemKind::Command, program.to_owned())
        }
    }
}

fn kind_of_line(line: &str) -> Option<(ItemKind, String)> {
    // The form in which effects of MCP tools are written: `mcp:SERVER TOOL PRINT`.
    if let Some(named) = line.strip_prefix("mcp:") {
        let names: Vec<&str> = named.split(' ').take(2).collect();
        return Some((ItemKind::Mcp, names.join("/")));
    }
    let runs = Runs::of(line);
    let Some((command, words, kind)) = sender(&runs) else {
        let is_request = runs.commands.iter().any(is_requester);
        return is_request.then(|| (ItemKind::Request, named_host(line).unwrap_or_default()));
    };
    let literal = command.literal().unwrap_or_default();
    let mut rest =
        literal.split(' ').skip(words.len()).filter(|word| !word.is_empty() && !word.starts_with('-'));
    let target = match words {
        ["git", "push"] => rest.next().unwrap_or("origin"),
        ["gh", ..] => "github",
        _ if kind == ItemKind::Message => rest.last().unwrap_or_default(),
        _ => rest.next().or(words.first().copied()).unwrap_or_default(),
    };
    Some((kind, target.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_of_no_use_in_a_view_is_known_by_its_words() {
        let table = [
            ("git push", true),
            ("cargo test && git push origin main", true),
            ("sh -c 'git push'", true),
            ("/usr/bin/git push --force", true),
            ("git pull", false),
            ("echo git push", false),
            ("$tool push", false),
            ("curl -s https://example.org", false),
            ("curl -d a=1 https://example.org | jq .", true),
            ("curl -X POST http://localhost:8000/a", true),
            ("./server & curl -X POST http://localhost:8000/a", false),
            ("./server & curl -X POST https://example.org/a", true),
            ("wget --post-data=a https://example.org", true),
            ("npm publish", true),
            ("npm test", false),
        ];
        for (line, expected) in table {
            assert_eq!(reaches_out(line), expected, "{line}");
        }
    }

    #[test]
    fn an_item_names_what_it_would_reach() {
        let run = |line: &str| vec![Effect::execute(line)];
        let with = |line: &str, host: &str| vec![Effect::execute(line), Effect::Network(host.into())];
        let table = [
            (run("git push --force fork main"), ItemKind::Push, "fork"),
            (run("git push"), ItemKind::Push, "origin"),
            (with("git push origin", "origin"), ItemKind::Push, "origin"),
            (run("cargo publish"), ItemKind::Push, "cargo"),
            (run("docker push example.org/a:1"), ItemKind::Push, "example.org/a:1"),
            (run("gh pr create --fill"), ItemKind::Request, "github"),
            (run("curl -d a https://u@example.org:8080/x"), ItemKind::Request, "example.org"),
            (run("mail -s hello a@example.org"), ItemKind::Message, "a@example.org"),
            (run("mcp:files write 0123"), ItemKind::Mcp, "files/write"),
            (with("make deploy", "example.org"), ItemKind::Command, "example.org"),
            (run("make deploy"), ItemKind::Command, "make"),
            (vec![Effect::Network("https://example.org/a?b".into())], ItemKind::Request, "example.org"),
            (vec![Effect::Network("github".into())], ItemKind::Request, "github"),
        ];
        for (effects, kind, target) in table {
            assert_eq!(kind_of(&effects), (kind, target.to_owned()), "{effects:?}");
        }
    }
}
