//! [`Documents`]: the texts that are open in a server, which replace the files on disk for it.
use crate::connection::Connection;
use lsp_types::Url;
use serde_json::json;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Texts by path, each as the server knows it.
#[derive(Default)]
pub(crate) struct Documents(HashMap<PathBuf, Document>);

struct Document {
    version: i32,
    text: String,
    /// How many diagnostics the server had published when it got this text.
    since: u64,
}

/// The URI of a file; `None` for a relative path.
pub(crate) fn address(path: &Path) -> Option<Url> {
    Url::from_file_path(path).ok()
}

impl Documents {
    /// Sends the server this text of a file; `None` closes the file, so that the server uses the text on disk. `since`:
    /// how many diagnostics it has published so far. Returns whether anything was sent.
    pub(crate) fn set(
        &mut self,
        connection: &Connection,
        path: &Path,
        language: &str,
        text: Option<&str>,
        since: u64,
    ) -> bool {
        let Some(uri) = address(path) else { return false };
        match (self.0.get_mut(path), text) {
            (None, None) => false,
            (Some(known), Some(text)) if known.text == text => false,
            (Some(known), Some(text)) => {
                known.version += 1;
                known.text = text.to_owned();
                known.since = since;
                let document = json!({"uri": uri, "version": known.version});
                let changes = json!([{"text": text}]);
                let params = json!({"textDocument": document, "contentChanges": changes});
                connection.notify("textDocument/didChange", &params);
                true
            }
            (None, Some(text)) => {
                let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
                connection.notify("textDocument/didOpen", &json!({"textDocument": document}));
                self.0.insert(path.to_owned(), Document { version: 1, text: text.to_owned(), since });
                true
            }
            (Some(_), None) => {
                self.0.remove(path);
                connection.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri}}));
                true
            }
        }
    }

    /// The files whose texts the server has.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.0.keys().cloned().collect()
    }

    /// The version of the text that the server has, and how many diagnostics it had published before; `None` if it has
    /// none.
    pub(crate) fn version(&self, path: &Path) -> Option<(i32, u64)> {
        self.0.get(path).map(|document| (document.version, document.since))
    }

    /// The text that the server has.
    pub(crate) fn text(&self, path: &Path) -> Option<&str> {
        self.0.get(path).map(|document| document.text.as_str())
    }
}
