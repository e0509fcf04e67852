//! [`Bars`]: bars of block characters, as wide as the terminal allows.
use crate::commands::table::end_of;
use haft_app::usage::Row;
use haft_present::safe;
use jiff::civil::Date;
use std::io::{self, Write, stdout};
use unicode_width::UnicodeWidthStr;

/// How bars are drawn.
pub(super) struct Bars {
    /// Of the terminal.
    pub(super) columns: usize,
    pub(super) color: bool,
}

/// Minimum columns of a bar; a narrower one is left out.
const MIN_BAR_WIDTH: usize = 8;
/// A longer one says no more.
const MAX_BAR_WIDTH: usize = 60;
/// ` 123.4M  $1234.56`
const NUMBERS: usize = 18;
/// Longer names are cut at their beginning: paths differ at their end.
const MAX_NAME_WIDTH: usize = 40;

/// How wide the terminal is: as the person says, as it says, or as most are.
pub(super) fn columns(said: Option<&str>) -> usize {
    let asked = || rustix::termios::tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_col));
    let said = said.and_then(|said| said.parse().ok()).filter(|columns| *columns > 0);
    said.or_else(asked).filter(|columns| *columns > 0).unwrap_or(80)
}

impl Bars {
    /// A list under its title: a name, a bar as long as its tokens, the tokens and the money.
    pub(super) fn print(&self, title: &str, rows: &[Row]) -> io::Result<()> {
        let most = rows.iter().map(|row| row.tokens).max().unwrap_or_default();
        let room = self.columns.saturating_sub(NUMBERS + MIN_BAR_WIDTH + 2).clamp(8, MAX_NAME_WIDTH);
        let names: Vec<String> = rows.iter().map(|row| end_of(&safe::name(&row.key), room)).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or_default();
        let length = self.columns.saturating_sub(widest + NUMBERS + 2).min(MAX_BAR_WIDTH);
        let mut stdout = stdout().lock();
        writeln!(stdout, "{}", self.bold(title))?;
        for (row, name) in rows.iter().zip(names) {
            let pad = " ".repeat(widest - name.width());
            let bar = if length < MIN_BAR_WIDTH { String::new() } else { self.bar(row, most, length) };
            let tokens = if row.requests == 0 { String::new() } else { short(row.tokens) };
            let line = format!("{name}{pad} {bar} {tokens:>7} {:>9}", money(row));
            writeln!(stdout, "{}", line.trim_end())?;
        }
        writeln!(stdout)
    }

    /// All of it in one line.
    pub(super) fn total(&self, total: &Row, first: Date, last: Date) -> io::Result<()> {
        let Row { sessions, requests, tokens, usage, unpriced_tokens, .. } = total;
        let mut stdout = stdout().lock();
        writeln!(
            stdout,
            "{} tokens ({} read, {} from cache, {} written), {}",
            short(*tokens),
            short(usage.input + usage.cache_write),
            short(usage.cache_read),
            short(usage.output),
            if total.cost_usd.is_some() { money(total) } else { "cost unknown".into() },
        )?;
        let of_requests = if *requests == 1 { "" } else { "s" };
        let of_sessions = if *sessions == 1 { "" } else { "s" };
        writeln!(
            stdout,
            "{requests} request{of_requests} in {sessions} session{of_sessions}, {first} to {last}"
        )?;
        if *unpriced_tokens > 0 && total.cost_usd.is_some() {
            writeln!(stdout, "price unknown for {} tokens", short(*unpriced_tokens))?;
        }
        Ok(())
    }

    /// What was read from a cache is the pale part.
    fn bar(&self, row: &Row, most: u64, length: usize) -> String {
        let eighths =
            |tokens: u64| (tokens as f64 / most.max(1) as f64 * length as f64 * 8.0).round() as usize;
        let all = match eighths(row.tokens) {
            0 if row.tokens > 0 => 1,
            eighths => eighths,
        };
        let bar = blocks(all);
        let pad = " ".repeat(length - bar.chars().count());
        if !self.color {
            return bar + &pad;
        }
        let full = eighths(row.tokens - row.usage.cache_read).div_ceil(8).min(bar.chars().count());
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

/// `950`, `12.3k`, `4.5M`.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_950 => format!("{:.1}k", tokens as f64 / 1e3),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// `?` where no price is known, nothing where nothing was used.
fn money(row: &Row) -> String {
    match row.cost_usd {
        _ if row.requests == 0 => String::new(),
        None => "$?".into(),
        Some(usd) if usd > 0.0 && usd < 0.1 => format!("${usd:.4}"),
        Some(usd) => format!("${usd:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_names_and_numbers_fit() {
        assert_eq!([0, 1, 8, 12].map(blocks), ["", "▏", "█", "█▌"]);
        assert_eq!([0, 999, 1_000, 999_999, 2_500_000].map(short), ["0", "999", "1.0k", "1.0M", "2.5M"]);
    }
}
