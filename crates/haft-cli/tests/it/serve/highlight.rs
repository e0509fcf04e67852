//! `POST /v1/highlight`: code in parts, with and without a fleet.
use crate::kit::{Place, fleet::Fleet, serving::Serving};
use serde_json::{Value, json};

// H-118
#[test]
fn code_is_told_in_parts_that_together_are_the_code() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Done."})]);
    let mut servers = vec![Serving::start(&place, &["--model", &model])];
    let fleet = Fleet::new();
    servers.extend(
        fleet.as_ref().map(|fleet| Serving::start(&fleet.place, &["--fleet", &fleet.server.address()])),
    );
    let part = |text: &str, kind: Option<&str>| json!({"text": text, "kind": kind});
    let python = "def f(x):  # one\n\n    return 'a' + 1\n";
    let rust = "struct Point;\nfn f() {}";
    for server in &servers {
        let ask = |language: &str, code: &str| {
            let body = json!({"language": language, "code": code}).to_string();
            server.ask("POST /v1/highlight", &body)
        };
        let lines = |language: &str, code: &str| ask(language, code).json()["lines"].clone();
        let all = lines("python", python);
        assert_eq!(all[0][0], part("def", Some("keyword")), "{all}");
        assert_eq!(all[0].as_array().unwrap().last(), Some(&part("# one", Some("comment"))), "{all}");
        assert_eq!(all[1], json!([]));
        for (language, code, has) in [
            ("py", python, part("f", Some("function"))),
            ("python", python, part("'a'", Some("string"))),
            ("python", python, part("1", Some("constant"))),
            ("rust", rust, part("fn", Some("keyword"))),
            ("rs", rust, part("Point", Some("type"))),
            ("diff", "-old\n+new\n", part("+new", Some("added"))),
            ("diff", "-old\n+new\n", part("-old", Some("removed"))),
            ("nonsense", python, part("    return 'a' + 1", None)),
            ("", python, part("    return 'a' + 1", None)),
        ] {
            let all = lines(language, code);
            let lines = all.as_array().unwrap().iter().map(|line| line.as_array().unwrap());
            assert!(lines.clone().flatten().any(|part| *part == has), "{language}, {has}: {all}");
            let text = |line: &Vec<Value>| {
                line.iter().map(|part| part["text"].as_str().unwrap()).collect::<String>()
            };
            assert_eq!(lines.map(text).collect::<Vec<_>>().join("\n"), code, "{language}");
        }
        let refused = ask("python", &"x".repeat(100_001));
        assert!(refused.status == 400 && refused.body.contains("100001 bytes"), "{refused:?}");
    }
}
