//! `haft sessions export --format html`: one page with everything in it, and nothing that acts but its own script. What the
//! script makes of the journal is read from a browser; `scripts/page.sh` looks at it as people do.
use crate::kit::Place;
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_core::Hash;
use regex::Regex;
use serde_json::{Value, json};
use std::process::Command;

fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}], "usage": {"input": 1000, "output": 50}})
}

/// The page of the only session, in which this was said.
fn page(place: &Place, permission: &str, steps: &[Value], prompts: &[&str]) -> String {
    let model = place.script("m", steps);
    place.configure(&format!("[models.\"{model}\"]\nprice = {{ input = 3.0, output = 15.0 }}\n"));
    for (number, prompt) in prompts.iter().enumerate() {
        let mut words = vec!["run", "-q", "--permission", permission, "--model", &model, *prompt];
        if number > 0 {
            words.push("-c");
        }
        place.run(&words);
    }
    export(place)
}

fn export(place: &Place) -> String {
    let listed = place.run(&["sessions", "list", "--json"]).events();
    let exported =
        place.run(&["sessions", "export", listed[0]["session"].as_str().unwrap(), "--format", "html"]);
    assert_eq!((exported.code, exported.err.as_str()), (0, ""));
    exported.out
}

/// The elements of the page once its script has run, as HTML and without the scripts; `None` if there is no browser.
fn shown(place: &Place, page: &str) -> Option<String> {
    let file = place.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let profile = format!("--user-data-dir={}", place.path().join("browser").display());
    let arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &profile];
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let run = |browser| Command::new(browser).args(arguments).arg(&file).output().ok();
    let Some(ran) = browsers.into_iter().find_map(run) else {
        haft_testing::left_out("what an exported page shows: there is no `chromium` here");
        return None;
    };
    let dom = String::from_utf8(ran.stdout).unwrap();
    assert!(dom.contains("This page fetches nothing."), "{dom}\n{}", String::from_utf8_lossy(&ran.stderr));
    Some(Regex::new("(?s)<script.*?</script>").unwrap().replace_all(&dom, "").into_owned())
}

/// Each request counts by the price of the model that was asked.
// H-109
#[test]
fn a_page_counts_what_each_model_costs() {
    let place = Place::new();
    let says = json!({"say": "Done.", "usage": {"input": 1_000_000, "output": 0}});
    let models = ["cheap", "dear"].map(|name| place.script(name, &[says.clone(), says.clone()]));
    let prices = models.iter().zip(["1.0", "5.0"]);
    let tables = prices
        .map(|(model, usd)| format!("[models.\"{model}\"]\nprice = {{ input = {usd}, output = 9.0 }}\n"));
    place.configure(&tables.collect::<String>());
    for words in
        [&["run", "-q", "--model", &models[0], "go"][..], &["run", "-q", "-c", "--model", &models[1], "go"]]
    {
        assert_eq!(place.run(words).code, 0);
    }
    let page = export(&place);
    let held = Regex::new(r#"(?s)<script id="journal" type="application/json">(.*?)</script>"#).unwrap();
    let held: Value = serde_json::from_str(&held.captures(&page).unwrap()[1]).unwrap();
    let costs = held["rounds"].as_array().unwrap().iter().map(|round| round["cost_usd"].clone());
    assert_eq!(costs.collect::<Vec<_>>(), [json!(1.0), json!(5.0)]);
    assert_eq!(held["cost_usd"], 6.0);
    // The conversation on a terminal counts the same.
    let said = place.run_with_input(&["chat", "-c"], b"/cost\nexit\n");
    assert!(said.err.contains("cost: $6.0000"), "{said:?}");
}

fn all<'a>(pattern: &str, page: &'a str) -> Vec<&'a str> {
    let found = Regex::new(pattern).unwrap();
    found.captures_iter(page).map(|found| found.get(1).unwrap().as_str()).collect()
}

#[test]
fn a_page_tells_what_was_said_done_and_undone() {
    let place = Place::new();
    place.write("a.py", "one = 1\ntwo = 2\n");
    let steps = [
        json!({"think": "I *look* first.", "say": "I **look**.", "calls": [{"name": "read", "arguments": {"path": "a.py"}}],
               "usage": {"input": 2000, "output": 100}}),
        call("edit", json!({"path": "a.py", "old_text": "one = 1", "new_text": "one = 11"})),
        call("write", json!({"path": "../outside.md", "content": "x"})),
        json!({"say": "# Done\n\n- [x] it\n", "usage": {"input": 3000, "output": 10}}),
        call("write", json!({"path": "b.md", "content": "b\n"})),
        json!({"say": "Noted."}),
    ];
    page(&place, "accept-edits", &steps, &["Change one.\nPlease.", "Take a note."]);
    assert_eq!(place.run(&["undo"]).code, 0);
    if let Some(page) = shown(&place, &export(&place)) {
        for expected in [
            "<h1>Change one.</h1>",
            "<p>Change one.\nPlease.</p>",
            "<summary>Thinking</summary><div class=\"inside\"><p>I <em>look</em> first.</p>",
            "<p>I <strong>look</strong>.</p>",
            "<h3>Done</h3><ul><li>☑ it",
            // The call with its arguments and what came of it, then the diff with the words that changed.
            "\"path\": \"a.py\"",
            "Replaced 1 occurrence",
            "changed, +1 −1",
            "one = <ins>11</ins>",
            "one = <del>1</del>",
            "No person could be asked to allow it.",
            // 2,000, 1,000, 1,000, 3,000 and 1,000 read, 260 written.
            "<dt>Tokens</dt><dd><strong>8,260</strong>",
            "<dt>Cost</dt><dd><strong>$0.0279</strong>",
            "<polyline",
            "<a href=\"#turn-",
            "<span class=\"tag\">undone</span>",
            "class=\"prompt undone\"",
            "Undone: b.md",
        ] {
            assert!(page.contains(expected), "{expected}:\n{page}");
        }
    }
    // A session goes by its name here, too.
    let listed = place.run(&["sessions", "list", "--json"]).events();
    place.run(&["sessions", "rename", listed[0]["session"].as_str().unwrap(), "one & two"]);
    assert!(export(&place).contains("<title>one &amp; two – Haft</title>"));
}

#[test]
fn whatever_was_said_is_text() {
    let place = Place::new();
    let evil = "<script>x</script><img src=https://evil.example/p onerror=x><style>*{}</style> \
                ![p](https://evil.example/q) [run](javascript:x) <a href=\"https://evil.example\" onclick=x>y</a>";
    let steps = [
        json!({"think": evil, "say": evil, "calls": [
            {"name": "write", "arguments": {"path": "<i onload=x>.md", "content": evil}},
            {"name": "<b>nothing</b>", "arguments": {evil: evil}}]}),
        json!({"say": format!("```{evil}\n{evil}\n```\n\n# {evil}\n\n|{evil}|\n|-|\n|{evil}|\n")}),
    ];
    let page = page(&place, "accept-edits", &steps, &[evil]);
    // What is said stands in the data of the page, where nothing is markup.
    let journal = all("(?s)<script id=\"journal\" type=\"application/json\">(.*?)</script>", &page)[0];
    assert!(!journal.contains(['<', '>', '&']) && journal.contains("evil.example"), "{journal}");
    let held: Value = serde_json::from_str(journal).unwrap();
    assert_eq!(held["updates"][0]["items"][0]["text"], json!(evil));
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    let Some(page) = shown(&place, &page) else { return };
    let tags = all("<([a-z][a-z0-9]*)", &page);
    let forbidden =
        ["script", "img", "iframe", "object", "embed", "link", "base", "form", "input", "button", "i", "b"];
    assert!(tags.iter().all(|tag| !forbidden.contains(tag)), "{page}");
    assert_eq!(tags.iter().filter(|tag| **tag == "style").count(), 1);
    // A browser writes a label as it is; a quote in it would be escaped.
    let page = Regex::new(" aria-label=\"[^\"]*\"").unwrap().replace_all(&page, "").into_owned();
    // Inside of tags: no address that is fetched, nothing that happens, no style of its own.
    let attributes =
        all(r#"<[a-z][^<>]*?\s((?:on\w+|style|src|srcset|action|formaction|background|ping)=)"#, &page);
    assert_eq!(attributes, Vec::<&str>::new());
    let links = all(r#"href="([^"]*)""#, &page);
    assert!(links.iter().all(|link| link.starts_with('#') || link.starts_with("https://")), "{links:?}");
}

#[test]
fn the_policy_of_a_page_allows_its_own_script_and_style_and_nothing_else() {
    let place = Place::new();
    let page = page(&place, "ask", &[json!({"say": "Hello."})], &["Hi"]);
    let style = all("(?s)<style>(.*?)</style>", &page)[0];
    let script = all("(?s)<script type=\"module\">(.*?)</script>", &page)[0];
    let [style_hash, script_hash] = [style, script].map(|text| {
        let Hash(hash) = Hash::of(text.as_bytes()).unwrap();
        BASE64_STANDARD.encode(hex::decode(hash).unwrap())
    });
    let expected = format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; img-src data:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    assert_eq!(all("http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"", &page), [expected]);
    assert!(
        page.find("Content-Security-Policy") < page.find("<style>"),
        "the policy holds for what stands behind it"
    );
    assert!(
        !Regex::new(r"\b(fetch|import|eval|innerHTML|localStorage)\b").unwrap().is_match(script),
        "{script}"
    );
    assert!(
        style.contains("prefers-color-scheme: dark") && !style.contains("url(") && !style.contains("@import")
    );
}

#[test]
fn a_session_that_nobody_has_is_wrong_usage_and_one_without_words_has_a_page() {
    let place = Place::new();
    assert_eq!(place.run(&["sessions", "export", "nope", "--format", "html"]).code, 2);
    assert_eq!(place.run(&["sessions", "export", "nope", "--format", "pdf"]).code, 2);
    let page = page(&place, "ask", &[json!({"fail": "no", "kind": "rejected"})], &["Hi"]);
    let Some(page) = shown(&place, &page) else { return };
    assert!(page.contains("class=\"failure\"") && page.contains("Failed · 0 rounds"), "{page}");
    assert!(!page.contains("<svg"), "{page}");
}
