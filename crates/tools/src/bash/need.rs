//! [`Need`]: what a command asks for beyond its confinement; [`Lack`]: what a failed command was missing.
use haft_core::{Effect, Execution, Host, Network, ProcessLimits, Reach};
use haft_process::Unreached;
use serde::Deserialize;
use std::path::Path;

/// Something that a command needs in addition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Need {
    /// The network of this machine.
    Network,
    /// Access to a host.
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

/// The effects of `command` with these needs. Without needs, it is confined.
pub(super) fn effects(command: Effect, needs: &[Need]) -> Vec<Effect> {
    let hosts = needs.iter().filter_map(|need| match need {
        Need::Host(host) => Some(Effect::Network(host.to_string())),
        Need::Network | Need::Live => None,
    });
    let has = |need: &Need| needs.contains(need);
    match (has(&Need::Live), has(&Need::Network)) {
        // In the background, it is confined to its workspace and to its other needs.
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

/// Something that the sandbox refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Network,
    /// Writing outside of its workspace and its `/tmp`.
    Writing,
    FileSize,
    DiskSpace,
    Memory,
    /// Renaming a folder of the workspace, in the view of a user other than root (EXDEV).
    Renaming,
    /// The machine's `/tmp`.
    SharedTmp,
}

/// How programs report each lack, in lower case. Only the hosts that its proxy refused are known for certain: mounts,
/// namespaces and limits are enforced by the kernel, which reports the error only to the program. So these are the
/// names of kernel errors, and the messages of the C library, resolvers and allocators.
const MESSAGES: [(Lack, &[&str]); 7] = [
    (
        Lack::Network,
        &[
            "network is unreachable",
            "could not resolve",
            "couldn't resolve",
            "name resolution",
            "name or service not known",
            "no such host",
            // With a space before it, because it must not match `FileNotFoundError`.
            " enotfound",
            "eai_again",
            "failed to connect",
        ],
    ),
    (Lack::Writing, &["read-only file system", "erofs"]),
    (Lack::FileSize, &["file too large", "file size limit exceeded"]),
    (Lack::DiskSpace, &["no space left on device", "enospc", "disk quota exceeded", "edquot"]),
    (
        Lack::Memory,
        &[
            "cannot allocate memory",
            "out of memory",
            "memoryerror",
            "memory allocation of",
            "bad_alloc",
            "enomem",
        ],
    ),
    (Lack::Renaming, &["cross-device", "exdev"]),
    (Lack::SharedTmp, &["no such file or directory", "enoent"]),
];

/// Whether a text in lower case reports this lack.
fn reports(text: &str, lack: Lack) -> bool {
    MESSAGES.iter().any(|(known, messages)| *known == lack && messages.iter().any(|part| text.contains(part)))
}

/// A confined command that has ended.
pub(super) struct Ended<'a> {
    pub(super) command: &'a str,
    /// The workspace, which may be in `/tmp`.
    pub(super) workspace: &'a Path,
    /// The text of both output streams.
    pub(super) said: &'a str,
    pub(super) has_failed: bool,
    /// Hosts to which its proxy did not connect it.
    pub(super) unreached: &'a [Unreached],
    /// The network access that the user allows commands.
    pub(super) network: &'a Network,
    /// The network access that its confinement allowed.
    pub(super) reach: &'a Reach,
    /// The limits of its confinement.
    pub(super) limits: ProcessLimits,
}

impl Ended<'_> {
    /// If it failed because of a lack: how to ask for what was missing.
    pub(super) fn want(&self) -> Option<String> {
        if !self.unreached.is_empty() {
            return Some(self.hosts());
        }
        Some(match self.lack()? {
            Lack::Network => {
                let host = self.host().map(|host| host.to_string());
                match self.network.refusal(Some(host.as_deref().unwrap_or("HOST"))) {
                    Some(refusal) => format!("[{refusal}]"),
                    None => {
                        let need = format!("network:{}", host.as_deref().unwrap_or("HOST"));
                        asking("there is no network for commands", &[need])
                    }
                }
            }
            Lack::Writing => {
                asking_live("commands write in the workspace, in /tmp and in caches of build tools only")
            }
            Lack::FileSize => "[commands may not write files this large (`[commands] file_size`)]".into(),
            Lack::DiskSpace => {
                "[the disk is full on which commands keep what they change, or `/tmp` is: see `df -h`; \
                 files that the command wrote may be cut short]"
                    .into()
            }
            Lack::Memory => format!(
                "[each process of a command may use {} MB of memory (`[commands] memory`)]",
                self.limits.memory_bytes? >> 20
            ),
            Lack::Renaming => asking_live("this folder cannot be renamed in a view of the workspace"),
            Lack::SharedTmp => {
                asking_live("commands have a `/tmp` of their own and do not see what lies in the machine's")
            }
        })
    }

    /// The lack, if it failed and reports something that its confinement did refuse.
    fn lack(&self) -> Option<Lack> {
        let said = if self.has_failed { self.said.to_lowercase() } else { return None };
        let is_refused = |lack| match lack {
            Lack::Network => *self.reach != Reach::Everything,
            Lack::FileSize => self.limits.file_bytes.is_some(),
            Lack::Memory => self.limits.memory_bytes.is_some(),
            Lack::SharedTmp => self.misses_machines_tmp(),
            Lack::Writing | Lack::DiskSpace | Lack::Renaming => true,
        };
        let mut lacks = MESSAGES.iter().map(|(lack, _)| *lack);
        lacks.find(|lack| reports(&said, *lack) && is_refused(*lack))
    }

    /// Whether a file in `/tmp`, outside of the workspace, is missing.
    fn misses_machines_tmp(&self) -> bool {
        let mut paths = self.words_about(Lack::SharedTmp).map(Path::new);
        paths.any(|path| path.starts_with("/tmp") && !path.starts_with(self.workspace))
    }

    /// The note on the hosts that it asked its proxy for.
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

    /// The host of the first address in the command, or the host that it could not find.
    fn host(&self) -> Option<Host> {
        let address = self.command.split(['\'', '"', ' ']).find_map(|word| word.split_once("://"));
        let named = address.map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let found = self.words_about(Lack::Network).filter(|word| word.contains('.'));
        named.into_iter().chain(found).find_map(|text| Host::parse(text).ok())
    }

    /// The words of the lines that report this lack.
    fn words_about(&self, lack: Lack) -> impl Iterator<Item = &str> {
        let lines = self.said.lines().filter(move |line| reports(&line.to_lowercase(), lack));
        let words = lines.flat_map(|line| line.split([' ', '\'', '"', '(', ')', ',', ';', '`']));
        words.map(|word| word.trim_end_matches([':', '.']))
    }
}

fn asking_live(what: &str) -> String {
    asking(what, &["live".into()])
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
        let limits = ProcessLimits { memory_bytes: Some(64 << 20), ..ProcessLimits::default() };
        let reach = &Reach::Nothing;
        Ended { command, workspace, said, has_failed: true, unreached: &[], network, reach, limits }
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
            // The sandbox does not limit the size of files.
            "cp: error writing 'a': File too large",
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
