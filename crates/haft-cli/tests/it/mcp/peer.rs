//! [`Peer`]: an MCP server over the official Python SDK.
use crate::kit::Place;
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// The program, to be started as `python3 FILE stdio`; nothing where the SDK is not installed.
pub(super) fn program(place: &Place) -> Option<PathBuf> {
    let has_sdk = Command::new("python3").args(["-c", "import mcp.server.mcpserver"]).output();
    if !has_sdk.is_ok_and(|output| output.status.success()) {
        haft_testing::left_out("the Python SDK of MCP is not installed");
        return None;
    }
    Some(place.write("peer.py", include_str!("peer.py")))
}

/// A server behind HTTP, which ends when it is dropped.
pub(super) struct Peer {
    process: Child,
    /// Where it answers, with its path.
    pub(super) address: String,
}

impl Peer {
    /// Over the Python SDK.
    pub(super) fn start(place: &Place, arguments: &[&str]) -> Option<Self> {
        let program = program(place)?;
        let mut command = Command::new("python3");
        command.arg(program).arg("http").args(arguments);
        Some(Self::started(command))
    }

    /// Over the TypeScript SDK, behind the authorization server of its examples.
    pub(super) fn of_typescript(place: &Place) -> Option<Self> {
        let Ok(modules) = std::env::var("HAFT_NODE_MODULES") else {
            haft_testing::left_out("`HAFT_NODE_MODULES` names no folder that has the TypeScript SDK of MCP");
            return None;
        };
        let mut command = Command::new("node");
        command.arg(place.write("peer.mjs", include_str!("peer.mjs"))).arg(modules);
        Some(Self::started(command))
    }

    fn started(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim().to_owned() }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
