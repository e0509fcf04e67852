//! [`Pieces`]: splits a streamed reply into parts that can be rendered separately.
//!
//! A part ends at the end of a Markdown block: later text never changes how a part looks. A block that is too long is
//! cut at a line, and a code fence is opened again.

/// Maximum lines of an unfinished block; then it is cut.
const MAX_BLOCK_LINES: usize = 40;

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Markdown that is complete by itself.
    pub markdown: String,
    /// Whether it continues a block that was cut.
    pub continues: bool,
}

/// A streamed text, and the part of it that was not returned yet.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pending: String,
    /// How much of `pending` was examined, in bytes: whole lines.
    looked_at: usize,
    /// Lines since the last end of a block.
    lines: usize,
    /// The place where `pending` may be cut.
    cut: Option<usize>,
    /// The place after a blank line, if the text there does not belong to the block before.
    blank: Option<usize>,
    fence: Option<String>,
    continues: bool,
    /// Bytes of the text that were returned.
    given: usize,
    /// Bytes at the beginning of `pending` that open a fence again and do not belong to the text.
    reopened: usize,
}

impl Pieces {
    /// The text that was not returned yet.
    pub fn pending(&self) -> &str {
        &self.pending
    }

    /// How many bytes of the text were returned, if the text can be continued from there: not inside code.
    pub fn given(&self) -> Option<usize> {
        self.fence.is_none().then_some(self.given)
    }

    /// Adds text, and returns the finished parts.
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

    /// The remaining text.
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

    /// Whether the line belongs to a table. A table is cut later than other blocks, since a row needs the head of its
    /// table.
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
