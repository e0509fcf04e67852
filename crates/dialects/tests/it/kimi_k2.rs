//! What is read in Kimi K2.
use crate::kit::check;

#[test]
fn sections_hold_calls_and_nothing_else() {
    check(
        "kimi_k2",
        &[
            ("no calls, a < b", "no calls, a < b"),
            (
                "A<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{\"path\":\"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_begin|>functions.a-b.c:1 <|tool_call_argument_begin|> {} <|tool_call_end|><|tool_calls_section_end|>B",
                "A«look {\"path\":\"<|tool_call_end|>\"}»«a-b.c {}»B",
            ),
            (
                "<think>x<|tool_call_begin|>look:3<|tool_call_argument_begin|>{\"lines\":1}<|tool_call_begin|>what<|tool_call_argument_begin|>{}",
                "~x~«look {\"lines\":1}»!",
            ),
            ("</think>a<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0", "a!"),
            (
                "<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{\"path\": \"x",
                "«look {\"path\": \"x»",
            ),
        ],
    );
}
