//! [`TaskOutput`]: what a background task prints, for calls and for people.
use haft_core::{TaskOutput, tool::background::Unread};

/// As much as is kept at least; at most twice as much.
const KEPT_BYTES: usize = 50_000;

#[test]
fn what_was_printed_is_read_once_and_bounded() {
    let output = TaskOutput::default();
    output.push("one ");
    output.clone().push("two");
    assert_eq!(output.take(), Unread { text: "one two".into(), missing: 0 });
    assert_eq!(output.take(), Unread::default());
    output.push(&"ü".repeat(KEPT_BYTES));
    output.push("end");
    let Unread { text, missing } = output.take();
    assert!(
        text.ends_with("üend")
            && (KEPT_BYTES..=2 * KEPT_BYTES).contains(&text.len())
            && missing + text.len() == 2 * KEPT_BYTES + 3
    );
}

#[test]
fn people_see_what_a_call_has_read_and_take_nothing_from_it() {
    let output = TaskOutput::default();
    output.push("one ");
    assert_eq!(output.newest(), "one ");
    assert_eq!(output.take().text, "one ");
    output.push("two");
    assert_eq!(output.newest(), "one two");
    assert_eq!(output.take(), Unread { text: "two".into(), missing: 0 });
    // Of what is dropped, only that is missing which no call has read.
    output.push(&"x".repeat(2 * KEPT_BYTES));
    let Unread { text, missing } = output.take();
    assert_eq!((text.len(), missing), (KEPT_BYTES, KEPT_BYTES));
}
