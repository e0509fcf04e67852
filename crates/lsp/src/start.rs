//! [`prepared`]: prepares the confined program of a server. [`greeting`]: the parameters of its first request.
use crate::{
    documents::address,
    error::LspError,
    program::outside,
    settings::{LanguageServer, LspSettings},
};
use haft_core::{Confinement, Effect, Reach, WorkspaceMount};
use haft_process::{Program, own_folder};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{io, path::Path, sync::Arc};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum bytes of standard error that are kept.
const MAX_LAST_WORDS: usize = 1_000;

/// The program of a server, and the folder that is its `/tmp`.
///
/// # Errors
/// Fails if it cannot be confined, because it would run code of the project with all rights of the user.
pub(crate) fn prepared(
    settings: &LanguageServer,
    program: &Path,
    root: &Path,
    session: &LspSettings,
) -> Result<(Program, TempDir), LspError> {
    let name = &settings.name;
    let folder = folder(&session.folder).map_err(|error| LspError::no_folder(name, &error))?;
    let confinement = confinement(session, folder.path());
    let confinement = confinement.ok_or_else(|| LspError::NotStarted {
        name: name.clone(),
        why: "commands are not confined here, and a server starts only confined".into(),
    })?;
    let program = Program {
        program: program.into(),
        arguments: settings.arguments.iter().map(Into::into).collect(),
        folder: root.to_owned(),
        environment: environment(settings, session),
        timeout: None,
        capture: 0,
        confinement: Some(Arc::new(confinement)),
    };
    Ok((program, folder))
}

fn folder(parent: &Path) -> io::Result<TempDir> {
    own_folder(parent)?;
    tempfile::Builder::new().prefix("tmp-").tempdir_in(parent)
}

/// Confines the server like a background command, but it cannot change the workspace and has a `/tmp` of its own.
fn confinement(session: &LspSettings, tmp: &Path) -> Option<Confinement> {
    let effects = [Effect::execute("a language server").lasting()];
    let view = session.stage.open(&session.workspace, &effects).ok()?;
    let confinement = Arc::unwrap_or_clone(view.confinement()?);
    Some(Confinement {
        finds: WorkspaceMount::ReadOnly,
        tmp: tmp.to_owned(),
        finds_tmp: WorkspaceMount::Itself,
        writable: Vec::new(),
        reach: Reach::Nothing,
        ..confinement
    })
}

/// The environment of commands, with the server's caches in its `/tmp`.
fn environment(settings: &LanguageServer, session: &LspSettings) -> Arc<[(String, String)]> {
    let caches = [("TMPDIR", "/tmp"), ("XDG_CACHE_HOME", "/tmp/cache")];
    let own = caches.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let own: Vec<(String, String)> = own.into_iter().chain(settings.environment.iter().cloned()).collect();
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    let rest = session.environment.iter().filter(|(name, _)| !is_own(name));
    let rest = rest.map(|(name, value)| match name.as_str() {
        "PATH" => (name.clone(), outside(value, &session.workspace)),
        _ => (name.clone(), value.clone()),
    });
    rest.chain(own.iter().cloned()).collect::<Vec<_>>().into()
}

/// The parameters of `initialize`. They do not contain the process ID of Haft: the confined server could not see that
/// process, and would end.
pub(crate) fn greeting(settings: &LanguageServer, root: &Path) -> Value {
    let uri = address(root);
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    json!({
        "processId": null,
        "clientInfo": {"name": "haft", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": root,
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": name}],
        "initializationOptions": settings.options,
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {
                "applyEdit": false,
                "configuration": true,
                "symbol": {},
                "workspaceEdit": {"documentChanges": true},
                "workspaceFolders": true,
            },
            "textDocument": {
                "definition": {"linkSupport": true},
                "diagnostic": {"dynamicRegistration": true},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "publishDiagnostics": {"versionSupport": true},
                "references": {},
                "rename": {},
                "synchronization": {},
            },
            "experimental": {"serverStatusNotification": true},
        },
    })
}

/// Keeps the end of the output on standard error.
pub(crate) async fn keep_words(mut errors: impl AsyncRead + Unpin, words: Arc<Mutex<String>>) {
    let mut buffer = [0; 4_096];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        let mut words = words.lock();
        words.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let start = words.ceil_char_boundary(words.len().saturating_sub(MAX_LAST_WORDS));
        words.drain(..start);
    }
}
