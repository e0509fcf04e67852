//! [`Novelty`]: detects whether a reply still says something new, or only repeats itself.
use haft_core::Delta;
use std::collections::HashSet;

/// Maximum letters of a word; longer words count as several, since some texts have no spaces, and base64 is one long
/// word.
const LONGEST_WORD: usize = 8;

/// Maximum number of remembered sequences, about 1 MB. A reply with more of them starts over with an empty set, since
/// it was new up to there.
const MOST_SEEN: usize = 1 << 16;

/// The words of a reply so far. Thoughts, text and calls are kept apart, since a model may write down its thoughts.
#[derive(Default)]
pub(crate) struct Novelty {
    thinking: Words,
    text: Words,
    calls: Words,
}

impl Novelty {
    /// Adds a piece of the reply and returns whether it says something new: a word that did not follow the same two
    /// words before. All numbers count as the same word, so a counter is not new. White space and punctuation are not
    /// words.
    pub(crate) fn observe(&mut self, delta: &Delta) -> bool {
        match delta {
            Delta::Text(text) => self.text.observe(text),
            Delta::Thinking(text) => self.thinking.observe(text),
            Delta::CallArguments { json, .. } => self.calls.observe(json),
            Delta::CallStart { name, .. } => {
                self.calls.end_word();
                self.calls.observe(name) | self.calls.end_word()
            }
            Delta::Signature(_) | Delta::CallProblem { .. } => false,
            Delta::Usage(_) | Delta::Retrying { .. } | Delta::Stop(_) => false,
        }
    }
}

/// A sequence of words, however their text is split.
#[derive(Default)]
struct Words {
    word: Word,
    last: [u64; 2],
    seen: HashSet<[u64; 3]>,
}

/// A partial word.
#[derive(Clone, Copy, Default)]
struct Word {
    letters: usize,
    hash: u64,
    ends_with_digit: bool,
}

impl Words {
    fn observe(&mut self, text: &str) -> bool {
        let mut is_new = false;
        for letter in text.chars() {
            if !letter.is_alphanumeric() {
                is_new |= self.end_word();
                continue;
            }
            self.word.add(letter);
            if self.word.letters == LONGEST_WORD {
                is_new |= self.end_word();
            }
        }
        is_new
    }

    /// Ends a word; returns whether it is new after the two words before it.
    fn end_word(&mut self) -> bool {
        let Word { letters, hash, .. } = std::mem::take(&mut self.word);
        if letters == 0 {
            return false;
        }
        let [first, second] = self.last;
        self.last = [second, hash];
        if self.seen.len() >= MOST_SEEN && !self.seen.contains(&[first, second, hash]) {
            self.seen.clear();
        }
        self.seen.insert([first, second, hash])
    }
}

impl Word {
    /// Adds a letter. Consecutive digits count as one.
    fn add(&mut self, letter: char) {
        let is_digit = letter.is_numeric();
        if is_digit && self.ends_with_digit {
            return;
        }
        self.ends_with_digit = is_digit;
        self.letters += 1;
        let letter = if is_digit { '0' } else { letter };
        // FNV-1a, over characters.
        self.hash = (self.hash ^ u64::from(letter)).wrapping_mul(0x0100_0000_01b3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::CallId;

    /// The number of the last piece that was new; 0 if none was.
    fn last_new(piece: impl Fn(usize) -> Delta) -> usize {
        let mut novelty = Novelty::default();
        let new = (1..2_000).filter(|number| novelty.observe(&piece(*number)));
        new.last().unwrap_or_default()
    }

    #[test]
    fn a_reply_that_goes_in_circles_says_nothing_new() {
        let sentence: Vec<&str> = "Wait, I should look at the file again. ".split_inclusive(' ').collect();
        let piece = |what, number: usize| match what {
            "a letter without spaces" => Delta::Text("x".into()),
            "a counter" => Delta::Text(format!("step {number}, ")),
            "a counter without spaces" => Delta::Text(format!("a{number}")),
            "a sentence" => Delta::Text(sentence[number % sentence.len()].into()),
            "white space" => Delta::Text(" \n".into()),
            "brackets" => Delta::Text("[[".into()),
            "arguments" => Delta::CallArguments { index: 0, json: "ab,".into() },
            "calls" => {
                Delta::CallStart { index: number, id: CallId(format!("id{number}")), name: "bash".into() }
            }
            _ => Delta::Text("tok ".into()),
        };
        let table = [
            ("a token", 3),
            ("a letter without spaces", 24),
            ("a counter", 3),
            ("a counter without spaces", 24),
            ("a sentence", 11),
            ("white space", 0),
            ("brackets", 0),
            ("arguments", 3),
            ("calls", 3),
        ];
        for (what, expected) in table {
            let last = last_new(|number| piece(what, number));
            assert!(last <= expected, "{what}: {last}");
        }
    }

    #[test]
    fn an_honest_reply_always_says_something_new_soon() {
        // A long text with few different words, a file without spaces, and the same words in another order.
        let words = ["if", "the", "value", "is", "not", "set", "then", "try", "next", "one"];
        let random: Vec<usize> = {
            let mut random = fastrand::Rng::with_seed(7);
            (0..2_000).map(|_| random.usize(..words.len())).collect()
        };
        let prose = last_new(|number| Delta::Text(format!("{} ", words[random[number % 600]])));
        assert!((550..620).contains(&prose), "{prose}");
        let letters = last_new(|number| Delta::Text(char::from(b'a' + random[number] as u8).into()));
        assert!(letters > 1_950, "{letters}");
        let mut novelty = Novelty::default();
        for delta in [Delta::Thinking, Delta::Text] {
            assert!(novelty.observe(&delta("let me write it down ".into())));
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut words = Words::default();
        for number in 0..3 * MOST_SEEN {
            let word: String =
                format!("{number:x}").chars().map(|digit| char::from(b'a' + digit as u8 % 26)).collect();
            words.observe(&format!("{word} "));
        }
        assert!(words.seen.len() <= MOST_SEEN);
    }
}
