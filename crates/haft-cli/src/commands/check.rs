//! [`check`] (`haft models check`): measures how well a model calls tools, with and without a grammar that enforces the
//! form of a call.
//!
//! Each task runs through the engine with the real tools, in a folder of its own.
mod report;
mod tasks;
mod trial;

use crate::{CliContext, args::CheckArgs};
use haft_app::{
    Failure, SessionSpec,
    config::Settings,
    model::{self, ToolCallFormat},
    untrusted_file,
};
use haft_core::{Mode, NoHooks, Policy, Rule, Ruling};
use haft_engine::{Home, Knowledge, Model, Setup};
use haft_terminal::Exit;
use haft_tools::SKILL;
use report::Report;
use std::{
    fs,
    io::{Write, stderr, stdout},
    num::NonZeroUsize,
    path::Path,
    sync::Arc,
};
use tasks::{Task, tasks_of};
use trial::{Outcome, attempt};

/// Commands that change nothing.
const HARMLESS: [&str; 16] = [
    "cat", "date", "du", "echo", "file", "grep", "head", "id", "ls", "pwd", "sort", "stat", "tail", "uniq",
    "wc", "whoami",
];

/// `haft models check`
pub(crate) async fn check(cli: &CliContext, check: &CheckArgs) -> Result<Exit, Failure> {
    let tasks = chosen(check)?;
    // The configuration of a person, not that of the folder where this is called.
    let config = cli.config(&std::env::temp_dir(), &Settings::default())?;
    let mut report = Report::new(&check.spec, check.dialect.as_deref(), check.full);
    let ways: &[bool] = if check.held { &[false] } else { &[false, true] };
    for &is_free in ways {
        let speech =
            ToolCallFormat { dialect: check.dialect.as_deref(), is_free, ..ToolCallFormat::default() };
        let model = model::open(cli, &config, &check.spec, check.base_url.as_deref(), speech)?;
        for task in &tasks {
            let outcome = one(cli, check, model.clone(), task).await?;
            if cli.global.verbose > 0 {
                show(task, &outcome)?;
            }
            report.add(!is_free, task, &outcome);
        }
    }
    let kept = report.keep(&cli.places.home)?;
    match check.json {
        true => writeln!(stdout(), "{}", report.json())?,
        false => write!(stdout(), "{}", report.table())?,
    }
    writeln!(stderr(), "kept as `{}`", kept.display())?;
    Ok(Exit::Success)
}

fn chosen(check: &CheckArgs) -> Result<Vec<Task>, Failure> {
    let read = |text: &str, file: &Path| {
        tasks_of(text).map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", file.display())))
    };
    let mut tasks = read(include_str!("check/tasks.toml"), Path::new("tasks.toml"))?;
    if let Some(file) = &check.tasks {
        let text = untrusted_file::read(file, None)
            .map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", file.display())))?;
        tasks.extend(read(&text, file)?);
    }
    tasks.truncate(check.first.map_or(usize::MAX, NonZeroUsize::get));
    Ok(tasks)
}

/// One task, in a folder that is gone afterwards.
async fn one(cli: &CliContext, check: &CheckArgs, model: Model, task: &Task) -> Result<Outcome, Failure> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let workspace = root.join("work");
    fs::create_dir(&workspace)?;
    let setup = setup(cli, check, &root, model)?;
    attempt(setup, task, &workspace).await
}

fn setup(cli: &CliContext, check: &CheckArgs, root: &Path, model: Model) -> Result<Setup, Failure> {
    let workspace = Some(root.join("work"));
    let spec = SessionSpec { dialect: check.dialect.clone(), workspace, ..SessionSpec::default() };
    let setup = cli.plan(&spec)?.setup(model)?;
    let policy = match check.full {
        true => Policy { mode: Mode::Full, rules: Vec::new() },
        false => Policy { mode: Mode::AcceptEdits, rules: harmless() },
    };
    // The same for every user: otherwise a user's own files would be measured, too.
    let (knowledge, hooks) = (Knowledge::default(), Arc::new(NoHooks));
    let tools = setup.tools.without(SKILL);
    let home = Home(root.join("home"));
    Ok(Setup { policy, tools, sources: Vec::new(), home, knowledge, hooks, ..setup })
}

fn harmless() -> Vec<Rule> {
    let rule = |program: &&str| Rule::parse(Ruling::Allow, &format!("execute:{program} *"));
    HARMLESS.iter().map(|program| rule(program).expect("a program's name makes a rule")).collect()
}

fn show(task: &Task, outcome: &Outcome) -> std::io::Result<()> {
    let mark = |right: bool| if right { '+' } else { '-' };
    let (call, right) = (mark(outcome.right_call), mark(outcome.right));
    let invalid = if outcome.invalid > 0 { "!" } else { "" };
    writeln!(
        stderr(),
        "{call}{right}{invalid} {} => {} => {}",
        task.request,
        outcome.lines.join(" ; "),
        outcome.answer
    )
}
