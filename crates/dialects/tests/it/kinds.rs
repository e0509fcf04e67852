//! What models get wrong, kind by kind, in as many dialects as have it: each reply is read whole, and cut into characters.
use haft_dialects::{Call, DIALECTS, Dialect, Said, Setting, ToolSchema, dialect, read};
use serde_json::{Value, json};

fn tool(name: &str, parameters: Value) -> ToolSchema {
    ToolSchema::new(name, parameters)
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "s": {"type": "string"}, "t": {"type": "boolean"},
        "l": {"type": "array"}, "o": {"type": "object"},
    }})
}

fn setting() -> Setting {
    Setting {
        tools: vec![tool("look", parameters()), tool("find", parameters())].into(),
        ..Setting::default()
    }
}

/// What is said, however the text is cut.
fn said(dialect: &Dialect, setting: &Setting, text: &str) -> Vec<Said> {
    let whole = read(dialect, setting, [text]);
    for length in [1, 2, 7] {
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters.chunks(length).map(|piece| piece.iter().collect()).collect();
        let pieces = read(dialect, setting, pieces.iter().map(String::as_str));
        assert_eq!(pieces, whole, "{}, cut by {length}: {text}", dialect.name);
    }
    whole
}

/// Text as it is, thoughts in `~…~`, calls as `«name arguments»`, `!` for a problem.
fn shown(said: &[Said]) -> String {
    let one = |said: &Said| match said {
        Said::Text(text) => text.clone(),
        Said::Thinking(text) => format!("~{text}~"),
        Said::ThinkingEnd => String::new(),
        Said::Call(call) => format!("«{} {}»", call.name, call.arguments),
        Said::Problem(_) => "!".to_owned(),
    };
    said.iter().map(one).collect()
}

fn check(table: &[(&str, &str, &str)]) {
    for (name, text, expected) in table {
        let dialect = dialect(name).unwrap();
        assert_eq!(shown(&said(dialect, &setting(), text)), *expected, "{name}: {text}");
    }
}

fn call(name: &str, arguments: Value) -> Call {
    Call { id: String::new(), name: name.into(), arguments: arguments.to_string() }
}

/// All but the one that has no calls.
fn speaking() -> impl Iterator<Item = &'static Dialect> {
    DIALECTS.iter().copied().filter(|dialect| dialect.name != "plain")
}

/// Without blanks: where they stand around calls is each dialect's own matter.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

fn object(call: &Call) -> Option<Value> {
    call.object().ok().map(Value::Object)
}

const LOOK: &str = r#"«look {"n":1}»"#;

// P-18, P-24
#[test]
fn a_call_in_thoughts_that_were_never_closed_is_made() {
    // Bare JSON or a fence may be quoted anywhere.
    let quoting = ["xlam", "llama3_json", "fenced_shell", "thoughts_json"];
    let unthinking = ["llama4_pythonic", "pythonic", "alfred", "command_r_plus"];
    for dialect in speaking().filter(|dialect| !quoting.contains(&dialect.name)) {
        let call = dialect.written(&call("look", json!({"n": 1})));
        let thinks = Setting { begins_thinking: Some(true), ..setting() };
        let found = bare(&shown(&said(dialect, &thinks, &format!("Hm. {call}"))));
        let thought = if unthinking.contains(&dialect.name) { "Hm." } else { "Hm.~" };
        assert!(found.ends_with(&bare(&format!("{thought}{LOOK}"))), "{}: {found}", dialect.name);
    }
}

// P-25: what is only thought about is not done.
#[test]
fn a_call_in_thoughts_that_end_is_thought() {
    let closed = [
        "hermes",
        "glm47",
        "glm4_moe",
        "poolside_v1",
        "nemotron_v3",
        "lfm2",
        "deepseek_v31",
        "jamba",
        "olmo3",
        "hunyuan_a13b",
        "ernie45",
        "granite4",
        "spark25",
    ];
    for name in closed {
        let dialect = dialect(name).unwrap();
        let call = dialect.written(&call("look", json!({"n": 1})));
        let text = format!("<think>Perhaps {call} hm</think>No.");
        assert_eq!(shown(&said(dialect, &setting(), &text)), format!("~Perhaps {call} hm~No."), "{name}");
        // Nor is one that is not offered.
        let unknown = Setting { tools: vec![tool("other", json!({}))].into(), ..Setting::default() };
        let text = format!("<think>Perhaps {call}");
        assert_eq!(shown(&said(dialect, &unknown, &text)), format!("~Perhaps {call}~"), "{name}");
    }
}

// P-25, X-07: a reply that is cut off anywhere runs nothing but what is whole.
#[test]
fn half_a_call_is_not_run() {
    let whole = call("look", json!({"n": 12, "s": "a b", "t": true, "l": [1, "x"], "o": {"k": "v"}}));
    for dialect in speaking() {
        let text = dialect.written(&whole);
        for (at, _) in text.char_indices() {
            for beginnings in [true, false] {
                let cut = Setting { beginnings, ..setting() };
                let said = read(dialect, &cut, [&text[..at]]);
                for (place, now) in said.iter().enumerate() {
                    let Said::Call(found) = now else { continue };
                    let doubted = beginnings && matches!(said.get(place + 1), Some(Said::Problem(_)));
                    let is_whole = object(found).is_none_or(|found| Some(found) == object(&whole));
                    assert!(doubted || is_whole, "{} {beginnings} {:?}: {said:?}", dialect.name, &text[..at]);
                }
            }
        }
    }
}

// P-25
#[test]
fn a_call_whose_end_is_missing_is_not_made() {
    let glm = "<tool_call>look<arg_key>n</arg_key><arg_value>1</arg_value>";
    let qwen = "<tool_call><function=look><parameter=n>1</parameter>";
    let minimax = "<minimax:tool_call><invoke name=\"look\"><parameter name=\"n\">1</parameter>";
    let hunyuan = format!("<tool_calls>{}", glm.replace("look<", "look<tool_sep><"));
    let texts = [
        ("qwen3_coder", qwen),
        ("nemotron_v3", qwen),
        ("minimax_m2", minimax),
        ("lfm2", "<|tool_call_start|>[look(n=1)]"),
        ("olmo3", "<function_calls>look(n=1)"),
        ("hunyuan_a13b", &hunyuan),
    ];
    for (name, text) in texts {
        check(&[(name, text, &format!("{text}!"))]);
    }
    check(&[("poolside_v1", glm, "!"), ("glm47", glm, "«look {\"n\":1}»!")]);
}

// P-25
#[test]
fn whole_json_at_the_end_of_a_reply_needs_no_closing_tag() {
    let json = r#"{"name":"look","arguments":{"n":1}}"#;
    let opens = [
        ("hermes", "<tool_call>"),
        ("ernie45", "<tool_call>"),
        ("granite4", "<tool_call>"),
        ("reka_edge", "<tool_call>"),
        ("jamba", "<tool_calls>"),
        ("longcat", "<longcat_tool_call>"),
    ];
    for (name, open) in opens {
        let [whole, half, followed] =
            [json, &json[..json.len() - 1], &format!("{json} Done.")].map(|json| format!("{open}{json}"));
        check(&[(name, &whole, r#"«look {"n":1}»"#)]);
        if name != "reka_edge" {
            check(&[(name, &half, &format!("{half}!")), (name, &followed, &format!("{followed}!"))]);
        }
    }
}

#[test]
fn arguments_that_are_no_object_make_no_call() {
    let delimiters = [
        ("hermes", "<tool_call>", "</tool_call>"),
        ("granite4", "<tool_call>", "</tool_call>"),
        ("granite", "<|tool_call|>", ""),
        ("jamba", "<tool_calls>", "</tool_calls>"),
        ("internlm2", "<|action_start|><|plugin|>", "<|action_end|>"),
        ("nemotron_v2", "<TOOLCALL>", "</TOOLCALL>"),
        ("reka_edge", "<tool_call>", "</tool_call>"),
        ("command_r7b", "<|START_ACTION|>", "<|END_ACTION|>"),
        ("k2_horizon", "<ifm|tool_call>", "</ifm|tool_call>"),
        ("hunyuan_a13b", "<tool_calls>", "</tool_calls>"),
    ];
    for (name, open, close) in delimiters {
        for arguments in ["[1]", "7", "true", r#""x""#, r#""[1]""#] {
            let text = format!(r#"{open}{{"name":"look","arguments":{arguments}}}{close}"#);
            check(&[(name, &text, &format!("{text}!"))]);
        }
        for arguments in ["{}", "null", r#""{}""#] {
            let text = format!(r#"{open}{{"name":"look","arguments":{arguments}}}{close}"#);
            check(&[(name, &text, "«look {}»")]);
        }
    }
}

#[test]
fn a_parameter_without_a_value_does_not_lose_the_call() {
    check(&[
        (
            "glm47",
            "<tool_call>look<arg_key>s</arg_key><arg_key>n</arg_key><arg_value>1</arg_value></tool_call>",
            LOOK,
        ),
        (
            "glm4_moe",
            "<tool_call>look\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>\n</tool_call>",
            LOOK,
        ),
        ("poolside_v1", "<tool_call>look<arg_key>s</arg_key></tool_call>", "«look {}»"),
        (
            "hunyuan_a13b",
            "<tool_calls><tool_call>look<tool_sep><arg_key>s</arg_key><arg_key>n</arg_key><arg_value>1</arg_value></tool_call></tool_calls>",
            LOOK,
        ),
        (
            "spark25",
            "<tool_call>look<arg_key>s</arg_key><arg_key>n</arg_key><arg_value>1</arg_value></tool_call>",
            LOOK,
        ),
        (
            "hy_v3",
            "<tool_call>look<tool_sep><arg_key>n</arg_key><arg_value>1</arg_value><arg_key>s</arg_key></tool_call>",
            LOOK,
        ),
        (
            "k2_horizon",
            "<ifm|tool_call>look<ifm|arg_key>s</ifm|arg_key><ifm|arg_key>n</ifm|arg_key><ifm|arg_value>1</ifm|arg_value></ifm|tool_call>",
            LOOK,
        ),
        (
            "qwen3_coder",
            "<tool_call><function=look><parameter=s\n<parameter=n>1</parameter></function></tool_call>",
            LOOK,
        ),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=\"look\"><parameter name=\"s\"<parameter name=\"n\">1</parameter></invoke></minimax:tool_call>",
            LOOK,
        ),
        ("gemma4", "<|tool_call>call:look{s,n:1}<tool_call|>", LOOK),
        ("gemma4", "<|tool_call>call:look{s:,n:1}<tool_call|>", LOOK),
        ("functiongemma", "<start_function_call>call:look{n:1,s}<end_function_call>", LOOK),
    ]);
}

#[test]
fn a_value_whose_end_was_forgotten_holds_no_tags() {
    let both = r#"«look {"n":1,"s":"2"}»"#;
    check(&[
        (
            "glm47",
            "<tool_call>look<arg_key>n</arg_key><arg_value>1<arg_key>s</arg_key><arg_value>2</arg_value></tool_call>",
            both,
        ),
        ("glm47", "<tool_call>look<arg_key>n</arg_key><arg_value>1</tool_call> So.", &format!("{LOOK} So.")),
        (
            "glm47",
            "<tool_call>look<arg_key>n</arg_key><arg_value>1</tool_call>\n<tool_call>look<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>",
            &format!("{LOOK}{LOOK}"),
        ),
        (
            "hunyuan_a13b",
            "<tool_calls><tool_call>look<tool_sep><arg_key>n</arg_key><arg_value>1</tool_call></tool_calls>",
            LOOK,
        ),
        (
            "spark25",
            "<tool_call>look<arg_key>n</arg_key><arg_value>1<arg_key>s</arg_key><arg_value>2</tool_call>",
            both,
        ),
        (
            "qwen3_coder",
            "<tool_call><function=look><parameter=n>1<parameter=s>2</function></tool_call>",
            both,
        ),
        ("qwen3_coder", "<tool_call><function=look><parameter=n>1</tool_call> So.", &format!("{LOOK} So.")),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=\"look\"><parameter name=\"n\">1</minimax:tool_call> So.",
            &format!("{LOOK} So."),
        ),
        ("minicpm5", "<function name=\"look\"><param name=\"n\">1<param name=\"s\">2</function>", both),
        (
            "deepseek_v32",
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"look\"><｜DSML｜parameter name=\"n\" string=\"false\">1</｜DSML｜function_calls> So.",
            &format!("{LOOK} So."),
        ),
        (
            "dots",
            "<dots_function_call><invoke name=\"look\"><parameter name=\"n\">1<parameter name=\"s\">2</invoke></dots_function_call>",
            both,
        ),
        (
            "muse",
            " to=look<|message|><atem:function_calls><atem:invoke name=\"look\"><atem:parameter name=\"n\">1<atem:parameter name=\"s\">2</atem:invoke></atem:function_calls>",
            both,
        ),
        (
            "minimax_m3",
            "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"look\">]<]minimax[>[<n>1]<]minimax[>[<s>2]<]minimax[>[</s>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
            both,
        ),
    ]);
}

#[test]
fn tags_that_run_together_and_tags_that_come_twice_are_read() {
    let json = r#"{"name":"look","arguments":{"n":1}}"#;
    let twice = [
        ("hermes", "<tool_call>", "</tool_call>"),
        ("granite4", "<tool_call>", "</tool_call>"),
        ("jamba", "<tool_calls>", "</tool_calls>"),
        ("nemotron_v2", "<TOOLCALL>", "</TOOLCALL>"),
        ("internlm2", "<|action_start|><|plugin|>", "<|action_end|>"),
        ("command_r7b", "<|START_ACTION|>", "<|END_ACTION|>"),
        ("k2_horizon", "<ifm|tool_call>", "</ifm|tool_call>"),
    ];
    for (name, open, close) in twice {
        check(&[(name, &format!("{open}\n{open}{json}{close}"), LOOK)]);
    }
    check(&[
        ("glm47", "<tool_call><tool_call>look<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>", LOOK),
        (
            "qwen3_coder",
            "<tool_call>\n<tool_call><function=look><parameter=n>1</parameter></function></tool_call>",
            LOOK,
        ),
        (
            "qwen3_coder",
            "<tool_call><function=look>\n<function=look><parameter=n>1</parameter></function></tool_call>",
            LOOK,
        ),
        ("lfm2", "<|tool_call_start|>[look(n=1)]<|tool_call_end|>", LOOK),
        ("olmo3", "<function_calls><function_calls>look(n=1)</function_calls>", LOOK),
        ("minicpm5", "<functionname=\"look\"><paramname=\"n\">1</param></function>", LOOK),
        ("minicpm5", "<function name='look'><param name=n>1</param></function>", LOOK),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=look><parameter name='n'>1</parameter></invoke></minimax:tool_call>",
            LOOK,
        ),
        (
            "hermes",
            "<tool_call>{\"name\":\"look\",\"arguments\":{\"n\":1}}\n{\"name\":\"find\"}</tool_call>",
            &format!("{LOOK}«find {{}}»"),
        ),
        (
            "minimax_m2",
            "<minimax:tool_call><invokename=\"look\"><parametername=\"n\">1</parameter></invoke></minimax:tool_call>",
            LOOK,
        ),
        (
            "step3",
            "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invokename=\"look\"><steptml:parametername=\"n\">1</steptml:parameter></steptml:invoke><｜tool_calls_end｜>",
            LOOK,
        ),
        (
            "deepseek_v32",
            "<｜DSML｜function_calls><｜DSML｜invokename=\"look\"><｜DSML｜parametername=\"n\" string=\"false\">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
            LOOK,
        ),
        (
            "kimi_k3",
            "<|open|> tools <|sep|><|open|>call tool=\"look\" index=\"1\"<|sep|><|open|>argument key=\"n\" type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
            LOOK,
        ),
    ]);
}

#[test]
fn arguments_in_one_parameter_too_many_are_those_of_the_call() {
    let inner = json!({"n": 1, "s": "x"});
    for dialect in speaking() {
        for name in ["arguments", "parameters", "params", "args", "input"] {
            for value in [inner.clone(), json!(inner.to_string())] {
                let text = dialect.written(&call("look", json!({name: value})));
                let found = shown(&said(dialect, &setting(), &text));
                assert_eq!(found.trim(), r#"«look {"n":1,"s":"x"}»"#, "{}: {text}", dialect.name);
            }
        }
    }
}

#[test]
fn types_are_known_by_the_names_that_languages_have() {
    let named = json!({"type": "object", "properties": {
        "n": {"type": "int"}, "f": {"type": "float"}, "s": {"type": "str"}, "t": {"type": "bool"},
        "l": {"type": "list"}, "o": {"type": "dict[str, int]"},
    }});
    let setting = Setting { tools: vec![tool("look", named)].into(), ..Setting::default() };
    let meant =
        json!({"n": 1, "f": 2.5, "s": "3", "t": true, "l": [1, "x", false], "o": {"k": 4, "b": true}});
    for dialect in speaking() {
        // One takes all JSON for JSON; the other writes no types within lists and objects.
        if ["muse_glimmer", "minimax_m3"].contains(&dialect.name) {
            continue;
        }
        let text = dialect.written(&call("look", meant.clone()));
        let said = said(dialect, &setting, &text);
        let found = said.iter().find_map(|said| match said {
            Said::Call(call) => object(call),
            _ => None,
        });
        assert_eq!(found, Some(meant.clone()), "{}: {text}", dialect.name);
    }
}

#[test]
fn what_is_bare_where_strings_are_marked_is_no_string() {
    let four = |body: &str| format!("<|tool_call>call:look{{{body}}}<tool_call|>");
    let function = |body: &str| format!("<start_function_call>call:look{{{body}}}<end_function_call>");
    let table = [
        (
            "n:1,l:[1,true,a],o:{k:2.5,b:false,z:[3]}",
            r#"{"n":1,"l":[1,true,"a"],"o":{"k":2.5,"b":false,"z":[3]}}"#,
        ),
        ("s:1,t:True", r#"{"s":"1","t":true}"#),
    ];
    for (body, arguments) in table {
        let expected = format!("«look {arguments}»");
        check(&[("gemma4", &four(body), &expected), ("functiongemma", &function(body), &expected)]);
    }
    let untold = "<start_function_call>call:other{a:1,b:[true],c:{d:x}}<end_function_call>";
    check(&[("functiongemma", untold, r#"«other {"a":1,"b":[true],"c":{"d":"x"}}»"#)]);
}

#[test]
fn pythonic_calls_may_break_the_grammar() {
    let delimiters = [
        ("pythonic", "", ""),
        ("llama4_pythonic", "<|python_start|>", "<|python_end|>"),
        ("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
        ("olmo3", "<function_calls>", "</function_calls>"),
    ];
    let table = [
        ("[look(n=007)]", r#"{"n":7}"#),
        ("[look(n=-01, s='a')]", r#"{"n":-1,"s":"a"}"#),
        ("[look(s='it's so')]", r#"{"s":"it's so"}"#),
        (r#"[look(s="say "hi" now", n=1)]"#, r#"{"s":"say \"hi\" now","n":1}"#),
        (r"[look(s='\N')]", r#"{"s":"\\N"}"#),
    ];
    for (name, open, close) in delimiters {
        for (list, arguments) in table {
            check(&[(name, &format!("{open}{list}{close}"), &format!("«look {arguments}»"))]);
        }
    }
    // What calls no tool is prose.
    check(&[("pythonic", "See [note(it's)] and [a(01)].", "See [note(it's)] and [a(01)].")]);
}

#[test]
fn text_around_calls_is_said() {
    for dialect in speaking() {
        // It is told as a problem there: the model sees it, and is asked to say it again.
        let between = if dialect.name == "lfm2" { "!" } else { "Then." };
        let [one, two] =
            [("look", 1), ("find", 2)].map(|(name, n)| dialect.written(&call(name, json!({"n": n}))));
        let text = format!("First.\n\n{one}\nThen.\n{two}\nLast.");
        for split_thinking in [true, false] {
            let setting = Setting { split_thinking, ..setting() };
            let found = bare(&shown(&said(dialect, &setting, &text)));
            let expected = format!(r#"First.«look {{"n":1}}»{between}«find {{"n":2}}»Last."#);
            assert_eq!(found, bare(&expected), "{}", dialect.name);
        }
    }
}

#[test]
fn a_malformed_call_and_an_answer_behind_thoughts_are_said() {
    let sections = |between: &str| {
        let section = "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{\"n\":1}<|tool_call_end|><|tool_calls_section_end|>";
        format!("{section}{between}{section}")
    };
    check(&[
        ("mistral", "[TOOL_CALLS]look{\"n\":1,}", "[TOOL_CALLS]look{\"n\":1,!}"),
        ("mistral", "[TOOL_CALLS]look{\"n\":1} behind", &format!("{LOOK} behind")),
        (
            "hunyuan_a13b",
            "<tool_calls>[{\"name\":\"look\",\"arguments\":{\"n\":1}}]</tool_calls>behind",
            &format!("{LOOK}behind"),
        ),
        ("granite_20b_fc", "<function_call> {\"name\": 1}", "<function_call> {\"name\": 1}!"),
        ("kimi_k2", &sections("between"), &format!("{LOOK}between{LOOK}")),
        ("kimi_k2", "<|tool_call_begin|>look<|tool_call_argument_begin|>{\"n\":1}<|tool_call_end|>", LOOK),
    ]);
    for answer in ["<|open|>response<|sep|>Yes.", "<|open|> response <|sep|>Yes.<|close|> response <|sep|>"] {
        let thinks = Setting { begins_thinking: Some(true), ..setting() };
        let found = said(dialect("kimi_k3").unwrap(), &thinks, &format!("Hm.{answer}"));
        assert_eq!(shown(&found), "~Hm.~Yes.");
    }
}

#[test]
fn a_token_that_ends_a_reply_is_not_text() {
    for dialect in speaking() {
        let call = dialect.written(&call("look", json!({"n": 1})));
        for token in [
            "</s>",
            "<|im_end|>",
            "<eos>",
            "<|eot_id|>",
            "<end_of_turn>",
            "<｜end▁of▁sentence｜>",
            "<|endoftext|>",
        ] {
            let found = shown(&said(dialect, &setting(), &format!("Done.{token}\n")));
            assert_eq!(found.trim_end(), "Done.", "{} {token}", dialect.name);
            let found = shown(&said(dialect, &setting(), &format!("{call}{token}")));
            assert_eq!(found.trim(), LOOK, "{} {token}", dialect.name);
        }
        let mentioned = "A `</s>` ends it, not <|im_end|> alone.";
        let known = ["hermes", "glm47", "mistral", "lfm2", "gemma4", "jamba"].contains(&dialect.name);
        assert!(!known || shown(&said(dialect, &setting(), mentioned)).contains("ends it, not"));
    }
}
