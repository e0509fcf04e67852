//! [`parse`]: reads JSON of servers leniently, so that an unexpected field does not make the rest unreadable.
use serde_json::Value;

/// Parses JSON; `None` if it is invalid even after repair.
pub(crate) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_lone_surrogates(text)?).ok())
}

/// The string, or an empty one for other values.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Takes the string out of the value without copying it, since an argument may have many megabytes.
pub(crate) fn take_text(value: &mut Value) -> String {
    match value.take() {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Takes the value of a field without copying it; null if `value` is not an object, or has no such field.
pub(crate) fn take(value: &mut Value, field: &str) -> Value {
    value.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Maximum of a count; a larger one is an error of the server. Sums of counts do not overflow `u64`.
const MAX_COUNT: u64 = 1 << 48;

/// Reads a count, which some servers write as a float or as a string.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let count: Option<u64> = match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|float| float as u64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    count.filter(|count| *count <= MAX_COUNT)
}

/// Replaces each unpaired surrogate in `text` by U+FFFD; `None` if there is none. Models write unpaired surrogates when
/// they are cut off inside an emoji; `serde_json` then refuses the whole document.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let length = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(unit(&escape[6..]), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                changed = true;
                repaired.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            Some(_) => 6,
            None => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        repaired.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    changed.then_some(repaired)
}

/// The UTF-16 unit of a `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // A19
    #[test]
    fn half_a_surrogate_pair_does_not_spoil_the_document() {
        let table = [
            (r#"{"a":"\ud800"}"#, Some(json!({"a": "\u{fffd}"}))),
            (r#"{"a":"x\udc00y\ud83d"}"#, Some(json!({"a": "x\u{fffd}y\u{fffd}"}))),
            (r#"{"a":"\ud83d\ude00 \ud83d\u0041"}"#, Some(json!({"a": "😀 \u{fffd}A"}))),
            (r#"{"a":"\\ud800 \ud800"}"#, Some(json!({"a": "\\ud800 \u{fffd}"}))),
            (r#"{"a":"ü\ü\ud800"}"#, None),
            (r#"{"a":"\ud800"#, None),
            (r#"{"a":"\ud8"#, None),
            ("\\", None),
        ];
        for (written, expected) in table {
            assert_eq!(parse(written), expected, "{written}");
        }
    }
}
