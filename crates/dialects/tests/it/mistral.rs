//! What is read in Mistral.
use crate::kit::{check, check_with};
use haft_dialects::Setting;

#[test]
fn calls_are_read_in_each_way_to_write_them() {
    let named = [
        ("[THINK]a[/THINK]b [x] [", "~a~b [x] ["),
        (
            "a[TOOL_CALLS]look{\"lines\":1}[TOOL_CALLS]look[ARGS]{\"a\":\"}\"} b",
            "a«look {\"lines\":1}»«look {\"a\":\"}\"}» b",
        ),
        ("[TOOL_CALLS]look[CALL_ID]x7[ARGS]{}", "«look {}»"),
        ("[TOOL_CALLS]look", "«look {}»!"),
        ("[TOOL_CALLS]look{\"lines\":", "«look {\"lines\":»"),
        ("[TOOL_CALLS] [{\"name\":\"look\",\"arguments\":{}}]", "«look {}»"),
        ("[TOOL_CALLS]look{lines}", "[TOOL_CALLS]look{!lines}"),
    ];
    check("mistral", &named);
    let lists = [
        ("a[TOOL_CALLS] [{\"name\":\"look\",\"arguments\":{}},7][TOOL_CALLS][]", "a«look {}»!!"),
        ("[TOOL_CALLS] look", " look!"),
    ];
    check_with("mistral", &Setting { variant: "pre_v11".into(), ..Setting::default() }, &lists);
}
