//! A program with its arguments as they are: no shell reads them.
use crate::{
    output::Output,
    process::{Finished, ProcessError, follow, start},
};
use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc, time::Duration};
use tokio::process::Command;

/// A program with its arguments. It runs, ends and is ended as [`crate::Shell`] says.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name, looked up in the `PATH` of `environment`; or a path.
    pub program: String,
    /// What it is given, one by one.
    pub arguments: Vec<OsString>,
    /// Where it starts.
    pub folder: PathBuf,
    /// The whole environment: names and values.
    pub environment: Arc<[(String, String)]>,
    /// How long it may run. `None`: as long as it likes.
    pub timeout: Option<Duration>,
    /// So many bytes are kept of each stream, half from its beginning and half from its end.
    pub capture: usize,
}

impl Program {
    /// As [`crate::Shell::run`].
    pub async fn run(self, on_chunk: impl FnMut(&str) + Send) -> Result<Finished, ProcessError> {
        if self.program.contains('\0') || self.arguments.iter().any(|word| word.as_bytes().contains(&0)) {
            return Err(ProcessError::Nul);
        }
        let mut command = Command::new(&self.program);
        let started = start(command.args(&self.arguments), &self.folder, &self.environment);
        let what = format!("`{}`", self.program);
        let (group, child) =
            started.map_err(|source| ProcessError::not_started(&what, &self.folder, source))?;
        follow(group, child, self.timeout, Output::new(self.capture, None), on_chunk).await
    }
}
