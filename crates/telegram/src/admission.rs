//! [`Admission`]: access control of the bot: it answers the users whom its owner allows, and users who send the pairing
//! [`Code`].
use super::updates::Person;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// How long a code is valid.
const CODE_LIFETIME: Duration = Duration::from_secs(600);
/// Number of wrong codes that invalidate the code.
const MAX_TRIES: u32 = 5;
/// Minimum time between two refusals to the same stranger.
const REFUSAL_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of remembered strangers; further ones get no answer.
const MAX_STRANGERS: usize = 1_000;
/// Characters of a code, without those that are easily confused.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_LENGTH: usize = 8;

/// A code that admits one user.
pub(super) struct Code {
    text: String,
    made_at: Instant,
    wrong: u32,
}

impl Code {
    /// Creates a random code; `None` if the system has no random numbers.
    pub(super) fn new(now: Instant) -> Option<Self> {
        let mut bytes = [0; CODE_LENGTH];
        rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).ok()?;
        let text = bytes.iter().map(|byte| char::from(CODE_ALPHABET[usize::from(byte % 32)])).collect();
        Some(Self { text, made_at: now, wrong: 0 })
    }

    /// The code as the owner types it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// How to react to a user who is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    /// The user sent the code and is admitted; the code is used up.
    LetIn,
    /// The user is told that the bot is private.
    Refused,
    /// The user gets no answer.
    Ignored,
    /// The user sent the last wrong code, which ends pairing, and is told that the bot is private.
    CodeEnded,
}

/// The strangers, and the code that admits one of them.
#[derive(Default)]
pub(super) struct Admission {
    code: Option<Code>,
    refused: HashMap<i64, Instant>,
}

impl Admission {
    pub(super) fn new(code: Option<Code>) -> Self {
        Self { code, refused: HashMap::new() }
    }

    /// Decides about a stranger's message in a private chat.
    pub(super) fn judge(&mut self, who: &Person, text: &str, now: Instant) -> Stranger {
        if self.code.as_ref().is_some_and(|code| now.duration_since(code.made_at) > CODE_LIFETIME) {
            self.code = None;
        }
        let ended = match (&mut self.code, offered(text)) {
            (Some(code), Some(offer)) if is_same(&code.text, &offer) => {
                self.code = None;
                return Stranger::LetIn;
            }
            (Some(code), Some(_)) => {
                code.wrong += 1;
                code.wrong >= MAX_TRIES
            }
            _ => false,
        };
        if ended {
            self.code = None;
            return Stranger::CodeEnded;
        }
        self.refuse(who.id, now)
    }

    fn refuse(&mut self, who: i64, now: Instant) -> Stranger {
        self.refused.retain(|_, at| now.duration_since(*at) < REFUSAL_INTERVAL);
        if self.refused.contains_key(&who) || self.refused.len() >= MAX_STRANGERS {
            return Stranger::Ignored;
        }
        self.refused.insert(who, now);
        Stranger::Refused
    }
}

/// Text that may be meant as a code: `/start CODE`, or a single word of its length.
fn offered(text: &str) -> Option<String> {
    let text = text.trim();
    let word = match text.strip_prefix("/start") {
        Some(rest) => rest.trim(),
        None => text,
    };
    let word: String = word.chars().filter(|c| *c != '-').collect();
    let is_one = word.len() == CODE_LENGTH && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_tried = is_one || (text.starts_with("/start") && !word.is_empty());
    is_tried.then(|| word.to_ascii_uppercase())
}

/// Compares in constant time.
fn is_same(code: &str, offer: &str) -> bool {
    let differ = code.bytes().zip(offer.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    code.len() == offer.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stranger::{CodeEnded, Ignored, LetIn, Refused};

    fn admission(now: Instant) -> Admission {
        Admission::new(Some(Code { text: "ABCD2345".into(), made_at: now, wrong: 0 }))
    }

    fn person(id: i64) -> Person {
        Person { id, name: "x".into() }
    }

    #[test]
    fn a_code_lets_one_person_in() {
        let now = Instant::now();
        let minute = |count: u64| now + Duration::from_secs(60 * count);
        let table: [&[(i64, &str, u64, Stranger)]; 6] = [
            &[(1, "hello", 0, Refused), (1, "ABCD2345", 0, LetIn), (2, "ABCD2345", 0, Refused)],
            &[(1, "/start abcd-2345", 0, LetIn)],
            &[(1, "ABCD2345", 11, Refused)],
            &[(1, "x", 0, Refused), (1, "x", 0, Ignored), (2, "x", 0, Refused), (1, "x", 2, Refused)],
            // Five wrong codes, of any users; other words do not count.
            &[
                (1, "WRONG234", 0, Refused),
                (2, "WRONG234", 0, Refused),
                (3, "/start nonsense", 0, Refused),
                (3, "good morning", 0, Ignored),
                (3, "WRONG234", 0, Ignored),
                (1, "WRONG235", 0, CodeEnded),
                (1, "ABCD2345", 2, Refused),
            ],
            &[(1, "", 0, Refused), (1, "/start", 2, Refused), (1, "ABCD2345", 4, LetIn)],
        ];
        for attempts in table {
            let mut admission = admission(now);
            for (who, text, at, expected) in attempts {
                assert_eq!(
                    admission.judge(&person(*who), text, minute(*at)),
                    *expected,
                    "{who} {text} in {attempts:?}"
                );
            }
        }
        assert_eq!(Admission::default().judge(&person(1), "ABCD2345", now), Refused);
    }

    #[test]
    fn codes_are_made_of_letters_that_are_not_mistaken() {
        let code = Code::new(Instant::now()).unwrap();
        assert!(
            code.text().len() == CODE_LENGTH && code.text().bytes().all(|byte| CODE_ALPHABET.contains(&byte))
        );
        assert_ne!(code.text(), Code::new(Instant::now()).unwrap().text());
    }
}
