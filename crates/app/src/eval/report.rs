//! [`EvalReport`]: how many tasks each model solved, how significant that is, and what it cost.
use super::{
    interval::{Interval, median},
    record::{PastEval, RunKey, RunRecord, RunVerdict},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The summary of an evaluation.
#[derive(Clone, Debug)]
pub struct EvalReport {
    /// The ID of the evaluation.
    pub id: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub at: i64,
    /// The names of its tasks.
    pub tasks: Vec<String>,
    /// A row for each model, the best one first.
    pub rows: Vec<EvalRow>,
    /// The last attempt of each run, in the order of the plan.
    pub runs: Vec<RunRecord>,
    /// Runs that are missing, or that say nothing about their model.
    pub not_run: Vec<NotRun>,
    /// Whether the evaluation ended because its budget was spent.
    pub is_over_budget: bool,
}

/// The results of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalRow {
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// Number of runs whose check succeeded.
    pub solved: usize,
    /// Number of valid runs.
    pub of: usize,
    /// The 95 % confidence interval of the share of tasks that it solves, from 0 to 1.
    #[serde(flatten)]
    pub interval: Interval,
    /// Cost of all runs in US dollars; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Median duration of a run in seconds, from the prompt to the end of the turn; `None` without runs.
    pub seconds: Option<f64>,
    /// Median number of replies in a run.
    pub rounds: Option<f64>,
    /// Tokens of all runs.
    pub tokens: u64,
    /// Number of runs that are missing or not valid.
    pub not_run: usize,
    /// Models that the results cannot distinguish from this one.
    pub not_distinguishable_from: Vec<String>,
}

/// A run without a valid result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotRun {
    /// Identifies the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// The reason, as text for users.
    pub why: String,
}

impl EvalReport {
    /// The report of an evaluation as far as it has run.
    pub(super) fn of(past: &PastEval) -> Self {
        let mut last: BTreeMap<&RunKey, &RunRecord> = BTreeMap::new();
        past.runs.iter().for_each(|run| _ = last.insert(&run.key, run));
        let plan = past.plan.runs();
        let runs: Vec<RunRecord> =
            plan.iter().filter_map(|key| last.get(key)).map(|run| (*run).clone()).collect();
        // If an evaluation is closed before all of its runs have begun, its budget was spent.
        let is_over_budget = past.is_closed
            && (runs.len() < plan.len() || runs.iter().any(|run| run.verdict == RunVerdict::OverBudget));
        let unbegun = match is_over_budget {
            true => "the budget of the evaluation is used up",
            false => "the evaluation was cut off before",
        };
        let not_run = plan.iter().filter_map(|key| match last.get(key) {
            Some(run) if run.verdict.counts() => None,
            Some(run) => Some(NotRun { key: key.clone(), why: run.why.clone().unwrap_or_default() }),
            None => Some(NotRun { key: key.clone(), why: unbegun.to_owned() }),
        });
        let not_run: Vec<NotRun> = not_run.collect();
        let rows = past.plan.models.iter().map(|model| EvalRow::of(model, past, &not_run));
        Self {
            id: past.id.clone(),
            at: past.at,
            tasks: past.plan.tasks.iter().map(|task| task.name.clone()).collect(),
            rows: ranked(rows.collect()),
            runs,
            not_run,
            is_over_budget,
        }
    }

    /// Says for each model which others the results cannot distinguish from it: a sentence without its full stop. A
    /// pair is named once.
    #[must_use]
    pub fn undecided(&self) -> Vec<String> {
        let sentence = |(place, row): (usize, &EvalRow)| {
            let later = self.rows[place + 1..].iter().map(|other| &other.model);
            let alike: Vec<String> = later
                .filter(|model| row.not_distinguishable_from.contains(model))
                .map(|model| format!("`{model}`"))
                .collect();
            let these = if alike.len() == 1 { "both" } else { "their" };
            (!alike.is_empty()).then(|| {
                format!(
                    "`{}` is not distinguishable from {}: {these} 95 % intervals overlap",
                    row.model,
                    alike.join(", ")
                )
            })
        };
        self.rows.iter().enumerate().filter_map(sentence).collect()
    }

    /// One JSON object for each model.
    #[must_use]
    pub fn json(&self) -> Vec<Value> {
        let object = |row: &EvalRow| {
            let mut object = json!(row);
            object["evaluation"] = json!(self.id);
            object
        };
        self.rows.iter().map(object).collect()
    }
}

/// Orders models: the larger solved share first, then the lower cost.
fn ranked(mut rows: Vec<EvalRow>) -> Vec<EvalRow> {
    let share = |row: &EvalRow| row.solved as f64 / row.of.max(1) as f64;
    let cost = |row: &EvalRow| row.cost_usd.unwrap_or(f64::INFINITY);
    rows.sort_by(|one, other| share(other).total_cmp(&share(one)).then(cost(one).total_cmp(&cost(other))));
    let all = rows.clone();
    for row in &mut rows {
        let alike =
            all.iter().filter(|other| other.model != row.model && other.interval.overlaps(&row.interval));
        row.not_distinguishable_from = alike.map(|other| other.model.clone()).collect();
    }
    rows
}

impl EvalRow {
    fn of(model: &str, past: &PastEval, not_run: &[NotRun]) -> Self {
        let counted: Vec<&RunRecord> = past.counted().filter(|run| run.key.model == model).collect();
        let solved = counted.iter().filter(|run| run.verdict == RunVerdict::Solved).count();
        let all = || past.runs.iter().filter(|run| run.key.model == model);
        let cost = all().map(|run| run.cost_usd).sum::<Option<f64>>();
        Self {
            model: model.to_owned(),
            solved,
            of: counted.len(),
            interval: Interval::of(solved, counted.len()),
            // Rounded: a sum of floats has meaningless digits.
            cost_usd: cost.map(|usd| (usd * 1e6).round() / 1e6),
            seconds: median(counted.iter().map(|run| run.seconds).collect()),
            rounds: median(counted.iter().map(|run| f64::from(run.rounds)).collect()),
            tokens: all().map(|run| run.tokens).sum(),
            not_run: not_run.iter().filter(|run| run.key.model == model).count(),
            not_distinguishable_from: Vec::new(),
        }
    }

    /// `3 of 20 (5–36 %)`
    #[must_use]
    pub fn share(&self) -> String {
        format!("{} of {} ({})", self.solved, self.of, self.percent())
    }

    /// The interval: `5–36 %`
    #[must_use]
    pub fn percent(&self) -> String {
        let Interval { low, high } = self.interval;
        format!("{:.0}–{:.0} %", low * 100.0, high * 100.0)
    }

    /// The row of the model in the newest of the `earlier` evaluations that include it, with the ID of that evaluation.
    pub(super) fn before<'a>(&self, earlier: &'a [EvalReport]) -> Option<(&'a str, &'a Self)> {
        let mut rows = earlier.iter().filter_map(|report| {
            let row = report.rows.iter().find(|row| row.model == self.model && row.of > 0)?;
            Some((report.id.as_str(), row))
        });
        rows.next()
    }

    /// A sentence, without its full stop, which says that the model is worse than in the evaluation that
    /// [`Self::before`] finds; `None` if it is not.
    pub(super) fn regression(&self, earlier: &[EvalReport]) -> Option<String> {
        let (id, before) = self.before(earlier)?;
        self.interval.is_below(&before.interval).then(|| {
            format!(
                "`{}` is worse than before: it solved {}, and {} in the evaluation `{id}`",
                self.model,
                self.share(),
                before.share()
            )
        })
    }
}
