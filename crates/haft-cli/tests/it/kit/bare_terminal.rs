//! A terminal that says nothing by itself: the test answers in its place.
use super::{Place, terminal::poll};
use std::{
    io::Write,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A program in it, ended when this is dropped.
pub(crate) struct BareTerminal {
    child: Child,
    written: PathBuf,
    seen: usize,
}

impl BareTerminal {
    /// Starts `haft`, by `script` of util-linux; nothing where there is none.
    pub(crate) fn open(place: &Place, arguments: &str) -> Option<Self> {
        Self::running(place, &format!("exec \"$HAFT\" {arguments}"))
    }

    /// Runs this line of a shell, in which `$HAFT` is the program.
    pub(crate) fn running(place: &Place, line: &str) -> Option<Self> {
        let written = place.path().join("written");
        let own = place.haft(&[]);
        let line = format!("stty cols 80 rows 24; {line}");
        let mut script = Command::new("script");
        script.args(["--quiet", "--flush", "--command", &line]).arg(&written).current_dir(place.work());
        script.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").env("HAFT", own.get_program());
        match script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => Some(Self { child, written, seen: 0 }),
            Err(_) => {
                haft_testing::left_out("the bare terminal: there is no `script` here");
                None
            }
        }
    }

    /// As if it were typed, or said by the terminal.
    pub(crate) fn send(&mut self, keys: &str) {
        let mut keyboard = self.child.stdin.as_ref().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Everything that was written to it.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.written).unwrap_or_default()).into_owned()
    }

    /// Waits until this is written, behind what was waited for before.
    pub(crate) fn see(&mut self, expected: &str) {
        let mut end = None;
        let is_there = || {
            end = self.written()[self.seen..].find(expected).map(|at| self.seen + at + expected.len());
            end.is_some()
        };
        poll(is_there, || format!("{expected:?}, but there is: {:?}", self.written()));
        self.seen = end.unwrap_or_default();
    }
}

impl Drop for BareTerminal {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _nobody_waits = self.child.wait();
    }
}
