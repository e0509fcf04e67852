//! [`LanguageServers::definitions`] and the other queries of tools: definitions and uses of a symbol, the outline and
//! the diagnostics of a file.
use crate::{
    LanguageServers, LspError,
    compare::own,
    dependents::files,
    documents::address,
    edits::{applied, by_file},
    positions::occurrence,
    server::Server,
    symbols::outline,
    taken::{Taken, text_of},
};
use haft_core::{Diagnostic, FileEdit};
use lsp_types::{GotoDefinitionResponse, Location, Position, Url, WorkspaceEdit};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// How long a tool waits for an answer, including the start of the server and the loading of the project.
const TOOL_TIMEOUT: Duration = Duration::from_secs(45);

/// Maximum files that are opened in a server before it is asked for uses of a symbol. It must find further ones by
/// itself.
const MAX_USERS: usize = 500;

/// An occurrence of a symbol in a file.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Absolute, links followed.
    pub path: PathBuf,
    /// The symbol itself.
    pub symbol: String,
    /// The line of the occurrence, counted from 1; `None` for the first occurrence.
    pub line: Option<usize>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Absolute.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// The line itself, without blanks around it; empty if the file cannot be read.
    pub text: String,
}

/// A symbol that a file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Its first line, counted from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Number of symbols that enclose it.
    pub depth: usize,
    /// The line with its name, without blanks around it.
    pub text: String,
}

impl LanguageServers {
    /// The definitions of the symbol, in the order of paths and lines.
    ///
    /// # Errors
    /// Fails if no server answers, or the symbol does not occur there.
    pub async fn definitions(&self, at: &Occurrence) -> Result<Vec<Place>, LspError> {
        let found: Option<GotoDefinitionResponse> =
            self.ask_at(at, "textDocument/definition", json!({})).await?;
        let locations = match found {
            None => Vec::new(),
            Some(GotoDefinitionResponse::Scalar(location)) => vec![location],
            Some(GotoDefinitionResponse::Array(locations)) => locations,
            Some(GotoDefinitionResponse::Link(links)) => {
                let location = |link: lsp_types::LocationLink| {
                    Location::new(link.target_uri, link.target_selection_range)
                };
                links.into_iter().map(location).collect()
            }
        };
        Ok(self.places(locations).await)
    }

    /// The uses of the symbol, including its definition, in the order of paths and lines.
    ///
    /// # Errors
    /// Fails as [`LanguageServers::definitions`] does.
    pub async fn references(&self, at: &Occurrence) -> Result<Vec<Place>, LspError> {
        let more = json!({"context": {"includeDeclaration": true}});
        let found: Option<Vec<Location>> = self.ask_at_all(at, "textDocument/references", more).await?;
        Ok(self.places(found.unwrap_or_default()).await)
    }

    /// Returns the new text of each file if the symbol gets the name `new_name`. Writes nothing.
    ///
    /// # Errors
    /// Fails as [`LanguageServers::definitions`] does; also if the server rejects the name, or if files would be
    /// created or moved.
    pub async fn rename(&self, at: &Occurrence, new_name: &str) -> Result<Vec<FileEdit>, LspError> {
        let method = "textDocument/rename";
        let asked = SystemTime::now();
        let found: Option<WorkspaceEdit> = self.ask_at_all(at, method, json!({"newName": new_name})).await?;
        let name = self.of(&at.path).await?.name();
        let unusable = |why: String| LspError::Unreadable { name: name.clone(), method: method.into(), why };
        let files = by_file(found.unwrap_or_default()).map_err(unusable)?;
        let edit = |(path, edits): (PathBuf, Vec<_>)| {
            let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(self.workspace()));
            let changed = path.metadata().and_then(|found| found.modified());
            // The time of a file may be wrong, and lie in the future.
            if changed.is_ok_and(|changed| (asked..=SystemTime::now()).contains(&changed)) {
                let why = format!("`{}` was changed while it looked; try again", path.display());
                return Err(unusable(why));
            }
            let before = text_of(&path).filter(|_| is_inside);
            let before = before
                .ok_or_else(|| unusable(format!("`{}` is no text of the workspace", path.display())))?;
            let after = applied(&before, &edits).map_err(unusable)?;
            Ok(FileEdit { path, before: Some(before), after: Some(after) })
        };
        let edits: Vec<FileEdit> = files.into_iter().map(edit).collect::<Result<_, LspError>>()?;
        Ok(edits.into_iter().filter(|edit| edit.before != edit.after).collect())
    }

    /// The errors and warnings of a file on disk, and the name of the server that found them.
    ///
    /// # Errors
    /// Fails if no server answers.
    pub async fn diagnostics(&self, path: &Path) -> Result<(String, Vec<Diagnostic>), LspError> {
        let (server, deadline) = self.ready(path).await?;
        let mut taken = server.take().await;
        let path = path.to_owned();
        taken.refresh(&[]).await;
        let text = text_of(&path);
        let edited = std::slice::from_ref(&path);
        let found = taken.diagnose(&[(path.clone(), text)], edited, deadline).await;
        let found = self.or_give_up(&path, found).await?;
        Ok((server.name(), own(&found, &server.workspace)))
    }

    /// The symbols that a file defines, in its order.
    ///
    /// # Errors
    /// Fails if no server answers.
    pub async fn outline(&self, path: &Path) -> Result<Vec<Defined>, LspError> {
        let (server, deadline) = self.ready(path).await?;
        let mut taken = server.take().await;
        taken.refresh(&[path.to_owned()]).await;
        let symbols = self.or_give_up(path, outline(&taken, path, deadline).await).await?;
        let text = taken.documents.text(path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let defined = symbols.into_iter().map(|symbol| Defined {
            first: symbol.range.start.line as usize + 1,
            last: symbol.range.end.line as usize + 1,
            depth: symbol.depth,
            text: lines.get(symbol.line as usize).map_or(symbol.name.as_str(), |line| line.trim()).to_owned(),
        });
        Ok(defined.collect())
    }

    /// The server for `path`, and the deadline for its answer.
    async fn ready(&self, path: &Path) -> Result<(Arc<Server>, Instant), LspError> {
        let server = self.of(path).await?;
        let deadline = Instant::now() + server.settings.timeout.unwrap_or(TOOL_TIMEOUT);
        self.or_give_up(path, server.ready(deadline).await).await?;
        Ok((server, deadline))
    }

    /// Returns `answer`. After an error, gives up a broken server now instead of with the next call.
    async fn or_give_up<T>(&self, path: &Path, answer: Result<T, LspError>) -> Result<T, LspError> {
        if answer.is_err() {
            self.of(path).await?;
        }
        answer
    }

    /// Sends the request `method` for a symbol, with `more` parameters.
    async fn ask_at<T: DeserializeOwned>(
        &self,
        at: &Occurrence,
        method: &str,
        more: Value,
    ) -> Result<T, LspError> {
        self.ask_with(at, vec![at.path.clone()], method, more).await
    }

    /// Like [`Self::ask_at`], but opens all files with the word in the server before, because it may not have read them
    /// yet.
    async fn ask_at_all<T: DeserializeOwned>(
        &self,
        at: &Occurrence,
        method: &str,
        more: Value,
    ) -> Result<T, LspError> {
        let server = self.of(&at.path).await?;
        let names = [at.symbol.clone()].into();
        let (settings, workspace, known) =
            (server.settings.clone(), server.workspace.clone(), [at.path.clone()]);
        let searching = tokio::task::spawn_blocking(move || {
            let others = files(&settings, &workspace, &names, &known, MAX_USERS);
            known.into_iter().chain(others).collect()
        });
        self.ask_with(at, searching.await.unwrap_or_default(), method, more).await
    }

    /// Sends the request with the files `open` opened.
    async fn ask_with<T: DeserializeOwned>(
        &self,
        at: &Occurrence,
        open: Vec<PathBuf>,
        method: &str,
        more: Value,
    ) -> Result<T, LspError> {
        let (server, deadline) = self.ready(&at.path).await?;
        let mut taken = server.take().await;
        taken.refresh(&open).await;
        let position = position(&taken, at)?;
        let mut params = json!({"textDocument": {"uri": address(&at.path)}, "position": position});
        if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
            params.extend(more);
        }
        let answer = taken.ask_for(method, &params, deadline).await;
        self.or_give_up(&at.path, answer).await
    }

    /// The locations with the text of their lines, each once. Files outside the workspace are not read, because a
    /// server may return arbitrary paths.
    async fn places(&self, locations: Vec<Location>) -> Vec<Place> {
        let workspace = self.workspace().to_owned();
        let reading = tokio::task::spawn_blocking(move || {
            let mut texts: HashMap<Url, (PathBuf, String)> = HashMap::new();
            let mut places: Vec<Place> = Vec::new();
            for Location { uri, range } in locations {
                let Ok(path) = uri.to_file_path() else { continue };
                let read = || {
                    let real = path.canonicalize().ok().filter(|real| real.starts_with(&workspace));
                    (path.clone(), real.and_then(|real| text_of(&real)).unwrap_or_default())
                };
                let (path, text) = texts.entry(uri).or_insert_with(read);
                let line = range.start.line as usize;
                let text = text.lines().nth(line).unwrap_or_default().trim().to_owned();
                places.push(Place { path: path.clone(), line: line + 1, text });
            }
            places.sort();
            places.dedup();
            places
        });
        reading.await.unwrap_or_default()
    }
}

fn position(taken: &Taken<'_>, at: &Occurrence) -> Result<Position, LspError> {
    let text = taken.documents.text(&at.path).unwrap_or_default();
    let path = at.path.strip_prefix(&taken.server.workspace).unwrap_or(&at.path).display();
    occurrence(text, &at.symbol, at.line).ok_or_else(|| LspError::NoSymbol {
        symbol: at.symbol.clone(),
        place: match at.line {
            Some(line) => format!("line {line} of `{path}`"),
            None => format!("`{path}`"),
        },
    })
}
