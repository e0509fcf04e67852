//! [`screen`] and [`chat`] (`haft` in a terminal, `haft chat`): conversations.
use super::{look::look, models, run, sessions::markdown, welcome};
use crate::{
    CliContext,
    args::TurnArgs,
    assemble::SessionSpec,
    config::{Config, Settings, edit},
    failure::Failure,
    mcp::{self, notes},
    model,
    slash::{self, Expanded, Template},
};
use haft_core::Command;
use haft_engine::Home;
use haft_providers::Effort;
use haft_terminal::{
    Exit, Pictures, chat as line_mode,
    host::{Host, Opened, Wish},
    signals::Interrupts,
    tui,
};
use std::{
    io::{IsTerminal, stdin},
    sync::Arc,
};

/// The screen. `first` is sent before anything is typed.
pub(crate) async fn screen(
    context: &CliContext,
    turn: &TurnArgs,
    first: Option<Command>,
) -> Result<Exit, Failure> {
    // Whatever is written beside the screen would stand in the middle of it.
    let turn = &TurnArgs { quiet: true, ..run::continued(context, turn)? };
    let Some(spec) = welcome::with_model(context, turn, SessionSpec::of(context, turn)?).await? else {
        return Ok(Exit::Interrupted);
    };
    let config = spec.config.clone();
    let look = look(context, turn.no_color, config.effective().theme.as_deref())?;
    let opened = open(spec, turn, false).await?;
    let mut interrupts = Interrupts::listen()?;
    let host = host(context, turn, &opened, config, false);
    Ok(tui::run(host, opened, look, first, &mut interrupts).await?)
}

/// Turn after turn, line by line.
pub(crate) async fn chat(context: &CliContext, turn: &TurnArgs) -> Result<Exit, Failure> {
    let turn = &run::continued(context, turn)?;
    let Some(spec) = welcome::with_model(context, turn, SessionSpec::of(context, turn)?).await? else {
        return Ok(Exit::Interrupted);
    };
    let config = spec.config.clone();
    let mut interrupts = Interrupts::listen()?;
    let theme = config.effective().theme;
    let opened = open(spec, turn, turn.quiet).await?;
    let options = run::options(&opened.engine, context, turn, theme.as_deref())?;
    let host = host(context, turn, &opened, config, turn.quiet);
    Ok(line_mode::run(host, opened, &options, &mut interrupts).await?)
}

/// The person at a terminal may widen what runs without approval, as far as the project allows.
async fn open(spec: SessionSpec<'_>, turn: &TurnArgs, quiet: bool) -> Result<Opened, Failure> {
    let most = spec.config.most();
    let config = spec.config.clone();
    let assembled = spec.engine_with(|setup| {
        setup.ceiling = stdin().is_terminal().then(|| most.max(setup.policy.mode));
    });
    let assembled = assembled.await?;
    let (session, notices) = run::opened(&assembled, &TurnArgs { quiet, ..turn.clone() }).await?;
    let effort =
        config.effective().effort.filter(|_| !efforts(&assembled.engine.setup().model.spec).is_empty());
    let effort = effort.map(|effort| effort.name().to_owned());
    Ok(Opened { engine: assembled.engine, session, notices, effort })
}

/// `quiet`: nothing is told about how a session was opened.
fn host(context: &CliContext, turn: &TurnArgs, opened: &Opened, config: Config, quiet: bool) -> Host {
    let workspace = &opened.engine.setup().workspace;
    let known = slash::known(&context.places, workspace, &*notes(turn.quiet));
    let prompts = known.iter().map(|known| (known.name.clone(), known.header.description.clone())).collect();
    let own = opened.engine.setup().model.spec.clone();
    let (variables, live) = (context.clone(), (context.clone(), config.clone(), own.clone()));
    let servers = (context.clone(), config.clone(), workspace.clone());
    Host {
        open: opener(context.clone(), TurnArgs { cwd: Some(workspace.clone()), ..turn.clone() }, quiet),
        efforts: Arc::new(efforts),
        models: Arc::new(move || models::choices(&variables, &config, &own)),
        live_models: Arc::new(move || {
            let (context, config, own) = live.clone();
            Box::pin(async move { models::live_choices(&context, &config, &own).await })
        }),
        servers: Arc::new(move || {
            let (context, config, workspace) = servers.clone();
            Box::pin(async move { mcp::try_all(&context, &config, &workspace).await.unwrap_or_default() })
        }),
        export: Arc::new(markdown::of),
        pictures: Pictures::of(context.environment.get("TERM"), context.environment.get("TERM_PROGRAM")),
        prompts,
        expand: Arc::new(move |line| in_conversation(&known, line).map_err(|failure| said(&failure))),
        history: Some(context.places.home.join("history")),
        editor: ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| context.environment.get(name))
            .map(str::to_owned),
        scratch: context.places.home.clone(),
    }
}

fn opener(context: CliContext, turn: TurnArgs, quiet: bool) -> haft_terminal::host::Open {
    Arc::new(move |wish| {
        let (context, turn) = (context.clone(), turn.clone());
        Box::pin(async move {
            let is_kept = wish.is_kept;
            let wished = wished(&context, turn, wish).map_err(|failure| said(&failure))?;
            let spec = SessionSpec::of(&context, &wished).map_err(|failure| said(&failure))?;
            let mut opened = open(spec, &wished, quiet).await.map_err(|failure| said(&failure))?;
            if is_kept {
                opened.notices.push(kept(&context, &opened));
            }
            Ok(opened)
        })
    })
}

/// Keeps model and effort for new sessions; says where, or why not.
fn kept(context: &CliContext, Opened { engine, effort, .. }: &Opened) -> String {
    let (file, model) = (&context.places.user_file, &engine.setup().model.spec);
    let kept = edit::set(file, "model", model)
        .and_then(|()| effort.as_ref().map_or(Ok(()), |effort| edit::set(file, "effort", effort)));
    match kept {
        Ok(()) => format!("kept for new sessions in `{}`", file.display()),
        Err(error) => format!("not kept for new sessions: {error}"),
    }
}

/// The levels of effort that the model `spec` takes.
fn efforts(spec: &str) -> Vec<&'static str> {
    match model::has_effort(spec) {
        true => Effort::ALL.map(Effort::name).to_vec(),
        false => Vec::new(),
    }
}

/// An old session goes on with its own model and profile, where nothing else is asked for.
fn wished(context: &CliContext, turn: TurnArgs, wish: Wish) -> Result<TurnArgs, Failure> {
    let effort = wish.effort.map(|name| {
        Effort::named(&name).ok_or_else(|| {
            Failure::usage(format!("there is no effort `{name}`"))
                .hint(format!("there are {}", Effort::ALL.map(Effort::name).join(", ")))
        })
    });
    let settings = Settings { effort: effort.transpose()?.or(turn.settings.effort), ..turn.settings };
    let turn = TurnArgs { settings, ..turn };
    let given =
        TurnArgs { newest: false, session: None, agent: wish.agent.or(turn.agent.clone()), ..turn.clone() };
    let Some(id) = wish.session else {
        let model = wish.model.or(turn.settings.model.clone());
        return Ok(TurnArgs { settings: Settings { model, ..turn.settings }, ..given });
    };
    let entries = Home(context.places.home.clone()).peek(&id)?;
    let asked = TurnArgs { settings: Settings { model: wish.model, ..turn.settings }, ..given };
    Ok(run::with_session(asked, &id, &entries))
}

/// As on standard error: a hint stands on a line of its own.
fn said(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("{}{hint}", failure.message)
}

/// Expands a line of a conversation. The agent and the model are chosen when the conversation starts.
fn in_conversation(known: &[Template], line: &str) -> Result<String, Failure> {
    match slash::expand(known, line, "/help")? {
        Expanded { prompt, agent: None, model: None } => Ok(prompt),
        Expanded { .. } => Err(Failure::usage(format!("`{line}` names an agent or a model"))
            .hint("choose them with `/agent` and `/model`, or use `haft run`")),
    }
}
