//! [`age`]: formats how long ago something was.
use std::time::SystemTime;

/// Formats how long ago `then` was, in one unit: `now`, `5 min`, `3 h`, `2 d`. `then` is in milliseconds since
/// 1970-01-01 UTC.
pub fn age(then: u64) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    between(then, u64::try_from(now).unwrap_or(u64::MAX))
}

fn between(then: u64, now: u64) -> String {
    let minutes = now.saturating_sub(then) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        const MINUTE: u64 = 60_000;
        let table = [
            (0, "now"),
            (59_999, "now"),
            (MINUTE, "1 min"),
            (59 * MINUTE, "59 min"),
            (60 * MINUTE, "1 h"),
            (1_439 * MINUTE, "23 h"),
            (1_440 * MINUTE, "1 d"),
            (90 * 1_440 * MINUTE, "90 d"),
        ];
        for (passed, expected) in table {
            assert_eq!(between(1_000, 1_000 + passed), expected);
        }
        assert_eq!(between(5, 0), "now");
    }
}
