//! [`Pieces`]: cuts a reply into parts that can be read by themselves, while it streams.
//!
//! A part ends where a Markdown block ends: what has been handed out never looks different later. A block that does
//! not end in time is cut at a line, and a fence of code is opened again.

/// Lines after which a block is cut that has not ended.
const MAX_BLOCK_LINES: usize = 40;

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Markdown that is whole by itself.
    pub markdown: String,
    /// It continues a block that was cut.
    pub continues: bool,
}

/// Text on its way, and what of it has not been handed out.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pending: String,
    /// How much of `pending` has been examined, in bytes: whole lines.
    looked_at: usize,
    /// Lines since the last place where a block ended.
    lines: usize,
    /// Where `pending` may be cut.
    cut: Option<usize>,
    /// After a blank line, if what follows does not belong to what was before.
    blank: Option<usize>,
    fence: Option<String>,
    continues: bool,
    /// Bytes of the text that were handed out.
    given: usize,
    /// Bytes at the beginning of `pending` that open a fence again and are not part of the text.
    reopened: usize,
}

impl Pieces {
    /// What has not been handed out.
    pub fn pending(&self) -> &str {
        &self.pending
    }

    /// How much of the text was handed out, where it can continue from there: not in the middle of code.
    pub fn given(&self) -> Option<usize> {
        self.fence.is_none().then_some(self.given)
    }

    /// Takes more of the text, and gives what is finished.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.pending.push_str(text);
        let mut pieces = Vec::new();
        while let Some(length) = self.pending[self.looked_at..].find('\n') {
            let (start, end) = (self.looked_at, self.looked_at + length + 1);
            self.look_at(start, end);
            self.looked_at = end;
            if self.lines >= MAX_BLOCK_LINES && !self.is_table(start, end) {
                pieces.push(self.cut_in_a_block());
            }
        }
        if let Some(cut) = self.cut.take().filter(|cut| *cut > 0) {
            pieces.push(self.take(cut, false));
        }
        pieces
    }

    /// The rest.
    pub fn finish(&mut self) -> Option<Piece> {
        let rest = self.pending.len();
        let piece =
            (rest > 0).then(|| self.take(rest, false)).filter(|piece| !piece.markdown.trim().is_empty());
        *self = Self::default();
        piece
    }

    fn look_at(&mut self, start: usize, end: usize) {
        let line = &self.pending[start..end];
        let text = line.trim();
        self.lines += 1;
        if let Some(fence) = &self.fence {
            if closes(fence, text) {
                (self.fence, self.cut, self.lines) = (None, Some(end), 0);
            }
            return;
        }
        let is_indented = line.starts_with([' ', '\t']);
        if text.is_empty() {
            self.blank = Some(end);
            return;
        }
        let blank = self.blank.take();
        let begins_a_block = text.starts_with('#') || opens(text);
        let before = blank.or(begins_a_block.then_some(start)).filter(|_| !is_indented);
        if before.is_some() {
            (self.cut, self.lines) = (before, 1);
        }
        if opens(text) {
            self.fence = Some(text.to_owned());
        }
    }

    /// A row of a table needs the head of its table.
    fn is_table(&self, start: usize, end: usize) -> bool {
        self.fence.is_none()
            && self.pending[start..end].trim_start().starts_with('|')
            && self.lines < 10 * MAX_BLOCK_LINES
    }

    fn cut_in_a_block(&mut self) -> Piece {
        self.cut = None;
        let piece = self.take(self.looked_at, true);
        if let Some(fence) = &self.fence {
            self.reopened = fence.len() + 1;
            self.pending.insert_str(0, &format!("{fence}\n"));
            self.looked_at += self.reopened;
        }
        piece
    }

    fn take(&mut self, cut: usize, in_a_block: bool) -> Piece {
        let rest = self.pending.split_off(cut);
        let markdown = std::mem::replace(&mut self.pending, rest);
        self.given += cut.saturating_sub(std::mem::take(&mut self.reopened));
        self.looked_at = self.looked_at.saturating_sub(cut);
        self.lines = self.pending[..self.looked_at].lines().count();
        self.blank = self.blank.and_then(|blank| blank.checked_sub(cut));
        Piece { markdown, continues: std::mem::replace(&mut self.continues, in_a_block) }
    }
}

fn opens(text: &str) -> bool {
    let is_inline = |rest: &str| rest.trim_start_matches('`').contains('`');
    text.starts_with("~~~") || text.strip_prefix("```").is_some_and(|rest| !is_inline(rest))
}

fn closes(fence: &str, text: &str) -> bool {
    let mark = fence.chars().next().unwrap_or('`');
    let length = fence.chars().take_while(|c| *c == mark).count();
    text.len() >= length && text.chars().all(|c| c == mark)
}
