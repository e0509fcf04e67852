//! What cannot be a tool says so, where it stands, and says what to write instead.

#[test]
fn what_cannot_be_a_tool_is_told_at_the_right_place() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
