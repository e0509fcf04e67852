//! [`attach`] (`haft attach`): opens a session of `haft serve` in this terminal.
use super::{
    look::{look, of_questions},
    run, screen_setup,
    talk::around,
};
use crate::{
    CliContext,
    args::{AttachArgs, TurnArgs},
};
use haft_app::{Failure, config::Settings, session::workspace};
use haft_present::{age::age, host::Conversation, safe};
use haft_serve::attach::{AttachedHost, ListedSession, Server, ServerAddress};
use haft_terminal::{
    Exit, chat,
    signals::Interrupts,
    tui::{
        self,
        menu::{self, Secret},
    },
};
use std::{
    io::{IsTerminal, stderr, stdin},
    sync::Arc,
};

/// The variable that may contain the token.
const TOKEN_VARIABLE: &str = "HAFT_SERVE_TOKEN";

/// Shows a conversation until the user leaves. The session continues on the server.
pub(crate) async fn attach(cli: &CliContext, args: &AttachArgs) -> Result<Exit, Failure> {
    let address = ServerAddress::parse(&args.url, args.insecure)?;
    let here = workspace(None)?;
    let config = cli.config(&here, &Settings::default())?;
    screen_setup::check(cli, &config)?;
    let Some(token) = token(cli, args, &address).await? else { return Ok(Exit::Interrupted) };
    let server = Server::new(&address, token)?;
    let Some(id) = session(cli, args, &address, &server).await? else { return Ok(Exit::Interrupted) };
    let host = AttachedHost::new(cli, server);
    let opened = host.attach(&id).await?;
    let mut around = around(cli, &config, Arc::new(host), here)?;
    // Paths of the other machine must not become links here, and its models have their keys there.
    (around.links, around.login) = (haft_terminal::Links::default(), None);
    let turn = TurnArgs { plain: args.plain, ..TurnArgs::default() };
    let mut interrupts = Interrupts::listen()?;
    if crate::has_screen(cli, &turn) {
        let look = look(cli, config.effective().theme.as_deref())?;
        return Ok(tui::run(around, opened, look, None, None, &mut interrupts).await?);
    }
    let Conversation { engine, .. } = &opened;
    let options = run::options(engine, cli, &turn, &config.effective())?;
    Ok(chat::run(around, opened, &options, &mut interrupts).await?)
}

/// The token that the user has given, or types; `None` if the user leaves.
async fn token(
    cli: &CliContext,
    args: &AttachArgs,
    address: &ServerAddress,
) -> Result<Option<String>, Failure> {
    let known = args.token.as_deref().or(cli.environment.get(TOKEN_VARIABLE)).or(address.token.as_deref());
    if let Some(token) = known {
        return Ok(Some(token.trim().to_owned()));
    }
    if !is_terminal() {
        return Err(Failure::usage("cannot attach without the token of the server").hint(format!(
            "set {TOKEN_VARIABLE}; `haft serve --show-token` prints the token on the server's machine"
        )));
    }
    match menu::secret("Token of the server", "leaves", of_questions(cli)).await? {
        Secret::Typed(token) => Ok(Some(token.trim().to_owned())),
        Secret::Back | Secret::Left => Ok(None),
    }
}

fn is_terminal() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// The ID of the session: a new one or the requested one, the only one, or the one that the user selects; `None` if the
/// user leaves.
async fn session(
    cli: &CliContext,
    args: &AttachArgs,
    address: &ServerAddress,
    server: &Server,
) -> Result<Option<String>, Failure> {
    if args.new {
        return server.begin().await.map(Some);
    }
    let listed = server.sessions().await?;
    if let Some(asked) = args.session.as_ref().or(address.session.as_ref()) {
        return named(asked, &listed).map(Some);
    }
    match &listed[..] {
        [] => Err(Failure::usage(format!("there is no session at `{address}` yet"))
            .hint("`haft attach --new URL` begins one")),
        [only] => Ok(Some(only.id.clone())),
        _ if is_terminal() => choose(cli, &listed).await,
        _ => Err(Failure::usage(format!("there are {} sessions at `{address}`", listed.len()))
            .hint(format!("choose one: `--session ID`; the newest is {}", listed[0].id))),
    }
}

/// The ID of the session that `asked` names: by its ID, the beginning of its ID, or its title. If no listed session
/// matches, `asked` itself is used as the ID.
fn named(asked: &str, listed: &[ListedSession]) -> Result<String, Failure> {
    if listed.iter().any(|session| session.id == asked) {
        return Ok(asked.to_owned());
    }
    let is_meant =
        |session: &&ListedSession| session.id.starts_with(asked) || session.title.eq_ignore_ascii_case(asked);
    let meant: Vec<_> = listed.iter().filter(is_meant).collect();
    match &meant[..] {
        [] => Ok(asked.to_owned()),
        [one] => Ok(one.id.clone()),
        several => {
            let ids: Vec<_> = several.iter().map(|session| format!("`{}`", session.id)).collect();
            Err(Failure::usage(format!("`{asked}` names {} sessions: {}", several.len(), ids.join(", ")))
                .hint("use the whole ID of one of them"))
        }
    }
}

async fn choose(cli: &CliContext, listed: &[ListedSession]) -> Result<Option<String>, Failure> {
    let line = |session: &ListedSession| {
        let title = if session.title.is_empty() { &session.id } else { &session.title };
        let then = age(session.last_at);
        let facts = [&session.state, &then, &session.workspace, &session.id].map(String::as_str);
        (safe::name(title).into_owned(), safe::name(&facts.join(" · ")).into_owned())
    };
    let lines: Vec<_> = listed.iter().map(line).collect();
    let chosen = menu::choose("Which session?", &lines, None, of_questions(cli)).await?;
    Ok(chosen.and_then(|place| listed.get(place)).map(|session| session.id.clone()))
}
