//! `--effort`: what a vendor is sent. The real binary, servers on loopback that look at the request.
use crate::kit::{
    Place, Ran, Reply, anthropic, openai_text,
    serving::Serving,
    vendor::{Asked, VendorServer},
};
use serde_json::{Value, json};

/// Speaks every wire, and says nothing but `hi`.
pub(crate) fn server() -> VendorServer {
    VendorServer::start(|asked: &Asked| {
        let whole = |value: Value| Reply(200, "application/json", value.to_string());
        match asked.line.as_str() {
            "POST /v1/messages" => {
                let text = json!({"type": "text_delta", "text": "hi"});
                anthropic(json!({"type": "text", "text": ""}), &[text], "end_turn")
            }
            "POST /v1/responses" => {
                let content = json!([{"type": "output_text", "text": "hi"}]);
                whole(
                    json!({"object": "response", "status": "completed", "output": [{"type": "message", "content": content}]}),
                )
            }
            line if line.contains("GenerateContent") => whole(
                json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}),
            ),
            _ => openai_text("hi"),
        }
    })
}

/// What is sent and said for `arguments`, with `server` for every vendor.
pub(crate) fn told(place: &Place, server: &VendorServer, arguments: &[&str]) -> (Value, Ran) {
    let mut command = place.haft(arguments);
    for vendor in ["OPENAI", "ANTHROPIC", "GROQ", "OPENROUTER", "MISTRAL", "OLLAMA", "LLAMACPP"] {
        command.env(format!("{vendor}_BASE_URL"), &server.base_url).env(format!("{vendor}_API_KEY"), "k");
    }
    command.env("GOOGLE_GEMINI_BASE_URL", &server.base_url).env("GEMINI_API_KEY", "k");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.code, ran.out.trim_end()), (0, "hi"), "{arguments:?}: {ran:?}");
    (server.prompts().pop().unwrap(), ran)
}

/// The fields of `body` that say how hard to think.
fn effort_of(body: &Value) -> Value {
    let fields = ["reasoning_effort", "reasoning", "thinking", "output_config", "chat_template_kwargs"];
    let mut found: serde_json::Map<String, Value> = fields
        .iter()
        .filter(|field| !body[**field].is_null())
        .map(|field| ((*field).to_owned(), body[*field].clone()))
        .collect();
    if let Some(config) = body["generationConfig"]["thinkingConfig"].as_object() {
        found.insert("thinkingConfig".into(), config.clone().into());
    }
    found.into()
}

#[test]
fn the_effort_reaches_every_wire_in_its_own_field() {
    let (place, server) = (Place::new(), server());
    let table = [
        ("openai/gpt-5", "low", json!({"reasoning_effort": "low"})),
        ("openai-responses/gpt-5", "high", json!({"reasoning": {"effort": "high"}})),
        ("openrouter/z-ai/glm-5", "medium", json!({"reasoning": {"effort": "medium"}})),
        ("groq/openai/gpt-oss-120b", "medium", json!({"reasoning_effort": "medium"})),
        ("ollama/gpt-oss:20b", "high", json!({"reasoning_effort": "high"})),
        ("llamacpp/gpt-oss", "low", json!({"chat_template_kwargs": {"reasoning_effort": "low"}})),
        (
            "anthropic/claude-opus-4-6",
            "high",
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "medium",
            json!({"thinking": {"type": "enabled", "budget_tokens": 8_192}}),
        ),
        ("gemini-native/gemini-2.5-pro", "low", json!({"thinkingConfig": {"thinkingBudget": 2_048}})),
        ("gemini-native/gemini-3-pro", "high", json!({"thinkingConfig": {"thinkingLevel": "high"}})),
    ];
    for (model, effort, expected) in table {
        let (body, ran) = told(&place, &server, &["run", "--model", model, "--effort", effort, "go"]);
        assert_eq!(effort_of(&body), expected, "{model}");
        assert!(!ran.err.contains("effort"), "{model}: {ran:?}");
        if let Some(budget) = body["thinking"]["budget_tokens"].as_u64() {
            assert!(body["max_tokens"].as_u64().unwrap() > budget, "{body}");
        }
        let (body, _) = told(&place, &server, &["run", "--model", model, "go"]);
        assert_eq!(effort_of(&body), json!({}), "{model}: nothing is sent unasked");
    }
}

#[test]
fn a_model_without_an_effort_is_sent_none_and_the_person_is_told() {
    let (place, server) = (Place::new(), server());
    for model in ["openai/gpt-4.1", "anthropic/claude-3-5-haiku-latest", "mistral/mistral-medium-latest"] {
        let (body, ran) = told(&place, &server, &["run", "--model", model, "--effort", "high", "go"]);
        assert_eq!(effort_of(&body), json!({}), "{model}");
        let note = format!("note: `{model}` does not support reasoning effort; ignoring `high`\n");
        assert_eq!(ran.err, note, "{model}");
    }
}

#[test]
fn the_effort_is_a_setting_like_any_other() {
    let (place, server) = (Place::new(), server());
    place.configure("model = \"openai/gpt-5\"\neffort = \"medium\"");
    assert_eq!(told(&place, &server, &["run", "go"]).0["reasoning_effort"], "medium");
    assert_eq!(told(&place, &server, &["run", "--effort", "low", "go"]).0["reasoning_effort"], "low");
    // Thinking Anthropic refuses a temperature, which this profile has.
    let arguments = ["run", "--profile", "alfred", "--model", "anthropic/claude-sonnet-4-5", "go"];
    let (body, _) = told(&place, &server, &arguments);
    assert!(body["thinking"].is_object() && body["temperature"].is_null(), "{body}");
    for (arguments, file) in
        [(&["run", "--effort", "max", "go"][..], ""), (&["run", "go"], "effort = \"max\"")]
    {
        place.configure(file);
        let ran = place.run(arguments);
        assert!(ran.code == 2 && ran.err.contains("medium"), "{ran:?}");
    }
    let help = place.run(&["build", "--help"]).out;
    assert!(help.contains("--effort <LEVEL>"), "{help}");
}

// H-117
#[test]
fn a_session_goes_on_with_the_effort_that_was_chosen_for_it_last() {
    let (place, server) = (Place::new(), server());
    let sent = |more: &[&str]| {
        let arguments = [&["run", "go"], more].concat();
        told(&place, &server, &arguments).0["reasoning_effort"].clone()
    };
    assert_eq!(sent(&["--model", "openai/gpt-5", "--effort", "low"]), "low");
    place.configure("effort = \"medium\"");
    assert_eq!(sent(&["--continue"]), "low");
    assert_eq!(sent(&["--continue", "--effort", "high"]), "high");
    assert_eq!(sent(&["--continue"]), "high");
    let of_another_model = sent(&["--continue", "--model", "openai/gpt-5-mini"]);
    assert_eq!(of_another_model, "medium");
    let setups = std::fs::read_to_string(place.journal()).unwrap();
    let setups = setups.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let setups = setups.filter(|entry| entry["type"] == "session_opened" || entry["type"] == "setup_changed");
    let efforts: Vec<_> = setups.map(|entry| entry["effort"].clone()).collect();
    assert_eq!(efforts, ["low", "high", "medium"]);
}

// H-117
#[test]
fn an_effort_that_was_chosen_on_a_server_stays_after_a_restart() {
    let (place, model) = (Place::new(), server());
    place.configure(&format!("[vendors.openai]\nbase_url = \"{}\"\nkey = \"k\"\n", model.base_url));
    let start = || Serving::start(&place, &["--model", "openai/gpt-5"]);
    let prompt = |serving: &Serving, id: &str| {
        let answer = serving.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go","wait":true}"#);
        assert_eq!(answer.status, 200, "{answer:?}");
        model.prompts().pop().unwrap()["reasoning_effort"].clone()
    };
    let serving = start();
    let [begun, changed] = [(); 2].map(|()| serving.session(r#"{"effort":"low"}"#));
    assert_eq!(prompt(&serving, &changed), "low");
    let answer = serving.ask(&format!("PATCH /v1/sessions/{changed}"), r#"{"effort":"high"}"#);
    assert_eq!(answer.json()["effort"], "high", "{answer:?}");
    drop(serving);
    let serving = start();
    for (id, effort) in [(&begun, "low"), (&changed, "high")] {
        assert_eq!(serving.ask(&format!("GET /v1/sessions/{id}"), "").json()["effort"], effort);
        assert_eq!(prompt(&serving, id), effort);
    }
}
