//! [`screen`] and [`chat`] (`haft` in a terminal, `haft chat`): conversations.
use super::{
    login,
    look::{links, look},
    run,
    screen_setup::{check, keys, notifications, status_line},
    themes, welcome,
};
use crate::{
    CliContext,
    args::{LoginArgs, TurnArgs},
    own_program,
};
use haft_app::{
    AppHost, Ceiling, Failure, SessionPlan,
    config::{Config, EditorMode, project_file},
    mcp_servers::project,
};
use haft_core::Command;
use haft_present::host::{Conversation, Host};
use haft_terminal::{
    Exit, Pictures, chat as line_mode,
    host::{LogIn, Surroundings},
    signals::Interrupts,
    tui,
};
use std::{
    io::{IsTerminal, stdin},
    path::PathBuf,
    sync::Arc,
};
use tokio::sync::mpsc::unbounded_channel;

/// Runs the screen. `first` is sent before the user types anything.
pub(crate) async fn screen(
    cli: &CliContext,
    turn: &TurnArgs,
    first: Option<Command>,
) -> Result<Exit, Failure> {
    // Direct output would appear in the middle of the screen.
    let (sender, warnings) = unbounded_channel();
    let on_screen = &cli.silent_but(Arc::new(move |warning| drop(sender.send(warning))));
    let Some(plan) = welcome::with_model(on_screen, turn, on_screen.plan(&turn.spec())?).await? else {
        return Ok(Exit::Interrupted);
    };
    let is_checked = plan.config.user.update.check;
    if is_checked && let Some(version) = cli.updates(own_program()).known() {
        cli.warn(format!("haft {version} is available; `haft update` installs it"));
    }
    let look = look(cli, plan.config.effective().theme.as_deref())?;
    let (around, opened) = open(on_screen, turn, plan, false).await?;
    let mut interrupts = Interrupts::listen()?;
    let screen = tui::run(around, opened, look, first, Some(warnings), &mut interrupts);
    Ok(match is_checked {
        true => beside(screen, cli.updates(own_program()).check_daily()).await,
        false => screen.await,
    }?)
}

/// Runs `work` while `screen` is open; `screen` does not wait for it.
async fn beside<T>(screen: impl Future<Output = T>, work: impl Future<Output = ()>) -> T {
    let forever = async {
        work.await;
        std::future::pending().await
    };
    tokio::select! {
        left = screen => left,
        never = forever => never,
    }
}

/// Runs a conversation line by line, turn after turn.
pub(crate) async fn chat(cli: &CliContext, turn: &TurnArgs) -> Result<Exit, Failure> {
    let Some(plan) = welcome::with_model(cli, turn, cli.plan(&turn.spec())?).await? else {
        return Ok(Exit::Interrupted);
    };
    let mut interrupts = Interrupts::listen()?;
    let settings = plan.config.effective();
    let (around, opened) = open(cli, turn, plan, cli.global.quiet).await?;
    let options = run::options(&opened.engine, cli, turn, &settings)?;
    Ok(line_mode::run(around, opened, &options, &mut interrupts).await?)
}

/// Opens the first session of a conversation. The user at the terminal may choose a wider mode, as far as the project
/// allows.
async fn open(
    cli: &CliContext,
    turn: &TurnArgs,
    plan: SessionPlan,
    is_quiet: bool,
) -> Result<(Surroundings, Conversation), Failure> {
    check(cli, &plan.config)?;
    let ceiling = if stdin().is_terminal() { Ceiling::Project } else { Ceiling::Beginning };
    let mut host = AppHost::new(cli, turn.spec(), ceiling).quiet(is_quiet);
    let config = plan.config.clone();
    let mut opened = host.first_conversation(plan).await?;
    let workspace = opened.engine.setup().workspace.clone();
    if stdin().is_terminal() && !is_quiet {
        opened.notices.extend(project::offer(cli, &config, &workspace));
    }
    Ok((around(cli, &config, Arc::new(host), workspace)?, opened))
}

/// The parts of this program that a conversation in `workspace` needs.
pub(super) fn around(
    cli: &CliContext,
    config: &Config,
    host: Arc<dyn Host>,
    workspace: PathBuf,
) -> Result<Surroundings, Failure> {
    let settings = config.effective();
    Ok(Surroundings {
        prompts: host.prompts(&workspace),
        links: links(cli, settings.hyperlinks, &workspace),
        config_files: vec![cli.places.user_file.clone(), project_file(&workspace)],
        host,
        workspace,
        pictures: Pictures::of(cli.environment.get("TERM"), cli.environment.get("TERM_PROGRAM")),
        history: Some(cli.places.home.join("history")),
        editor: run::editor(cli),
        keys: keys(cli, &config.user.keys)?,
        is_vim: settings.editor_mode == Some(EditorMode::Vim),
        themes: themes::themes(cli),
        status_line: status_line(config)?,
        environment: cli.environment.access(config).environment,
        notifications: notifications(settings.notifications.unwrap_or_default()),
        login: Some(login(cli)),
    })
}

/// Asks for a key as `haft login` does.
fn login(cli: &CliContext) -> LogIn {
    let cli = cli.clone();
    Arc::new(move |vendor| {
        let cli = cli.clone();
        Box::pin(async move {
            let entered = login::login(&cli, &LoginArgs { vendor, ..LoginArgs::default() }).await;
            entered.map(|exit| exit == Exit::Success).map_err(|Failure { message, hint, .. }| {
                message + &hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default()
            })
        })
    })
}
