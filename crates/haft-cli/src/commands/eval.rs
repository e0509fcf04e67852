//! [`eval`] (`haft eval`): lets models work on the same tasks, and prints how many each of them solved.
use super::interruptible::interruptible;
use crate::{
    CliContext,
    args::{Eval, EvalArgs, EvalForm},
};
use haft_app::{
    Failure,
    eval::{self, Comparison, EvalEvent, EvalReport, EvalRow, PastEval, RunKey, RunRecord, RunVerdict},
};
use haft_core::dollars;
use haft_present::safe;
use haft_terminal::{
    Exit,
    bars::tokens,
    table::{List, Table},
};
use jiff::Timestamp;
use serde_json::json;
use std::{
    fs,
    io::{self, Write, stderr, stdout},
    path::Path,
};

/// `haft eval`
pub(crate) async fn eval(cli: &CliContext, args: EvalArgs) -> Result<Exit, Failure> {
    match &args.command {
        None => run(cli, &args).await,
        Some(Eval::List { json }) => list(&cli.past_evals(), *json),
        Some(Eval::Show { id, form }) => {
            let report = cli.past_eval(id.as_deref())?;
            print(&report, form)?;
            if !form.json {
                writeln!(stdout())?;
                print_runs(&report)?;
            }
            Ok(Exit::Success)
        }
    }
}

async fn run(cli: &CliContext, args: &EvalArgs) -> Result<Exit, Failure> {
    if let Some(file) = &args.form.html {
        check_writable(file)?;
    }
    let mut progress = Progress { is_quiet: cli.global.quiet, runs: 0, done: 0 };
    let mut watch = |event: EvalEvent<'_>| progress.show(&event);
    let report = interruptible(cli.eval(&args.spec(), &mut watch)).await??;
    print(&report, &args.form)?;
    let mut stderr = stderr();
    for run in &report.not_run {
        let line = format!("not run: {} with {}: {}", run.key.task, run.key.model, run.why);
        writeln!(stderr, "{}", safe::name(&line))?;
    }
    let Comparison { regressions, not_compared } =
        if args.watch { cli.compare(&report)? } else { Comparison::default() };
    for model in &not_compared {
        let line = format!("not compared: {model}: there is no earlier evaluation of these tasks with it");
        writeln!(stderr, "{}", safe::name(&line))?;
    }
    for regression in &regressions {
        writeln!(stderr, "{}", safe::name(regression))?;
    }
    Ok(match (regressions.is_empty(), report.is_over_budget, report.not_run.is_empty()) {
        (false, ..) => Exit::Failed,
        (true, true, _) => Exit::Limit,
        (true, false, false) => Exit::Failed,
        (true, false, true) => Exit::Success,
    })
}

/// Checks that the file can be written, before the evaluation costs anything.
fn check_writable(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match (folder.is_dir(), file.is_dir()) {
        (true, false) => return Ok(()),
        (false, _) => format!("there is no directory `{}`", folder.display()),
        (true, true) => "it is a directory".to_owned(),
    };
    Err(Failure::usage(format!("cannot write `{}`: {why}", file.display())))
}

/// Prints the progress of an evaluation to standard error.
struct Progress {
    is_quiet: bool,
    runs: usize,
    done: usize,
}

impl Progress {
    fn show(&mut self, event: &EvalEvent<'_>) {
        let line = match event {
            EvalEvent::LeftOut(left_out) => {
                format!("left out: the session {}: {}", left_out.session, left_out.why)
            }
            EvalEvent::Begun { id, runs, done } => {
                (self.runs, self.done) = (*runs, *done);
                let done = if *done == 0 { String::new() } else { format!(", {done} of them done before") };
                format!("evaluation {id}: {runs} runs{done}")
            }
            EvalEvent::Ended(run) => {
                self.done += usize::from(run.verdict.counts());
                format!("[{}/{}] {}", self.done, self.runs, ended(run))
            }
        };
        if !self.is_quiet {
            // A program keeps running if its standard error is closed.
            writeln!(stderr(), "{}", safe::name(&line)).ok();
        }
    }
}

fn ended(run: &RunRecord) -> String {
    let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{} with {}: {}{why}", run.key.task, run.key.model, verdict(run.verdict))
}

fn verdict(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Solved => "solved",
        RunVerdict::Unsolved => "not solved",
        RunVerdict::Failed | RunVerdict::OverBudget => "not counted",
    }
}

fn print(report: &EvalReport, form: &EvalForm) -> Result<(), Failure> {
    if let Some(file) = &form.html {
        fs::write(file, eval::html(report))
            .map_err(|error| Failure::failed(format!("cannot write `{}`: {error}", file.display())))?;
    }
    if form.json {
        for object in report.json() {
            writeln!(stdout(), "{}", safe::json(&object.to_string()))?;
        }
        return Ok(());
    }
    let mut table = Table::new(["MODEL", "SOLVED", "95 %", "COST", "TIME", "ROUNDS", "TOKENS"]);
    report.rows.iter().for_each(|row| table.row(cells(row)));
    table.print("The evaluation has no model.")?;
    for sentence in report.undecided() {
        writeln!(stdout(), "{}", safe::name(&sentence))?;
    }
    Ok(())
}

fn cells(row: &EvalRow) -> [String; 7] {
    [
        safe::name(&row.model).into_owned(),
        format!("{} of {}", row.solved, row.of),
        row.percent(),
        row.cost_usd.map_or_else(|| "$?".into(), dollars),
        row.seconds.map_or_else(String::new, |seconds| format!("{seconds:.1} s")),
        row.rounds.map_or_else(String::new, |rounds| rounds.to_string()),
        tokens(row.tokens),
    ]
}

fn print_runs(report: &EvalReport) -> io::Result<()> {
    let mut table = Table::new(["TASK", "MODEL", "SESSION", "RESULT"]);
    for run in &report.runs {
        let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let result = format!("{}{why}", verdict(run.verdict));
        let cells = [run.key.task.as_str(), run.key.model.as_str(), run.session.0.as_str(), result.as_str()];
        table.row(cells.map(|cell| safe::name(cell).into_owned()));
    }
    let is_begun = |key: &RunKey| report.runs.iter().any(|run| run.key == *key);
    for run in report.not_run.iter().filter(|run| !is_begun(&run.key)) {
        let result = format!("not run: {}", run.why);
        table.row(
            [run.key.task.as_str(), run.key.model.as_str(), "", result.as_str()]
                .map(|cell| safe::name(cell).into_owned()),
        );
    }
    table.print("No run has ended.")
}

fn list(evals: &[PastEval], is_json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["EVALUATION", "BEGUN", "TASKS", "MODELS", "STATE"], is_json);
    for past in evals {
        let begun = Timestamp::from_millisecond(past.at).unwrap_or_default();
        let state = if past.is_closed { "done" } else { "cut off" };
        let (tasks, models) = (past.plan.tasks.len(), past.plan.models.join(", "));
        list.row(
            [&past.id, &begun.strftime("%Y-%m-%d %H:%M").to_string(), &tasks.to_string(), &models, state],
            || {
                json!({
                    "evaluation": past.id, "at": past.at, "tasks": tasks, "models": past.plan.models,
                    "done": past.is_closed,
                })
            },
        );
    }
    Ok(list.print("There is no evaluation yet; `haft help eval` says how to make one.")?)
}
