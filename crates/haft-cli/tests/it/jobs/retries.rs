//! What a job that is taken up again says of its end. The real binary, scripted models.
use crate::kit::Place;
use serde_json::{Value, json};

#[test]
fn a_retry_that_is_refused_says_so_and_not_why_the_first_try_failed() {
    let place = Place::new();
    place.write(
        ".haft/agents/worker.md",
        "---\nname: worker\ndescription: Works\ntools: [bash]\n---\nYou work.\n",
    );
    let fails = place.script("fails", &[json!({"fail": "the vendor is down", "kind": "rejected"})]);
    let asks = json!({"calls": [{"name": "bash", "arguments": {"command": "touch done"}}]});
    let refused = place.script("refused", &[asks.clone(), json!({"say": "I could not."})]);
    let circles = place.script("circles", &vec![asks; 20]);
    let job =
        place.run(&["jobs", "add", "--kind", "worker", "--description", "Do it."]).out.trim().to_owned();
    let shown =
        || -> Value { serde_json::from_str(&place.run(&["jobs", "show", &job, "--json"]).out).unwrap() };
    let table = [
        (&fails, "ask", 1, "the vendor is down"),
        (&refused, "ask", 4, "an effect needed an approval, and no person could give it"),
        (&fails, "ask", 1, "it has no more lines"),
        (
            &circles,
            "full",
            3,
            "the model repeats itself: it made the same calls again and again, or its reply did not end",
        ),
    ];
    for (model, permission, code, expected) in table {
        let ran = place.run(&["jobs", "retry", &job, "--model", model, "--permission", permission]);
        assert_eq!(ran.code, code, "{expected}: {ran:?}");
        // A model that failed is an error of the program, and no end of the job.
        let said = if code == 1 { expected.to_owned() } else { format!("✗ failed: {expected}") };
        assert!(ran.err.contains(&said), "{expected}: {ran:?}");
        let reason = shown()["output"]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}
