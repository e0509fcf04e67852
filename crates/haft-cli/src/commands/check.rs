//! [`check`] (`haft models check`): measures how well a model calls tools, and prints the table.
use crate::{CliContext, args::CheckArgs};
use haft_app::{
    Failure,
    evaluation::{EvaluationSpec, Task, Trial},
};
use haft_terminal::Exit;
use std::io::{Write, stderr, stdout};

/// `haft models check`
pub(crate) async fn check(cli: &CliContext, check: &CheckArgs) -> Result<Exit, Failure> {
    let CheckArgs { spec, base_url, dialect, tasks, first, held, full, json } = check;
    let spec = EvaluationSpec {
        model: spec.clone(),
        base_url: base_url.clone(),
        dialect: dialect.clone(),
        tasks: tasks.clone(),
        first: *first,
        only_constrained: *held,
        runs_all: *full,
    };
    let mut show = |task: &Task, trial: &Trial| {
        if cli.global.verbose > 0 {
            print(task, trial);
        }
    };
    let (report, saved) = cli.evaluate(&spec, &mut show).await?;
    match json {
        true => writeln!(stdout(), "{}", report.json())?,
        false => write!(stdout(), "{}", report.table())?,
    }
    writeln!(stderr(), "saved as `{}`", saved.display())?;
    Ok(Exit::Success)
}

fn print(task: &Task, trial: &Trial) {
    let mark = |right: bool| if right { '+' } else { '-' };
    let (call, right) = (mark(trial.right_call), mark(trial.right));
    let invalid = if trial.invalid > 0 { "!" } else { "" };
    let (request, lines, answer) = (&task.request, trial.lines.join(" ; "), &trial.answer);
    writeln!(stderr(), "{call}{right}{invalid} {request} => {lines} => {answer}").ok();
}
