//! How well a model drives the tools.
//!
//! ```sh
//! cargo run --release -p haft --features local --example figures -- MODEL.gguf [--no-grammar] [-v] [--tasks FILE]
//! ```
//!
//! Each task runs through the engine with the real tools, in a fresh workspace. What is counted: calls that could
//! not be read, first calls that were right, tasks that were right from the first call to the answer or the effect
//! on the files. `--no-grammar` adds the same without a grammar, `-v` tells what came of each task, `--tasks` adds
//! tasks from a file like `tasks.toml`.
#![expect(clippy::print_stdout, reason = "a program that prints a table")]
mod tasks;

use futures::StreamExt;
use haft::{
    local::{LocalModel, Settings},
    prelude::*,
    stage::Declared,
};
use std::{error::Error, fs, path::Path, sync::Arc};
use tasks::{Task, Wording, tasks_of};

type Failed = Box<dyn Error>;

/// What the command line asks for.
struct Options {
    model: String,
    tasks: Vec<Task>,
    grammars: Vec<bool>,
    is_verbose: bool,
}

/// What came of one task.
#[derive(Default)]
struct Outcome {
    /// Calls as lines, to compare with what is expected.
    lines: Vec<String>,
    answer: String,
    malformed: usize,
    right_call: bool,
    right: bool,
    seconds: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let options = options()?;
    let mut table = String::new();
    for grammar in options.grammars {
        let model = Arc::new(LocalModel::open(&options.model, Settings { grammar, ..Settings::default() })?);
        // The model is loaded before anything is measured.
        run(&model, &options.tasks[0]).await?;
        let mut outcomes = Vec::new();
        for task in &options.tasks {
            let outcome = run(&model, task).await?;
            if options.is_verbose {
                show(task, &outcome);
            }
            outcomes.push((task, outcome));
        }
        table.push_str(&rows(grammar, &outcomes));
    }
    println!(
        "| grammar | wording | tasks | malformed calls | right first call | right in all | CPU s a task |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    print!("{table}");
    Ok(())
}

fn options() -> Result<Options, Failed> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().ok_or("give the path of a GGUF file")?;
    let mut options = Options { model, tasks: Vec::new(), grammars: vec![true], is_verbose: false };
    options.tasks = tasks_of(include_str!("tasks.toml"))?;
    while let Some(option) = arguments.next() {
        match option.as_str() {
            "--no-grammar" => options.grammars.push(false),
            "-v" => options.is_verbose = true,
            "--tasks" => {
                let file = arguments.next().ok_or("`--tasks` wants a file")?;
                options.tasks.extend(tasks_of(&fs::read_to_string(file)?)?);
            }
            other => return Err(format!("`{other}` is no option").into()),
        }
    }
    Ok(options)
}

fn rows(grammar: bool, outcomes: &[(&Task, Outcome)]) -> String {
    let kinds = [Wording::Near, Wording::Far, Wording::Fresh, Wording::HeldOut, Wording::Unseen];
    let each = kinds.map(|kind| {
        let chosen = outcomes.iter().filter(|(task, _)| task.wording == kind).map(|(_, outcome)| outcome);
        row(grammar, &kind.to_string(), &chosen.collect::<Vec<_>>())
    });
    let all = outcomes.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>();
    each.concat() + &row(grammar, "all", &all)
}

fn row(grammar: bool, name: &str, outcomes: &[&Outcome]) -> String {
    let count = outcomes.len().max(1);
    let percent = |right: usize| format!("{right} ({} %)", right * 100 / count);
    let malformed: usize = outcomes.iter().map(|outcome| outcome.malformed).sum();
    let calls = percent(outcomes.iter().filter(|outcome| outcome.right_call).count());
    let right = percent(outcomes.iter().filter(|outcome| outcome.right).count());
    let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() / count as f64;
    let (grammar, tasks) = (if grammar { "on" } else { "off" }, outcomes.len());
    format!("| {grammar} | {name} | {tasks} | {malformed} | {calls} | {right} | {seconds:.2} |\n")
}

fn show(task: &Task, outcome: &Outcome) {
    let mark = |right: bool| if right { '+' } else { '-' };
    let (call, right) = (mark(outcome.right_call), mark(outcome.right));
    println!("{call}{right} {} => {} => {}", task.request, outcome.lines.join(" ; "), outcome.answer);
}

/// One session of one turn.
async fn run(model: &Arc<LocalModel>, task: &Task) -> Result<Outcome, Failed> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let workspace = root.join("work");
    fs::create_dir(&workspace)?;
    for (name, text) in &task.files {
        fs::write(workspace.join(name), text)?;
    }
    let engine = engine(Arc::clone(model), &root);
    let session = engine.create("figures")?;
    let started = cpu_seconds();
    session.send(Command::Prompt { parts: vec![Part::text(&task.request)], channel: None })?;
    let mut outcome = Outcome::default();
    let mut events = Box::pin(session.events(Seq(0)));
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::Replied { parts, .. } => outcome.hear(parts),
            Fact::ModelFailed { message, .. } => return Err(message.clone().into()),
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    outcome.seconds = cpu_seconds() - started;
    engine.shut_down().await;
    outcome.judge(task, &workspace);
    Ok(outcome)
}

fn engine(model: Arc<LocalModel>, root: &Path) -> Engine {
    let environment = ["PATH", "HOME", "LANG"];
    let known = environment.into_iter().filter_map(|name| Some((name.into(), std::env::var(name).ok()?)));
    Engine::new(Setup {
        model: Model {
            spec: "local/figures".into(),
            name: "figures".into(),
            window: None,
            price: None,
            provider: model,
        },
        tools: haft::tools::builtin(&haft::tools::Settings::default()),
        agents: vec![Agent { name: "figures".into(), system: String::new(), tools: None }],
        policy: Policy { mode: Mode::Full, rules: Vec::new() },
        stages: Arc::new(|blobs: &Path| Arc::new(Declared::new(blobs.to_owned())) as _),
        workspace: root.join("work"),
        home: Home(root.join("home")),
        profile: Profile::standard(),
        access: haft::core::Access { environment: known.collect(), ..Default::default() },
    })
}

impl Outcome {
    fn hear(&mut self, parts: &[Part]) {
        for call in parts.iter().filter_map(Part::as_call) {
            self.malformed += usize::from(call.problem.is_some());
            let values = call.arguments.as_object().into_iter().flat_map(|object| object.values());
            let values = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            self.lines.push(format!("{} {}", call.name, values.collect::<Vec<_>>().join(" ")));
        }
        self.answer = haft::core::text_of(parts);
        // Text that begins as a call does was meant as one and could not be read.
        let meant = ["read ", "write ", "edit ", "bash "].iter().any(|name| self.answer.starts_with(name));
        self.malformed += usize::from(meant);
    }

    fn judge(&mut self, task: &Task, workspace: &Path) {
        let first = self.lines.first().cloned().unwrap_or_else(|| format!("final {}", self.answer));
        self.right_call = task.begins_with(&first);
        self.right = self.right_call && task.ends_with(&self.answer, workspace);
    }
}

/// Seconds of processor time that this process and the commands that it ran have used, all threads together.
/// Linux only.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
