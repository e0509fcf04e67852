//! [`escaped`] and others: write text and numbers into HTML.
use haft::present::safe;
use jiff::Timestamp;

/// A name or a title as text, with all that is hidden in it.
pub(super) fn named(name: &str) -> String {
    escaped(&safe::name(name))
}

/// Without control characters, and with nothing that HTML reads as markup, in an attribute neither.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in safe::text(text).chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Where a person reads a number, in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = (first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]).collect();
    if first > 0 {
        groups.insert(0, &digits[..first]);
    }
    groups.join(",")
}

/// Enough digits to tell small sums apart.
pub(super) fn dollars(usd: f64) -> String {
    if usd != 0.0 && usd < 1.0 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// Milliseconds as people say them.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// A moment in UTC. `at`: milliseconds since 1970-01-01.
pub(super) fn time(at: u64) -> String {
    let moment = Timestamp::from_millisecond(i64::try_from(at).unwrap_or_default()).unwrap_or_default();
    let (machine, person) = (moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%Y-%m-%d %H:%M UTC"));
    format!("<time datetime=\"{machine}\">{person}</time>")
}

/// `1 call`, `2 calls`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_as_people_write_them() {
        assert_eq!([0, 12, 999, 1_000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.01234, 1.5].map(dollars), ["$0.00", "$0.0123", "$1.50"]);
        assert_eq!([5, 1_500, 61_000].map(duration), ["5 ms", "1.5 s", "1 min 1 s"]);
        assert_eq!(escaped("<a href='x'>&\"\u{202e}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
