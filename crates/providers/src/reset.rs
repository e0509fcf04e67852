//! [`in_headers`] and [`in_body`]: read when a limit is reset, if a vendor says so without `Retry-After`; [`skew`]: how
//! far the local clock differs from a server's.
//!
//! Sources: docs.anthropic.com "Rate limits", platform.openai.com "Rate limits", ai.google.dev "Rate limits", and answers
//! of ChatGPT plans to Codex, 2026-11.
use crate::json;
use jiff::SignedDuration;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Pairs of headers: what is left of a limit, and when that limit is reset. Every response has both, even before the
/// limit is reached.
const LIMITS: &[[&str; 2]] = &[
    ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
    ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
    ["anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"],
    ["anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"],
    ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
];

/// The header with the status of a subscription's limit; its reset is in the response once the limit is reached.
const PLAN_STATUS: &str = "anthropic-ratelimit-unified-status";
const PLAN_RESET: &str = "anthropic-ratelimit-unified-reset";

/// When Google's daily quotas are reset, in UTC: midnight in California, in winter. In summer, this is an hour too
/// late, which is better than too early.
const DAILY_RESET: Duration = Duration::from_secs(8 * 60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum clock difference. Signatures and tokens are refused when clocks differ by five minutes; some servers allow
/// less.
const MAX_SKEW: Duration = Duration::from_secs(60);

/// How far the clock of this machine differs from a server's, if that is too much for signatures.
pub(crate) fn skew(server: SystemTime, here: SystemTime) -> Option<String> {
    let (behind, word) = match server.duration_since(here) {
        Ok(behind) => (behind, "behind"),
        Err(ahead) => (ahead.duration(), "ahead of"),
    };
    let minutes = behind.as_secs().div_ceil(60);
    (behind > MAX_SKEW).then(|| {
        format!("the clock of this machine is {minutes} minutes {word} the server's clock, set it right")
    })
}

/// The time until all exhausted limits are reset; `None` if no header says so.
pub(crate) fn in_headers(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    let is_reached = |name: &str| header(name).is_some_and(|left| left.trim().parse() == Ok(0u64));
    let reached = LIMITS.iter().filter(|[left, _]| is_reached(left)).filter_map(|[_, reset]| header(reset));
    let plan = header(PLAN_STATUS).filter(|status| status == "rejected").and_then(|_| header(PLAN_RESET));
    reached.chain(plan).filter_map(|reset| time_until(&reset, now)).max()
}

/// Whether one of Google's daily quotas is used up.
pub(crate) fn is_daily(error: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let violations = list(&error["details"]).into_iter().flat_map(|detail| list(&detail["violations"]));
    violations.filter_map(|violation| Some(violation["quotaId"].as_str()?.contains("PerDay"))).any(|is| is)
}

/// The delay in the error itself: `resets_in_seconds`, `resets_at` in seconds since 1970-01-01 UTC, Google's
/// `RetryInfo`, or its message. Google's own delay for a daily quota is too short, so the next reset is used.
pub(crate) fn in_body(error: &Value, now: SystemTime) -> Option<Duration> {
    if is_daily(error) {
        let since = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let (reset, day) = (DAILY_RESET.as_secs(), DAY.as_secs());
        return Some(Duration::from_secs(day - (since + day - reset) % day));
    }
    let details = error["details"].as_array().into_iter().flatten();
    let spans = details.filter_map(|detail| time_until(detail["retryDelay"].as_str()?, now));
    json::count(&error["resets_in_seconds"])
        .map(Duration::from_secs)
        .or_else(|| json::count(&error["resets_at"]).and_then(|at| until(at, now)))
        .or_else(|| spans.max())
        .or_else(|| in_sentence(error["message"].as_str()?, now))
}

/// Reads the delay in `Please try again in 2h13m5.5s.` (OpenAI, Groq), `Please retry in 34.2s.` (Gemini).
fn in_sentence(message: &str, now: SystemTime) -> Option<Duration> {
    let behind =
        ["try again in ", "retry in "].iter().find_map(|words| Some(message.split_once(words)?.1))?;
    let span = behind.split_whitespace().next()?.trim_end_matches(['.', ',', ';']);
    span.ends_with('s').then(|| time_until(span, now))?
}

/// Reads `2026-11-24T15:04:05Z`, seconds since 1970-01-01 UTC, or a span such as `6m0s`, `1.5s` and `20ms`.
fn time_until(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(SystemTime::from(at).duration_since(now).unwrap_or_default());
    }
    if let Ok(at) = text.parse::<u64>() {
        return until(at, now);
    }
    text.parse::<SignedDuration>().ok()?.try_into().ok()
}

fn until(at: u64, now: SystemTime) -> Option<Duration> {
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(at))?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    #[test]
    fn the_reset_of_a_limit_that_is_reached_is_read_in_every_form() {
        type Headers = &'static [(&'static str, &'static str)];
        let rows: [(Headers, Option<u64>); 10] = [
            (&[], None),
            (
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")],
                Some(360_000),
            ),
            (&[("x-ratelimit-remaining-requests", "7"), ("x-ratelimit-reset-requests", "6m0s")], None),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")], Some(20)),
            (
                &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1h1.5s")],
                Some(3_601_500),
            ),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "soon")], None),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2027-01-15T08:00:10Z"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:01:00Z"),
                ],
                Some(60_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2020-01-01T00:00:00Z"),
                ],
                Some(0),
            ),
            (&[(PLAN_STATUS, "rejected"), (PLAN_RESET, "1800000900")], Some(900_000)),
            (&[(PLAN_STATUS, "allowed"), (PLAN_RESET, "1800000900")], None),
        ];
        for (headers, expected) in rows {
            let header = |name: &str| {
                headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(in_headers(header, now()), expected.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn an_error_may_name_the_reset_itself() {
        let rows = [
            (json!({"resets_in_seconds": 90}), Some(90)),
            (json!({"resets_at": 1_800_000_030u64}), Some(30)),
            (json!({"resets_at": 1_700_000_000u64}), Some(0)),
            (json!({"resets_at": u64::MAX}), None),
            (json!({"message": "full"}), None),
        ];
        for (error, expected) in rows {
            assert_eq!(in_body(&error, now()), expected.map(Duration::from_secs), "{error}");
        }
    }

    #[test]
    fn a_clock_that_is_wrong_is_named_with_its_distance() {
        let here = SystemTime::UNIX_EPOCH + Duration::from_secs(100_000);
        let table =
            [(0, ""), (60, ""), (-60, ""), (600, "10 minutes behind"), (-3_601, "61 minutes ahead of")];
        for (seconds, expected) in table {
            let distance = Duration::from_secs(i64::unsigned_abs(seconds));
            let server = if seconds < 0 { here - distance } else { here + distance };
            let told = skew(server, here).unwrap_or_default();
            assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{seconds}: {told}");
        }
    }

    #[test]
    fn an_error_that_names_its_end_in_any_form_is_waited_for() {
        let table = [
            (json!({"resets_in_seconds": 90}), Some(90_000)),
            (json!({"resets_at": 1_800_000_060}), Some(60_000)),
            (
                json!({"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3601s"}]}),
                Some(3_601_000),
            ),
            (
                json!({"message": "Rate limit reached … Please try again in 2h13m5.5s. Visit …"}),
                Some(7_985_500),
            ),
            (json!({"message": "Please try again in 20ms."}), Some(20)),
            (json!({"message": "You exceeded your quota.\nPlease retry in 34.25s."}), Some(34_250)),
            (json!({"message": "Please try again in a few minutes."}), None),
            (
                json!({"details": [
                    {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
                    {"retryDelay": "39s"},
                ]}),
                Some(39_000),
            ),
            // `now` is 08:00 UTC.
            (
                json!({"details": [
                    {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                    {"retryDelay": "39s"},
                ]}),
                Some(24 * 60 * 60 * 1_000),
            ),
            (json!({"message": "Please try again later."}), None),
            (json!({}), None),
        ];
        for (error, expected) in table {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(in_body(&error, now()), expected, "{error}");
        }
    }
}
