//! Which dialect a text is in: told by delimiters that no other one has.
//!
//! The same delimiters stand in a model's chat template and in what it writes, so both can be looked at.
use super::{Dialect, dialect};

/// Delimiters of dialects, the telling ones first: all of them must stand in the text.
/// Source: the chat templates that the models' makers published, read 2026-11.
static SIGNS: &[(&str, &[&str])] = &[
    ("minimax_m3", &["]<]minimax[>["]),
    ("minimax_m2", &["<minimax:tool_call>"]),
    ("seed_oss", &["<seed:tool_call>"]),
    ("step3", &["<steptml:"]),
    ("deepseek_v41", &["<｜DSML｜ "]),
    ("deepseek_v32", &["<｜DSML｜"]),
    ("deepseek_r1", &["<｜tool▁calls▁begin｜>", "```json"]),
    ("deepseek_v31", &["<｜tool▁calls▁begin｜>"]),
    ("kimi_k3", &["<|open|>", "<|sep|>"]),
    ("kimi_k2", &["<|tool_calls_section_begin|>"]),
    ("muse", &["<atem:function_calls>"]),
    ("harmony", &["<|channel|>", "<|message|>"]),
    ("gemma4", &["<|tool_call>call:"]),
    ("functiongemma", &["<start_function_call>"]),
    ("lfm2", &["<|tool_call_start|>"]),
    ("llama4_pythonic", &["<|python_start|>"]),
    ("command_r7b", &["<|START_ACTION|>"]),
    ("apertus", &["<|tools_prefix|>"]),
    ("nemotron_v2", &["<TOOLCALL>"]),
    ("internlm2", &["<|action_start|>"]),
    ("mistral", &["[TOOL_CALLS]"]),
    ("hunyuan_a13b", &["<tool_sep>", "<arg_key>"]),
    ("glm4_moe", &["<arg_key>", "<arg_value>"]),
    ("qwen3_coder", &["<tool_call>", "<function=", "<parameter="]),
    ("olmo3", &["<function_calls>"]),
    ("jamba", &["<tool_calls>"]),
    ("hermes", &["<tool_call>"]),
    ("tool_use_xml", &["<tool_use>", "<tool>"]),
    ("llama3_json", &["<|python_tag|>"]),
    ("llama3_json", &["\"name\": ", "\"parameters\": "]),
];

/// The dialect whose delimiters stand in `text`: a chat template (Jinja) or a reply.
pub fn by_delimiters(text: &str) -> Option<&'static Dialect> {
    let (name, _) =
        SIGNS.iter().find(|(_, delimiters)| delimiters.iter().all(|delimiter| text.contains(delimiter)))?;
    dialect(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_calls::example_of;

    #[test]
    fn every_name_is_a_dialect() {
        for (name, _) in SIGNS {
            assert!(dialect(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_a_dialect_writes_tells_it() {
        for (name, _) in SIGNS {
            let dialect = dialect(name).expect("it is one");
            if let Some(call) = example_of(dialect) {
                assert_eq!(by_delimiters(&call).map(|told| told.name), Some(*name), "{call}");
            }
        }
        assert!(by_delimiters("Call `f(x)` like this:\n```bash\nls\n```").is_none());
    }
}
