//! Alerts and the dashboard name metrics that `/metrics` gives, and say what Prometheus understands.
use super::{file, text};
use crate::kit::{Place, call, fleet::Fleet, serving::Serving};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// Runs `promtool` on `input`; `None` if it is not installed.
fn promtool(words: &[&str], input: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let stdin = folder.path().join("input");
    fs::write(&stdin, input).unwrap();
    let mut command = Command::new("promtool");
    command.args(words).current_dir(file("prometheus")).stdin(fs::File::open(stdin).unwrap());
    let Ok(ran) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output() else {
        haft_testing::left_out("rules: there is no `promtool`; `. scripts/peers.sh`");
        return None;
    };
    let said = [ran.stdout, ran.stderr].concat();
    Some((ran.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// What both kinds of server say at `/metrics`, after some work.
fn metrics(fleet: &Fleet) -> [String; 2] {
    let place = Place::new();
    let usage = json!({"input": 10, "output": 5});
    let mut writes = call("write", json!({"path": "a.txt", "content": "one\n"}));
    writes["usage"] = usage.clone();
    let model = place.script("model", &[writes, json!({"say": "Written.", "usage": usage})]);
    let own = Serving::start(&place, &["--model", &model, "--permission", "full"]);
    let id = own.session("{}");
    let report = own.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#).json();
    assert_eq!(report["outcome"], "finished", "{report}");
    let of_fleet = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    [own, of_fleet].map(|server| {
        server.with("GET /v1/jobs", &[("host", &server.address)], "");
        server.ask("GET /metrics", "").body
    })
}

/// The names of all samples that there can be.
fn given(metrics: &[String]) -> BTreeSet<String> {
    let types = metrics.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("# TYPE "));
    let named = types.flat_map(|line| {
        let (name, kind) = line.split_once(' ').unwrap();
        let endings: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        endings.iter().map(move |ending| format!("{name}{ending}"))
    });
    named.collect()
}

/// The same in the older text format, which `promtool check metrics` reads: there a counter is described by the whole name
/// of its sample.
fn in_text_format(metrics: &str) -> String {
    let counters: BTreeSet<&str> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let lines = metrics.lines().map(|line| {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(word), Some(name), Some(rest)) if counters.contains(name) => {
                format!("# {word} {name}_total {rest}\n")
            }
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_metric = |word: &&str| word.starts_with("haft_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

/// The expressions of a dashboard, as a file of rules.
fn rules_of(dashboard: &Value) -> String {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let rules = targets.enumerate().map(|(number, target)| {
        let expression = target["expr"].as_str().unwrap().replace("$__rate_interval", "5m");
        json!({"record": format!("panel:{number}"), "expr": expression})
    });
    json!({"groups": [{"name": "dashboard", "rules": rules.collect::<Vec<_>>()}]}).to_string()
}

#[test]
fn alerts_and_dashboard_name_metrics_that_servers_give() {
    let Some(fleet) = Fleet::new() else { return };
    // Only queues with jobs, costs and turns have figures.
    fleet.add();
    fleet.server.sql("INSERT INTO spending VALUES ('admin', 'default', current_date, 0.5)");
    fleet.server.sql("INSERT INTO turns VALUES ('default', 'finished', 1, 10, 5, 0, 0)");
    let given = given(&metrics(&fleet));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let texts = [
        ("the alerts", text("prometheus/alerts.yml"), 10),
        ("the dashboard", text("grafana/haft.json"), 20),
        ("the page", fs::read_to_string(page).unwrap(), 20),
    ];
    for (what, text, least) in texts {
        let named = named(&text);
        assert!(named.len() >= least, "{what}: {named:?}");
        // People call a histogram by its name alone.
        let is_given = |name: &str| {
            given.contains(name) || (what == "the page" && given.contains(&format!("{name}_bucket")))
        };
        let missing: Vec<_> = named.iter().filter(|name| !is_given(name)).collect();
        assert!(missing.is_empty(), "{what} names {missing:?}, which are not in {given:?}");
    }
}

#[test]
fn alerts_say_what_they_are_tested_to_say() {
    let dashboard = serde_json::from_str(&text("grafana/haft.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let panels = folder.path().join("dashboard.yml");
    fs::write(&panels, rules_of(&dashboard)).unwrap();
    let table = [
        ["check", "rules", "alerts.yml"],
        ["check", "rules", panels.to_str().unwrap()],
        ["test", "rules", "alerts_test.yml"],
    ];
    for words in table {
        let Some((is_ok, said)) = promtool(&words, "") else { return };
        assert!(is_ok, "{words:?}: {said}");
    }
}

#[test]
fn metrics_have_the_names_and_the_form_that_prometheus_advises() {
    let Some(fleet) = Fleet::new() else { return };
    for metrics in metrics(&fleet) {
        let Some((is_ok, said)) = promtool(&["check", "metrics"], &in_text_format(&metrics)) else { return };
        assert!(is_ok && said.is_empty(), "{said}\n{metrics}");
    }
}
