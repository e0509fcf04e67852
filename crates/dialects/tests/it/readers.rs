//! What holds for every dialect, whatever the model writes.
use crate::texts::{self, cut, in_pieces};
use haft_dialects::{Call, DIALECTS, Said, Setting, ToolSchema, by_delimiters, guess, read, spoken_by};
use serde_json::json;

// P-18, X-06
#[test]
fn a_reply_says_the_same_however_it_is_cut() {
    let mut random = fastrand::Rng::with_seed(20_250_301);
    for dialect in DIALECTS {
        for _ in 0..100 {
            let setting = texts::setting(&mut random);
            let text = texts::text(dialect, &mut random);
            let fault = texts::fault(dialect, &setting, &text, &mut random);
            assert_eq!(fault, None, "{} {setting:?} {text:?}", dialect.name);
        }
    }
}

#[test]
fn words_around_calls_are_said() {
    let mut random = fastrand::Rng::with_seed(20_250_304);
    for dialect in DIALECTS {
        for _ in 0..50 {
            let setting = texts::setting(&mut random);
            let lost = texts::lost(dialect, &setting, &mut random);
            assert_eq!(lost, None, "{} {setting:?}", dialect.name);
        }
    }
}

#[test]
fn prose_is_said_whole() {
    let mut random = fastrand::Rng::with_seed(20_250_302);
    let bits =
        ["<", ">", "[", "]", "{", "}", "/", "|", "`", "\"", "=", "tool", "call", "é", "😀", "a ", "\n", "x"];
    for dialect in DIALECTS {
        for _ in 0..100 {
            let mut text: String =
                (0..random.usize(..40)).map(|_| bits[random.usize(..bits.len())]).collect();
            // The beginning of a delimiter may be a delimiter that was cut off; this is none.
            text += " .";
            let pieces = cut(&text, 8, &mut random);
            let said =
                in_pieces(dialect, &Setting { begins_thinking: Some(false), ..Setting::default() }, &pieces);
            let words = |said: &Said| match said {
                Said::Text(text) => text.clone(),
                _ => String::new(),
            };
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            let all: String = said.iter().map(words).collect();
            assert_eq!(bare(&all), bare(&text), "{} {pieces:?} {said:?}", dialect.name);
        }
    }
}

#[test]
fn arguments_of_a_call_are_an_object() {
    let mut random = fastrand::Rng::with_seed(20_250_303);
    let table = [
        (
            "qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=a>\n7\n</parameter>\n</function>\n</tool_call>",
        ),
        ("nemotron_v3", "<tool_call><function=f><parameter=a>7</parameter></function></tool_call>"),
        ("step3p5", "<function=f>\n<parameter=a>\n7\n</parameter>\n</function>\n</tool_call>"),
        ("mimo", "<tool_call><function=f><parameter=a>7</parameter></function></tool_call>"),
        ("minicpmv", "<tool_call><function=f><parameter=a>7<parameter=b></function></tool_call>"),
        (
            "seed_oss",
            "<seed:tool_call>\n<function=f>\n<parameter=a>7</parameter>\n</function>\n</seed:tool_call>",
        ),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=\"f\"><parameter name=\"a\">7</parameter></invoke></minimax:tool_call>",
        ),
        ("minicpm5", "<function name=\"f\"><param name=\"a\"><![CDATA[7]]></param></function>"),
        ("glm47", "<tool_call>f<arg_key>a</arg_key><arg_value>7</arg_value></tool_call>"),
        ("glm4_moe", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"),
        ("ling3", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>7</arg_value>\n</tool_call><|role_end|>"),
        ("poolside_v1", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"),
        (
            "hunyuan_a13b",
            "<tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>7</arg_value></tool_call></tool_calls>",
        ),
        ("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 7}}</tool_call>"),
    ];
    let parameters = json!({"properties": {"a": {"type": "integer"}}});
    let tool = ToolSchema::new("f", parameters);
    let setting = Setting { tools: vec![tool].into(), ..Setting::default() };
    for (name, call) in table {
        let dialect = haft_dialects::dialect(name).unwrap();
        let text = format!("Sure.{call}");
        for longest in [1, 7, 1000] {
            let said = in_pieces(dialect, &setting, &cut(&text, longest, &mut random));
            let [Said::Text(before), Said::Call(found)] = said.as_slice() else { panic!("{name} {said:?}") };
            let arguments: serde_json::Value = serde_json::from_str(&found.arguments).unwrap();
            assert_eq!(
                (before.as_str(), found.name.as_str(), &arguments["a"]),
                ("Sure.", "f", &json!(7)),
                "{name}"
            );
        }
        // Cut off after any letter, it is a call, or text, or a problem; and never more than one of the first.
        for (at, _) in text.char_indices() {
            let said = read(dialect, &setting, [&text[..at]]);
            let calls = said.iter().filter(|said| matches!(said, Said::Call(_))).count();
            assert!(calls <= 1, "{name} {said:?}");
        }
    }
}

/// The dialect that is guessed, and what it reads without beginnings of calls: names of calls, `!` for a problem.
fn guessed(text: &str) -> (Option<&'static str>, Vec<String>) {
    let tool = |name: &str| ToolSchema::new(name, json!({"type": "object"}));
    let tools = ["read", "bash", "job"].map(tool).into();
    let setting = Setting { tools, beginnings: false, ..Setting::default() };
    let Some(dialect) = guess(&setting, text) else { return (None, Vec::new()) };
    let heard = read(dialect, &setting, [text]).into_iter().filter_map(|said| match said {
        Said::Call(call) => Some(call.object().map_or("!".to_owned(), |_| call.name)),
        Said::Problem(_) => Some("!".to_owned()),
        Said::Text(_) | Said::Thinking(_) | Said::ThinkingEnd => None,
    });
    (Some(dialect.name), heard.collect())
}

// P-18, P-25: no dialect makes a call of one that is broken.
#[test]
fn a_broken_call_is_a_problem_of_its_own_dialect() {
    let table: [(&str, Option<&str>, &[&str]); 27] = [
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}}"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}}<|im_end|>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}} and"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"},}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{'name':'read','arguments':{'path':'a'}}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{'name':'read','arguments':{"path":'it's'}}</tool_call>"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":None}}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"}}}</tool_call>"#, Some("hermes"), &["read"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a</tool_call>"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":{"path":"a"</tool_call>"#, Some("hermes"), &["!"]),
        ("<tool_call>not json</tool_call>", Some("hermes"), &["!"]),
        ("<tool_call>rm -rf /</tool_call>", Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"job","#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"bash","arguments":{"command":"rm -rf /"}"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"bash","arguments":{"command":"rm -rf"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":[1]}</tool_call>"#, Some("hermes"), &["!"]),
        (r#"<tool_call>{"name":"read","arguments":"x"}</tool_call>"#, Some("hermes"), &["!"]),
        ("<tool_call><function=bash><parameter=command>rm -rf /tmp", Some("qwen3_coder"), &["!"]),
        ("<tool_call>read</tool_call>", Some("ling3"), &["read"]),
        (r#"[TOOL_CALLS][{"name":"read","arguments":{}}]"#, Some("mistral"), &["read"]),
        ("[read(path='a')]", Some("llama4_pythonic"), &["read"]),
        ("[read(path='a'", None, &[]),
        ("Nothing to do here.", None, &[]),
        ("<think>x</think>Look at [this](x) and {that} <b>.", None, &[]),
    ];
    for (text, dialect, heard) in table {
        let heard: Vec<String> = heard.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(guessed(text), (dialect, heard), "{text}");
    }
}

/// Much of what may begin something and never does takes time in proportion, and none of it is lost.
#[test]
fn long_texts_without_an_end_are_read_once() {
    let nasty =
        ["<", "[", "{", "```", "{\"a\":", "[TOOL_CALLS]", "<|tool_call_begin|>", "<think>", "<tool_call>{"];
    for dialect in DIALECTS {
        for part in nasty {
            let text = part.repeat(5_000 / part.len());
            let whole = read(dialect, &Setting::default(), [text.as_str()]);
            let pieces = crate::kit::in_pieces(dialect, &Setting::default(), &text, 1);
            assert_eq!(pieces, whole, "{}: {part}", dialect.name);
        }
    }
}

#[test]
fn what_a_dialect_writes_tells_it() {
    for dialect in DIALECTS.iter().filter(|dialect| !dialect.signs.is_empty()) {
        let call = Call {
            id: "1".into(),
            name: "read".into(),
            arguments: json!({"path": "a", "lines": 3}).to_string(),
        };
        let text = dialect.written(&call);
        assert_eq!(by_delimiters(&text).map(|told| told.name), Some(dialect.name), "{text}");
    }
    assert!(by_delimiters("Call `f(x)` like this:\n```bash\nls\n```").is_none());
}

#[test]
fn a_models_name_says_which_dialect_it_speaks() {
    let name = |model: &str| spoken_by(model).map(|dialect| dialect.name);
    let table = [
        ("Qwen2.5-7B-Instruct", Some("hermes")),
        ("google/gemma-4-31B-it", Some("gemma4")),
        ("functiongemma-270m", Some("functiongemma")),
        ("openai/gpt-oss-120b", Some("harmony")),
        ("LFM2-8B-A1B", Some("lfm2")),
        ("olmo-3-7b", Some("olmo3")),
        ("muse-glimmer-30b", Some("muse_glimmer")),
        ("muse-70b", Some("muse")),
        ("unknown-1b", None),
    ];
    for (model, expected) in table {
        assert_eq!(name(model), expected, "{model}");
    }
}
