//! [`run`] (`haft run`): runs one turn.
use super::{
    input,
    look::{links, look},
    screen_setup::check,
    welcome,
};
use crate::{
    CliContext,
    args::{Form, PurposeArgs, TurnArgs},
};
use haft_app::{Failure, OpenedSession, config::Settings, pdf};
use haft_core::{AnswerSchema, Command, Goal, Mode, Part, Seq, answer};
use haft_engine::Engine;
use haft_present::{cursor::next, goal, host::ExpandedPrompt, words::Style};
use haft_terminal::{
    Diffs, Editor, Exit, picture,
    print::{self, Options, Output},
    signals::Interrupts,
};
use serde_json::Value;
use std::{
    io::{IsTerminal, Write, stderr, stdin},
    path::Path,
};

/// Runs one turn with the typed prompt. A goal without a prompt serves as the prompt.
pub(crate) async fn run(
    cli: &CliContext,
    words: &[String],
    turn: &TurnArgs,
    purpose: &PurposeArgs,
) -> Result<Exit, Failure> {
    check_attempts(purpose)?;
    let piped = ["-".to_owned()];
    let words = match (words, &purpose.goal) {
        ([], None) if !input::has_come() => {
            return Err(Failure::usage("there is no prompt")
                .hint("`haft run \"PROMPT\"` takes one, and `haft run -` reads it from standard input"));
        }
        ([], None) => &piped[..],
        _ => words,
    };
    let schema = purpose.schema.as_deref().map(read_schema).transpose()?;
    let ExpandedPrompt { prompt, agent, model } = match &purpose.goal {
        Some(goal) if words.is_empty() => expand(cli, turn, std::slice::from_ref(goal))?,
        _ => expand(cli, turn, words)?,
    };
    let mut turn = turn.clone();
    if purpose.plan {
        turn.work.settings.0.permission = Some(Mode::Plan);
    }
    turn.work.agent = turn.work.agent.or(agent);
    turn.work.settings.0 = turn.work.settings.0.with_model(model);
    let mut parts = vec![Part::text(prompt)];
    if words != ["-"] {
        parts.extend(input::piped(cli)?.map(|piped| Part::text(input::marked(&piped))));
    }
    for file in &turn.image {
        parts.push(attached(file).await?);
    }
    let command = match schema {
        Some(schema) => Command::PromptWithSchema { parts, schema },
        None => Command::Prompt { parts, channel: None },
    };
    start(cli, &turn, command, Some(purpose)).await
}

/// Fails if attempts are requested without a check that decides which one passes.
fn check_attempts(purpose: &PurposeArgs) -> Result<(), Failure> {
    match (purpose.attempts, &purpose.goal, &purpose.proof) {
        (Some(attempts), goal, None) => {
            let goal = goal.as_deref().unwrap_or("TEXT");
            let command = format!("haft run --attempts {attempts} --goal \"{goal}\" --proof \"cargo test\"");
            Err(Failure::usage("`--attempts` needs a proof that tells which attempt is right")
                .hint(format!("say which command must succeed: `{command}`")))
        }
        _ => Ok(()),
    }
}

/// A message part of an image or a PDF.
async fn attached(file: &Path) -> Result<Part, Failure> {
    match pdf::is_pdf(file) {
        true => pdf::part_of(file).await,
        false => Ok(Part::Image(picture::read(file).map_err(Failure::usage)?)),
    }
}

/// The JSON Schema in the file `given`, or in `given` itself.
fn read_schema(given: &str) -> Result<Value, Failure> {
    let is_inline = given.trim_start().starts_with('{');
    let name = if is_inline { "of `--schema`".to_owned() } else { format!("`{given}`") };
    let text = match is_inline {
        true => given.to_owned(),
        false => std::fs::read_to_string(given)
            .map_err(|error| Failure::usage(format!("cannot read the schema {name}: {error}")))?,
    };
    let schema: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the schema {name} is not JSON: {error}")))?;
    AnswerSchema::new(schema.clone())
        .map_err(|error| Failure::usage(format!("the schema {name} is invalid: {error}")))?;
    Ok(schema)
}

/// Runs one turn with piped input as its prompt; `None` if there is no input.
pub(crate) async fn piped(cli: &CliContext, turn: &TurnArgs) -> Result<Option<Exit>, Failure> {
    let Some(text) = input::piped(cli)? else { return Ok(None) };
    let command = Command::Prompt { parts: vec![Part::text(text)], channel: None };
    start(cli, turn, command, None).await.map(Some)
}

/// Opens the session that `turn` requests, and runs `command` in it with the goal of `purpose`.
pub(crate) async fn start(
    cli: &CliContext,
    turn: &TurnArgs,
    command: Command,
    purpose: Option<&PurposeArgs>,
) -> Result<Exit, Failure> {
    let Some(plan) = welcome::with_model(cli, turn, cli.plan(&turn.spec())?).await? else {
        return Ok(Exit::Interrupted);
    };
    check(cli, &plan.config)?;
    let settings = plan.config.effective();
    let OpenedSession { engine, session, notices, warnings } = plan.open().await?;
    let mut interrupts = Interrupts::listen()?;
    let command = match engine.setup().model.documents {
        true => Ok(command),
        false => pdf::with_text(command),
    };
    let command = match command {
        Ok(command) => command,
        Err(failure) => {
            interrupts.or_leave(engine.shut_down()).await;
            return Err(failure);
        }
    };
    notices.iter().for_each(|notice| cli.warn(notice));
    warnings.iter().try_for_each(|warning| writeln!(stderr(), "note: {warning}"))?;
    let mut options = options(&engine, cli, turn, &settings)?;
    let is_answer = match &command {
        Command::PromptWithSchema { .. } => true,
        Command::Continue => answer::wanted_schema(&session.entries()).is_some(),
        _ => false,
    };
    if is_answer && options.output == Output::Text {
        options.output = Output::Answer;
    }
    let is_new = session.entries().len() == 1;
    let from = if is_new { Seq(0) } else { next(&session) };
    if !is_new {
        print::opening(&session, &options)?;
    }
    if let Some(goal) = purpose.and_then(|purpose| goal_of(purpose, &engine)) {
        let refused = goal.attempts.and_then(|_| session.attempts_refused(engine.setup()));
        if let Some(why) = refused {
            interrupts.or_leave(engine.shut_down()).await;
            return Err(Failure::usage(format!("`--attempts` cannot be used: {why}"))
                .hint("leave `--attempts` out, or let commands be confined: see `haft doctor`"));
        }
        session.send(Command::SetGoal { goal: Some(goal) })?;
    }
    let exit = print::last_turn(&session, command, from, &options, &mut interrupts).await;
    interrupts.or_leave(engine.shut_down()).await;
    Ok(exit?)
}

/// The goal from the options.
fn goal_of(purpose: &PurposeArgs, engine: &Engine) -> Option<Goal> {
    let configured = engine.setup().profile.limits.check.as_deref();
    let goal = goal::with_check(purpose.goal.clone()?, purpose.proof.clone(), configured);
    Some(Goal { attempts: purpose.attempts, choose: purpose.choose, ..goal })
}

/// Expands the words of a prompt. Standard input is not expanded, since it may contain anything.
fn expand(cli: &CliContext, turn: &TurnArgs, words: &[String]) -> Result<ExpandedPrompt, Failure> {
    let prompt = prompt(words)?;
    if !prompt.trim_start().starts_with('/') || matches!(words, [dash] if dash == "-") {
        return Ok(ExpandedPrompt { prompt, ..ExpandedPrompt::default() });
    }
    let workspace = cli.workspace_of(&turn.spec())?;
    cli.expand(&workspace, &prompt, "haft commands list")
}

/// How a turn is shown, according to `settings`.
pub(super) fn options(
    engine: &Engine,
    cli: &CliContext,
    turn: &TurnArgs,
    settings: &Settings,
) -> Result<Options, Failure> {
    let has_screen = stderr().is_terminal();
    let color = has_screen && !cli.global.no_color && cli.environment.get("NO_COLOR").is_none();
    let still = engine.setup().tools.all().filter(|registered| registered.tool.suppresses_animation());
    Ok(Options {
        output: match (turn.output, turn.json) {
            (Form::StreamJson, _) | (_, true) => Output::StreamJson,
            (Form::Json, false) => Output::Json,
            (Form::Activity, false) => Output::Activity,
            (Form::Text, false) => Output::Text,
        },
        style: Style { quiet: cli.global.quiet, color, thinking: cli.global.verbose > 0 },
        can_ask: stdin().is_terminal() && has_screen,
        chat: engine.setup().profile.chat.clone(),
        diffs: Diffs(has_screen.then(|| look(cli, settings.theme.as_deref())).transpose()?),
        links: links(cli, settings.hyperlinks, &engine.setup().workspace),
        editor: editor(cli),
        still: still.map(|registered| registered.told().name.clone()).collect(),
        seconds: engine.setup().profile.limits.budget.seconds,
    })
}

/// The editor for longer texts: `VISUAL` or `EDITOR`.
pub(super) fn editor(cli: &CliContext) -> Option<Editor> {
    let command = ["VISUAL", "EDITOR"].into_iter().find_map(|name| cli.environment.get(name))?;
    Some(Editor { command: command.to_owned(), scratch: cli.places.home.clone() })
}

fn prompt(words: &[String]) -> Result<String, Failure> {
    let text = match words {
        [dash] if dash == "-" => input::whole()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty")
            .hint("describe the task: `haft run \"fix the failing test\"`"));
    }
    if text.len() > input::MAX {
        let size = text.len() as f64 / f64::from(1 << 20);
        return Err(input::too_long(&format!("has {size:.1} MB")));
    }
    Ok(text)
}
