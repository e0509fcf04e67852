//! Signs in a text that comes piece by piece.

/// The first of several signs in `text` from byte `from` on: where it stands, and which it is. Of two that begin at the
/// same place the longer one counts.
pub(super) fn first(text: &str, from: usize, signs: &[&str]) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    for (which, sign) in signs.iter().enumerate() {
        // What lies behind an earlier find cannot be the first.
        let end =
            found.map_or(text.len(), |(at, best)| text.len().min(at + signs[best].len().max(sign.len())));
        let end = text.ceil_char_boundary(end);
        let Some(at) = text.get(from..end).and_then(|rest| rest.find(sign)) else { continue };
        let at = from + at;
        if found.is_none_or(|(before, best)| at < before || (at == before && sign.len() > signs[best].len()))
        {
            found = Some((at, which));
        }
    }
    found
}

/// How many bytes at the end of `text` may be the beginning of one of the signs.
pub(super) fn unfinished(text: &str, signs: &[&str]) -> usize {
    let longest = signs.iter().map(|sign| sign.len()).max().unwrap_or_default();
    let from = text.floor_char_boundary(text.len().saturating_sub(longest.saturating_sub(1)));
    let mut starts = text[from..].char_indices().map(|(at, _)| from + at);
    let start = starts.find(|at| {
        let rest = &text[*at..];
        signs.iter().any(|sign| sign.len() > rest.len() && sign.starts_with(rest))
    });
    start.map_or(0, |at| text.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_longest_sign_is_found() {
        let signs = ["<b>", "<a>", "<a>>"];
        let table = [
            ("x<a>y<b>", Some((1, 1))),
            ("x<a>>", Some((1, 2))),
            ("ü<b><a>", Some((2, 0))),
            ("<", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(first(text, 0, &signs), expected, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_sign_is_held_back() {
        let signs = ["<tool>", "[["];
        let table = [
            ("a<to", 3),
            ("a<tool>", 0),
            ("a<tox", 0),
            ("[", 1),
            ("<<", 1),
            ("ü", 0),
            ("", 0),
            ("x<tool", 5),
        ];
        for (text, expected) in table {
            assert_eq!(unfinished(text, &signs), expected, "{text}");
        }
    }
}
