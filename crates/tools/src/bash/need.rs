//! [`Need`]: what a command asks for that a confined one does not have, and how a command that failed without it is
//! told to ask.
use haft_core::{Effect, Execution, Host, Network};
use haft_process::Unreached;
use serde::Deserialize;
use std::path::Path;

/// One thing that a command needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Need {
    /// The network of this machine.
    Network,
    /// One host.
    Host(Host),
    /// The real workspace and machine.
    Live,
}

impl TryFrom<String> for Need {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "network" => Ok(Self::Network),
            None if text == "live" => Ok(Self::Live),
            Some(("network", host)) => Host::parse(host).map(Self::Host),
            _ => Err(format!(
                "`{}` is no need; expected `network`, `network:HOST` or `live`",
                text.escape_debug()
            )),
        }
    }
}

/// The effects of `command`, which could be confined, with these needs.
pub(super) fn effects(command: Effect, needs: &[Need]) -> Vec<Effect> {
    let hosts = needs.iter().filter_map(|need| match need {
        Need::Host(host) => Some(Effect::Network(host.to_string())),
        Need::Network | Need::Live => None,
    });
    let has = |need: &Need| needs.contains(need);
    match (has(&Need::Live), has(&Need::Network)) {
        // In the background it is confined to its workspace, and to what else it asks for.
        (true, network) => match command {
            Effect::Execute(execution) if execution.lasting => {
                let command = Effect::Execute(Execution { network, ..execution });
                std::iter::once(command).chain(hosts).collect()
            }
            command => vec![command],
        },
        (false, true) => vec![command.with_network()],
        (false, false) => std::iter::once(command.confined()).chain(hosts).collect(),
    }
}

/// Errors of programs that did not reach a server.
const NETWORK_ERRORS: [&str; 9] = [
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "no such host",
    // With a blank before it: `FileNotFoundError` is something else.
    " enotfound",
    "eai_again",
    "failed to connect",
];

/// Errors of programs that may not write somewhere.
const READ_ONLY_ERRORS: [&str; 2] = ["read-only file system", "erofs"];

/// Errors of programs that exceed a file size limit (EFBIG).
const FILE_SIZE_ERRORS: [&str; 2] = ["file too large", "file size limit exceeded"];

/// Errors of programs that have no space left (ENOSPC, EDQUOT).
const DISK_FULL_ERRORS: [&str; 4] = ["no space left on device", "enospc", "disk quota exceeded", "edquot"];

/// Errors of programs that cannot get more memory (ENOMEM).
const MEMORY_ERRORS: [&str; 6] =
    ["cannot allocate memory", "out of memory", "memoryerror", "memory allocation of", "bad_alloc", "enomem"];

/// Errors of programs that a view does not let a user other than root do something: rename an existing folder (EXDEV).
const CROSS_DEVICE_ERRORS: [&str; 2] = ["cross-device", "exdev"];

/// Errors of programs that miss a file (ENOENT).
const MISSING_FILE_ERRORS: [&str; 2] = ["no such file or directory", "enoent"];

const FULL_HINT: &str = "[the disk is full on which commands keep what they change, or `/tmp` is: see `df -h`; files \
    that the command wrote may be cut short]";

/// A confined command that has ended.
pub(super) struct Ended<'a> {
    pub(super) command: &'a str,
    /// The workspace, which may lie in `/tmp`.
    pub(super) workspace: &'a Path,
    /// Both streams.
    pub(super) said: &'a str,
    pub(super) has_failed: bool,
    pub(super) unreached: &'a [Unreached],
    /// What the user lets commands have.
    pub(super) network: &'a Network,
    /// Bytes that each of its processes may have, where that is limited.
    pub(super) memory: Option<u64>,
}

impl Ended<'_> {
    /// If it failed because something is missing, how to ask for that.
    pub(super) fn want(&self) -> Option<String> {
        if !self.unreached.is_empty() {
            return Some(self.hosts());
        }
        if !self.has_failed {
            return None;
        }
        let said = self.said.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let (what, need) = if has(&NETWORK_ERRORS) {
            let why = "there is no network for commands".to_owned();
            let need = self.host().map_or("network:HOST".into(), |host| format!("network:{host}"));
            match self.network.refusal(need.strip_prefix("network:")) {
                Some(refusal) => return Some(format!("[{refusal}]")),
                None => (why, need),
            }
        } else if has(&READ_ONLY_ERRORS) {
            ("commands write in the workspace and in /tmp only".into(), "live".into())
        } else if has(&FILE_SIZE_ERRORS) {
            return Some("[commands may not write files this large (`[commands] file_size`)]".into());
        } else if has(&DISK_FULL_ERRORS) {
            return Some(FULL_HINT.into());
        } else if let (Some(bytes), true) = (self.memory, has(&MEMORY_ERRORS)) {
            let most = bytes >> 20;
            return Some(format!(
                "[each process of a command may use {most} MB of memory (`[commands] memory`)]"
            ));
        } else if has(&CROSS_DEVICE_ERRORS) {
            ("this folder cannot be renamed in a view of the workspace".into(), "live".to_owned())
        } else if has(&MISSING_FILE_ERRORS) && self.misses_machines_tmp() {
            (
                "commands have a `/tmp` of their own and do not see what lies in the machine's".into(),
                "live".into(),
            )
        } else {
            return None;
        };
        Some(asking(&what, &[need]))
    }

    /// Whether a file outside the workspace is missing in `/tmp`.
    fn misses_machines_tmp(&self) -> bool {
        let lines = self
            .said
            .lines()
            .filter(|line| MISSING_FILE_ERRORS.iter().any(|word| line.to_lowercase().contains(word)));
        let words = lines.flat_map(|line| line.split([' ', '\'', '"', '(', ')', ',', ';', '`']));
        let mut paths = words.map(|word| Path::new(word.trim_end_matches([':', '.'])));
        paths.any(|path| path.starts_with("/tmp") && !path.starts_with(self.workspace))
    }

    /// The hosts that it asked its proxy for.
    fn hosts(&self) -> String {
        let (mut whys, mut needs) = (Vec::new(), Vec::new());
        for Unreached { host, why } in self.unreached {
            match why.clone().or_else(|| self.network.refusal(Some(host))) {
                Some(why) => whys.push(format!("[{why}]")),
                None => needs.push(format!("network:{host}")),
            }
        }
        if !needs.is_empty() {
            whys.push(asking("the command may not reach all hosts that it asked for", &needs));
        }
        whys.join("\n")
    }

    /// The host of the first address in the command, or the one that it could not find.
    fn host(&self) -> Option<Host> {
        let address = self.command.split(['\'', '"', ' ']).find_map(|word| word.split_once("://"));
        let named = address.map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let has_failed = |line: &&str| NETWORK_ERRORS.iter().any(|word| line.to_lowercase().contains(word));
        let lines = self.said.lines().filter(has_failed);
        let words = lines.flat_map(|line| line.split([' ', '\'', '"', '(', ')', ',', ';']));
        let found = words.map(|word| word.trim_end_matches([':', '.'])).filter(|word| word.contains('.'));
        named.into_iter().chain(found).find_map(|text| Host::parse(text).ok())
    }
}

fn asking(what: &str, needs: &[String]) -> String {
    let needs = needs.iter().map(|need| format!("\"{need}\"")).collect::<Vec<_>>().join(", ");
    format!("[{what}; if it cannot do without, call again with `needs: [{needs}]`, and a person is asked]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(command: &str, said: &str, network: &str) -> String {
        let network = &Network::parse(network).unwrap();
        let workspace = Path::new("/tmp/w");
        let memory = Some(64 << 20);
        Ended { command, workspace, said, has_failed: true, unreached: &[], network, memory }
            .want()
            .unwrap_or_default()
    }

    #[test]
    fn the_host_that_was_not_reached_is_named() {
        let table = [
            (
                "curl -s https://a.example.org/x",
                "curl: (6) Could not resolve host: a.example.org",
                "network:a.example.org",
            ),
            (
                "git push",
                "fatal: unable to access 'https://b.org/': Could not resolve host: b.org",
                "network:b.org",
            ),
            ("npm i", "npm error getaddrinfo EAI_AGAIN c.example.org", "network:c.example.org"),
            ("./x", "dial tcp: lookup d.org: no such host", "network:d.org"),
            ("./x", "Network is unreachable", "network:HOST"),
            ("mv a b", "mv: Invalid cross-device link", "live"),
            ("cat /tmp/test.txt", "cat: /tmp/test.txt: No such file or directory", "live"),
            ("./x", "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/foo'", "live"),
        ];
        for (command, said, need) in table {
            assert!(want(command, said, "ask").contains(&format!("`needs: [\"{need}\"]`")), "{said}");
        }
        assert_eq!(
            want("curl x.org", "Could not resolve host: x.org", "off"),
            "[commands have no network here (`network = \"off\"`)]"
        );
        for said in [
            "all well",
            "cat: /tmp/w/a.txt: No such file or directory",
            "cat: a.txt: No such file or directory",
            "cat: /tmpx: No such file or directory",
        ] {
            assert_eq!(want("true", said, "ask"), "", "{said}");
        }
        for (said, told) in [
            ("tar: a: Cannot write: No space left on device", "the disk is full"),
            ("OSError: [Errno 122] Disk quota exceeded", "the disk is full"),
            ("MemoryError", "64 MB of memory"),
            ("memory allocation of 99 bytes failed", "64 MB of memory"),
        ] {
            assert!(want("./x", said, "ask").contains(told), "{said}");
        }
    }
}
