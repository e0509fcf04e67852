//! What holds for every dialect, whatever the model writes.
use haft_core::ToolSpec;
use haft_providers::dialects::{DIALECTS, Dialect, Said, Setting, read};
use serde_json::json;

/// Signs of all dialects, halves of them, and what may stand between.
const BITS: &[&str] = &[
    "<think>",
    "</think>",
    "<seed:think>",
    "</seed:think>",
    "<mm:think>",
    "</mm:think>",
    "[THINK]",
    "[/THINK]",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<tool_sep>",
    "<seed:tool_call>",
    "</seed:tool_call>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<function=f>",
    "<function=",
    "</function>",
    "<parameter=a>",
    "<parameter=",
    "</parameter>",
    "<invoke name=\"f\">",
    "</invoke>",
    "<parameter name=\"a\">",
    "<function name=\"f\">",
    "<param name=\"a\">",
    "</param>",
    "<![CDATA[",
    "]]>",
    "<arg_key>a</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜DSML｜tool_calls>",
    "</｜DSML｜tool_calls>",
    "<｜DSML｜function_calls>",
    "</｜DSML｜function_calls>",
    "<｜DSML｜invoke name=\"f\">",
    "</｜DSML｜invoke>",
    "<｜DSML｜parameter name=\"a\" string=\"true\">",
    "</｜DSML｜parameter>",
    "<｜DSML｜ calls>",
    "</｜DSML｜ calls>",
    "<｜DSML｜ invoke name=\"f\">",
    "</｜DSML｜ invoke>",
    "]<]minimax[>[",
    "]<]minimax[>[<tool_call>",
    "]<]minimax[>[</tool_call>",
    "<a>",
    "</a>",
    "<item>",
    "</item>",
    "<|open|>think<|sep|>",
    "<|close|>think<|sep|>",
    "<|open|>tools<|sep|>",
    "<|close|>tools<|sep|>",
    "<|open|>call tool=\"f\" index=\"1\"<|sep|>",
    "<|close|>call<|sep|>",
    "<|open|>argument key=\"a\" type=\"number\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<｜tool_calls_begin｜>",
    "<｜tool_calls_end｜>",
    "<｜tool_call_begin｜>",
    "<steptml:invoke name=\"f\">",
    "</steptml:invoke>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.f:0",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    "<|start|>",
    "<|end|>",
    "analysis",
    "commentary to=functions.f",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|python_tag|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<bos>",
    "<eos>",
    "<|im_end|>",
    "<answer>",
    "</answer>",
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
    "{\"name\":",
    "[f(a=1)]",
    "[f(a='",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "\\",
    "```",
    "`",
    "<",
    ">",
    "/",
    "|",
    "｜",
    "=",
    ":",
    "\n",
    " ",
    "f",
    "a",
    "1",
    "null",
    "é",
    "😀",
    "prose",
    "and more.",
];

fn setting(random: &mut fastrand::Rng) -> Setting {
    let parameters = json!({"type": "object", "properties": {"a": {"type": ["integer", "string"]}}});
    let tool =
        ToolSpec { name: "f".into(), description: String::new(), parameters, examples: Default::default() };
    Setting {
        tools: if random.bool() { vec![tool] } else { Vec::new() }.into(),
        begins_thinking: [None, Some(true), Some(false)][random.usize(..3)],
        split_thinking: random.u8(..5) > 0,
        find_calls: random.u8(..5) > 0,
        only_known: random.bool(),
        ..Setting::default()
    }
}

/// The text in pieces of up to `longest` characters.
fn cut(text: &str, longest: usize, random: &mut fastrand::Rng) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut rest = letters.as_slice();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(random.usize(1..=longest).min(rest.len()));
        pieces.push(piece.iter().collect());
        rest = more;
    }
    pieces
}

fn in_pieces(dialect: &Dialect, setting: &Setting, pieces: &[String]) -> Vec<Said> {
    read(dialect, setting, pieces.iter().map(String::as_str))
}

#[test]
fn a_reply_says_the_same_however_it_is_cut() {
    let mut random = fastrand::Rng::with_seed(20_250_301);
    for dialect in DIALECTS {
        for _ in 0..100 {
            let setting = setting(&mut random);
            let text: String = (0..random.usize(..24)).map(|_| BITS[random.usize(..BITS.len())]).collect();
            let whole = read(dialect, &setting, [text.as_str()]);
            for longest in [1, 3, 12] {
                let pieces = cut(&text, longest, &mut random);
                let said = in_pieces(dialect, &setting, &pieces);
                assert_eq!(said, whole, "{} {setting:?} {pieces:?}", dialect.name);
            }
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
            // The beginning of a sign may be a sign that was cut off; this is none.
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
    let tool =
        ToolSpec { name: "f".into(), description: String::new(), parameters, examples: Default::default() };
    let setting = Setting { tools: vec![tool].into(), ..Setting::default() };
    for (name, call) in table {
        let dialect = haft_providers::dialects::dialect(name).unwrap();
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
