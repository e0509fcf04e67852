//! The meaning of keys.
use super::{
    app::{App, Hint, Request},
    mode::{Completion, Mode, What},
    page::Page,
};
use crate::console;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_present::timeline::Asked;
use std::time::{Duration, Instant};

/// For the help.
pub(super) const KEYS: [(&str, &str); 13] = [
    ("Enter", "send; during a turn the model reads it next"),
    ("Shift+Enter", "new line (also Alt+Enter, Ctrl+J, \\ at the end)"),
    ("Esc", "interrupt; twice: go back to an earlier prompt"),
    ("Up, Down, Ctrl+R", "earlier prompts; search them"),
    ("@NAME", "a file of this folder; a picture is attached"),
    ("!COMMAND", "run a command yourself"),
    ("Shift+Tab", "change what runs without asking"),
    ("Ctrl+G", "edit the prompt in $VISUAL or $EDITOR"),
    ("Ctrl+O", "show everything so far, with whole results"),
    ("Ctrl+T", "list background commands and subagents"),
    ("?", "on an empty line: show this help"),
    ("Ctrl+C", "clear the prompt, interrupt, or quit (twice)"),
    ("Ctrl+D, Ctrl+Z", "quit; suspend"),
];

/// Keys that follow each other faster belong to a word.
const TYPING_PAUSE: Duration = Duration::from_secs(1);
pub(super) const PAUSE_FIRST: &str = "a call asks; pause, then answer with y, a or n";
/// Two presses within this time belong together.
const TWICE: Duration = Duration::from_secs(2);

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) {
        if !matches!(self.hint, Some(Hint::Lasting(_))) {
            self.hint = None;
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_same = |(before, _): &(KeyCode, Instant)| *before == key.code;
        self.escaped = self.escaped.take().filter(is_same);
        if ctrl && key.code == KeyCode::Char('z') {
            self.request = Some(Request::Suspend);
            return;
        }
        match &mut self.mode {
            Mode::Read(page, _) => {
                if !page.key(key, self.rows) {
                    self.mode.close();
                }
            }
            _ if ctrl && key.code == KeyCode::Char('o') => self.show_all(),
            Mode::Pick(..) => self.pick_key(key),
            Mode::Refuse(_) => self.reason_key(key),
            Mode::Approve(_) | Mode::Compose(_) | Mode::Answer(_) => self.conversation_key(key, ctrl),
        }
    }

    /// A key while a prompt or an answer is typed, or while a call asks.
    fn conversation_key(&mut self, key: KeyEvent, ctrl: bool) {
        match key.code {
            KeyCode::Char('c') if ctrl => self.stop_or_leave(),
            KeyCode::Char('t') if ctrl => self.pick_job(),
            KeyCode::Char('r') if ctrl => self.pick_typed(),
            KeyCode::Char('g') if ctrl => self.edit_outside(),
            _ if matches!(self.mode, Mode::Approve(_)) && !self.is_typing() => self.approval_key(key),
            _ if self.completion_key(key) => {}
            KeyCode::Char('d') if ctrl && self.input.is_empty() => self.request = Some(Request::Leave),
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Esc => self.escape(),
            KeyCode::Enter if !key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT) => {
                self.enter()
            }
            KeyCode::Char('?') if !ctrl && self.input.is_empty() && matches!(self.mode, Mode::Compose(_)) => {
                self.help();
            }
            _ => self.type_in(key),
        }
    }

    pub(super) fn type_in(&mut self, key: KeyEvent) {
        if self.input.key(key) {
            self.typed = Some(Instant::now());
            self.complete();
        }
    }

    /// A key in the middle of a word does not answer the question that has just appeared.
    fn is_typing(&mut self) -> bool {
        let now = Instant::now();
        let is_typing = !self.input.is_empty() && is_in_a_word(self.typed, now);
        if is_typing {
            self.typed = Some(now);
            self.hint = Some(PAUSE_FIRST.into());
        }
        is_typing
    }

    fn enter(&mut self) {
        let Some(Asked::Question { .. }) = self.view.asked.front() else { return self.submit() };
        let (text, _) = self.input.take();
        let said = text.trim().to_owned();
        let chosen = said.parse().ok().and_then(|number| self.asked_choice(number));
        if chosen.is_some() || !said.is_empty() {
            self.reply(Some(chosen.unwrap_or(said)));
        }
    }

    fn escape(&mut self) {
        if let Some(Asked::Question { .. }) = self.view.asked.front() {
            return self.reply(None);
        }
        if self.busy_since().is_some() {
            return self.interrupt();
        }
        let what = if self.input.is_empty() { "go back to an earlier prompt" } else { "clear what is typed" };
        match (self.is_second(KeyCode::Esc), self.input.is_empty()) {
            (true, true) => self.pick_prompt(),
            (true, false) => self.input.clear(),
            (false, _) => self.hint = Some(format!("Esc again: {what}").into()),
        }
    }

    /// Whether the key was pressed a moment before.
    fn is_second(&mut self, key: KeyCode) -> bool {
        let is_second = self.escaped.take().is_some_and(|(_, before)| before.elapsed() < TWICE);
        self.escaped = (!is_second).then(|| (key, Instant::now()));
        is_second
    }

    fn stop_or_leave(&mut self) {
        if !self.input.is_empty() {
            return self.input.clear();
        }
        if self.busy_since().is_some() {
            return self.interrupt();
        }
        match self.is_second(KeyCode::Char('c')) {
            true => self.request = Some(Request::Leave),
            false => self.hint = Some("Ctrl+C again leaves".into()),
        }
    }

    /// Whether the key was for the list of completions.
    fn completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = self.mode.completion() else { return false };
        let Some(Completion { list, .. }) = completion else { return false };
        match key.code {
            KeyCode::Up => list.up(),
            KeyCode::Down => list.down(),
            KeyCode::Esc => *completion = None,
            KeyCode::Tab => {
                self.accept();
            }
            KeyCode::Enter if key.modifiers.is_empty() => {
                let value = list.chosen().map(|item| item.value.clone()).unwrap_or_default();
                let is_said = value == self.input.text() || console::parse(&value).is_some();
                self.accept();
                if is_said {
                    self.submit();
                }
            }
            _ => return false,
        }
        true
    }

    fn pick_key(&mut self, key: KeyEvent) {
        let Some(pick) = self.mode.pick() else { return };
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => drop(self.mode.close()),
            KeyCode::Char('c') if ctrl => drop(self.mode.close()),
            KeyCode::Up => pick.list.up(),
            KeyCode::Down => pick.list.down(),
            KeyCode::Enter => self.choose(false),
            KeyCode::Char('s') if ctrl && pick.what == What::Model => self.choose(true),
            KeyCode::Left | KeyCode::Right if pick.what == What::Model => {
                let levels = pick.list.chosen().map(|item| self.host.host.efforts(&item.value));
                pick.step_effort(&levels.unwrap_or_default(), key.code == KeyCode::Right);
            }
            KeyCode::Backspace => {
                pick.typed.pop();
                pick.list.narrow(&pick.typed);
            }
            KeyCode::Char(c) if !ctrl => {
                pick.typed.push(c);
                pick.list.narrow(&pick.typed);
            }
            _ => {}
        }
    }

    /// Pasted text goes where one types.
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Pick(pick, _) => {
                pick.typed += text.lines().next().unwrap_or_default();
                pick.list.narrow(&pick.typed);
            }
            Mode::Compose(_) | Mode::Answer(_) | Mode::Refuse(_) => {
                self.input.paste(text);
                self.complete();
            }
            Mode::Approve(_) | Mode::Read(..) => {}
        }
    }

    /// The diff that is asked about, else everything so far.
    fn show_all(&mut self) {
        let page = match self.view.asked.front() {
            Some(Asked::Approval { fact, .. }) => {
                Page::new("what it would do", self.whole_question(fact), false)
            }
            _ => Page::new("everything so far", self.whole(), true),
        };
        self.mode.read(page);
    }
}

fn is_in_a_word(last: Option<Instant>, now: Instant) -> bool {
    last.is_some_and(|last| now.duration_since(last) < TYPING_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_follows_soon_belongs_to_the_word() {
        let now = Instant::now();
        let table = [(None, false), (Some(TYPING_PAUSE / 2), true), (Some(TYPING_PAUSE), false)];
        for (since, expected) in table {
            let last = since.and_then(|since| now.checked_sub(since));
            assert_eq!(is_in_a_word(last, now), expected, "{since:?}");
        }
    }
}
