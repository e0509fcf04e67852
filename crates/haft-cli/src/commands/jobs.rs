//! [`start`] and [`jobs`] (`haft build`, `debug`, `review`, `triage` and `haft jobs`): run and manage jobs from a
//! terminal.
mod list;
mod queue;

use super::{input, run, screen_setup::check, welcome};
use crate::{
    CliContext,
    args::{JobArgs, Jobs, TurnArgs},
};
use haft_app::{
    Failure,
    jobs::{
        Job, JobRequest,
        schedule::{self, Recurrence},
    },
    session,
};
use haft_core::{Command, Conclusion, JobStatus, Outcome, Seq};
use haft_engine::Turns;
use haft_present::{cursor, safe};
use haft_terminal::{
    Exit,
    print::{self, Options, Output},
    signals::Interrupts,
};
use std::io::{ErrorKind, Write, stderr, stdout};

/// Runs `haft build` and similar commands: one job, in this process.
pub(crate) async fn start(cli: &CliContext, kind: &str, job: &JobArgs) -> Result<Exit, Failure> {
    refuse_options(&job.turn)?;
    let origin = session::workspace(job.turn.cwd.as_deref())?;
    let request = JobRequest {
        kind: kind.to_owned(),
        description: task(kind, &with_input(cli, job)?)?,
        origin: origin.clone(),
        keeps_files: job.debug,
        user: None,
    };
    let turn = TurnArgs { cwd: Some(origin), ..job.turn.clone() };
    let plan = cli.plan(&turn.spec())?;
    check(cli, &plan.config)?;
    if welcome::with_model(cli, &turn, plan).await?.is_none() {
        return Ok(Exit::Interrupted);
    }
    begin(cli, request, &turn, None).await
}

/// Refuses options that a job does not support: it begins a session of its own, with a given agent.
fn refuse_options(turn: &TurnArgs) -> Result<(), Failure> {
    let given = [
        ("--session", turn.session.is_some()),
        ("--continue", turn.newest),
        ("--image", !turn.image.is_empty()),
        ("--add-dir", !turn.add_dir.is_empty()),
        ("--agent", turn.work.agent.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!("jobs do not support `{option}`"))
            .hint("a job starts a new session with its own agent; `haft jobs retry` retries a job")),
    }
}

/// The words of the command, followed by piped input.
fn with_input(cli: &CliContext, job: &JobArgs) -> Result<String, Failure> {
    let said = job.description.clone().unwrap_or_else(|| job.words.join(" "));
    Ok(match input::piped(cli)? {
        None => said,
        Some(piped) if said.trim().is_empty() => piped,
        Some(piped) => said + &input::marked(&piped),
    })
}

/// Returns the task of the job; fails if it is missing.
fn task(kind: &str, given: &str) -> Result<String, Failure> {
    let example = match kind {
        "reviewer" => "haft review \"the last commit\"",
        "triager" => "haft triage \"the tests hang since Monday\"",
        "debugger" => "haft debug \"test_parser fails\"",
        _ => "haft build \"Add a test for f\"",
    };
    match given.trim() {
        "" => {
            Err(Failure::usage("missing 'description' in input")
                .hint(format!("describe the task: `{example}`")))
        }
        text => Ok(text.to_owned()),
    }
}

async fn begin(
    cli: &CliContext,
    request: JobRequest,
    turn: &TurnArgs,
    stop: Option<&mut Stop>,
) -> Result<Exit, Failure> {
    let job = cli.jobs().begin(request, &turn.spec()).await?;
    finish(cli, turn, job, stop).await
}

/// Continues a job that failed, was stopped, or lost its process.
async fn retry(
    cli: &CliContext,
    id: &str,
    turn: &TurnArgs,
    stop: Option<&mut Stop>,
) -> Result<Exit, Failure> {
    let job = cli.jobs().resume(id, &turn.spec()).await?;
    finish(cli, turn, job, stop).await
}

/// Ends a server of jobs. The running job is left unfinished, and can be continued.
struct Stop {
    interrupts: Interrupts,
    /// Whether a signal has arrived.
    has_come: bool,
}

impl Stop {
    async fn comes(&mut self) {
        self.interrupts.next().await;
        self.has_come = true;
    }
}

/// Why a job has no conclusion.
enum Unfinished {
    /// The server of jobs was told to stop.
    Left,
    /// The output could not be written.
    NotShown(anyhow::Error),
}

/// Works until the job has a conclusion, shows it, and closes the job. If `stop` comes first, the job stays without a
/// conclusion.
async fn finish(
    cli: &CliContext,
    turn: &TurnArgs,
    job: Job,
    stop: Option<&mut Stop>,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?.or_file(job.stop_file());
    let settings = cli.config(&job.engine.setup().workspace, &turn.work.settings.0)?.effective();
    let options = run::options(&job.engine, cli, turn, &settings)?;
    let (output, from) = (options.output, cursor::next(&job.session));
    // The output is a single object, printed after the conclusion.
    let options =
        Options { output: if output == Output::Json { Output::Nothing } else { output }, ..options };
    job.notices.iter().for_each(|notice| cli.warn(notice));
    if !cli.global.quiet {
        writeln!(stderr(), "job {} ({})", job.session.id(), job.order.kind)?;
    }
    print::opening(&job.session, &options)?;
    let mut turns = ShownTurns { job: &job, options: &options, interrupts: &mut interrupts, stop };
    let conclusion = match job.run(&mut turns).await {
        Ok(conclusion) => conclusion,
        Err(Unfinished::NotShown(error)) => return Err(error.into()),
        Err(Unfinished::Left) => {
            job.engine.shut_down().await;
            return Ok(Exit::Interrupted);
        }
    };
    let is_told = !cli.global.quiet || conclusion.status != JobStatus::Completed;
    let (printed, told) = (print_end(&job, output, from), if is_told { tell(&conclusion) } else { Ok(()) });
    let outcome = job.last_outcome();
    job.close(&conclusion).await;
    match printed.and(told) {
        // If the reader of the output is gone, the exit code still tells how the job ended.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(exit_of(&conclusion, outcome)),
    }
}

/// Prints the result of a job for programs, with its entries since `from`.
fn print_end(job: &Job, output: Output, from: Seq) -> std::io::Result<()> {
    match output {
        Output::Json => writeln!(stdout(), "{}", safe::json(&list::ended(job, from).to_string())),
        Output::StreamJson => list::print_end(job),
        Output::Text | Output::Activity | Output::Answer | Output::Nothing => Ok(()),
    }
}

/// Runs the turns of a job, and shows them as `haft run` does.
struct ShownTurns<'a> {
    job: &'a Job,
    options: &'a Options,
    interrupts: &'a mut Interrupts,
    stop: Option<&'a mut Stop>,
}

impl Turns for ShownTurns<'_> {
    type Error = Unfinished;

    async fn turn(&mut self, command: Command) -> Result<Outcome, Unfinished> {
        let session = &self.job.session;
        let shown = print::turn(session, command, cursor::next(session), self.options, self.interrupts);
        let shown = match &mut self.stop {
            None => shown.await,
            // A signal reaches both, the turn and `stop`.
            Some(stop) => tokio::select! {
                biased;
                () = stop.comes() => return Err(Unfinished::Left),
                shown = shown => shown,
            },
        };
        let exit = shown.map_err(Unfinished::NotShown)?;
        self.job.bring_back();
        Ok(match exit {
            Exit::Interrupted => Outcome::Interrupted,
            _ => self.job.last_outcome().unwrap_or(Outcome::Failed),
        })
    }
}

/// Prints the conclusion of a job to standard error.
fn tell(conclusion: &Conclusion) -> std::io::Result<()> {
    let Conclusion { status, reason, evidence } = conclusion;
    let mark = if *status == JobStatus::Completed { "✓" } else { "✗" };
    writeln!(stderr(), "{mark} {status}: {reason}")?;
    for piece in evidence {
        for name in ["commit", "branch", "pull_request"] {
            if let Some(value) = piece.get(name).and_then(serde_json::Value::as_str) {
                writeln!(stderr(), "  {name}: {value}")?;
            }
        }
    }
    Ok(())
}

fn exit_of(conclusion: &Conclusion, outcome: Option<Outcome>) -> Exit {
    match (conclusion.status, outcome) {
        (JobStatus::Completed, _) => Exit::Success,
        (JobStatus::Cancelled, _) => Exit::Interrupted,
        (_, Some(outcome)) if outcome != Outcome::Finished => Exit::from(outcome),
        _ => Exit::Unproven,
    }
}

/// `haft jobs …`
pub(crate) async fn jobs(cli: &CliContext, command: Jobs) -> Result<Exit, Failure> {
    match command {
        Jobs::List { json } => list::list(cli, json),
        Jobs::Show { id, json } => list::show(cli, &id, json),
        Jobs::Logs { id, json: _ } => list::logs(cli, &id),
        Jobs::Cancel { id, json } => cancel(cli, &id, json).await,
        Jobs::Rm { id, json } => remove(cli, &id, json),
        Jobs::Retry { id, turn } => retry(cli, &id, &turn, None).await,
        Jobs::Add { kind, description, cwd, every, cron, json } => {
            let (origin, description) = (session::workspace(cwd.as_deref())?, task(&kind, &description)?);
            let recurrence = match (every, cron) {
                (Some(every), _) => Some(Recurrence::every(&every)?),
                (None, Some(pattern)) => Some(Recurrence::cron(&pattern)?),
                (None, None) => None,
            };
            let request = JobRequest { kind, description, origin, keeps_files: false, user: None };
            add(cli, request, recurrence, json).await
        }
        Jobs::Serve { once, turn } => queue::work(cli, &turn, once).await,
    }
}

/// Queues a job, or saves a schedule.
async fn add(
    cli: &CliContext,
    request: JobRequest,
    recurrence: Option<Recurrence>,
    json: bool,
) -> Result<Exit, Failure> {
    let what = if recurrence.is_some() { "plan" } else { "job" };
    let name = match recurrence {
        Some(recurrence) => cli.jobs().schedule(request, recurrence)?,
        None => {
            let (id, note) = cli.jobs().queue(None, request, None).await?;
            note.iter().try_for_each(|note| writeln!(stderr(), "note: {note}"))?;
            id.0
        }
    };
    match json {
        true => writeln!(stdout(), "{}", serde_json::json!({what: name}))?,
        false => writeln!(stdout(), "{name}")?,
    }
    Ok(Exit::Success)
}

fn remove(cli: &CliContext, id: &str, json: bool) -> Result<Exit, Failure> {
    let (id, branch) = cli.jobs().remove(id)?;
    let stays = branch.as_ref().map(|branch| format!("; the branch `{branch}` stays")).unwrap_or_default();
    match json {
        true => writeln!(stdout(), "{}", serde_json::json!({"job": id, "removed": true, "branch": branch}))?,
        false => writeln!(stdout(), "removed {id}{stays}")?,
    }
    Ok(Exit::Success)
}

async fn cancel(cli: &CliContext, id: &str, json: bool) -> Result<Exit, Failure> {
    let (id, what) = match schedule::find(&cli.home(), id)? {
        Some((name, _)) => {
            schedule::remove(&cli.home(), &name)?;
            (name, "deleted")
        }
        None => {
            let id = cli.jobs().cancel(id).await?.0;
            let is_over = cli.jobs().find(&id)?.1.status.is_over();
            (id, if is_over { "canceled" } else { "stopping" })
        }
    };
    match json {
        true => writeln!(stdout(), "{}", serde_json::json!({"job": id, "cancelled": true}))?,
        false => writeln!(stdout(), "{id} {what}")?,
    }
    Ok(Exit::Success)
}
