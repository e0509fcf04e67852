//! What is read in PLaMo 3.
use crate::kit::check;

#[test]
fn a_call_counts_from_its_name_on() {
    let name =
        "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>look<|plamo:end_tool_name:plamo|>";
    let arguments = "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{\"lines\":1}";
    let end =
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>";
    let whole = format!("a<|plamo:begin_tool_requests:plamo|>{name}{arguments}{end}");
    let cut = format!("{name}{arguments}<|plamo:end_to");
    let half = format!("{name}{}", &arguments[..arguments.len() - 2]);
    let table = [
        (whole.as_str(), "a«look {\"lines\":1}»"),
        (cut.as_str(), "«look {\"lines\":1}»"),
        (half.as_str(), "«look {\"lines\":»!"),
        (name, "«look {}»!"),
        (&name[..70], "!"),
        ("<|plamo:begin_think:plamo|>t<|plamo:end_think:plamo|>a <|plamo:begin_t", "~t~a !"),
        ("a <", "a <"),
    ];
    check("plamo3", &table);
}
