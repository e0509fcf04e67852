//! [`screen`] and [`chat`] (`haft` in a terminal, `haft chat`): conversations.
use super::{look::look, run, welcome};
use crate::{CliContext, args::TurnArgs};
use haft_app::{
    Existing, Failure, OpenedSession, SessionPlan, SessionSpec,
    config::{Config, edit},
    export, mcp_servers, model,
    slash::{self, Template},
};
use haft_core::Command;
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
    cli: &CliContext,
    turn: &TurnArgs,
    first: Option<Command>,
) -> Result<Exit, Failure> {
    // Whatever is written beside the screen would stand in the middle of it.
    let cli = &cli.silent();
    let Some(plan) = welcome::with_model(cli, turn, cli.plan(&turn.spec())?).await? else {
        return Ok(Exit::Interrupted);
    };
    let config = plan.config.clone();
    let look = look(cli, config.effective().theme.as_deref())?;
    let opened = open(plan, false).await?;
    let mut interrupts = Interrupts::listen()?;
    let host = host(cli, turn, &opened, config, false);
    Ok(tui::run(host, opened, look, first, &mut interrupts).await?)
}

/// Turn after turn, line by line.
pub(crate) async fn chat(cli: &CliContext, turn: &TurnArgs) -> Result<Exit, Failure> {
    let Some(plan) = welcome::with_model(cli, turn, cli.plan(&turn.spec())?).await? else {
        return Ok(Exit::Interrupted);
    };
    let config = plan.config.clone();
    let mut interrupts = Interrupts::listen()?;
    let theme = config.effective().theme;
    let opened = open(plan, cli.global.quiet).await?;
    let options = run::options(&opened.engine, cli, turn, theme.as_deref())?;
    let host = host(cli, turn, &opened, config, cli.global.quiet);
    Ok(line_mode::run(host, opened, &options, &mut interrupts).await?)
}

/// The person at a terminal may widen what runs without approval, as far as the project allows. `quiet`: nothing is told
/// about how the session was opened.
async fn open(plan: SessionPlan, quiet: bool) -> Result<Opened, Failure> {
    let most = plan.config.most();
    let effort = plan.config.effective().effort;
    let opened = plan.open_with(|setup| {
        setup.ceiling = stdin().is_terminal().then(|| most.max(setup.policy.mode));
    });
    let OpenedSession { engine, session, notices, warnings } = opened.await?;
    let effort = effort.filter(|_| model::has_effort(&engine.setup().model.spec));
    let notices = notices.into_iter().filter(|_| !quiet).chain(warnings).collect();
    Ok(Opened { engine, session, notices, effort: effort.map(|effort| effort.name().to_owned()) })
}

fn host(cli: &CliContext, turn: &TurnArgs, opened: &Opened, config: Config, quiet: bool) -> Host {
    let workspace = &opened.engine.setup().workspace;
    let known = cli.prompts(workspace);
    let prompts = known.iter().map(|known| (known.name.clone(), known.header.description.clone())).collect();
    let own = opened.engine.setup().model.spec.clone();
    let (app, live) = (cli.clone(), (cli.clone(), config.clone(), own.clone()));
    let servers = (cli.clone(), config.clone(), workspace.clone());
    let spec = SessionSpec { workspace: Some(workspace.clone()), ..turn.spec() };
    Host {
        open: opener(cli.clone(), spec, quiet),
        efforts: Arc::new(model::efforts),
        models: Arc::new(move || model::choices(&app, &config, &own)),
        live_models: Arc::new(move || {
            let (cli, config, own) = live.clone();
            Box::pin(async move { model::live_choices(&cli, &config, &own).await })
        }),
        servers: Arc::new(move || {
            let (cli, config, workspace) = servers.clone();
            Box::pin(async move { mcp_servers::try_all(&cli, &config, &workspace).await.unwrap_or_default() })
        }),
        export: Arc::new(export::markdown),
        pictures: Pictures::of(cli.environment.get("TERM"), cli.environment.get("TERM_PROGRAM")),
        prompts,
        expand: Arc::new(move |line| in_conversation(&known, line).map_err(|failure| said(&failure))),
        history: Some(cli.places.home.join("history")),
        editor: ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| cli.environment.get(name))
            .map(str::to_owned),
        scratch: cli.places.home.clone(),
    }
}

fn opener(cli: CliContext, spec: SessionSpec, quiet: bool) -> haft_terminal::host::Open {
    Arc::new(move |wish| {
        let (cli, spec) = (cli.clone(), spec.clone());
        let open = async move {
            let is_kept = wish.is_kept;
            let mut opened = open(cli.plan(&wished(&cli, spec, wish)?)?, quiet).await?;
            if is_kept {
                opened.notices.push(kept(&cli, &opened));
            }
            Ok(opened)
        };
        Box::pin(async move { open.await.map_err(|failure| said(&failure)) })
    })
}

/// Keeps model and effort for new sessions; says where, or why not.
fn kept(cli: &CliContext, Opened { engine, effort, .. }: &Opened) -> String {
    let (file, model) = (&cli.places.user_file, &engine.setup().model.spec);
    let kept = edit::set(file, "model", model)
        .and_then(|()| effort.as_ref().map_or(Ok(()), |effort| edit::set(file, "effort", effort)));
    match kept {
        Ok(()) => format!("kept for new sessions in `{}`", file.display()),
        Err(error) => format!("not kept for new sessions: {error}"),
    }
}

/// An old session continues with its own model and profile, if nothing else is asked for.
fn wished(cli: &CliContext, spec: SessionSpec, wish: Wish) -> Result<SessionSpec, Failure> {
    let effort = wish.effort.map(|name| {
        Effort::named(&name).ok_or_else(|| {
            Failure::usage(format!("there is no effort `{name}`"))
                .hint(format!("there are {}", Effort::ALL.map(Effort::name).join(", ")))
        })
    });
    let mut spec = SessionSpec { agent: wish.agent.or(spec.agent), session: None, ..spec };
    spec.settings.effort = effort.transpose()?.or(spec.settings.effort);
    let Some(id) = wish.session else {
        spec.settings.model = wish.model.or(spec.settings.model);
        return Ok(spec);
    };
    spec.settings.model = wish.model;
    let entries = cli.home().peek(&id)?;
    Ok(SessionSpec { session: Some(Existing::Named(id.clone())), ..spec }.continuing(&id, &entries))
}

/// As on standard error: a hint stands on a line of its own.
fn said(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("{}{hint}", failure.message)
}

/// Expands a line of a conversation. The agent and the model are chosen when the conversation starts.
fn in_conversation(known: &[Template], line: &str) -> Result<String, Failure> {
    let suggestion = "choose them with `/agent` and `/model`, or use `haft run`";
    Ok(slash::expand(known, line, "/help")?.in_session(line, suggestion)?)
}
