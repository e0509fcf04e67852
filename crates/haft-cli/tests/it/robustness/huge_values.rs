//! Numbers and texts that are larger than anybody means. The real binary.
use crate::kit::{Place, Ran};
use serde_json::json;
use std::{io::Write, process::Stdio};

#[test]
fn a_limit_of_money_is_a_number() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hello"})]);
    for word in ["inf", "-inf", "nan", "NaN", "infinity", "1e400", "-1", "0"] {
        let mut command = place.haft(&["run", "--model", &model, "go"]);
        let ran = Ran::from(command.env("HAFT_MAX_COST", word).output().unwrap());
        assert!(ran.code == 2 && ran.err.contains("HAFT_MAX_COST"), "{word}: {ran:?}");
        let flag = place.run(&["run", "--model", &model, &format!("--max-cost={word}"), "go"]);
        assert_eq!(flag.code, 2, "{word}: {flag:?}");
    }
    for line in ["max_cost = inf", "max_cost = nan", "max_cost = -0.5"] {
        place.configure(line);
        let own = place.run(&["run", "--model", &model, "go"]);
        assert!(
            own.code == 2 && own.err.contains("config.toml`: line 1: expected an amount"),
            "{line}: {own:?}"
        );
        place.configure("");
        place.write(".haft/config.toml", line);
        let project = place.run(&["run", "--model", &model, "go"]);
        assert!(project.code == 2 && project.err.contains("expected an amount"), "{line}: {project:?}");
        place.write(".haft/config.toml", "");
    }
}

#[test]
fn a_prompt_is_read_no_further_than_a_model_takes() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hello"})]);
    let mut haft = place.haft(&["run", "--model", &model, "-"]);
    let mut child = haft.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        let piece = [b'x'; 1 << 16];
        (0..1_024).take_while(|_| stdin.write_all(&piece).is_ok()).count() * piece.len()
    });
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(ran.code == 2 && ran.err.contains("more than 4 MB"), "{ran:?}");
    let written = writing.join().unwrap();
    assert!(written < 6 << 20, "{written} bytes were taken");
}
