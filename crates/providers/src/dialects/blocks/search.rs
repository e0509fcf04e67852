//! Signs in a text that comes piece by piece: the first of them, or where one may still begin.

/// What a sign does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Nothing,
    Hush,
    Think(usize),
    Block(usize),
    Close,
    /// It is read again outside.
    Stop,
    /// JSON begins.
    Json,
}

/// Signs by the bytes that they begin with.
pub(super) struct Signs {
    signs: Vec<(&'static str, Act)>,
    first: [bool; 256],
}

/// What a search came to.
pub(super) enum Found {
    Sign {
        at: usize,
        length: usize,
        act: Act,
        sign: &'static str,
    },
    /// From this byte on it may become a sign; before it there is none.
    Open(usize),
}

impl Signs {
    pub(super) fn new(signs: Vec<(&'static str, Act)>) -> Self {
        let mut first = [false; 256];
        for (sign, _) in &signs {
            first[usize::from(sign.as_bytes()[0])] = true;
        }
        Self { signs, first }
    }

    /// `whole`: nothing comes after `text`.
    pub(super) fn find(&self, text: &str, from: usize, whole: bool) -> Found {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(skipped) = bytes[at..].iter().position(|byte| self.first[usize::from(*byte)]) {
            at += skipped;
            let rest = &bytes[at..];
            let becomes = |(sign, _): &&(&'static str, Act)| {
                sign.len() > rest.len() && sign.as_bytes().starts_with(rest)
            };
            if !whole && self.signs.iter().any(|sign| becomes(&sign)) {
                return Found::Open(at);
            }
            let fits = self.signs.iter().filter(|(sign, _)| rest.starts_with(sign.as_bytes()));
            if let Some((sign, act)) = fits.max_by_key(|(sign, _)| sign.len()) {
                return Found::Sign { at, length: sign.len(), act: *act, sign };
            }
            at += 1;
        }
        Found::Open(text.len())
    }
}
