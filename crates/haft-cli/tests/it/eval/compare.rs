//! What an evaluation says of its models.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use super::{add_hurdle, checks, model_of, tasks};
use crate::kit::Place;
use fastrand::Rng;
use serde_json::json;
use std::fs;

// H-47
#[test]
fn a_model_that_became_worse_is_told_apart_from_chance() {
    let place = Place::new();
    if !checks(&place, "a comparison") {
        return;
    }
    add_hurdle(&place, "a", 40);
    add_hurdle(&place, "<b>&", 40);
    let (folder, page) = (tasks(&place), place.path().join("page.html"));
    let page_name = page.display().to_string();
    let (one, other) = (model_of(&place, "one", 90, 0), model_of(&place, "other", 90, 0));
    let models = format!("{one},{other}");
    let arguments = [
        "eval", "--tasks", &folder, "--models", &models, "--repeat", "5", "--watch", "--jobs", "2", "--html",
        &page_name,
    ];
    let ran = place.run(&arguments);
    assert!(ran.code == 0 && ran.out.contains("both 95 % intervals overlap"), "{ran:?}");
    assert!(ran.err.contains(&format!("not compared: {one}: there is no earlier evaluation")), "{ran:?}");
    // It is the same model by its name.
    assert_eq!(model_of(&place, "one", 10, 0), one);
    let ran = place.run(&arguments);
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected =
        format!("`{one}` is worse than before: it solved 0 of 10 (0–28 %), and 10 of 10 (72–100 %)");
    assert!(ran.err.contains(&expected) && !ran.err.contains(&format!("`{other}` is worse")), "{ran:?}");
    assert!(!ran.out.contains("distinguishable"), "{ran:?}");
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("&lt;b&gt;&amp;") && html.contains("0 of 10") && !html.contains("<b>"), "{html}");
    assert!(html.contains("default-src 'none'") && !html.contains("<script"), "{html}");
    let shown = place.run(&["eval", "show", "--html", &page_name, "--json"]);
    assert_eq!((shown.code, &shown.events()[1]["model"]), (0, &json!(one)), "{shown:?}");
}

/// Evaluations of models whose true share of solved tasks is known: each task is solved from a skill on that is drawn at
/// random.
// H-47
#[test]
fn simulated_models_are_ranked_right_and_their_intervals_hold_the_truth() {
    let rounds = std::env::var("HAFT_SOAK").map_or(1, |rounds| rounds.parse().unwrap());
    let (mut random, mut held, mut apart) = (Rng::with_seed(18), 0, 0);
    for _ in 0..rounds {
        let place = Place::new();
        if !checks(&place, "simulated evaluations") {
            return;
        }
        (0..10).for_each(|number| add_hurdle(&place, &number.to_string(), random.usize(1..=100)));
        let skills = [95, 60, 15];
        let models = skills.map(|skill| model_of(&place, &format!("m{skill}"), skill, 0));
        let (folder, all) = (tasks(&place), models.join(","));
        let ran = place.run(&["eval", "--tasks", &folder, "--models", &all, "--jobs", "3", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let rows = ran.events();
        let interval = |model: &String| {
            let row = rows.iter().find(|row| row["model"] == *model).unwrap();
            (row["low"].as_f64().unwrap(), row["high"].as_f64().unwrap())
        };
        let found = models.each_ref().map(interval);
        for (skill, (low, high)) in skills.iter().zip(found) {
            held += usize::from((low..=high).contains(&(*skill as f64 / 100.0)));
        }
        for (better, worse) in [(0, 1), (1, 2), (0, 2)] {
            assert!(found[better].1 >= found[worse].0, "a worse model is told to be better: {ran:?}");
            apart += usize::from(found[worse].1 < found[better].0);
        }
    }
    let all = 3 * rounds;
    eprintln!("{held} of {all} intervals hold the true share; {apart} of {all} pairs of models are apart");
    // 95 %, less four standard deviations.
    let fewest = all as f64 * 0.95 - 4.0 * (all as f64 * 0.95 * 0.05).sqrt();
    assert!(held as f64 >= fewest, "{held} of {all}");
}
