//! A provider fails, and work goes on: another model takes over, or the turn waits until the limit is reset.
use crate::kit::{
    Place, Ran, Reply, anthropic, openai, openai_call, openai_text,
    project::Project,
    serving::Serving,
    terminal::{Terminal, poll},
    vendor::{Asked, VendorServer},
    wire::{Act, WireServer, answer},
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

const JSON: &str = "content-type: application/json";

/// Sends `reply` as its own connection.
fn said(Reply(status, media, body): Reply) -> Vec<Act> {
    vec![answer(status, &format!("content-type: {media}"), &body)]
}

fn done() -> Vec<Act> {
    let text = json!({"type": "text", "text": ""});
    said(anthropic(text, &[json!({"type": "text_delta", "text": "All done."})], "end_turn"))
}

/// Overloaded for longer than a request is repeated.
fn overloaded() -> Vec<Act> {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    vec![answer(529, &format!("{JSON}\r\nretry-after: 600"), body)]
}

fn rate_limited() -> Vec<Act> {
    let limit = "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 6m0s";
    vec![answer(429, &format!("{JSON}\r\n{limit}"), r#"{"error":{"message":"slow down"}}"#)]
}

/// The answer of a server when the quota of a plan is used up; it is reset after `seconds`.
fn no_quota(seconds: u64) -> Vec<Act> {
    let error = json!({"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": seconds});
    vec![answer(429, JSON, &json!({ "error": error }).to_string())]
}

fn no_credit() -> Vec<Act> {
    vec![answer(402, JSON, r#"{"error":{"message":"Insufficient Balance"}}"#)]
}

fn no_key() -> Vec<Act> {
    vec![answer(401, JSON, r#"{"error":{"message":"bad key"}}"#)]
}

/// Configures a vendor for each server, in this order, and `openai/m` with fallbacks at the others.
fn configure(place: &Place, servers: &[&WireServer]) {
    let vendors = ["openai", "anthropic", "mistral"];
    let tables = vendors.iter().zip(servers).map(|(vendor, server)| {
        let url = server.url.strip_suffix("/v1").filter(|_| *vendor == "anthropic").unwrap_or(&server.url);
        format!(
            "[vendors.{vendor}]\nbase_url = \"{url}\"\nkey = \"sk-secret-key\"\n\
             [models.\"{vendor}/m\"]\nprice = {{ input = {0}.0, output = {0}.0 }}\n",
            vendor.len()
        )
    });
    let others: Vec<String> =
        vendors.iter().zip(servers).skip(1).map(|(vendor, _)| format!("\"{vendor}/m\"")).collect();
    let own = format!("fallback = [{}]", others.join(", "));
    let tables: String = tables.collect();
    place.configure(&tables.replacen("[models.\"openai/m\"]", &format!("[models.\"openai/m\"]\n{own}"), 1));
}

fn run(place: &Place, options: &[&str]) -> Ran {
    Ran::from(command(place, options).output().unwrap())
}

fn command(place: &Place, options: &[&str]) -> Command {
    let mut command = place.haft(&["run", "--permission", "full", "--model", "openai/m"]);
    command.args(options).arg("go").env("TZ", "UTC");
    command
}

fn journal(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.journal()).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn of_type(entries: &[Value], kind: &str) -> Vec<Value> {
    entries.iter().filter(|entry| entry["type"] == kind).cloned().collect()
}

#[test]
fn another_vendor_goes_on_in_the_middle_of_a_turn_and_no_call_is_made_twice() {
    let place = Place::new();
    let call = said(openai_call("bash", &json!({"command": "echo x >>log"})));
    let (first, second) = (WireServer::start(vec![call, rate_limited()]), WireServer::start(vec![done()]));
    configure(&place, &[&first, &second]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "All done.\n"), "{ran:?}");
    assert!(ran.err.contains("openai/m is at its rate limit; anthropic/m goes on"), "{ran:?}");
    assert_eq!(place.read("log").as_deref(), Some("x\n"));
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1));
    let asked: Value = serde_json::from_str(&second.requests()[0]).unwrap();
    assert_eq!(asked["model"], "m");
    let kinds = [1, 2].map(|place| asked["messages"][place]["content"][0]["type"].clone());
    assert_eq!(kinds, ["tool_use", "tool_result"], "{asked}");
    let switches = of_type(&journal(&place), "model_changed");
    let [switch] = &switches[..] else { panic!("{switches:?}") };
    assert_eq!(
        (&switch["from"], &switch["to"], &switch["reason"], &switch["price"]["input"]),
        (&json!("openai/m"), &json!("anthropic/m"), &json!("rate_limited"), &json!(9.0))
    );
    // 16 tokens at 6 dollars for a million, and 16 at 9.
    let ended = of_type(&journal(&place), "turn_ended");
    let micros = (ended[0]["cost_usd"].as_f64().unwrap() * 1e6).round();
    assert_eq!(micros, 16.0 * 6.0 + 16.0 * 9.0);
    let usage = place.run(&["usage", "--json"]).events().remove(0);
    let models = usage["models"].as_array().unwrap().iter();
    let models: Vec<(&str, u64, f64)> = models
        .map(|row| {
            let micros = (row["cost_usd"].as_f64().unwrap() * 1e6).round();
            (row["model"].as_str().unwrap(), row["tokens"].as_u64().unwrap(), micros)
        })
        .collect();
    assert_eq!(models, [("anthropic/m", 16, 144.0), ("openai/m", 16, 96.0)]);
}

/// The call is whole, but the vendor withdrew the reply that it stands in.
#[test]
fn a_call_in_a_reply_that_the_content_policy_ended_is_not_run() {
    let call = json!({"index": 0, "id": "call_1", "function": {"name": "bash", "arguments": "{\"command\":\"touch ran\"}"}});
    let refused =
        || said(openai(&[json!({"content": "Well."}), json!({"tool_calls": [call]})], "content_filter"));
    let place = Place::new();
    let server = WireServer::start(vec![refused(), said(openai_text("Then not."))]);
    configure(&place, &[&server]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, place.read("ran")), (0, None), "{ran:?}");
    assert!(ran.out.ends_with("Then not.\n"), "{ran:?}");
    let asked: Value = serde_json::from_str(&server.requests()[1]).unwrap();
    let result = asked["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(result.contains("the provider's content policy ended the reply"), "{asked}");
    // Another model never sees it.
    let place = Place::new();
    let (first, second) = (WireServer::start(vec![refused()]), WireServer::start(vec![done()]));
    configure(&place, &[&first, &second]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, place.read("ran")), (0, None), "{ran:?}");
    assert!(!second.requests()[0].contains("touch ran"), "{:?}", second.requests());
}

/// As Azure OpenAI answers where its filter stops the prompt.
#[test]
fn a_prompt_that_a_content_filter_stops_is_a_refusal() {
    let error = json!({"message": "The response was filtered", "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation"}});
    let filtered = || vec![answer(400, JSON, &json!({ "error": error }).to_string())];
    let place = Place::new();
    let (first, second) = (WireServer::start(vec![filtered()]), WireServer::start(vec![done()]));
    configure(&place, &[&first, &second]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "All done.\n"), "{ran:?}");
    assert!(ran.err.contains("openai/m refused to answer; anthropic/m goes on"), "{ran:?}");
    let place = Place::new();
    let alone = WireServer::start(vec![filtered()]);
    configure(&place, &[&alone]);
    let ran = run(&place, &[]);
    assert_eq!((ran.code, alone.requests().len()), (1, 1), "{ran:?}");
    assert!(ran.err.contains("OpenAI refused to answer: The response was filtered (HTTP 400)"), "{ran:?}");
    assert!(ran.err.contains("say it in other words"), "{ran:?}");
}

/// Has two accounts: one without credit, and one that answers.
fn two_accounts() -> VendorServer {
    VendorServer::start(|asked| match (asked.line.as_str(), asked.key.as_deref()) {
        ("GET /v1/models", Some(WORK)) => {
            Reply(200, "application/json", json!({"data": [{"id": "m"}]}).to_string())
        }
        (_, Some(WORK)) => openai_text("For work."),
        ("GET /v1/models", _) => Reply(401, "application/json", json!({"error": "bad key"}).to_string()),
        _ => {
            Reply(402, "application/json", json!({"error": {"message": "Insufficient Balance"}}).to_string())
        }
    })
}

const WORK: &str = "sk-work-0123456789";

#[test]
fn another_account_goes_on_where_the_first_one_has_no_credit() {
    let (place, server) = (Place::new(), two_accounts());
    let url = &server.base_url;
    place.configure(&format!(
        "[vendors.openai]\nbase_url = \"{url}\"\nkey = \"sk-mine-0123456789\"\n\
         [accounts.work]\nkeys = {{ openai = \"{WORK}\" }}\n\
         [models.\"openai/m\"]\nfallback = [\"openai@work/m\"]\nprice = {{ input = 1.0, output = 1.0 }}\n"
    ));
    let ran = run(&place, &["--max-cost", "1"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "For work.\n"), "{ran:?}");
    assert!(ran.err.contains("openai/m has no credit left; openai@work/m goes on"), "{ran:?}");
    let keys: Vec<_> = server.asked().into_iter().filter_map(|asked| asked.key).collect();
    assert_eq!(keys, ["sk-mine-0123456789", WORK]);
    let named = Ran::from(place.haft(&["run", "--model", "openai@work/m", "go"]).output().unwrap());
    assert_eq!((named.code, named.out.as_str()), (0, "For work.\n"), "{named:?}");
    let unknown = run(&place, &["--fallback", "openai@wrok/m"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("there is no account `wrok`; there are `work`"),
        "{unknown:?}"
    );
    let without = run(&place, &["--fallback", "mistral@work/m"]);
    assert!(
        without.code == 2 && without.err.contains("the account `work` has no API key for Mistral"),
        "{without:?}"
    );
}

#[test]
fn a_refused_key_of_an_account_is_named_by_its_account() {
    let refuses = |_: &Asked| Reply(401, "application/json", json!({"error": "bad key"}).to_string());
    let (place, server) = (Place::new(), VendorServer::start(refuses));
    place.configure(&format!(
        "[vendors.openai]\nbase_url = \"{}\"\n[accounts.work]\nkeys = {{ openai = \"{WORK}\" }}\n",
        server.base_url
    ));
    let ran = place.run(&["run", "--model", "openai@work/gpt-5", "go"]);
    assert!(ran.code == 1 && ran.err.contains("the key of the account `work` for OpenAI"), "{ran:?}");
    assert!(ran.err.contains("`haft login openai --account work`"), "{ran:?}");
    assert!(!ran.err.contains("OPENAI_API_KEY"), "{ran:?}");
}

#[test]
fn the_doctor_says_of_each_fallback_whether_it_could_take_over() {
    let (place, server) = (Place::new(), two_accounts());
    let url = &server.base_url;
    place.configure(&format!(
        "[vendors.openai]\nbase_url = \"{url}\"\nkey = \"sk-mine-0123456789\"\n\
         [accounts.work]\nkeys = {{ openai = \"{WORK}\" }}\n[models.\"anthropic/c\"]\n\
         fallback = [\"openai@work/m\", \"openai@work/n\", \"openai/m\", \"mistral/m\"]\n"
    ));
    let doctor = place.run(&["doctor"]).out;
    let words: Vec<&str> = doctor.split_whitespace().collect();
    let doctor = words.join(" ");
    for expected in [
        "`openai@work/m` for `anthropic/c` could take over",
        "`openai@work/n` for `anthropic/c` could not take over: OpenAI does not list the model `n`",
        "`openai/m` for `anthropic/c` could not take over: OpenAI refused the key",
        "`mistral/m` for `anthropic/c` could not take over: there is no API key for Mistral",
    ] {
        assert!(doctor.contains(expected), "{expected}: {doctor}");
    }
}

#[test]
fn two_models_fail_in_a_row_and_the_third_goes_on() {
    let place = Place::new();
    let third = WireServer::start(vec![said(openai_text("Third."))]);
    let servers = [WireServer::start(vec![no_credit()]), WireServer::start(vec![overloaded()]), third];
    configure(&place, &servers.each_ref());
    let ran = run(&place, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Third.\n"), "{ran:?}");
    for line in
        ["openai/m has no credit left; anthropic/m goes on", "anthropic/m is overloaded; mistral/m goes on"]
    {
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
    assert_eq!(servers.each_ref().map(|server| server.requests().len()), [1, 1, 1]);
}

#[test]
fn where_all_fail_the_error_is_that_of_the_last_one_and_names_the_time() {
    let place = Place::new();
    let servers = [no_quota(7_200), overloaded(), no_key()].map(|scene| WireServer::start(vec![scene]));
    configure(&place, &servers.each_ref());
    let ran = run(&place, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("refused the key") && ran.err.contains("bad key"), "{ran:?}");
    assert!(ran.err.contains("`anthropic/m` can be asked again at "), "{ran:?}");
    assert!(ran.err.contains("`--wait` waits until then"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("sk-secret-key"), "{ran:?}");
}

#[test]
fn a_model_that_writes_calls_as_text_takes_over_with_its_own_format() {
    let place = Place::new();
    let first = WireServer::start(vec![no_credit()]);
    configure(&place, &[&first]);
    let (seen, script) = (place.path().join("seen"), "cat >\"$0\"; echo Text.");
    let seen = seen.display();
    place.configure_also(&format!(
        "[exec.house]\nprogram = \"/bin/sh\"\narguments = [\"-c\", '{script}', \"{seen}\"]\n"
    ));
    let ran = run(&place, &["--fallback", "exec/house"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Text.\n"), "{ran:?}");
    assert!(first.requests()[0].contains("\"tools\""), "{:?}", first.requests());
    let prompt = fs::read_to_string(place.path().join("seen")).unwrap();
    assert!(prompt.contains("go") && prompt.contains("bash"), "the tools stand in the text: {prompt}");
}

#[test]
fn what_cannot_take_over_is_an_error_at_the_start() {
    let place = Place::new();
    let server = WireServer::start(vec![done()]);
    configure(&place, &[&server]);
    place.configure_also("[models.\"script/b\"]\nfallback = [\"openai/m\"]\n");
    let rows = [
        ("nowhere/m", "cannot use the fallback `nowhere/m` of `openai/m`: there is no provider `nowhere`"),
        ("m", "cannot use the fallback `m` of `openai/m`: cannot use the model `m`"),
        ("openai/m", "`openai/m` cannot be its own fallback"),
        ("script/b", "`openai/m` → `script/b` → `openai/m`"),
        ("mistral/m", "cannot use the fallback `mistral/m` of `openai/m`: there is no API key"),
    ];
    for (fallback, expected) in rows {
        let ran = run(&place, &["--fallback", fallback]);
        assert!(ran.code == 2 && ran.err.contains(expected), "{fallback}: {ran:?}");
    }
    assert!(server.requests().is_empty());
}

/// Starts a turn and returns once it waits.
fn waiting(place: &Place, options: &[&str]) -> Child {
    let child = command(place, options).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_waiting = || {
        let sessions = place.path().join("home/sessions");
        fs::read_dir(sessions).is_ok_and(|sessions| sessions.count() > 0)
            && fs::read_to_string(place.journal()).is_ok_and(|text| text.contains("\"waiting\""))
    };
    poll(is_waiting, || "the turn does not wait".to_owned());
    child
}

fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

#[test]
fn a_turn_that_waits_is_killed_and_waits_for_what_is_left_when_it_is_resumed() {
    let place = Place::new();
    let server = WireServer::start(vec![no_quota(6), said(openai_text("Back again."))]);
    configure(&place, &[&server]);
    let mut child = waiting(&place, &["--wait"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(server.requests().len(), 1);
    let awaited = of_type(&journal(&place), "waiting").remove(0);
    assert_eq!((&awaited["model"], &awaited["reason"]), (&json!("openai/m"), &json!("quota_exhausted")));
    let until = awaited["until"].as_u64().unwrap();
    let id = journal(&place)[0]["session"].as_str().unwrap().to_owned();
    let ran = place.run(&["sessions", "resume", &id]);
    assert!(now() >= until, "it has waited for what was left");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Back again.\n"), "{ran:?}");
    assert_eq!((server.requests().len(), of_type(&journal(&place), "waiting").len()), (2, 1));
}

#[test]
fn ctrl_c_ends_a_wait_at_once() {
    let place = Place::new();
    let server = WireServer::start(vec![no_quota(3_600)]);
    configure(&place, &[&server]);
    let mut child = waiting(&place, &["--wait"]);
    let since = Instant::now();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(since.elapsed() < Duration::from_secs(10));
    assert_eq!(of_type(&journal(&place), "turn_ended")[0]["outcome"], "interrupted");
}

#[test]
fn a_wait_has_a_limit() {
    let place = Place::new();
    let server = WireServer::start(vec![no_quota(3_600)]);
    configure(&place, &[&server]);
    for (options, expected) in [
        (&["--wait", "--wait-limit", "60"][..], "that is beyond `--wait-limit`, 60 s"),
        (&[][..], "`--wait` waits until then"),
    ] {
        let ran = run(&place, options);
        assert!(ran.code == 1 && ran.err.contains(expected), "{ran:?}");
    }
}

#[test]
fn a_job_waits_without_being_asked_to() {
    let project = Project::new();
    let talk = said(openai_text("I would begin with the tests."));
    let server = WireServer::start(vec![no_quota(1), talk]);
    configure(&project.place, &[&server]);
    let ran = project.build("openai/m");
    assert!(ran.err.contains("openai/m has no quota left; waiting until "), "{ran:?}");
    assert_eq!((ran.code, of_type(&journal(&project.place), "waiting").len()), (5, 1), "{ran:?}");
}

#[test]
fn the_screen_says_which_model_goes_on() {
    let place = Place::new();
    let (first, second) = (WireServer::start(vec![no_credit()]), WireServer::start(vec![done()]));
    configure(&place, &[&first, &second]);
    let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
    terminal.haft(&place, "--model openai/m");
    terminal.see("what to do?");
    terminal.say("go");
    let screen = terminal.see("All done.");
    assert!(screen.contains("openai/m has no credit left; anthropic/m goes on"), "{screen}");
}

#[test]
fn the_page_says_which_model_goes_on() {
    let place = Place::new();
    let (first, second) = (WireServer::start(vec![overloaded()]), WireServer::start(vec![done()]));
    configure(&place, &[&first, &second]);
    let server = Serving::start(&place, &["--model", "openai/m"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    assert!(server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#).status < 300);
    assert!(events.until("turn_ended").iter().any(|event| event["type"] == "model_changed"));
    let timeline = server.ask(&format!("GET /v1/sessions/{id}/timeline"), "").json().to_string();
    assert!(timeline.contains("openai/m is overloaded; anthropic/m goes on"), "{timeline}");
}
