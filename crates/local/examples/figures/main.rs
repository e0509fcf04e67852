//! How well a model drives the four tools: `cargo run --release -p haft-local --example figures -- MODEL.gguf`.
//!
//! Each task runs in a fresh folder with real tools, three rounds at most, the likeliest token always. What is
//! counted: calls that could not be read, first calls that were right, tasks that were right from the first call
//! to the answer or the effect on the files.
#![expect(clippy::print_stdout, reason = "a program that prints a table")]
mod bank;
mod hands;
mod tasks;

use futures::{StreamExt, executor::block_on};
use haft_core::{Message, Part, Provider, Reply, Request, ToolCall, text_of};
use haft_local::{LocalModel, Settings};
use std::{error::Error, fs, path::Path, sync::Arc};
use tasks::{Right, TASKS, Task, Wording};

/// Rounds of one task before it counts as endless.
const MOST_ROUNDS: usize = 3;

/// What came of one task.
#[derive(Clone, Default)]
struct Outcome {
    lines: Vec<String>,
    answer: String,
    malformed: usize,
    right_call: bool,
    right: bool,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the path of a GGUF file, and a second word to see every task")?;
    let is_verbose = arguments.next().is_some();
    println!(
        "| grammar | wording | tasks | malformed calls | right first call | right in all | CPU s per task |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for grammar in [true, false] {
        let model = LocalModel::open(&path, Settings { grammar, ..Settings::default() })?;
        // The model is loaded before anything is measured.
        run(&model, &TASKS[0])?;
        let mut outcomes = Vec::new();
        for task in TASKS {
            let outcome = run(&model, task)?;
            if is_verbose {
                show(task, &outcome);
            }
            outcomes.push(outcome);
        }
        report(grammar, &outcomes);
    }
    Ok(())
}

fn report(grammar: bool, outcomes: &[Outcome]) {
    let rows: [(&str, &[Wording]); 4] = [
        ("near", &[Wording::Near]),
        ("far", &[Wording::Far]),
        ("fresh", &[Wording::Fresh]),
        ("all", &[Wording::Near, Wording::Far, Wording::Fresh]),
    ];
    for (name, wordings) in rows {
        let chosen: Vec<&Outcome> = TASKS
            .iter()
            .zip(outcomes)
            .filter(|(task, _)| wordings.contains(&task.wording))
            .map(|(_, of)| of)
            .collect();
        let count = chosen.len();
        let malformed: usize = chosen.iter().map(|outcome| outcome.malformed).sum();
        let percent = |right: usize| format!("{right} ({} %)", right * 100 / count);
        let calls = percent(chosen.iter().filter(|outcome| outcome.right_call).count());
        let right = percent(chosen.iter().filter(|outcome| outcome.right).count());
        let seconds = chosen.iter().map(|outcome| outcome.seconds).sum::<f64>() / count as f64;
        let grammar = if grammar { "on" } else { "off" };
        println!("| {grammar} | {name} | {count} | {malformed} | {calls} | {right} | {seconds:.2} |");
    }
}

fn show(task: &Task, outcome: &Outcome) {
    let mark = |right: bool| if right { '+' } else { '-' };
    let (call, right) = (mark(outcome.right_call), mark(outcome.right));
    println!("{call}{right} {} => {} => {}", task.request, outcome.lines.join(" ; "), outcome.answer);
}

fn run(model: &LocalModel, task: &Task) -> Result<Outcome, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for (name, text) in task.files {
        fs::write(folder.path().join(name), text)?;
    }
    let started = cpu_seconds();
    let mut outcome = Outcome::default();
    let mut messages = vec![Arc::new(Message::User { parts: vec![Part::text(task.request)] })];
    for _ in 0..MOST_ROUNDS {
        let parts = ask(model, &messages)?;
        let calls: Vec<ToolCall> = parts.iter().filter_map(Part::as_call).cloned().collect();
        outcome.answer = text_of(&parts);
        messages.push(Arc::new(Message::Assistant { parts }));
        if calls.is_empty() {
            break;
        }
        for call in calls {
            let result = hands::run(folder.path(), &call.name, &call.arguments);
            outcome.lines.push(line_of(&call));
            outcome.malformed += usize::from(call.problem.is_some());
            messages.push(Arc::new(Message::Tool { call: call.id, name: call.name, result }));
        }
    }
    outcome.seconds = cpu_seconds() - started;
    judge(task, folder.path(), &mut outcome);
    Ok(outcome)
}

fn ask(model: &LocalModel, messages: &[Arc<Message>]) -> Result<Vec<Part>, Box<dyn Error>> {
    let request = Request {
        messages: messages.to_vec(),
        tools: bank::four_tools().into(),
        max_output: 120,
        ..Request::default()
    };
    let mut stream = model.stream(request);
    let mut reply = Reply::default();
    while let Some(delta) = block_on(stream.next()) {
        reply.push(delta?);
    }
    Ok(reply.into_parts())
}

/// A call as one line, to compare with what is expected.
fn line_of(call: &ToolCall) -> String {
    let values = call.arguments.as_object().into_iter().flat_map(|object| object.values());
    let values = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    format!("{} {}", call.name, values.collect::<Vec<_>>().join(" "))
}

fn judge(task: &Task, folder: &Path, outcome: &mut Outcome) {
    // Text that begins as a call does was meant as one and could not be read.
    let meant = ["read ", "write ", "edit ", "bash "].iter().any(|name| outcome.answer.starts_with(name));
    outcome.malformed += usize::from(meant);
    let first = outcome.lines.first().cloned().unwrap_or_else(|| format!("final {}", outcome.answer));
    outcome.right_call = task.calls.iter().any(|pattern| fits(pattern, &first));
    let answer = outcome.answer.to_lowercase();
    let content = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let is_right = match &task.right {
        Right::Says(all) => {
            all.iter().all(|any| any.split('|').any(|text| answer.contains(&text.to_lowercase())))
        }
        Right::File(name, text) => content(name).trim() == *text,
        Right::Gone(name) => !folder.join(name).exists(),
        Right::Folder(name) => folder.join(name).is_dir(),
    };
    outcome.right = is_right && outcome.right_call && !outcome.answer.is_empty();
}

/// Whether `text` fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

/// Seconds of processor time that this process has used, all threads together. Linux only.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
