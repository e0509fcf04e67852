//! [`Shell`]: runs a command line and guarantees that it ends.
use crate::{
    follow::follow,
    group::Group,
    outcome::{Finished, ProcessError},
    output::Output,
};
use haft_core::Confinement;
use std::{io, path::PathBuf, process::Command, sync::Arc, time::Duration};

/// A command line, run by `bash -c`, or by `sh -c` where there is no `bash`.
///
/// The command has no standard input and no terminal. It is the leader of a process group: when it ends, times out, or
/// when the future of [`Shell::run`] is dropped, the whole group is killed, and so are the processes that left it
/// (`setsid`, a daemon): each carries the variable `HAFT_CALL`. Only a process that left the group *and* cleaned its
/// environment continues until this process ends.
///
/// When this process ends, for whatever reason, the command is killed with it. What the command has started is killed
/// as well if a supervisor was named ([`crate::supervise_by`]), and otherwise when a later process calls
/// [`crate::end_previous_run`].
///
/// A command that did not end by itself is asked to (SIGTERM) and has a second to clean up before it is killed. After a
/// drop that second passes in the tokio runtime, which the caller must keep running; if the runtime ends before, the
/// command is killed at once.
#[derive(Clone, Debug)]
pub struct Shell {
    /// What the shell runs.
    pub command: String,
    /// The folder that it starts in.
    pub folder: PathBuf,
    /// The whole environment: names and values.
    pub environment: Arc<[(String, String)]>,
    /// How long it may run. `None`: without limit.
    pub timeout: Option<Duration>,
    /// Maximum bytes kept of each stream, half from its beginning and half from its end.
    pub capture: usize,
    /// Folder for a file with the whole output, if it does not fit into `capture`.
    pub spill: Option<PathBuf>,
    /// Texts that are replaced by `[key]` in all output.
    pub hidden: Arc<[String]>,
    /// Its confinement. `None`: it sees and reaches everything that this process does.
    pub confinement: Option<Arc<Confinement>>,
}

impl Shell {
    /// Runs the command; `on_chunk` gets both streams in their order of arrival, as text, while it runs.
    ///
    /// Returns at most 2 seconds after the timeout, and at most a second and a half after the command ended.
    pub async fn run(self, on_chunk: impl FnMut(&str) + Send) -> Result<Finished, ProcessError> {
        let group = self.start()?;
        let output = Output::new(self.capture, self.spill).without(&self.hidden);
        follow(group, self.timeout, output, on_chunk).await
    }

    fn start(&self) -> Result<Group, ProcessError> {
        if self.command.contains('\0') {
            return Err(ProcessError::Nul);
        }
        let started = match self.start_in("bash") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.start_in("sh"),
            started => started,
        };
        started.map_err(|source| ProcessError::not_started("a shell", &self.folder, source))
    }

    fn start_in(&self, shell: &str) -> io::Result<Group> {
        let mut command = Command::new(shell);
        command.arg("-c").arg(&self.command);
        Group::start(command, &self.folder, &self.environment, self.confinement.as_deref(), false)
    }
}
