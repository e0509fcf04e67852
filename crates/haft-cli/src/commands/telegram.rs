//! [`telegram`] (`haft telegram`): a bot, with a conversation in each of its chats.
use crate::{CliContext, args::TelegramArgs, notes};
use futures::FutureExt;
use haft_app::{
    App, Assembled, Failure, SessionSpec,
    agents::AGENT,
    config::{Config, Settings},
    slash::{self, Template},
};
use haft_telegram::{self, Engines, Options, Token, Trouble};
use haft_terminal::{Exit, signals::Interrupts};
use std::sync::Arc;

/// Where Telegram's own servers are.
const API_URL: &str = "https://api.telegram.org";
/// Where the token stands, unless the person's file names another variable.
const TOKEN: &str = "TELEGRAM_BOT_TOKEN";

/// Runs until a signal interrupts.
pub(crate) async fn telegram(cli: &CliContext, args: &TelegramArgs) -> Result<Exit, Failure> {
    let spec = SessionSpec { workspace: args.cwd.clone(), ..args.work.spec() };
    let plan = cli.plan(&spec)?;
    let config = plan.config.clone();
    let token = token(cli, &config)?;
    let Assembled { engine, notices } = plan.engine().await?;
    notices.into_iter().for_each(|notice| cli.warn(notice));
    let known = cli.prompts(&engine.setup().workspace);
    let variable = cli.environment.get("TELEGRAM_BASE_URL");
    let options = Options {
        api_url: args.api_url.as_deref().or(variable).unwrap_or(API_URL).to_owned(),
        token,
        allowed: args.allow.iter().chain(&config.user.telegram.users).copied().collect(),
        pair: args.pair,
        folder: cli.places.home.join("telegram"),
        agent: args.work.agent.clone().unwrap_or_else(|| AGENT.into()),
        engines: engines(cli, &spec),
        prompts: known.iter().map(|known| (known.name.clone(), known.header.description.clone())).collect(),
        expand: Arc::new(move |line| expand(&known, line)),
        // These lines are required: they hold the pairing code, and the reasons of failures.
        notes: notes(false),
    };
    let mut interrupts = Interrupts::listen()?;
    let ran = interrupts.until(|interrupted| haft_telegram::run(engine, options, interrupted)).await;
    ran.map_or(Ok(Exit::Success), |ran| ran.map(|()| Exit::Success).map_err(failure))
}

fn token(cli: &CliContext, config: &Config) -> Result<Token, Failure> {
    let variable = config.user.telegram.token_env.as_deref().unwrap_or(TOKEN);
    let hint = "ask @BotFather on Telegram for a bot, and put its token into that variable";
    let Some(text) = cli.environment.get(variable) else {
        return Err(
            Failure::usage(format!("there is no token for Telegram: {variable} is not set")).hint(hint)
        );
    };
    let odd =
        || Failure::usage(format!("{variable} holds no token: there are characters in it that no token has"));
    Token::new(text.trim()).ok_or_else(|| odd().hint(hint))
}

/// The same engine with another model.
fn engines(cli: &CliContext, spec: &SessionSpec) -> Engines {
    let (app, spec) = (App::clone(cli), SessionSpec { base_url: None, ..spec.clone() });
    Arc::new(move |model| {
        let settings = Settings { model: Some(model), ..spec.settings.clone() };
        let (app, spec) = (app.clone(), SessionSpec { settings, ..spec.clone() });
        async move {
            let assembled = async { app.plan(&spec)?.engine().await };
            assembled.await.map(|assembled| assembled.engine).map_err(|failure| failure.message)
        }
        .boxed()
    })
}

/// The agent and the model of a chat are chosen when its conversation starts.
fn expand(known: &[Template], line: &str) -> Result<String, String> {
    let expanded = slash::expand(known, line, "/help");
    let expanded = expanded.map_err(|failure| format!("{}. /help tells what there is.", failure.message))?;
    let failed = |_| format!("`{line}` names an agent or a model, which is not possible here.");
    expanded.prompt_alone().map_err(failed)
}

fn failure(trouble: Trouble) -> Failure {
    let failure = match &trouble {
        Trouble::Address(_) | Trouble::Token(_) => Failure::usage(trouble.to_string()),
        Trouble::Conflict(_) | Trouble::Taken | Trouble::State(..) => Failure::failed(trouble.to_string()),
    };
    failure.hint(trouble.hint())
}
