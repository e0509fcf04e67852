//! [`telegram`] (`haft telegram`): a bot, with a conversation in each of its chats.
use crate::{
    CliContext,
    agents::AGENT,
    args::{TelegramArgs, TurnArgs},
    assemble::{Assembled, SessionSpec},
    config::{Config, Settings},
    failure::Failure,
    mcp::notes,
    slash::{self, Expanded, Template},
};
use futures::FutureExt;
use haft_telegram::{self, Engines, Options, Token, Trouble};
use haft_terminal::{Exit, signals::Interrupts};
use std::{
    io::{Write, stderr},
    sync::Arc,
};

/// Where Telegram's own servers are.
const API_URL: &str = "https://api.telegram.org";
/// Where the token stands, unless the person's file names another variable.
const TOKEN: &str = "TELEGRAM_BOT_TOKEN";

/// Runs until a signal interrupts.
pub(crate) async fn telegram(context: &CliContext, args: &TelegramArgs) -> Result<Exit, Failure> {
    let turn = turn(args);
    let spec = SessionSpec::of(context, &turn)?;
    let config = spec.config.clone();
    let token = token(context, &config)?;
    let Assembled { engine, notices } = spec.engine().await?;
    for notice in notices.iter().filter(|_| !args.work.quiet) {
        writeln!(stderr(), "note: {notice}")?;
    }
    let known = slash::known(&context.places, &engine.setup().workspace, &*notes(args.work.quiet));
    let variable = context.environment.get("TELEGRAM_BASE_URL");
    let options = Options {
        api_url: args.api_url.as_deref().or(variable).unwrap_or(API_URL).to_owned(),
        token,
        allowed: args.allow.iter().chain(&config.user.telegram.users).copied().collect(),
        pair: args.pair,
        folder: context.places.home.join("telegram"),
        agent: args.work.agent.clone().unwrap_or_else(|| AGENT.into()),
        engines: engines(context, &turn),
        prompts: known.iter().map(|known| (known.name.clone(), known.header.description.clone())).collect(),
        expand: Arc::new(move |line| expand(&known, line)),
        // These lines are required: they hold the pairing code, and the reasons of failures.
        notes: notes(false),
    };
    let mut interrupts = Interrupts::listen()?;
    let ran = interrupts.until(|interrupted| haft_telegram::run(engine, options, interrupted)).await;
    ran.map_or(Ok(Exit::Success), |ran| ran.map(|()| Exit::Success).map_err(failure))
}

fn turn(args: &TelegramArgs) -> TurnArgs {
    TurnArgs { cwd: args.cwd.clone(), ..args.work.turn() }
}

fn token(context: &CliContext, config: &Config) -> Result<Token, Failure> {
    let variable = config.user.telegram.token_env.as_deref().unwrap_or(TOKEN);
    let hint = "ask @BotFather on Telegram for a bot, and put its token into that variable";
    let Some(text) = context.environment.get(variable) else {
        return Err(
            Failure::usage(format!("there is no token for Telegram: {variable} is not set")).hint(hint)
        );
    };
    let odd =
        || Failure::usage(format!("{variable} holds no token: there are characters in it that no token has"));
    Token::new(text.trim()).ok_or_else(|| odd().hint(hint))
}

/// The same engine with another model.
fn engines(context: &CliContext, turn: &TurnArgs) -> Engines {
    let (context, turn) = (context.clone(), TurnArgs { base_url: None, ..turn.clone() });
    Arc::new(move |spec| {
        let settings = Settings { model: Some(spec), ..turn.settings.clone() };
        let (context, turn) = (context.clone(), TurnArgs { settings, ..turn.clone() });
        async move {
            let assembled = async { SessionSpec::of(&context, &turn)?.engine().await };
            assembled.await.map(|assembled| assembled.engine).map_err(|failure| failure.message)
        }
        .boxed()
    })
}

/// The agent and the model of a chat are chosen when its conversation starts.
fn expand(known: &[Template], line: &str) -> Result<String, String> {
    match slash::expand(known, line, "/help") {
        Ok(Expanded { prompt, agent: None, model: None }) => Ok(prompt),
        Ok(Expanded { .. }) => {
            Err(format!("`{line}` names an agent or a model, which is not possible here."))
        }
        Err(failure) => Err(format!("{}. /help tells what there is.", failure.message)),
    }
}

fn failure(trouble: Trouble) -> Failure {
    let failure = match &trouble {
        Trouble::Address(_) | Trouble::Token(_) => Failure::usage(trouble.to_string()),
        Trouble::Conflict(_) | Trouble::Taken | Trouble::State(..) => Failure::failed(trouble.to_string()),
    };
    failure.hint(trouble.hint())
}
