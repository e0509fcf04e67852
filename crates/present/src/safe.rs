//! [`text`] and [`visible`]: make text of models and tools harmless for a terminal.
//!
//! From text that is only shown, harmful characters are removed ([`text`]). Text that the user decides about is kept
//! completely, with such characters made visible: see [`visible`]. The same applies to a [`name`], by which the user
//! distinguishes things.
use std::{borrow::Cow, iter::Peekable, str::Chars};

/// Removes characters that move the cursor, set the title, fill the clipboard or change the reading direction: control
/// characters except line feed and tab, the C1 range, and Unicode's direction overrides.
pub fn text(text: &str) -> Cow<'_, str> {
    match text.contains(is_harmful) {
        true => Cow::Owned(text.chars().filter(|c| !is_harmful(*c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// A line of JSON in whose strings invisible characters are escaped: control characters, direction overrides and
/// characters without width. A JSON parser reads the same strings.
pub fn json(line: &str) -> Cow<'_, str> {
    match line.contains(is_covert) {
        true => Cow::Owned(line.chars().fold(String::new(), escaped)),
        false => Cow::Borrowed(line),
    }
}

/// Escapes a character, above U+FFFF as a pair of surrogates (RFC 8259, 7).
fn escaped(mut line: String, c: char) -> String {
    match is_covert(c) {
        true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line += &format!("\\u{unit:04x}")),
        false => line.push(c),
    }
    line
}

/// A name or a title on one line without hidden characters: different names look different. Blanks of any kind become
/// spaces; control characters, direction overrides and characters without width are escaped. A joined emoji stays
/// whole.
pub fn name(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_covert(c) || (c.is_whitespace() && c != ' ')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let (mut letters, mut before) = (text.chars().peekable(), None);
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => shown.push(' '),
            letter if is_covert(letter) && !is_part_of_emoji(before, letter, letters.peek()) => {
                shown.extend(letter.escape_default());
            }
            letter => shown.push(letter),
        }
        before = Some(letter);
    }
    Cow::Owned(shown)
}

/// Whether a joiner or a selector belongs to an emoji with the adjacent characters (Unicode Technical Standard 51).
fn is_part_of_emoji(before: Option<char>, letter: char, after: Option<&char>) -> bool {
    let is_picture =
        |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{1f000}'..='\u{1faff}');
    let follows = before.is_some_and(|before| is_picture(before) || before == '\u{fe0f}');
    match letter {
        '\u{200d}' => follows && after.is_some_and(|after| is_picture(*after)),
        '\u{fe0f}' => before.is_some_and(is_picture),
        _ => false,
    }
}

fn is_harmful(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

/// Text without hidden parts, for a user who decides by it: characters that are invisible, or move other text, are
/// escaped. A line break is shown as `\n` and a line break; blank lines are joined on one line, so that they push
/// nothing off the screen.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        shown += &visible_line(line);
        shown += "\\n";
        let next = after.split('\n').next().unwrap_or_default();
        let is_last = !after.contains('\n');
        if !next.trim().is_empty() || (is_last && !after.is_empty()) {
            shown.push('\n');
        }
        rest = after;
    }
    shown + &visible_line(rest)
}

/// Like [`visible`], on one line.
pub fn visible_line(text: &str) -> String {
    escape(text, false)
}

/// Like [`visible`], for a text whose lines each begin with a sign, such as a diff: line breaks and tabs are kept.
pub fn visible_lines(text: &str) -> String {
    escape(text, true)
}

/// Maximum length of a run of blanks; a longer one is replaced by its count, since it would push the text after it off
/// the screen.
const MAX_BLANKS: usize = 80;

fn escape(text: &str, keeps_layout: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' if keeps_layout => shown.push(letter),
            ' ' => shown += &blanks(1 + following_blanks(&mut letters)),
            letter if is_unseen(letter) => shown.extend(letter.escape_default()),
            letter => shown.push(letter),
        }
    }
    shown
}

fn following_blanks(letters: &mut Peekable<Chars<'_>>) -> usize {
    std::iter::from_fn(|| letters.next_if_eq(&' ')).count()
}

fn blanks(number: usize) -> String {
    if number > MAX_BLANKS { format!("[{number} blanks]") } else { " ".repeat(number) }
}

/// Whether the character is invisible, changes the reading direction, or looks like a blank without being one.
fn is_unseen(c: char) -> bool {
    let is_blank = c.is_whitespace() && c != ' ';
    c.is_control() || is_blank || is_covert(c)
}

/// Whether the character is invisible or changes the reading direction, blanks excluded (Unicode 16: control
/// characters, `Default_Ignorable_Code_Point`, and fillers that are drawn empty).
fn is_covert(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    is_control
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}
