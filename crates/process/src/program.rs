//! [`Program`]: runs a program with its arguments as they are, without a shell.
use crate::{
    follow::follow,
    group::Group,
    outcome::{Finished, ProcessError},
    output::Output,
};
use haft_core::Confinement;
use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    process::{Command, ExitStatus},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStderr, ChildStdin, ChildStdout},
};

/// A program with its arguments. It runs and is ended as [`crate::Shell`] says.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the program, looked up in the `PATH` of `environment`, or a path.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder that it starts in.
    pub folder: PathBuf,
    /// The whole environment: names and values.
    pub environment: Arc<[(String, String)]>,
    /// How long it may run. `None`: without limit.
    pub timeout: Option<Duration>,
    /// Maximum bytes kept of each stream, half from its beginning and half from its end.
    pub capture: usize,
    /// Its confinement. `None`: it sees and reaches everything that this process does.
    pub confinement: Option<Arc<Confinement>>,
}

impl Program {
    /// Runs the program, as [`crate::Shell::run`] does.
    pub async fn run(self, on_chunk: impl FnMut(&str) + Send) -> Result<Finished, ProcessError> {
        let group = self.start(false)?;
        follow(group, self.timeout, Output::new(self.capture, None), on_chunk).await
    }

    /// Like [`Program::run`], with `input` on its standard input. It need not read all of it.
    pub async fn run_with(
        self,
        input: &[u8],
        on_chunk: impl FnMut(&str) + Send,
    ) -> Result<Finished, ProcessError> {
        let mut group = self.start(true)?;
        let stdin = group.child().stdin.take();
        let feeding = async {
            if let Some(mut stdin) = stdin {
                let _it_reads_no_more = stdin.write_all(input).await;
            }
            std::future::pending().await
        };
        tokio::select! {
            finished = follow(group, self.timeout, Output::new(self.capture, None), on_chunk) => finished,
            never = feeding => never,
        }
    }

    /// Starts it with open pipes, which stay open for as long as its [`Process`] is kept. Ignores `timeout` and
    /// `capture`.
    pub fn start_piped(&self) -> Result<Piped, ProcessError> {
        let mut group = self.start(true)?;
        let child = group.child();
        let held = "this stream was asked for when the process was started";
        let (input, output) = (child.stdin.take().expect(held), child.stdout.take().expect(held));
        let errors = child.stderr.take().expect(held);
        Ok(Piped { input, output, errors, process: Process(group) })
    }

    fn start(&self, takes_input: bool) -> Result<Group, ProcessError> {
        let mut words = [&self.program].into_iter().chain(&self.arguments);
        if words.any(|word| word.as_bytes().contains(&0)) {
            return Err(ProcessError::Nul);
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        let confinement = self.confinement.as_deref();
        let started = Group::start(command, &self.folder, &self.environment, confinement, takes_input);
        let what = format!("`{}`", self.program.display());
        started.map_err(|source| ProcessError::not_started(&what, &self.folder, source))
    }
}

/// A running program, and its three streams.
#[derive(Debug)]
pub struct Piped {
    /// Standard input of the program.
    pub input: ChildStdin,
    /// Standard output of the program.
    pub output: ChildStdout,
    /// Standard error of the program. The caller must read it, or the program stops once the pipe is full.
    pub errors: ChildStderr,
    /// The program itself.
    pub process: Process,
}

/// A running program. On drop it is ended with all its children, as [`crate::Shell`] says.
#[derive(Debug)]
pub struct Process(Group);

impl Process {
    /// Waits for its end, and returns how it ended. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.child().wait().await
    }

    /// Returns how the program ended, if it has: `exit status: 1`. Kills its children then.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.ended()
    }
}
