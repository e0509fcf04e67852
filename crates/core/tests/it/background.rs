//! [`TaskOutput`]: what a background task printed and was not read yet.
use haft_core::{TaskOutput, tool::background::Unread};

/// As much as is kept.
const MAX_UNREAD_BYTES: usize = 50_000;

#[test]
fn what_was_printed_is_read_once_and_bounded() {
    let output = TaskOutput::default();
    output.push("one ");
    output.clone().push("two");
    assert_eq!(output.take(), Unread { text: "one two".into(), missing: 0 });
    assert_eq!(output.take(), Unread::default());
    output.push(&"ü".repeat(MAX_UNREAD_BYTES));
    output.push("end");
    let Unread { text, missing } = output.take();
    assert!(
        text.ends_with("üend")
            && text.len() <= MAX_UNREAD_BYTES
            && missing + text.len() == 2 * MAX_UNREAD_BYTES + 3
    );
}
