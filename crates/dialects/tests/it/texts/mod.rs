//! Texts made by chance, and what must hold for every one of them: for the tests, and for `examples/fuzz`.
mod bits;

use bits::BITS;
use fastrand::Rng;
use haft_dialects::{Call, Dialect, Said, Setting, ToolSchema, read};
use serde_json::json;

/// Values that no dialect takes for something else.
const PLAIN: &[&str] = &["x", " y\n", "é", "(1, 2)", "a = 'b'"];

/// The tools that these texts call.
const TOOLS: [&str; 3] = ["f", "file", "bash"];

/// What is known before the reply, by chance.
pub(crate) fn setting(random: &mut Rng) -> Setting {
    let parameters = json!({"type": "object", "properties": {"a": {"type": ["integer", "string"]}}});
    let tool = |name: &str| ToolSchema::new(name, parameters.clone());
    let prompts =
        ["", "", "<think>\n", "<|channel>thought\n", "assistant\n\n>>>", "Here are my reasoning steps:\n"];
    Setting {
        tools: if random.bool() { TOOLS.map(tool).to_vec() } else { Vec::new() }.into(),
        prompt_end: prompts[random.usize(..prompts.len())].into(),
        begins_thinking: [None, Some(true), Some(false)][random.usize(..3)],
        split_thinking: random.u8(..5) > 0,
        find_calls: random.u8(..5) > 0,
        variant: if random.u8(..8) == 0 { "pre_v11".into() } else { String::new() },
        only_known: random.bool(),
        beginnings: random.bool(),
    }
}

/// What a model that speaks this dialect may write on a bad day.
pub(crate) fn text(dialect: &Dialect, random: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(1..6) {
        match random.u8(..4) {
            0 => text += &mutated(&call(dialect, BITS, random), random),
            1 => text += &call(dialect, BITS, random),
            _ => (0..random.usize(..6)).for_each(|_| text += BITS[random.usize(..BITS.len())]),
        }
    }
    text
}

/// A call as the dialect writes it, with values made of `bits`.
fn call(dialect: &Dialect, bits: &[&str], random: &mut Rng) -> String {
    let value = |random: &mut Rng| match random.u8(..5) {
        0 => json!(random.i32(..)),
        1 => json!([null, {"b": true}]),
        _ => {
            let value: String = (0..random.usize(..4)).map(|_| bits[random.usize(..bits.len())]).collect();
            json!(value)
        }
    };
    let arguments = match random.u8(..4) {
        0 => json!({}),
        1 => json!({"a": value(random), "path": value(random)}),
        _ => json!({"a": value(random)}),
    };
    let name = TOOLS[random.usize(..TOOLS.len())];
    dialect.written(&Call { id: "1".into(), name: name.into(), arguments: arguments.to_string() })
}

/// With a few letters lost, doubled, or put in.
fn mutated(text: &str, random: &mut Rng) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=letters.len());
        let end = random.usize(at..=letters.len().min(at + 12));
        match random.u8(..5) {
            0 => drop(letters.drain(at..end)),
            1 => letters.truncate(at),
            2 => {
                let again = letters[at..end].to_vec();
                letters.splice(at..at, again);
            }
            _ => drop(letters.splice(at..at, BITS[random.usize(..BITS.len())].chars())),
        }
    }
    letters.into_iter().collect()
}

/// The text in pieces of up to `longest` characters.
pub(crate) fn cut(text: &str, longest: usize, random: &mut Rng) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut rest = letters.as_slice();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(random.usize(1..=longest).min(rest.len()));
        pieces.push(piece.iter().collect());
        rest = more;
    }
    pieces
}

/// What is said to a text in pieces.
pub(crate) fn in_pieces(dialect: &Dialect, setting: &Setting, pieces: &[String]) -> Vec<Said> {
    read(dialect, setting, pieces.iter().map(String::as_str))
}

/// Why a text is not read as every text must be; panics where the reader does.
pub(crate) fn fault(dialect: &Dialect, setting: &Setting, text: &str, random: &mut Rng) -> Option<String> {
    let whole = read(dialect, setting, [text]);
    for longest in [1, 3, 12] {
        let pieces = cut(text, longest, random);
        let said = in_pieces(dialect, setting, &pieces);
        if said != whole {
            return Some(format!("in pieces {pieces:?} it says {said:?}, whole {whole:?}"));
        }
    }
    if !setting.find_calls && whole.iter().any(|said| matches!(said, Said::Call(_))) {
        return Some(format!("there is a call where none is looked for: {whole:?}"));
    }
    None
}

/// Why what stands around calls is not said: each of these words, which no dialect knows, must be somewhere.
pub(crate) fn lost(dialect: &Dialect, setting: &Setting, random: &mut Rng) -> Option<(String, String)> {
    let mut text = String::new();
    let mut words = Vec::new();
    for place in 0..random.usize(1..5) {
        let word = format!("quux{place}");
        text += &match random.u8(..3) {
            0 => call(dialect, PLAIN, random),
            1 => format!(" {word} "),
            _ => format!("{word}\n"),
        };
        if text.contains(&word) {
            words.push(word);
        }
    }
    let said = read(dialect, setting, [text.as_str()]);
    let told = format!("{said:?}");
    let word = words.into_iter().find(|word| !told.contains(word.as_str()))?;
    let why = format!("`{word}` is not said: {told}");
    Some((text, why))
}
