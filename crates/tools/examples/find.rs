//! How long `grep` and `glob` take beside `rg`, on a made tree of 50,000 files.
//!
//! `cargo run --release -p haft-tools --example find`. Runs are interleaved; figures are milliseconds, the least of
//! all runs and their median. *own process* starts this program for a single call, as `rg` is started, so the ratio
//! compares like with like; *in process* is what a call costs an agent that runs already.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on has failed")]
use haft_core::{
    Access, CallId, NoBackgroundTasks, NoPerson, NoSampler, NoSubagents, SessionId, Stage, ToolContext,
    Validation, View,
};
use haft_stage::LocalStage;
use haft_tools::{Settings, builtin};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

const FOLDERS: usize = 2_500;
const FILES: usize = 20;
const RUNS: usize = 15;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => measure(),
        [once, tool, given] if once == "once" => {
            println!("{}", call(Path::new("."), tool, &serde_json::from_str(given).unwrap()));
        }
        _ => println!("usage: find [once TOOL ARGUMENTS]"),
    }
}

fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = grow(folder.path());
    println!("{} files in {FOLDERS} folders, {} MB, warm; {RUNS} runs", FOLDERS * FILES, bytes / 1_000_000);
    println!(
        "{:34}{:>16}{:>16}{:>16}{:>8}",
        "least (median), ms", "in process", "own process", "the other", "ratio"
    );
    for (name, tool, given, other) in rows() {
        if Command::new(other[0]).arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("{name:34}not measured: there is no `{}` on this machine", other[0]);
            continue;
        }
        measure_one(folder.path(), name, tool, &given, other);
    }
}

type Row = (&'static str, &'static str, Value, &'static [&'static str]);

/// A name, our call, and the command that does the same.
fn rows() -> Vec<Row> {
    let grep = |pattern: &str| json!({"pattern": pattern});
    vec![
        ("grep a rare word, rg", "grep", grep("needle_in_hay"), &["rg", "-n", "needle_in_hay", "."]),
        ("grep an expression, rg", "grep", grep(r"\bfn \w+_77\d\("), &["rg", "-n", r"\bfn \w+_77\d\(", "."]),
        (
            "grep a rare word in any case, rg",
            "grep",
            grep("(?i)needle_IN_hay"),
            &["rg", "-n", "(?i)needle_IN_hay", "."],
        ),
        ("grep what every file has, rg", "grep", grep("return"), &["rg", "-n", "return", "."]),
        (
            "glob *.rs, rg --files -g",
            "glob",
            json!({"pattern": "*.rs"}),
            &["rg", "--files", "-g", "*.rs", "."],
        ),
        ("glob *, rg --files", "glob", json!({"pattern": "*"}), &["rg", "--files", "."]),
        (
            "glob *.rs, fdfind",
            "glob",
            json!({"pattern": "*.rs"}),
            &["fdfind", "--type", "f", "--glob", "*.rs", "."],
        ),
    ]
}

fn measure_one(folder: &Path, name: &str, tool: &str, given: &Value, other: &[&str]) {
    let me = env::current_exe().unwrap();
    let mut times: [Vec<Duration>; 3] = Default::default();
    // The first run warms the disk.
    for number in 0..=RUNS {
        let inside = timed(|| _ = call(folder, tool, given));
        let own =
            timed(|| run(Command::new(&me).args(["once", tool, &given.to_string()]).current_dir(folder)));
        let theirs = timed(|| run(Command::new(other[0]).args(&other[1..]).current_dir(folder)));
        if number > 0 {
            times.iter_mut().zip([inside, own, theirs]).for_each(|(times, time)| times.push(time));
        }
    }
    let [inside, own, theirs] = times.map(|mut times| {
        times.sort();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        (milliseconds(times[0]), milliseconds(times[times.len() / 2]))
    });
    let shown = |(least, median): (f64, f64)| format!("{least:.1} ({median:.1})");
    let ratio = own.1 / theirs.1;
    println!("{name:34}{:>16}{:>16}{:>16}{ratio:>8.2}", shown(inside), shown(own), shown(theirs));
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// To its end, with all that it prints.
fn run(command: &mut Command) {
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(!output.stdout.is_empty(), "{command:?} found nothing");
}

/// One call the way the engine does it, as the model reads it.
fn call(folder: &Path, tool: &str, given: &Value) -> String {
    let tools = builtin(&Settings::default());
    let registered = tools.find(tool).unwrap();
    let arguments = registered.check(given, Validation::Coerce).unwrap();
    let workspace = folder.canonicalize().unwrap();
    let effects = registered.tool.effects(&arguments, &workspace).unwrap();
    let view: Arc<dyn View> =
        LocalStage::new(workspace.join(".blobs")).open(&workspace, &effects).unwrap().into();
    let ctx = context(view);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(registered.tool.call(arguments, &ctx)).unwrap().for_model
}

fn context(view: Arc<dyn View>) -> ToolContext {
    ToolContext {
        session: SessionId("s".into()),
        message: "0".into(),
        agent: "haft".into(),
        call: CallId("1".into()),
        channel: None,
        workspace: view.root().to_owned(),
        live: view.root().to_owned(),
        access: Access::default(),
        readable: Arc::default(),
        artifacts: view.root().with_file_name("artifacts"),
        jobs: Arc::new(NoBackgroundTasks),
        person: Arc::new(NoPerson),
        subagents: Arc::new(NoSubagents),
        sampler: Arc::new(NoSampler),
        cancel: Default::default(),
        on_progress: Arc::new(|_| {}),
        view,
    }
}

/// Makes the tree, the same every time, and says how many bytes it has.
fn grow(root: &Path) -> usize {
    let mut bytes = 0;
    fs::write(root.join(".gitignore"), "*.log\nbuild/\n").unwrap();
    for folder in 0..FOLDERS {
        let path = root.join(format!("part{}/module{}", folder / 50, folder % 50));
        fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let kind = ["rs", "py", "md", "log"][file % 4];
            let text = text(folder * FILES + file);
            bytes += text.len();
            fs::write(path.join(format!("file{file}.{kind}")), text).unwrap();
        }
    }
    bytes
}

/// Some lines that look like a program, from 600 bytes to 8 KB.
fn text(number: usize) -> String {
    let lines = 10 + number * 7_919 % 150;
    let mut text = String::new();
    for line in 0..lines {
        let value = (number * 31 + line * 17) % 10_007;
        text += &match line % 4 {
            0 => format!("pub fn value_{value}(x: u64) -> u64 {{\n"),
            1 => format!("    // adds {value} to what file {number} was given\n"),
            2 => format!("    return x + {value};\n"),
            _ => "}\n".into(),
        };
    }
    if number.is_multiple_of(997) {
        text += "let needle_in_hay = true;\n";
    }
    text
}
