//! [`Spinner`]: shows activity on a terminal while there is nothing else to show.
use crate::loading;
use crossterm::{
    execute,
    style::Print,
    terminal::{Clear, ClearType},
};
use std::{
    io::stderr,
    time::{Duration, Instant},
};

/// The frames of every spinner.
pub(crate) const FRAMES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Interval between two frames, slow enough for a serial line.
pub(crate) const TICK: Duration = Duration::from_millis(120);

/// Draws on standard error, or nowhere.
#[derive(Debug)]
pub(crate) struct Spinner {
    enabled: bool,
    shown: bool,
    frame: usize,
    label: String,
    since: Instant,
}

impl Spinner {
    /// `enabled`: whether standard error is a terminal and the user wants a spinner.
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, shown: false, frame: 0, label: String::new(), since: Instant::now() }
    }

    /// Whether the spinner is ever drawn.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Sets the text after the spinner: what is waited for.
    pub(crate) fn label(&mut self, label: impl Into<String>) {
        self.label = label.into();
        self.since = Instant::now();
    }

    /// Draws the next frame. Call it every [`TICK`] while nothing else happens.
    pub(crate) fn tick(&mut self) {
        if let Some(picture) = self.next_picture() {
            let _no_terminal =
                execute!(stderr(), Print('\r'), Clear(ClearType::UntilNewLine), Print(picture));
            self.shown = true;
        }
    }

    /// The next frame; `None` without a label: while the user is asked, nothing may move.
    fn next_picture(&mut self) -> Option<String> {
        if !self.enabled || self.label.is_empty() {
            return None;
        }
        self.frame = (self.frame + 1) % FRAMES.len();
        let label = loading::bar().unwrap_or_else(|| self.label.clone());
        Some(format!("{} {label} {}s", FRAMES[self.frame], self.since.elapsed().as_secs()))
    }

    /// Erases the spinner. Call it before anything else is written.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _no_terminal = execute!(stderr(), Print('\r'), Clear(ClearType::UntilNewLine));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-10
    #[test]
    fn it_stands_still_where_nobody_wants_it_to_move() {
        let pictures = |enabled: bool, label: &str| {
            let mut spinner = Spinner::new(enabled);
            spinner.label(label);
            [spinner.next_picture(), spinner.next_picture()]
        };
        assert_eq!(
            pictures(true, "bash"),
            ["⠙ bash 0s", "⠸ bash 0s"].map(|picture| Some(picture.to_owned()))
        );
        assert_eq!(pictures(false, "bash"), [None, None]);
        assert_eq!(pictures(true, ""), [None, None]);
    }
}
