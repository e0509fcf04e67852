//! [`run`] (`haft run`): runs one turn.
use super::{input, look::look, welcome};
use crate::{
    CliContext,
    agents::AGENT,
    args::{Form, TurnArgs},
    assemble::{self, Assembled, SessionSpec},
    config::Settings,
    failure::Failure,
    mcp::notes,
    slash::{self, Expanded},
};
use haft_core::{Command, Entry, Mode, Part, Seq, SessionOpened};
use haft_engine::{Engine, Home, Session};
use haft_present::{cursor::next, words::Style};
use haft_providers::direct;
use haft_terminal::{
    Diffs, Exit, picture,
    print::{self, Options, Output},
    signals::Interrupts,
};
use std::{
    io::{IsTerminal, Write, stderr, stdin},
    path::Path,
    sync::Arc,
};

/// One turn.
pub(crate) async fn run(context: &CliContext, words: &[String], turn: &TurnArgs) -> Result<Exit, Failure> {
    let Expanded { prompt, agent, model } = expand(context, turn, words)?;
    let agent = turn.agent.clone().or(agent);
    let turn = &TurnArgs { agent, settings: turn.settings.with_model(model), ..turn.clone() };
    let mut parts = vec![Part::text(prompt)];
    if words != ["-"] {
        parts.extend(input::piped(turn.quiet)?.map(|piped| Part::text(input::marked(&piped))));
    }
    for file in &turn.image {
        parts.push(Part::Image(picture::read(file).map_err(Failure::usage)?));
    }
    start(context, turn, Command::Prompt { parts, channel: None }).await
}

/// Runs one turn of piped input alone; `None` if there is no input.
pub(crate) async fn piped(context: &CliContext, turn: &TurnArgs) -> Result<Option<Exit>, Failure> {
    let Some(text) = input::piped(turn.quiet)? else { return Ok(None) };
    let command = Command::Prompt { parts: vec![Part::text(text)], channel: None };
    start(context, turn, command).await.map(Some)
}

/// Opens the session that `turn` asks for and carries out `command` in it.
pub(crate) async fn start(context: &CliContext, turn: &TurnArgs, command: Command) -> Result<Exit, Failure> {
    let turn = &continued(context, turn)?;
    let spec = SessionSpec::of(context, turn)?;
    let Some(spec) = welcome::with_model(context, turn, spec).await? else {
        return Ok(Exit::Interrupted);
    };
    let theme = spec.config.effective().theme;
    let assembled = spec.engine().await?;
    let mut interrupts = Interrupts::listen()?;
    let session = open(&assembled, turn).await?;
    let options = options(&assembled.engine, context, turn, theme.as_deref())?;
    let fresh = session.entries().len() == 1;
    let from = if fresh { Seq(0) } else { next(&session) };
    let exit = print::last_turn(&session, command, from, &options, &mut interrupts).await;
    interrupts.or_leave(assembled.engine.shut_down()).await;
    Ok(exit?)
}

/// What the words of a prompt stand for. Standard input is taken as it is: it may be anything.
fn expand(context: &CliContext, turn: &TurnArgs, words: &[String]) -> Result<Expanded, Failure> {
    let prompt = prompt(words)?;
    if !prompt.trim_start().starts_with('/') || matches!(words, [dash] if dash == "-") {
        return Ok(Expanded { prompt, ..Expanded::default() });
    }
    let workspace = assemble::workspace_for(context, turn)?;
    slash::expand(
        &slash::known(&context.places, &workspace, &*notes(turn.quiet)),
        &prompt,
        "haft commands list",
    )
}

/// What a person is told whose session another `haft` has open.
pub(super) const JOINED: &str = "another process has the session open, and it was joined";

/// A new session, or the one that is named; says how the model was chosen, whether it was joined, and what of a journal
/// was damaged.
async fn open(assembled: &Assembled, turn: &TurnArgs) -> Result<Session, Failure> {
    let (session, notices) = opened(assembled, turn).await?;
    notices.iter().try_for_each(|line| writeln!(stderr(), "note: {line}"))?;
    Ok(session)
}

/// The same, with what there is to say about it.
pub(super) async fn opened(
    assembled: &Assembled,
    turn: &TurnArgs,
) -> Result<(Session, Vec<String>), Failure> {
    let Assembled { engine, notices } = assembled;
    let agent = turn.agent.as_deref().unwrap_or(AGENT);
    let session = match &turn.session {
        Some(id) => engine.open(id, agent).await?,
        None => engine.create(agent)?,
    };
    let permission = permitted(&session, turn.settings.permission)?;
    let damage = session
        .journal()
        .damage()
        .iter()
        .map(|line| format!("{}: {line}", session.journal().path().display()));
    // The process that has the session open decides who is asked.
    let mut notices = if session.is_joined() { vec![JOINED.to_owned()] } else { notices.clone() };
    if let Some(name) = engine.setup().home.name(session.id()) {
        notices.insert(0, format!("going on with `{}`", haft_present::safe::name(&name)));
    }
    let notices = notices.into_iter().filter(|_| !turn.quiet).chain(permission).chain(damage).collect();
    Ok((session, notices))
}

/// What a person asks for by name holds in a session that goes on, too; says where it cannot.
pub(super) fn permitted(session: &Session, wanted: Option<Mode>) -> Result<Option<String>, Failure> {
    let (now, Some(wanted)) = (session.mode(), wanted.map(|wanted| wanted.min(session.ceiling()))) else {
        return Ok(None);
    };
    if session.is_joined() && wanted > now {
        return Ok(Some(format!(
            "`--permission {}` does not hold: the process that has the session open allows `{}`",
            wanted.name(),
            now.name()
        )));
    }
    if wanted != now {
        session.send(Command::SetMode { mode: wanted })?;
    }
    Ok(None)
}

/// The newest session of the folder `workspace` that a model has a part in.
pub(super) fn newest(home: &Home, workspace: &Path) -> Result<String, Failure> {
    let newest = home.newest(workspace, |session| session.model != direct::MODEL).map(|id| id.0);
    newest.ok_or_else(|| Failure::usage(format!("there is no session in `{}` yet", workspace.display())))
}

/// How a turn is shown; `theme` as the configuration has it.
pub(super) fn options(
    engine: &Engine,
    context: &CliContext,
    turn: &TurnArgs,
    theme: Option<&str>,
) -> Result<Options, Failure> {
    let terminal = stdin().is_terminal() && stderr().is_terminal();
    let color = stderr().is_terminal() && !turn.no_color && context.environment.get("NO_COLOR").is_none();
    let still = engine.setup().tools.all().filter(|registered| registered.tool.suppresses_animation());
    Ok(Options {
        output: match (turn.output, turn.json) {
            (Form::StreamJson, _) | (_, true) => Output::StreamJson,
            (Form::Json, false) => Output::Json,
            (Form::Activity, false) => Output::Activity,
            (Form::Text, false) => Output::Text,
        },
        style: Style { quiet: turn.quiet, color, thinking: turn.verbose > 0 },
        can_ask: terminal,
        chat: engine.setup().profile.chat.clone(),
        diffs: Diffs(stderr().is_terminal().then(|| look(context, turn.no_color, theme)).transpose()?),
        still: still.map(|registered| registered.told().name.clone()).collect(),
        seconds: engine.setup().profile.limits.budget.seconds,
    })
}

/// `turn` with the session that it names or, for `--continue`, the newest one of the folder; that session goes on as
/// [`with_session`] says.
pub(super) fn continued(context: &CliContext, turn: &TurnArgs) -> Result<TurnArgs, Failure> {
    let home = Home(context.places.home.clone());
    let id = match &turn.session {
        Some(id) => id.clone(),
        None if turn.newest => newest(&home, &assemble::workspace(turn.cwd.as_deref())?)?,
        None => return Ok(turn.clone()),
    };
    // If the person named another folder, they are told: see `workspace_for`.
    let entries = home.peek(&id)?;
    Ok(with_session(turn.clone(), &id, &entries))
}

/// The model, the profile and the folder that the session began with, where nothing else is asked for.
pub(super) fn with_session(turn: TurnArgs, id: &str, entries: &[Arc<Entry>]) -> TurnArgs {
    let Some(SessionOpened { model, workspace, profile, .. }) = SessionOpened::of(entries) else {
        return turn;
    };
    TurnArgs {
        settings: Settings {
            model: turn.settings.model.or_else(|| {
                Some(model.clone())
                    .filter(|model| ![assemble::NO_MODEL, direct::MODEL].contains(&model.as_str()))
            }),
            profile: turn.settings.profile.or_else(|| Some(profile.clone())),
            ..turn.settings
        },
        cwd: turn.cwd.or_else(|| Some(workspace.clone())),
        session: Some(id.to_owned()),
        ..turn
    }
}

fn prompt(words: &[String]) -> Result<String, Failure> {
    let text = match words {
        [dash] if dash == "-" => input::whole()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(
            Failure::usage("the prompt is empty").hint("say what to do: `haft run \"fix the failing test\"`")
        );
    }
    if text.len() > input::MAX {
        let size = text.len() as f64 / f64::from(1 << 20);
        return Err(input::too_long(&format!("has {size:.1} MB")));
    }
    Ok(text)
}
