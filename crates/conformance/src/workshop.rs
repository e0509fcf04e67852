//! A folder with files in it, and the product's own tools at work there: each call checked, judged, run in a view
//! and settled, as the engine does it.
use haft_core::{
    Access, Alone, CallId, Effect, Mode, NoJobs, Nobody, Policy, Registry, SessionId, Stage, ToolContext,
    ToolError, ToolErrorKind, ToolOutput, Validation, Verdict, View,
};
use haft_stage::Declared;
use haft_tools::{Settings, builtin};
use serde_json::{Map, Value};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

pub(crate) struct Workshop {
    workspace: PathBuf,
    stage: Declared,
    tools: Registry,
    _folder: TempDir,
}

impl Workshop {
    /// `files`: contents by path.
    pub(crate) fn new(files: &Map<String, Value>) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let workspace = folder.path().canonicalize()?.join("workspace");
        fs::create_dir(&workspace)?;
        for (path, content) in files {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&workspace))?;
            fs::write(path, content.as_str().unwrap_or_default())?;
        }
        let stage = Declared::new(folder.path().join("blobs"));
        Ok(Self { workspace, stage, tools: builtin(&Settings::default()), _folder: folder })
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Result<ToolOutput, ToolError> {
        let registered = self.tools.find(tool)?;
        let arguments = registered.check(arguments, Validation::Coerce)?;
        let effects = registered.tool.effects(&arguments, &self.workspace)?;
        self.judge(&effects)?;
        let place = |effect: Effect| effect.placed(|path| self.stage.resolve(&self.workspace, path));
        let effects: Vec<Effect> = effects.into_iter().map(place).collect();
        let view: Arc<dyn View> = self.stage.open(&self.workspace, &effects).map_err(failed)?.into();
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(failed)?;
        let output = runtime.block_on(registered.tool.call(arguments, &self.context(view.clone())))?;
        let changes = view.changes().map_err(failed)?;
        let conflicts = self.stage.settle(&self.workspace, &changes).map_err(failed)?;
        match conflicts.first() {
            None => Ok(output),
            Some(path) => Err(failed(format!("`{}` was changed by others", path.display()))),
        }
    }

    /// As for somebody who lets files of the workspace be changed, and cannot be asked about others.
    fn judge(&self, effects: &[Effect]) -> Result<(), ToolError> {
        let policy = Policy { rules: Vec::new(), mode: Mode::AcceptEdits };
        let resolved: Vec<Effect> = effects.iter().map(|effect| self.resolved(effect)).collect();
        match policy.judge(&resolved, &self.workspace, &|_| false) {
            Verdict::Allow => Ok(()),
            Verdict::Ask { reason } | Verdict::Deny { reason } => {
                Err(ToolError::new(ToolErrorKind::Permission, reason))
            }
        }
    }

    fn resolved(&self, effect: &Effect) -> Effect {
        let resolve = |path: &Path| self.stage.resolve(&self.workspace, path);
        match effect {
            Effect::Read(path) => Effect::Read(resolve(path)),
            Effect::Write(path) => Effect::Write(resolve(path)),
            Effect::Execute(_) | Effect::Network(_) => effect.clone(),
        }
    }

    fn context(&self, view: Arc<dyn View>) -> ToolContext {
        ToolContext {
            session: SessionId("conformance".into()),
            message: "0".into(),
            agent: "haft".into(),
            call: CallId("1".into()),
            channel: None,
            workspace: view.root().to_owned(),
            live: self.workspace.clone(),
            access: Access::default(),
            readable: Arc::default(),
            artifacts: self.workspace.with_file_name("artifacts"),
            jobs: Arc::new(NoJobs),
            person: Arc::new(Nobody),
            subagents: Arc::new(Alone),
            cancel: Default::default(),
            on_progress: Arc::new(|_| {}),
            view,
        }
    }

    /// Every file as it stands.
    pub(crate) fn files(&self) -> io::Result<Map<String, Value>> {
        let mut files = Map::new();
        let mut folders = vec![self.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&self.workspace).unwrap_or(&path).display().to_string();
                    files.insert(name, String::from_utf8_lossy(&fs::read(&path)?).into());
                }
            }
        }
        Ok(files)
    }
}

fn failed(error: impl ToString) -> ToolError {
    ToolError::new(ToolErrorKind::System, error.to_string())
}
