//! [`counted`]: formats a number with its noun.

/// `count` followed by `one` or `many`, the nouns for one and for other numbers: `1 entry`, `2 entries`.
pub fn counted(count: impl TryInto<u64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {}", if count == 1 { one } else { many })
}
