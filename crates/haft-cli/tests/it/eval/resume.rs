//! An evaluation whose process was killed goes on.
use super::{add_hurdle, checks, copies, lines, model_of, of_type, tasks};
use crate::kit::{Place, terminal::poll};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Stdio,
};

// H-46
#[test]
fn what_a_killed_evaluation_has_finished_is_not_run_again_and_nothing_is_lost() {
    let place = Place::new();
    if !checks(&place, "a killed evaluation") {
        return;
    }
    ["a", "b", "c", "d"].iter().for_each(|name| add_hurdle(&place, name, 10));
    let models = format!("{},{}", model_of(&place, "one", 50, 100), model_of(&place, "two", 5, 100));
    let folder = tasks(&place);
    let arguments = ["eval", "--tasks", &folder, "--models", &models, "--jobs", "2", "--json"];
    let mut haft = place.haft(&arguments);
    let mut child = haft.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    poll(|| of_type(&lines(&place), "ended").len() >= 3, || "three runs".to_owned());
    child.kill().unwrap();
    child.wait().unwrap();
    let before = lines(&place);
    let finished = of_type(&before, "ended").len();
    assert!((3..8).contains(&finished), "{before:?}");
    // A line that was cut off in the middle is as if it were not there.
    let file = fs::read_dir(place.path().join("home/evals")).unwrap().next().unwrap().unwrap().path();
    let file = file.join("results.jsonl");
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("{\"type\":\"ended\",\"run\":{\"ta");
    fs::write(&file, text).unwrap();
    assert_eq!(place.run(&["eval", "list", "--json"]).events()[0]["done"], false);
    let ran = place.run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains(&format!("8 runs, {finished} of them done before")), "{ran:?}");
    let rows: BTreeMap<String, (Value, Value)> = ran
        .events()
        .into_iter()
        .map(|row| (row["model"].to_string(), (row["solved"].clone(), row["of"].clone())))
        .collect();
    assert_eq!(rows.values().cloned().collect::<Vec<_>>(), [(json!(4), json!(4)), (json!(0), json!(4))]);
    let after = lines(&place);
    assert_eq!(after[..before.len()], before[..], "lines are only added");
    let keys: Vec<String> = of_type(&after, "ended").iter().map(|line| key(&line["run"])).collect();
    assert_eq!((keys.len(), keys.iter().collect::<BTreeSet<_>>().len()), (8, 8), "{keys:?}");
    // A session whose model was asked is in the file, also one that was cut off, for what it cost. Two may have been made a
    // moment before the end.
    let sessions = fs::read_dir(place.path().join("home/sessions")).unwrap().count();
    let started = of_type(&after, "started").len();
    assert!((started..=started + 2).contains(&sessions), "{sessions} sessions, {started} are in the file");
    assert_eq!(copies(&place), [] as [std::path::PathBuf; 0]);
    // It has come to its end, so the same command begins another one.
    let ran = place.run(&arguments);
    assert!(ran.code == 0 && !ran.err.contains("done before"), "{ran:?}");
}

fn key(run: &Value) -> String {
    format!("{} {} {}", run["task"], run["model"], run["trial"])
}
