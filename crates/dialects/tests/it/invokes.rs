//! What is read in dialects with names in attributes.
use crate::kit::a_call;
use haft_dialects::{Said, Setting, dialect, read};

#[test]
fn marks_of_the_tokenizer_are_blanks() {
    let text = "ĊIĠlook.<functionĠname=\"f\"><paramname=\"a\">x</param></function>";
    let said = read(dialect("minicpm5").unwrap(), &Setting::default(), [text]);
    let expected = [Said::Text("\nI look.".into()), Said::Call(a_call("f", r#"{"a":"x"}"#))];
    assert_eq!(said, expected);
}
