//! [`Shell`]: runs a command line, from its start to its certain end.
use crate::{
    group::Group,
    orphans,
    output::{Captured, Output, Source},
};
use haft_core::Confinement;
use haft_sandbox::{Plan, Proxy, Unreached, environment as confined_environment};
use std::{
    future::Future,
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    pin::pin,
    process::{Command, ExitStatus},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout},
    time::{sleep, timeout},
};

/// How long a command's children may write after its end: `echo x > >(sed …)` is finished by one of them, and on a busy
/// machine that one may not even have started.
const CHILDREN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the pipes are read after the children were killed, too. A process that still holds one has left the group.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// A command line, run by `bash -c`, or by `sh -c` where there is no `bash`.
///
/// The command has no standard input and no terminal. It is the leader of a process group: when it ends, times out, or
/// when the future of [`Shell::run`] is dropped, the whole group is killed, and so are the processes that left it
/// (`setsid`, a daemon): each carries the variable `HAFT_CALL`. Only a process that left the group *and* cleaned its
/// environment goes on until this process ends.
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
    /// Where it starts.
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
    /// What it sees and reaches. `None`: everything that this process does.
    pub confinement: Option<Arc<Confinement>>,
}

/// What a command left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// How it ended.
    pub exit: Exit,
    /// Whether part of one of the streams was left out.
    pub truncated: bool,
    /// The file with the whole output, at most 64 MB of it.
    pub spilled: Option<PathBuf>,
    /// Hosts that a command with network access asked for and did not reach.
    pub unreached: Vec<Unreached>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by us, because its time was over.
    TimedOut,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The text cannot be passed to a process.
    #[error("cannot run the command: it contains a NUL byte")]
    Nul,
    /// The folder is gone, there is no shell, the command line is too long …
    #[error("cannot start {what} in `{}`: {source}", folder.display())]
    Start {
        /// A shell, or the name of the program.
        what: String,
        /// Where it should have started.
        folder: PathBuf,
        /// Why it did not.
        source: io::Error,
    },
    /// It started, but its output or its end could not be followed.
    #[error("lost the command while it ran: {0}")]
    Lost(#[from] io::Error),
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
        start(command, &self.folder, &self.environment, self.confinement.as_deref(), false)
    }
}

impl ProcessError {
    pub(crate) fn not_started(what: &str, folder: &Path, source: io::Error) -> Self {
        let source = blame(source, folder);
        Self::Start { what: what.into(), folder: folder.to_owned(), source }
    }
}

/// Starts `command` in `folder`, with this environment and no other. `takes_input`: whether it gets a standard input.
pub(crate) fn start(
    mut command: Command,
    folder: &Path,
    environment: &[(String, String)],
    confinement: Option<&Confinement>,
    takes_input: bool,
) -> io::Result<Group> {
    let (plan, receiver) = confinement.map(|confinement| Plan::new(confinement, folder)).transpose()?.unzip();
    command.current_dir(folder).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command.envs(confinement.map(confined_environment).unwrap_or_default());
    let group = Group::start(command, plan, takes_input)?;
    match receiver.flatten().zip(confinement) {
        Some((receiver, confinement)) => Ok(group.with_proxy(Proxy::new(receiver, confinement)?)),
        None => Ok(group),
    }
}

/// Reads what a process prints until it ends or its time is over; then ends the rest of its group. Meanwhile serves its
/// proxy, if it may reach hosts.
pub(crate) async fn follow(
    mut group: Group,
    limit: Option<Duration>,
    output: Output,
    on_chunk: impl FnMut(&str) + Send,
) -> Result<Finished, ProcessError> {
    let Some(proxy) = group.take_proxy() else { return follow_alone(group, limit, output, on_chunk).await };
    let log = proxy.log();
    tokio::select! {
        finished = follow_alone(group, limit, output, on_chunk) => {
            Ok(Finished { unreached: log.take(), ..finished? })
        }
        failed = proxy.serve() => match failed? {},
    }
}

async fn follow_alone(
    mut group: Group,
    limit: Option<Duration>,
    output: Output,
    on_chunk: impl FnMut(&str) + Send,
) -> Result<Finished, ProcessError> {
    let mut pipes = Pipes::new(&mut group, output, on_chunk);
    let limit = limit.unwrap_or(Duration::MAX);
    let ended = async {
        tokio::select! {
            ended = timeout(limit, group.child().wait()) => ended,
            never = orphans::reaping() => match never {},
        }
    };
    let exit = match pipes.read_until(ended).await? {
        Ok(status) => exit_of(status?),
        Err(_over) => {
            pipes.read_until(group.ask_to_end()).await?;
            Exit::TimedOut
        }
    };
    if exit != Exit::TimedOut {
        pipes.drain(CHILDREN_TIMEOUT).await?;
    }
    group.kill().await;
    pipes.drain(DRAIN_TIMEOUT).await?;
    Ok(pipes.finish(exit))
}

/// Distinguishes a missing program from a missing folder: the system reports "no such file" for both.
fn blame(error: io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => {
            io::Error::new(error.kind(), "the folder does not exist")
        }
        _ => error,
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// Both streams of a child, and what was read from them.
struct Pipes<F> {
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    output: Output,
    on_chunk: F,
}

impl<F: FnMut(&str)> Pipes<F> {
    fn new(group: &mut Group, output: Output, on_chunk: F) -> Self {
        let (stdout, stderr) = group.streams();
        Self { stdout: Pipe::new(stdout), stderr: Pipe::new(stderr), output, on_chunk }
    }

    fn is_open(&self) -> bool {
        self.stdout.is_open() || self.stderr.is_open()
    }

    /// Reads while `future` is not ready.
    async fn read_until<T>(&mut self, future: impl Future<Output = T>) -> io::Result<T> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                value = &mut future => return Ok(value),
                read = self.read(), if self.is_open() => read?,
            }
        }
    }

    /// Reads to the end, but not for longer than `limit`.
    async fn drain(&mut self, limit: Duration) -> io::Result<()> {
        let mut over = pin!(sleep(limit));
        while self.is_open() {
            tokio::select! {
                () = &mut over => return Ok(()),
                read = self.read() => read?,
            }
        }
        Ok(())
    }

    /// Reads one chunk from whichever stream has one. Nothing is lost if the future is dropped.
    async fn read(&mut self) -> io::Result<()> {
        let (source, chunk) = tokio::select! {
            chunk = self.stdout.read(), if self.stdout.is_open() => (Source::Stdout, chunk?),
            chunk = self.stderr.read(), if self.stderr.is_open() => (Source::Stderr, chunk?),
            else => return Ok(()),
        };
        let text = self.output.push(source, chunk);
        if !text.is_empty() {
            (self.on_chunk)(&text);
        }
        Ok(())
    }

    fn finish(mut self, exit: Exit) -> Finished {
        for source in [Source::Stdout, Source::Stderr] {
            let rest = self.output.rest(source);
            if !rest.is_empty() {
                (self.on_chunk)(&rest);
            }
        }
        let ([stdout, stderr], spilled) = self.output.finish();
        let truncated = stdout.missing_bytes + stderr.missing_bytes > 0;
        Finished { stdout, stderr, exit, truncated, spilled, unreached: Vec::new() }
    }
}

/// One stream. Reads as much at once as a pipe holds.
struct Pipe<R> {
    reader: Option<R>,
    buffer: Box<[u8]>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>) -> Self {
        Self { reader, buffer: vec![0; 64 * 1024].into_boxed_slice() }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Empty at the end of the stream.
    async fn read(&mut self) -> io::Result<&[u8]> {
        let Some(reader) = &mut self.reader else { return Ok(&[]) };
        let count = reader.read(&mut self.buffer).await?;
        if count == 0 {
            self.reader = None;
        }
        Ok(&self.buffer[..count])
    }
}
