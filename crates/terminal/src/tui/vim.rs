//! [`Vim`]: the keys of vi for the typed text: an insert mode, and a normal mode in which letters move the cursor and
//! change the text.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea};

/// The current mode, and the pending command.
#[derive(Debug, Default)]
pub(super) struct Vim {
    is_normal: bool,
    /// The first letter of a command of two: `d`, `c`, `y` or `g`.
    pending: Option<char>,
    /// Whether whole lines were yanked.
    is_line_yanked: bool,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    Done,
    /// Go to the previous or the next prompt: the cursor is in the first or the last line already.
    Earlier,
    Later,
    /// The key has its usual meaning, as without vi.
    Other,
}

/// Row and column of a character.
type Place = (usize, usize);

impl Vim {
    pub(super) fn is_normal(&self) -> bool {
        self.is_normal
    }

    pub(super) fn insert(&mut self) {
        (self.is_normal, self.pending) = (false, None);
    }

    /// Handles `key` in the current mode.
    pub(super) fn press(&mut self, area: &mut TextArea<'static>, key: KeyEvent) -> Pressed {
        let has_modifier = !(key.modifiers - KeyModifiers::SHIFT).is_empty();
        let pending = self.pending.take();
        match key.code {
            _ if has_modifier => return Pressed::Other,
            KeyCode::Esc if !self.is_normal => {
                self.is_normal = true;
                if column(area) > 0 {
                    area.move_cursor(CursorMove::Back);
                }
            }
            KeyCode::Esc if pending.is_some() => {}
            KeyCode::Char('?') if self.is_normal && area.is_empty() => return Pressed::Other,
            KeyCode::Char('/') if self.is_normal && area.is_empty() => {
                self.insert();
                return Pressed::Other;
            }
            KeyCode::Char(letter) if self.is_normal => {
                let pressed = match pending {
                    Some('g') if letter == 'g' => moved(area, CursorMove::Top),
                    Some('g') | None => self.command(area, letter),
                    Some(operator) => self.operate(area, operator, letter),
                };
                if self.is_normal {
                    stay_on_a_character(area);
                }
                return pressed;
            }
            KeyCode::Backspace if self.is_normal => return self.command(area, 'h'),
            KeyCode::Delete if self.is_normal => return self.command(area, 'x'),
            _ => return Pressed::Other,
        }
        Pressed::Done
    }

    fn command(&mut self, area: &mut TextArea<'static>, letter: char) -> Pressed {
        match letter {
            'd' | 'c' | 'y' | 'g' => self.pending = Some(letter),
            'j' if area.cursor().0 + 1 == area.lines().len() => return Pressed::Later,
            'k' if area.cursor().0 == 0 => return Pressed::Earlier,
            'j' => return moved(area, CursorMove::Down),
            'k' => return moved(area, CursorMove::Up),
            'G' => return moved(area, CursorMove::Bottom),
            'x' => self.take(area, place(area), behind(area), false),
            'D' => self.take(area, place(area), end(area), false),
            'C' => return self.operate(area, 'c', '$'),
            'u' => drop(area.undo()),
            'p' => self.put(area),
            'i' => self.insert(),
            'a' => {
                if !is_line_empty(area) {
                    area.move_cursor(CursorMove::Forward);
                }
                self.insert();
            }
            'I' => {
                jump(area, (area.cursor().0, first_character(area)));
                self.insert();
            }
            'A' => {
                area.move_cursor(CursorMove::End);
                self.insert();
            }
            'o' => {
                area.move_cursor(CursorMove::End);
                area.insert_newline();
                self.insert();
            }
            'O' => {
                area.move_cursor(CursorMove::Head);
                area.insert_newline();
                area.move_cursor(CursorMove::Up);
                self.insert();
            }
            motion => {
                if let Some(target) = target(area, motion) {
                    jump(area, target);
                }
            }
        }
        Pressed::Done
    }

    /// Applies `operator` to a motion; if it is repeated, to the whole line.
    fn operate(&mut self, area: &mut TextArea<'static>, operator: char, motion: char) -> Pressed {
        if operator == motion {
            self.operate_on_line(area, operator);
            return Pressed::Done;
        }
        let from = place(area);
        // As in vi, `cw` leaves the blanks after the word.
        let is_on_word = area.lines()[from.0].chars().nth(from.1).is_some_and(|c| !c.is_whitespace());
        let motion = if (operator, motion) == ('c', 'w') && is_on_word { 'e' } else { motion };
        let Some(to) = target(area, motion) else { return Pressed::Done };
        let to = match motion {
            'e' => (to.0, to.1 + 1),
            // A word at the end of a line does not include the line break.
            'w' if to.0 > from.0 || to == from => end(area),
            '$' => end(area),
            'l' => behind(area),
            _ => to,
        };
        self.take(area, from.min(to), from.max(to), operator == 'y');
        if operator == 'c' {
            self.insert();
        }
        Pressed::Done
    }

    fn operate_on_line(&mut self, area: &mut TextArea<'static>, operator: char) {
        let (row, column) = place(area);
        let (line, count) = (area.lines()[row].clone(), area.lines().len());
        let length = line.chars().count();
        match operator {
            'd' if count > 1 && row + 1 == count => {
                let above = area.lines()[row - 1].chars().count();
                self.take(area, (row - 1, above), (row, length), false);
                area.move_cursor(CursorMove::Head);
            }
            'd' if count > 1 => self.take(area, (row, 0), (row + 1, 0), false),
            'd' | 'c' => self.take(area, (row, 0), (row, length), false),
            _ => jump(area, (row, column)),
        }
        area.set_yank_text(line);
        self.is_line_yanked = true;
        if operator == 'c' {
            self.insert();
        }
    }

    /// Yanks the text between two places, and removes it unless it is to be `kept`.
    fn take(&mut self, area: &mut TextArea<'static>, from: Place, to: Place, is_kept: bool) {
        if from == to {
            return;
        }
        jump(area, from);
        area.start_selection();
        jump(area, to);
        match is_kept {
            true => area.copy(),
            false => drop(area.cut()),
        }
        jump(area, from);
        self.is_line_yanked = false;
    }

    /// Inserts the yanked text: after the cursor, or below its line.
    fn put(&self, area: &mut TextArea<'static>) {
        let text = area.yank_text();
        if self.is_line_yanked {
            area.move_cursor(CursorMove::End);
            area.insert_newline();
            area.insert_str(text);
            area.move_cursor(CursorMove::Head);
        } else if !text.is_empty() {
            if !is_line_empty(area) {
                area.move_cursor(CursorMove::Forward);
            }
            area.insert_str(text);
            area.move_cursor(CursorMove::Back);
        }
    }
}

fn moved(area: &mut TextArea<'static>, to: CursorMove) -> Pressed {
    area.move_cursor(to);
    Pressed::Done
}

/// The target of a motion in the text; `None` if the letter is not a motion.
fn target(area: &TextArea<'static>, motion: char) -> Option<Place> {
    let (row, column) = place(area);
    let with = |to: CursorMove| {
        let mut moved = area.clone();
        moved.move_cursor(to);
        place(&moved)
    };
    Some(match motion {
        'h' => (row, column.saturating_sub(1)),
        'l' => behind(area),
        'w' => with(CursorMove::WordForward),
        'e' => with(CursorMove::WordEnd),
        'b' => with(CursorMove::WordBack),
        '0' => (row, 0),
        '^' => (row, first_character(area)),
        '$' => end(area),
        _ => return None,
    })
}

fn place(area: &TextArea<'static>) -> Place {
    let cursor = area.cursor();
    (cursor.0, cursor.1)
}

fn column(area: &TextArea<'static>) -> usize {
    area.cursor().1
}

/// The place after the last character of the line.
fn end(area: &TextArea<'static>) -> Place {
    let row = area.cursor().0;
    (row, area.lines()[row].chars().count())
}

/// The place after the character at the cursor.
fn behind(area: &TextArea<'static>) -> Place {
    let (row, column) = place(area);
    (row, (column + 1).min(end(area).1))
}

fn first_character(area: &TextArea<'static>) -> usize {
    let line = &area.lines()[area.cursor().0];
    line.chars().position(|c| !c.is_whitespace()).unwrap_or_default()
}

fn is_line_empty(area: &TextArea<'static>) -> bool {
    area.lines()[area.cursor().0].is_empty()
}

fn jump(area: &mut TextArea<'static>, (row, column): Place) {
    let number = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    area.move_cursor(CursorMove::Jump(number(row), number(column)));
}

/// In normal mode the cursor is on a character, not after the last one.
fn stay_on_a_character(area: &mut TextArea<'static>) {
    let (row, column) = place(area);
    let last = end(area).1.saturating_sub(1);
    if column > last {
        jump(area, (row, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after these keys, with `|` in front of the cursor. Keys are letters, and `<` for Esc.
    fn typed(text: &str, keys: &str) -> String {
        let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        let mut vim = Vim { is_normal: true, ..Vim::default() };
        for letter in keys.chars() {
            let code = if letter == '<' { KeyCode::Esc } else { KeyCode::Char(letter) };
            let key = KeyEvent::new(code, KeyModifiers::NONE);
            if vim.press(&mut area, key) == Pressed::Other {
                area.input(key);
            }
        }
        let (row, column) = place(&area);
        let line = |(at, line): (usize, &String)| match at == row {
            true => {
                let (before, after): (Vec<char>, Vec<char>) =
                    (line.chars().take(column).collect(), line.chars().skip(column).collect());
                String::from_iter(before) + "|" + &String::from_iter(after)
            }
            false => line.clone(),
        };
        area.lines().iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn letters_move_the_cursor() {
        let table = [
            ("", "|one two.three"),
            ("l", "o|ne two.three"),
            ("lh", "|one two.three"),
            ("h", "|one two.three"),
            ("w", "one |two.three"),
            ("ww", "one two|.three"),
            ("e", "on|e two.three"),
            ("wb", "|one two.three"),
            ("$", "one two.thre|e"),
            ("$0", "|one two.three"),
            ("$l", "one two.thre|e"),
            ("z", "|one two.three"),
        ];
        for (keys, expected) in table {
            assert_eq!(typed("one two.three", keys), expected, "{keys}");
        }
        let lines = "  one\ntwo\nthree";
        let table = [
            ("^", "  |one\ntwo\nthree"),
            ("j", "  one\n|two\nthree"),
            ("G", "  one\ntwo\n|three"),
            ("Ggg", "|  one\ntwo\nthree"),
            ("G$kk", "  |one\ntwo\nthree"),
        ];
        for (keys, expected) in table {
            assert_eq!(typed(lines, keys), expected, "{keys}");
        }
    }

    #[test]
    fn letters_change_the_text() {
        let table = [
            ("x", "|ne two.three"),
            ("$x", "one two.thr|e"),
            ("dw", "|two.three"),
            ("wdw", "one |.three"),
            ("de", "| two.three"),
            ("wdb", "|two.three"),
            ("wD", "one| "),
            ("wd$", "one| "),
            ("cwX<", "|X two.three"),
            ("wcbX<", "|Xtwo.three"),
            ("wCX<", "one |X"),
            ("iX<", "|Xone two.three"),
            ("aX<", "o|Xne two.three"),
            ("$aX<", "one two.three|X"),
            ("wIX<", "|Xone two.three"),
            ("AX<", "one two.three|X"),
            ("oX<", "one two.three\n|X"),
            ("OX<", "|X\none two.three"),
            ("xu", "o|ne two.three"),
            ("xp", "n|oe two.three"),
            ("ywP$p", "one two.threeone| "),
            ("dd", "|"),
            ("ddp", "\n|one two.three"),
            ("ccX<", "|X"),
            ("yyp", "one two.three\n|one two.three"),
            ("dz", "|one two.three"),
            ("d<x", "|ne two.three"),
            ("äx", "|ne two.three"),
        ];
        for (keys, expected) in table {
            assert_eq!(typed("one two.three", keys), expected, "{keys}");
        }
    }

    #[test]
    fn lines_are_taken_as_a_whole() {
        let table = [
            ("dd", "|zwei\ndrei"),
            ("jdd", "eins\n|drei"),
            ("Gdd", "eins\n|zwei"),
            ("ddp", "zwei\n|eins\ndrei"),
            ("jyyGp", "eins\nzwei\ndrei\n|zwei"),
            ("jccX<", "eins\n|X\ndrei"),
            ("dw", "|\nzwei\ndrei"),
            ("D", "|\nzwei\ndrei"),
        ];
        for (keys, expected) in table {
            assert_eq!(typed("eins\nzwei\ndrei", keys), expected, "{keys}");
        }
        assert_eq!(typed("üben ß", "wx"), "üben| ");
        assert_eq!(typed("", "xddpuyyj"), "|");
    }
}
