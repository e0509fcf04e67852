//! [`telegram`] (`haft telegram`): runs a bot, with a conversation in each of its chats.
use crate::{CliContext, args::TelegramArgs, notes};
use haft_app::{AppHost, Ceiling, Failure, SessionSpec, config::Config};
use haft_telegram::{self, Options, Token, Trouble};
use haft_terminal::{Exit, signals::Interrupts};
use std::sync::Arc;

/// The address of Telegram's own servers.
const API_URL: &str = "https://api.telegram.org";
/// The variable with the token, unless the user's file names another one.
const TOKEN: &str = "TELEGRAM_BOT_TOKEN";

/// Runs until a signal interrupts.
pub(crate) async fn telegram(cli: &CliContext, args: &TelegramArgs) -> Result<Exit, Failure> {
    let spec = SessionSpec { workspace: args.cwd.clone(), ..args.work.spec() };
    let plan = cli.plan(&spec)?;
    let config = plan.config;
    let token = token(cli, &config)?;
    let mut host = AppHost::new(cli, spec, Ceiling::Beginning);
    let engine = host.first_engine().await?;
    engine.check_folders()?;
    let variable = cli.environment.get("TELEGRAM_BASE_URL");
    let options = Options {
        api_url: args.api_url.as_deref().or(variable).unwrap_or(API_URL).to_owned(),
        token,
        allowed: args.allow.iter().chain(&config.user.telegram.users).copied().collect(),
        pair: args.pair,
        folder: cli.places.home.join("telegram"),
        host: Arc::new(host),
        // Always printed: these lines contain the pairing code, and the reasons of failures.
        notes: notes(false),
    };
    let mut interrupts = Interrupts::listen()?;
    let ran = interrupts.until(|interrupted| haft_telegram::run(engine, options, interrupted)).await;
    ran.map_or(Ok(Exit::Success), |ran| ran.map(|()| Exit::Success).map_err(failure))
}

fn token(cli: &CliContext, config: &Config) -> Result<Token, Failure> {
    let variable = config.user.telegram.token_env.as_deref().unwrap_or(TOKEN);
    let hint = "create a bot with @BotFather on Telegram, and set the variable to its token";
    let Some(text) = cli.environment.get(variable) else {
        return Err(
            Failure::usage(format!("there is no token for Telegram: {variable} is not set")).hint(hint)
        );
    };
    let odd =
        || Failure::usage(format!("{variable} is not a valid token: it contains unexpected characters"));
    Token::new(text.trim()).ok_or_else(|| odd().hint(hint))
}

fn failure(trouble: Trouble) -> Failure {
    let failure = match &trouble {
        Trouble::Address(_) | Trouble::Token(_) => Failure::usage(trouble.to_string()),
        Trouble::Conflict(_) | Trouble::Taken | Trouble::State(..) => Failure::failed(trouble.to_string()),
    };
    failure.hint(trouble.hint())
}
