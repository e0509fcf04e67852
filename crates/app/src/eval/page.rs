//! [`html`]: the report of an evaluation as one HTML file. It has no script, and a policy in its head forbids loading
//! anything from elsewhere.
use super::{
    record::{RunRecord, RunVerdict},
    report::{EvalReport, EvalRow},
};
use haft_present::safe;
use jiff::Timestamp;
use std::fmt::Write;

const STYLE: &str = "
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { display: block; } svg .all { fill: #8882; } svg .in { fill: #48c8; } svg .at { fill: currentColor; }
.solved { color: #187a3c; } .unsolved { color: #c0392b; } .other { color: #888; }
@media (prefers-color-scheme: dark) { .solved { color: #4cc27a; } .unsolved { color: #ff7b6b; } }
";

/// The report as a self-contained HTML page.
#[must_use]
pub fn html(report: &EvalReport) -> String {
    let EvalReport { id, at, tasks, rows, .. } = report;
    let begun = Timestamp::from_millisecond(*at).unwrap_or_default().strftime("%Y-%m-%d %H:%M UTC");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>Evaluation {id} – Haft</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Evaluation {id}</h1>\n<p>{begun}. Tasks: {}. Models: {}.</p>\n",
        tasks.len(),
        rows.len(),
        id = escaped(id),
    );
    page += &models(rows);
    for sentence in report.undecided() {
        let _always_fits = writeln!(page, "<p>{}.</p>", escaped(&sentence));
    }
    page += &runs(report);
    page + "</body>\n</html>\n"
}

fn models(rows: &[EvalRow]) -> String {
    let mut table = "<table>\n<tr><th>Model</th><th class=\"number\">Solved</th><th>95 % interval</th>\
                     <th class=\"number\">Cost</th><th class=\"number\">Median time</th>\
                     <th class=\"number\">Median rounds</th><th class=\"number\">Tokens</th></tr>\n"
        .to_owned();
    for row in rows {
        let number = |text: String| format!("<td class=\"number\">{text}</td>");
        let _always_fits = writeln!(
            table,
            "<tr><td>{}</td>{}<td>{}{}</td>{}{}{}{}</tr>",
            escaped(&row.model),
            number(format!("{} of {}", row.solved, row.of)),
            bar(row),
            row.percent(),
            number(row.cost_usd.map_or_else(|| "unknown".into(), |usd| format!("${usd:.4}"))),
            number(row.seconds.map_or_else(String::new, |seconds| format!("{seconds:.1} s"))),
            number(row.rounds.map_or_else(String::new, |rounds| rounds.to_string())),
            number(row.tokens.to_string()),
        );
    }
    table + "</table>\n"
}

/// The confidence interval as a bar from 0 to 100 %, with a mark at the share of solved runs.
fn bar(row: &EvalRow) -> String {
    let (low, high) = (row.interval.low * 200.0, row.interval.high * 200.0);
    let share = row.solved as f64 / row.of.max(1) as f64 * 200.0;
    format!(
        "<svg width=\"202\" height=\"10\" role=\"img\" aria-label=\"{}\"><rect class=\"all\" y=\"4\" width=\"202\" height=\"2\"/>\
         <rect class=\"in\" x=\"{low:.1}\" y=\"1\" width=\"{:.1}\" height=\"8\"/>\
         <rect class=\"at\" x=\"{share:.1}\" width=\"2\" height=\"10\"/></svg>",
        row.percent(),
        high - low,
    )
}

fn runs(report: &EvalReport) -> String {
    let mut table =
        "<h2>Runs</h2>\n<table>\n<tr><th>Task</th><th>Model</th><th>Result</th><th>Session</th></tr>\n"
            .to_owned();
    for run in &report.runs {
        let (class, verdict) = verdict(run);
        let why = run.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        table += &line(&run.key.task, &run.key.model, class, &format!("{verdict}{why}"), &run.session.0);
    }
    let begun = |key| report.runs.iter().any(|run| run.key == key);
    for run in report.not_run.iter().filter(|run| !begun(run.key.clone())) {
        table += &line(&run.key.task, &run.key.model, "other", &format!("not run: {}", run.why), "");
    }
    table + "</table>\n"
}

fn line(task: &str, model: &str, class: &str, result: &str, session: &str) -> String {
    let [task, model, result, session] = [task, model, result, session].map(escaped);
    format!("<tr><td>{task}</td><td>{model}</td><td class=\"{class}\">{result}</td><td>{session}</td></tr>\n")
}

fn verdict(run: &RunRecord) -> (&'static str, &'static str) {
    match run.verdict {
        RunVerdict::Solved => ("solved", "solved"),
        RunVerdict::Unsolved => ("unsolved", "not solved"),
        RunVerdict::Failed | RunVerdict::OverBudget => ("other", "not counted"),
    }
}

/// `text` with the characters escaped that HTML reads as markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in safe::name(text).chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            letter => escaped.push(letter),
        }
    }
    escaped
}
