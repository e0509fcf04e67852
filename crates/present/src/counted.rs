//! [`counted`]: a number and what it counts.

/// `count` with `one` or `many` behind it, the words for one and for every other number: `1 entry`, `2 entries`.
pub fn counted(count: impl TryInto<u64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {}", if count == 1 { one } else { many })
}
