//! [`Report`]: the results of a model as a table, and the file in which they are saved.
use super::{
    tasks::{Task, Wording},
    trial::Trial,
};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

const WORDINGS: [Wording; 6] =
    [Wording::Near, Wording::Far, Wording::Fresh, Wording::HeldOut, Wording::Unseen, Wording::Apart];

/// All results of one model.
pub struct Report {
    model: String,
    dialect: Option<String>,
    is_full: bool,
    tries: Vec<Try>,
}

/// The result of one task, with or without constrained decoding.
struct Try {
    is_held: bool,
    wording: Wording,
    calls: usize,
    invalid: usize,
    right_call: bool,
    right: bool,
    seconds: f64,
}

/// The sum of several results.
struct Row {
    is_held: bool,
    wording: String,
    tasks: usize,
    calls: usize,
    invalid: usize,
    right_calls: usize,
    right: usize,
    seconds: f64,
}

impl Report {
    /// `is_full`: commands that change things ran, too.
    pub(super) fn new(model: &str, dialect: Option<&str>, is_full: bool) -> Self {
        Self { model: model.to_owned(), dialect: dialect.map(str::to_owned), is_full, tries: Vec::new() }
    }

    pub(super) fn add(&mut self, is_held: bool, task: &Task, trial: &Trial) {
        let Trial { lines, invalid, right_call, right, seconds, .. } = trial;
        self.tries.push(Try {
            is_held,
            wording: task.wording,
            calls: lines.len(),
            invalid: *invalid,
            right_call: *right_call,
            right: *right,
            seconds: *seconds,
        });
    }

    fn rows(&self) -> Vec<Row> {
        let of = |is_held: bool, wording: Option<Wording>| {
            let fits =
                |each: &&Try| each.is_held == is_held && wording.is_none_or(|kind| kind == each.wording);
            let tries: Vec<&Try> = self.tries.iter().filter(fits).collect();
            let count = tries.len();
            (count > 0).then(|| Row {
                is_held,
                wording: wording.map_or_else(|| "all".to_owned(), |kind| kind.to_string()),
                tasks: count,
                calls: tries.iter().map(|each| each.calls).sum(),
                invalid: tries.iter().map(|each| each.invalid).sum(),
                right_calls: tries.iter().filter(|each| each.right_call).count(),
                right: tries.iter().filter(|each| each.right).count(),
                seconds: tries.iter().map(|each| each.seconds).sum::<f64>() / count as f64,
            })
        };
        let kinds = || WORDINGS.map(Some).into_iter().chain([None]);
        [true, false].into_iter().flat_map(|held| kinds().filter_map(move |kind| of(held, kind))).collect()
    }

    /// The report as a Markdown table.
    #[must_use]
    pub fn table(&self) -> String {
        let mut table = "| held | wording | tasks | calls | invalid calls | right first call | right in all | s a task |\n\
                         | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for row in self.rows() {
            let percent = |right: usize| format!("{right} ({} %)", right * 100 / row.tasks);
            writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} | {:.2} |",
                if row.is_held { "yes" } else { "no" },
                row.wording,
                row.tasks,
                row.calls,
                row.invalid,
                percent(row.right_calls),
                percent(row.right),
                row.seconds
            )
            .expect("a string takes all that is written to it");
        }
        table
    }

    /// The report as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            let rate = |part: usize, of: usize| if of == 0 { 1.0 } else { part as f64 / of as f64 };
            json!({
                "held": row.is_held, "wording": row.wording, "tasks": row.tasks, "calls": row.calls,
                "invalid_calls": row.invalid, "right_first_calls": row.right_calls, "right": row.right,
                "valid_call_rate": rate(row.calls.saturating_sub(row.invalid), row.calls),
                "task_rate": rate(row.right, row.tasks), "seconds_a_task": to_the_millisecond(row.seconds),
            })
        };
        let rows: Vec<Value> = self.rows().iter().map(row).collect();
        json!({"model": self.model, "dialect": self.dialect, "full": self.is_full, "rows": rows})
    }

    /// Writes the JSON to `checks/MODEL.json` in `home`, or `checks/MODEL@DIALECT.json`.
    pub(super) fn save(&self, home: &Path) -> io::Result<PathBuf> {
        let dialect = self.dialect.as_ref().map(|dialect| format!("@{dialect}")).unwrap_or_default();
        let plain = |c: char| if c.is_alphanumeric() || "-_.@".contains(c) { c } else { '_' };
        let name: String = format!("{}{dialect}", self.model).chars().map(plain).collect();
        let file = home.join("checks").join(format!("{name}.json"));
        fs::create_dir_all(home.join("checks"))?;
        fs::write(&file, format!("{:#}\n", self.json()))?;
        Ok(file)
    }
}

/// Rounds to milliseconds: tasks cannot be timed more precisely, and a short number stays the same when it is written
/// and read again.
fn to_the_millisecond(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}
