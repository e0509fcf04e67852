//! [`export`] (`haft sessions export --format html`): writes a session as a page.
use crate::CliContext;
use haft_app::{App, Failure, config::Settings, model};
use haft_core::{Entry, Hash, Price, SessionOpened, Stage};
use haft_engine::Recorded;
use haft_serve::SessionExport;
use haft_stage::LocalStage;
use haft_terminal::Exit;
use std::{
    io::{self, Write, stdout},
    path::Path,
    sync::Arc,
};

/// Prints the page.
pub(super) fn export(cli: &CliContext, id: &str) -> Result<Exit, Failure> {
    stdout().lock().write_all(page(cli, id)?.as_bytes())?;
    Ok(Exit::Success)
}

/// The whole journal as one page, what was undone included.
pub(crate) fn page(app: &App, id: &str) -> Result<String, Failure> {
    let home = app.home();
    let id = home.find(id)?;
    let session = Kept { entries: home.peek(&id.0)?, contents: LocalStage::new(home.contents(&id)) };
    let opened = SessionOpened::of(&session.entries);
    let price = opened.and_then(|opened| price(app, &opened.workspace, &opened.model));
    Ok(SessionExport { session: &session, name: home.name(&id), price }.html())
}

/// A session as it lies on disk.
struct Kept {
    entries: Vec<Arc<Entry>>,
    contents: LocalStage,
}

impl Recorded for Kept {
    fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.clone()
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.contents.content(hash)
    }
}

/// A session can be read even if the configuration cannot.
fn price(app: &App, workspace: &Path, model: &str) -> Option<Price> {
    let config = app.config(workspace, &Settings::default()).ok()?;
    model::card_of(&config, model).price
}
