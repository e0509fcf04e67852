//! [`export`] (`haft sessions export --format html`): writes a session as a page.
use crate::{CliContext, config::Settings, failure::Failure, model, page::Page};
use haft::{
    engine::Home,
    kernel::{FileState, Price, SessionOpened, Stage},
    stage::Declared,
    terminal::Exit,
};
use std::{
    io::{Write, stdout},
    path::Path,
};

/// Prints the page.
pub(super) fn export(context: &CliContext, home: &Home, id: &str) -> Result<Exit, Failure> {
    stdout().lock().write_all(page(context, home, id)?.as_bytes())?;
    Ok(Exit::Success)
}

/// The whole journal as one page, what was undone included.
pub(crate) fn page(context: &CliContext, home: &Home, id: &str) -> Result<String, Failure> {
    let id = home.find(id)?;
    let entries = home.peek(&id.0)?;
    let kept = Declared::new(home.contents(&id));
    let contents = |state: &FileState| kept.content(&state.hash).ok();
    let opened = SessionOpened::of(&entries);
    let price = opened.and_then(|opened| price(context, &opened.workspace, &opened.model));
    let page = Page { entries: &entries, name: home.name(&id), price, contents: &contents };
    Ok(page.html())
}

/// A session can be read even if the configuration cannot.
fn price(context: &CliContext, workspace: &Path, model: &str) -> Option<Price> {
    let config = context.config(workspace, &Settings::default()).ok()?;
    model::card_of(&config, model).price
}
