//! A stop for models that say the same thing forever.

/// Repetitions that are one too many.
const MAX_REPEATS: usize = 4;
/// Tokens that the repetitions must fill, so that a ruled line or a table is no offense.
const MIN_TOKENS: usize = 48;
/// The longest phrase that is looked for, in tokens.
const MAX_PHRASE: usize = 64;

/// Whether `tokens` end with the same phrase again and again.
pub(crate) fn is_looping<T: PartialEq>(tokens: &[T]) -> bool {
    (1..=MAX_PHRASE).any(|phrase| {
        let span = (phrase * MAX_REPEATS).max(MIN_TOKENS);
        let Some(start) = tokens.len().checked_sub(span + phrase) else { return false };
        let end = &tokens[start..];
        end[..span].iter().eq(&end[phrase..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_repetitions_are_loops() {
        let repeat = |phrase: &[u32], times: usize| phrase.repeat(times);
        let counted: Vec<u32> = (0..500).collect();
        let table = [
            (counted.clone(), false),
            (vec![], false),
            (repeat(&[7], 40), false),
            (repeat(&[7], 60), true),
            (repeat(&[1, 2, 3], 10), false),
            (repeat(&[1, 2, 3], 20), true),
            (repeat(&counted[..50], 3), false),
            (repeat(&counted[..50], 5), true),
            ([repeat(&[7], 60), vec![8]].concat(), false),
        ];
        for (tokens, expected) in table {
            assert_eq!(is_looping(&tokens), expected, "{tokens:?}");
        }
    }
}
