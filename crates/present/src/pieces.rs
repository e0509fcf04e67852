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
    /// It goes on a block that was cut.
    pub continues: bool,
}

/// Text on its way, and what of it has not been handed out.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pending: String,
    /// Of `pending`, what has been looked at: whole lines.
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

    /// How much of the text was handed out, where it can go on from there: not in the middle of code.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, step: usize) -> Vec<Piece> {
        let mut pieces = Pieces::default();
        let chars: Vec<char> = text.chars().collect();
        let pushed = chars.chunks(step).flat_map(|chunk| pieces.push(&chunk.iter().collect::<String>()));
        let mut all: Vec<Piece> = pushed.collect();
        all.extend(pieces.finish());
        all
    }

    #[test]
    fn a_part_ends_where_a_block_ends() {
        let table: [(&str, &[&str]); 7] = [
            ("one", &["one"]),
            ("one\n\ntwo\n", &["one\n\n", "two\n"]),
            ("- a\n\n  still a\n- b\n", &["- a\n\n  still a\n- b\n"]),
            (
                "text\n```rust\nfn a() {}\n\nfn b() {}\n```\nmore",
                &["text\n", "```rust\nfn a() {}\n\nfn b() {}\n```\n", "more"],
            ),
            ("````\n```\n````\nx", &["````\n```\n````\n", "x"]),
            ("a\n# b\nc", &["a\n", "# b\nc"]),
            ("```code``` is inline\n\nb\n", &["```code``` is inline\n\n", "b\n"]),
        ];
        for (text, expected) in table {
            let found: Vec<String> = pieces(text, 1).into_iter().map(|piece| piece.markdown).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_block_without_end_is_cut_at_lines_and_its_fence_opened_again() {
        let text = format!("```go\n{}```\n", "x\n".repeat(100));
        let found = pieces(&text, 7);
        assert!(found.len() > 2, "{found:?}");
        assert!(found.iter().all(|piece| piece.markdown.starts_with("```go\n")), "{found:?}");
        assert!(found[1..].iter().all(|piece| piece.continues));
        let lines: usize = found.iter().map(|piece| piece.markdown.matches("x\n").count()).sum();
        assert_eq!(lines, 100);
    }

    #[test]
    fn nothing_is_lost_however_the_text_comes() {
        let text =
            "# a\n\n- b\n  - c\n\npara\nwith lines\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n".repeat(9);
        for step in [1, 3, 64, 10_000] {
            let all: String = pieces(&text, step).into_iter().map(|piece| piece.markdown).collect();
            assert_eq!(all, text, "{step}");
        }
    }
}
