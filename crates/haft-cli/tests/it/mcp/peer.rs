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
    pub(super) fn start(place: &Place, arguments: &[&str]) -> Option<Self> {
        let program = program(place)?;
        let mut command = Command::new("python3");
        let mut process =
            command.arg(program).arg("http").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Self { process, address: address.trim().to_owned() })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
