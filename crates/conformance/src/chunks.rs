//! [`Chunks`]: how a stream is split.
use std::str::FromStr;

/// How a stream is split, on which the result must not depend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// The text comes in one piece.
    #[default]
    Whole,
    /// Splits the text as the case says; if the case does not say how, not at all.
    Given,
    /// Splits after each character.
    Chars,
    /// Splits after this many bytes.
    Bytes(usize),
}

impl FromStr for Chunks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "whole" => Ok(Self::Whole),
            "given" => Ok(Self::Given),
            "chars" => Ok(Self::Chars),
            number => match number.parse() {
                Ok(bytes) if bytes > 0 => Ok(Self::Bytes(bytes)),
                _ => Err("expected `whole`, `given`, `chars` or a number of bytes".into()),
            },
        }
    }
}

impl Chunks {
    /// Splits `bytes`. With [`Self::Chars`], invalid UTF-8 is split after each byte.
    pub fn of(self, bytes: &[u8]) -> Vec<&[u8]> {
        match self {
            Self::Whole | Self::Given => vec![bytes],
            Self::Bytes(size) => bytes.chunks(size).collect(),
            Self::Chars => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    let ends = text.char_indices().map(|(at, character)| at..at + character.len_utf8());
                    ends.map(|range| &bytes[range]).collect()
                }
                Err(_) => bytes.chunks(1).collect(),
            },
        }
    }
}
