//! [`follow`]: reads the output of a process until its end, and then ends its remaining children.
use crate::{
    group::Group,
    orphans,
    outcome::{Exit, Finished, ProcessError},
    output::{Output, Source},
};
use std::{
    future::Future, io, os::unix::process::ExitStatusExt, pin::pin, process::ExitStatus, time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout},
    time::{sleep, timeout},
};

/// How long a command's children may write after its end: for example, one of them finishes `echo x > >(sed …)`, and on
/// a busy machine it may not even have started.
const CHILDREN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the pipes are read after the children were killed, too. A process that still holds one has left the group.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// Reads the output of a process until it ends or times out; then ends the rest of its group. Meanwhile serves its
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

/// A stream, read in pieces of the size of a pipe.
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
