//! [`Bars`]: bars of block characters, as wide as the terminal allows.
use crate::table::end_of;
use haft_present::safe;
use std::io::{self, Write, stdout};
use unicode_width::UnicodeWidthStr;

/// The format of bars.
#[derive(Debug)]
pub struct Bars {
    /// Columns of the terminal.
    pub columns: usize,
    /// Whether bars are colored.
    pub color: bool,
}

/// A bar with its label and numbers.
#[derive(Debug)]
pub struct Bar {
    /// The label in front of the bar.
    pub name: String,
    /// Length of the bar, in the unit of all bars of a list.
    pub all: u64,
    /// The part of `all` that is drawn pale.
    pub pale: u64,
    /// Two columns after the bar, at most 7 and 9 cells wide.
    pub numbers: [String; 2],
}

/// Minimum columns of a bar; if there is less room, it is left out.
const MIN_BAR_WIDTH: usize = 8;
/// Maximum columns of a bar; a longer one is not more precise.
const MAX_BAR_WIDTH: usize = 60;
/// Columns of the two numbers, such as `123.4M` and `$1234.56`: 7 and 9 cells, with a blank before each.
const NUMBERS: usize = 18;
/// Longer names are cut at their beginning: paths differ at their end.
const MAX_NAME_WIDTH: usize = 40;

/// The width of the terminal: `COLUMNS` if set, otherwise the terminal's size, otherwise 80.
pub fn columns(said: Option<&str>) -> usize {
    let asked = || rustix::termios::tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_col));
    let said = said.and_then(|said| said.parse().ok()).filter(|columns| *columns > 0);
    said.or_else(asked).filter(|columns| *columns > 0).unwrap_or(80)
}

impl Bars {
    /// Prints a list under its title.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, title: &str, rows: &[Bar]) -> io::Result<()> {
        let most = rows.iter().map(|row| row.all).max().unwrap_or_default();
        let room = self.columns.saturating_sub(NUMBERS + MIN_BAR_WIDTH + 2).clamp(8, MAX_NAME_WIDTH);
        let names: Vec<String> = rows.iter().map(|row| end_of(&safe::name(&row.name), room)).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or_default();
        let length = self.columns.saturating_sub(widest + NUMBERS + 2).min(MAX_BAR_WIDTH);
        let mut stdout = stdout().lock();
        writeln!(stdout, "{}", self.bold(title))?;
        for (row, name) in rows.iter().zip(names) {
            let pad = " ".repeat(widest - name.width());
            let bar = if length < MIN_BAR_WIDTH { String::new() } else { self.bar(row, most, length) };
            let [first, second] = &row.numbers;
            let line = format!("{name}{pad} {bar} {first:>7} {second:>9}");
            writeln!(stdout, "{}", line.trim_end())?;
        }
        writeln!(stdout)
    }

    fn bar(&self, row: &Bar, most: u64, length: usize) -> String {
        let eighths =
            |tokens: u64| (tokens as f64 / most.max(1) as f64 * length as f64 * 8.0).round() as usize;
        let all = match eighths(row.all) {
            0 if row.all > 0 => 1,
            eighths => eighths,
        };
        let bar = blocks(all);
        let pad = " ".repeat(length - bar.chars().count());
        if !self.color {
            return bar + &pad;
        }
        let full = eighths(row.all - row.pale).div_ceil(8).min(bar.chars().count());
        let (full, pale): (String, String) =
            (bar.chars().take(full).collect(), bar.chars().skip(full).collect());
        format!("\u{1b}[36m{full}\u{1b}[2m{pale}\u{1b}[0m{pad}")
    }

    fn bold(&self, text: &str) -> String {
        if self.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn blocks(eighths: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// Returns an abbreviated number of tokens: `950`, `12.3k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_ends_in_eighths() {
        assert_eq!([0, 1, 8, 12].map(blocks), ["", "▏", "█", "█▌"]);
    }

    #[test]
    fn tokens_are_short() {
        assert_eq!([0, 999, 1_000, 999_999, 2_500_000].map(tokens), ["0", "999", "1.0k", "1.0M", "2.5M"]);
    }
}
