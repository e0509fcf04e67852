//! What is read in Command of Cohere.
use crate::kit::check;

#[test]
fn actions_are_calls() {
    let action = "[{\"tool_call_id\":\"0\",\"tool_name\":\"look\",\"parameters\":{}}]";
    let whole = format!("<|START_THINKING|>t<|END_THINKING|><|START_ACTION|>{action}<|END_ACTION|>");
    let table = [
        (whole.as_str(), "~t~«look {}»"),
        ("<|START_RESPONSE|>a<|END_RESPONSE|>", "a"),
        ("<|START_ACTION|>no<|END_ACTION|>", "<|START_ACTION|>no<|END_ACTION|>!"),
        ("<|START_ACTION|>[{\"tool_name\":\"look\",\"parameters\":{\"a", "«look {\"a»!"),
    ];
    check("command_r7b", &table);
    check("cohere2_moe", &table);
    let fence = format!("Plan: x\nAction: ```json\n{action}\n```");
    let none = "Action:```json\n[{\"tool_name\":\"directly_answer\",\"parameters\":{}}]```a";
    check("command_r_plus", &[(&fence, "Plan: x\n«look {}»"), (none, "a"), ("Action: go", "Action: go")]);
}
