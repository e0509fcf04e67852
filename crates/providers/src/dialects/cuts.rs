//! However a text is cut, the same is said: tried with texts made by chance from what means something to any dialect.
use super::{DIALECTS, Said, Setting, read};
use haft_core::ToolSpec;

/// Signs, halves of signs, and what stands between them.
const PIECES: &[&str] = &[
    "<",
    "|",
    ">",
    "\n",
    " ",
    "word",
    "ü",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    "(",
    ")",
    "=",
    "`",
    "```",
    "```bash\n",
    "```json\n",
    "\n```\n",
    "````md\n",
    "file",
    "file a.txt",
    "search -t \"a",
    "{\"tool_calls\": [",
    "{\"thoughts\": \"x\", ",
    "{\"tool\": \"file\", \"args\": {\"path\": \"a\"}}",
    "[file(path='a')]",
    "[file(path=",
    "file(path=\"a\")",
    "[TOOL_CALLS]",
    "[{\"name\": \"file\", \"arguments\": {}}]",
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<tool_use>",
    "</tool_use>",
    "<tool>file</tool>",
    "<args><path>a</path></args>",
    "<tool_call>",
    "</tool_call>",
    "<|tool_call>",
    "<tool_call|>",
    "call:file{path:",
    "<|\"|>",
    "<|channel>",
    "<channel|>",
    "thought\n",
    "<turn|>",
    "<eos>",
    "<start_function_call>",
    "<end_function_call>",
    "<escape>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|im_end|>",
    "<function_calls>",
    "</function_calls>",
    "<|python_start|>",
    "<|python_end|>",
    "<|start|>",
    "assistant",
    " to=functions.file",
    "to=self",
    "to=file",
    "<|channel|>",
    "analysis",
    "commentary",
    "final",
    "<|constrain|>json",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|eom|>",
    "<|eot|>",
    "<atem:function_calls>",
    "</atem:function_calls>",
    "<atem:invoke name=\"file\">",
    "</atem:invoke>",
    "<atem:parameter name=\"path\">",
    "</atem:parameter>",
    "<|message_model|>",
    "<|content_text|>",
    "<|content_thinking|>",
    "<|content_invoke_tool_json|>",
    "{\"name\": \"file\", \"args\": {}}",
    "<|end_message|>",
    "bash",
    "code_edit -f a -l 1:2 -r x\n",
];

#[test]
fn however_a_text_is_cut_the_same_is_said() {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: serde_json::json!({}),
        examples: Default::default(),
    };
    let tools = ["file", "bash", "search", "code_edit"].map(tool);
    let mut chance = fastrand::Rng::with_seed(7);
    for round in 0..400 {
        let setting = Setting {
            tools: if round % 3 == 0 { [].into() } else { tools.clone().into() },
            split_thinking: round % 5 != 0,
            find_calls: round % 7 != 0,
            ..Setting::default()
        };
        let count = chance.usize(1..14);
        let text: String = (0..count).map(|_| PIECES[chance.usize(..PIECES.len())]).collect();
        let letters: Vec<char> = text.chars().collect();
        let size = chance.usize(1..9);
        for dialect in DIALECTS {
            let whole = read(dialect, &setting, [text.as_str()]);
            for size in [1, size] {
                let pieces: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
                let cut = read(dialect, &setting, pieces.iter().map(String::as_str));
                assert_eq!(cut, whole, "{}, pieces of {size}: {text:?}", dialect.name);
            }
            if !setting.find_calls {
                let calls = whole.iter().filter(|said| matches!(said, Said::Call(_))).count();
                assert_eq!(calls, 0, "{}: {text:?}", dialect.name);
            }
        }
    }
}
