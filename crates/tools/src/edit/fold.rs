//! [`folded`]: normalizes texts that look the same: typographic quotes, dashes and spaces become ASCII; other
//! characters get their compatibility form in Unicode (NFKC).
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// The keyboard character for this one.
fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// `line` in keyboard characters, without spaces at its end.
pub(crate) fn folded(line: &str) -> String {
    if line.is_ascii() {
        return line.trim_end().to_owned();
    }
    signs(line).flat_map(|(_, sign)| plainly(sign)).collect::<String>().trim_end().to_owned()
}

/// A sign in keyboard characters: none, one or several.
pub(crate) fn plainly(sign: &str) -> impl Iterator<Item = char> + '_ {
    sign.chars().map(plain).nfkc().map(plain)
}

/// The signs of a text, each with its byte position. A sign is a character with its combining marks.
pub(crate) fn signs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut rest = text[at..].char_indices().skip(1);
        let length = rest.find(|(_, next)| !combines(*next)).map_or(text.len() - at, |(length, _)| length);
        let sign = Some((at, &text[at..at + length])).filter(|_| length > 0);
        at += length;
        sign
    })
}

fn combines(character: char) -> bool {
    // Vowels and final consonants of Hangul syllables join the consonant before them, as do halfwidth voicing marks.
    let joins = matches!(character, '\u{1160}'..='\u{11ff}' | '\u{ff9e}' | '\u{ff9f}');
    !character.is_ascii() && (joins || is_combining_mark(character))
}

/// The spaces at the beginning of a line.
pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
