//! [`Workshop`]: a folder with the files of a case, in which Haft's own tools run.
use haft_call::{CallScope, Recorder, Round, run_calls};
use haft_core::{Failure, Mode, Policy, Registry, ToolCall, ToolErrorKind};
use haft_stage::LocalStage;
use haft_tools::{Settings, builtin};
use serde_json::{Map, Value};
use std::{fs, io, sync::Arc};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Workshop {
    scope: CallScope,
    tools: Registry,
    _folder: TempDir,
}

impl Workshop {
    /// `files`: contents by path.
    pub(crate) fn new(files: &Map<String, Value>) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let workspace = root.join("workspace");
        fs::create_dir(&workspace)?;
        for (path, content) in files {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&workspace))?;
            fs::write(path, content.as_str().unwrap_or_default())?;
        }
        let stage = Arc::new(LocalStage::new(root.join("blobs")));
        // The mode of a user who allows changes of files in the workspace and cannot answer questions about others.
        let policy = Policy { rules: Vec::new(), mode: Mode::AcceptEdits };
        let scope = CallScope::standalone(workspace, stage, policy, root.join("artifacts"));
        Ok(Self { scope, tools: builtin(&Settings::default()), _folder: folder })
    }

    /// Runs one call.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Result<(), Failure> {
        let cancel = CancellationToken::new();
        let round = Round {
            scope: &self.scope,
            tools: &self.tools,
            repeats: 0,
            channel: None,
            message: String::new(),
            parallel: false,
            recorder: Recorder::none(),
            cancel: &cancel,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
        let calls = vec![ToolCall::new("1", tool, arguments.clone())];
        let mut ran = runtime.block_on(run_calls(&round, calls));
        let error = ran.pop().and_then(|executed| executed.result.error);
        error.map_or(Ok(()), Err)
    }

    /// The current content of every file.
    pub(crate) fn files(&self) -> io::Result<Map<String, Value>> {
        let mut files = Map::new();
        let mut folders = vec![self.scope.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name =
                        path.strip_prefix(&self.scope.workspace).unwrap_or(&path).display().to_string();
                    files.insert(name, String::from_utf8_lossy(&fs::read(&path)?).into());
                }
            }
        }
        Ok(files)
    }
}

fn failed(error: impl ToString) -> Failure {
    Failure { kind: ToolErrorKind::System, message: error.to_string(), suggestion: None }
}
