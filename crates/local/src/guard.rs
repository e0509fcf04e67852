//! [`is_looping`]: stops models that repeat the same words forever.

/// Number of repetitions, after the first occurrence of a phrase, that count as a loop.
const MAX_REPEATS: usize = 4;
/// Minimum number of tokens in the repetitions, so that a ruled line or a table is not a loop.
const MIN_TOKENS: usize = 48;
/// Maximum length of a phrase that is searched for, in tokens.
const MAX_PHRASE: usize = 64;

/// Whether `tokens` end with repetitions of the same phrase.
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
