//! One budget for all runs of an evaluation.
use super::{add_hurdle, checks, lines, of_type, tasks};
use crate::kit::{Place, call};
use serde_json::json;

// H-46
#[test]
fn one_budget_holds_for_all_runs_and_what_is_not_run_is_listed() {
    let place = Place::new();
    if !checks(&place, "the budget of an evaluation") {
        return;
    }
    ["a", "b", "c", "d"].iter().for_each(|name| add_hurdle(&place, name, 10));
    // Each reply costs one dollar, and each run has two.
    let usage = json!({"input": 1_000_000, "output": 0});
    let mut first = call("write", json!({"path": "skill", "content": "50"}));
    first["usage"] = usage.clone();
    let model = place.script("paid", &[first, json!({"say": "Done.", "usage": usage})]);
    place.configure(&format!(
        "[models.\"{model}\"]\nwindow = 10000000\nprice = {{ input = 1.0, output = 1.0 }}"
    ));
    let folder = tasks(&place);
    let ran = place.run(&["eval", "--tasks", &folder, "--models", &model, "--max-cost", "5", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let row = &ran.events()[0];
    assert_eq!((&row["solved"], &row["of"], &row["not_run"]), (&json!(2), &json!(2), &json!(2)), "{ran:?}");
    let cost = row["cost_usd"].as_f64().unwrap();
    assert!((4.0..=5.0).contains(&cost), "{ran:?}");
    for task in ["c", "d"] {
        assert!(ran.err.contains(&format!("not run: {task} with {model}: the budget")), "{ran:?}");
    }
    // A larger budget runs the rest, and what was spent before counts.
    let id = row["evaluation"].as_str().unwrap().to_owned();
    let ran = place.run(&["eval", "--resume", &id, "--max-cost", "5", "--json"]);
    assert_eq!((ran.code, &ran.events()[0]["of"]), (3, &json!(2)), "{ran:?}");
    let ran = place.run(&["eval", "--resume", &id, "--max-cost", "20", "--json"]);
    assert_eq!((ran.code, &ran.events()[0]["of"]), (0, &json!(4)), "{ran:?}");
    let lines = lines(&place);
    let paid = of_type(&lines, "ended").iter().filter(|line| line["run"]["verdict"] == "solved").count();
    assert_eq!(paid, 4, "{lines:?}");
}
