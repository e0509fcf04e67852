//! [`BINDINGS`]: which key does what in which place. The help of the keys is drawn from it.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;

/// Keys that do the same in one place.
pub(super) struct Binding {
    place: Place,
    keys: &'static [Key],
    pub(super) action: Action,
    /// For people; empty for keys that no help names. Neighbors with the same help share its line.
    help: &'static str,
}

/// Where keys have a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Everywhere,
    /// While a prompt or an answer is typed, or a call asks for approval.
    Conversation,
    Prompt,
    Completion,
    /// While the answer to a question of a tool is typed.
    Question,
    Approval,
    /// While the person types what to do instead.
    Refusal,
    /// While the person ticks the parts of a change that are accepted.
    Parts,
    List,
    /// In addition to those of a list.
    Models,
    Page,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Suspend,
    /// Leaves, where nothing is typed.
    Leave,
    /// Opens the help, where nothing is typed.
    Help,
    ShowAll,
    /// Clears what is typed, else interrupts, else leaves.
    Stop,
    ShowTasks,
    ToggleThinking,
    SearchHistory,
    OpenEditor,
    Submit,
    NewLine,
    PreviousLine,
    NextLine,
    Escape,
    ChangeMode,
    /// Moves up or down in what the keys go to.
    Up,
    Down,
    Complete,
    CompleteAndSubmit,
    CloseCompletion,
    Reply,
    NoReply,
    /// Gives the answer at the cursor.
    Answer,
    Allow,
    AllowAlways,
    /// Asks what to do instead.
    Refuse,
    RefuseAtOnce,
    AllowAllEdits,
    /// Opens what the call would write in the editor.
    EditProposal,
    /// Lists the parts of the change.
    ChooseParts,
    Tick,
    TickAll,
    AcceptParts,
    BackToQuestion,
    SendRefusal,
    CancelRefusal,
    Choose,
    ChooseForNewSessions,
    LessEffort,
    MoreEffort,
    EraseSearch,
    Close,
    HalfPageUp,
    HalfPageDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

/// All of them; of two that fit, the first one counts.
#[rustfmt::skip]
pub(super) static BINDINGS: &[Binding] = {
    use {Action::*, KeyCode as K, Place::*};
    &[
        bind(Prompt, &[key(K::Enter)], Submit, "send; during a turn, add to the next request"),
        bind(Prompt, &[SHIFT_ENTER], NewLine, "new line (also Alt+Enter, Ctrl+J, \\ at the end)"),
        bind(Prompt, &[ALT_ENTER, ctrl('j')], NewLine, ""),
        bind(Prompt, &[key(K::Esc)], Escape, "interrupt; press twice to go back to an earlier prompt"),
        bind(Prompt, &[key(K::Up)], PreviousLine, "previous and next prompts"),
        bind(Prompt, &[key(K::Down)], NextLine, "previous and next prompts"),
        bind(Conversation, &[ctrl('r')], SearchHistory, "search earlier prompts"),
        bind(Prompt, &[key(K::BackTab)], ChangeMode, "change the permission mode"),
        bind(Conversation, &[ctrl('g')], OpenEditor, "edit the prompt in $VISUAL or $EDITOR"),
        bind(Conversation, &[ctrl('o')], ShowAll, "show the whole conversation, with full results"),
        bind(Conversation, &[ctrl('t')], ShowTasks, "list background commands and subagents"),
        bind(Conversation, &[alt('t')], ToggleThinking, "show or hide what the model thinks"),
        bind(Prompt, &[char('?')], Help, "on an empty line: show this help"),
        bind(Conversation, &[ctrl('c')], Stop, "clear the prompt, interrupt, or quit (twice)"),
        bind(Prompt, &[ctrl('d')], Leave, "on an empty line: quit"),
        bind(Everywhere, &[ctrl('z')], Suspend, "suspend Haft"),

        bind(Completion, &[key(K::Up)], Up, "move"),
        bind(Completion, &[key(K::Down)], Down, "move"),
        bind(Completion, &[key(K::Tab)], Complete, "complete the word"),
        bind(Completion, &[key(K::Enter)], CompleteAndSubmit, "complete the word; run a command"),
        bind(Completion, &[key(K::Esc)], CloseCompletion, "close the list"),

        bind(Question, &[key(K::Enter)], Reply, "send the answer, or a choice by its number"),
        bind(Question, &[key(K::Esc)], NoReply, "do not answer"),

        bind(Approval, &[key(K::Up)], Up, "move"),
        bind(Approval, &[key(K::Down)], Down, "move"),
        bind(Approval, &[key(K::Tab)], Down, ""),
        bind(Approval, &[key(K::Enter)], Answer, "select the marked answer"),
        bind(Approval, &[char('y'), char('1')], Allow, "yes"),
        bind(Approval, &[char('a'), char('2')], AllowAlways, "yes, and do not ask again in this session"),
        bind(Approval, &[char('n'), char('3')], Refuse, "no, and say what to do instead"),
        bind(Approval, &[char('p')], ChooseParts, "yes, but only to parts of the change"),
        bind(Approval, &[char('e')], EditProposal, "yes, but edit the file first, in $VISUAL or $EDITOR"),
        bind(Approval, &[key(K::Esc)], RefuseAtOnce, "no"),
        bind(Approval, &[key(K::BackTab)], AllowAllEdits, "yes, and allow all further edits"),

        bind(Refusal, &[key(K::Enter)], SendRefusal, "refuse, and send what you typed"),
        bind(Refusal, &[SHIFT_ENTER, ALT_ENTER, ctrl('j')], NewLine, ""),
        bind(Refusal, &[key(K::Up)], PreviousLine, ""),
        bind(Refusal, &[key(K::Down)], NextLine, ""),
        bind(Refusal, &[key(K::Esc)], CancelRefusal, "go back to the question"),
        bind(Refusal, &[ctrl('c')], CancelRefusal, ""),
        bind(Refusal, &[ctrl('o')], ShowAll, ""),

        bind(Parts, &[key(K::Up)], Up, "move"),
        bind(Parts, &[key(K::Down)], Down, "move"),
        bind(Parts, &[char(' ')], Tick, "tick"),
        bind(Parts, &[char('a')], TickAll, "all"),
        bind(Parts, &[key(K::Enter)], AcceptParts, "accept what is ticked"),
        bind(Parts, &[ctrl('o')], ShowAll, ""),
        bind(Parts, &[key(K::Esc)], BackToQuestion, "back"),
        bind(Parts, &[ctrl('c')], BackToQuestion, ""),

        bind(List, &[key(K::Up)], Up, "move"),
        bind(List, &[key(K::Down)], Down, "move"),
        bind(List, &[key(K::Enter)], Choose, "select"),
        bind(Models, &[key(K::Left)], LessEffort, "effort"),
        bind(Models, &[key(K::Right)], MoreEffort, "effort"),
        bind(Models, &[ctrl('s')], ChooseForNewSessions, "save as default"),
        bind(List, &[key(K::Esc)], Close, "cancel"),
        bind(List, &[ctrl('c')], Close, ""),
        bind(List, &[key(K::Backspace)], EraseSearch, ""),
        bind(List, &[ctrl('o')], ShowAll, ""),

        bind(Page, &[key(K::Up), char('k')], Up, "scroll"),
        bind(Page, &[key(K::Down), char('j')], Down, "scroll"),
        bind(Page, &[key(K::Enter)], Down, ""),
        bind(Page, &[key(K::PageUp), char('b')], PageUp, "scroll by a page"),
        bind(Page, &[key(K::PageDown), char(' ')], PageDown, "scroll by a page"),
        bind(Page, &[char('f')], PageDown, ""),
        bind(Page, &[ctrl('u')], HalfPageUp, "scroll by half a page"),
        bind(Page, &[ctrl('d')], HalfPageDown, "scroll by half a page"),
        bind(Page, &[key(K::Home), char('g')], Top, "go to the beginning"),
        bind(Page, &[key(K::End), char('G')], Bottom, "go to the end"),
        bind(Page, &[key(K::Esc), char('q')], Close, "close"),
        bind(Page, &[ctrl('c'), ctrl('o'), ctrl('t')], Close, ""),
    ]
};

const SHIFT_ENTER: Key = Key { code: KeyCode::Enter, modifiers: KeyModifiers::SHIFT };
const ALT_ENTER: Key = Key { code: KeyCode::Enter, modifiers: KeyModifiers::ALT };

const fn bind(place: Place, keys: &'static [Key], action: Action, help: &'static str) -> Binding {
    Binding { place, keys, action, help }
}

/// What `key` does in the first of `places` that knows it.
pub(super) fn action(places: &[Place], key: KeyEvent) -> Option<Action> {
    let of = |place: &Place, fits: fn(&Key, &Key) -> bool| {
        let key = Key { code: key.code, modifiers: key.modifiers };
        let mut bindings = BINDINGS.iter().filter(|binding| binding.place == *place);
        bindings.find(|binding| binding.keys.iter().any(|bound| fits(bound, &key)))
    };
    let exact = places.iter().find_map(|place| of(place, Key::is));
    exact.or_else(|| places.iter().find_map(|place| of(place, Key::is_nearly))).map(|found| found.action)
}

/// The keys of `places` and what they do, for people.
pub(super) fn help(places: &[Place]) -> Vec<(String, &'static str)> {
    let mut rows: Vec<(String, &'static str)> = Vec::new();
    let shown = BINDINGS.iter().filter(|binding| places.contains(&binding.place) && !binding.help.is_empty());
    for binding in shown {
        let keys = binding.keys.iter().map(Key::to_string).collect::<Vec<_>>().join(", ");
        match rows.last_mut() {
            Some((before, help)) if *help == binding.help => *before += &format!(", {keys}"),
            _ => rows.push((keys, binding.help)),
        }
    }
    rows
}

/// As [`help`], in one line below a list.
pub(super) fn foot(places: &[Place]) -> String {
    let rows = help(places).into_iter().map(|(keys, help)| format!("{} {help}", keys.replace(", ", " ")));
    rows.collect::<Vec<_>>().join(" · ")
}

/// A key with the modifiers that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const fn key(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}

const fn char(c: char) -> Key {
    key(KeyCode::Char(c))
}

const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}

const fn alt(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::ALT }
}

impl Key {
    /// Shift is part of a character.
    fn is(&self, pressed: &Self) -> bool {
        match self.code {
            KeyCode::Char(_) => {
                self.code == pressed.code && self.modifiers == pressed.modifiers - KeyModifiers::SHIFT
            }
            _ => self == pressed,
        }
    }

    /// As [`Self::is`], but in either case of a letter, and with any modifiers of a key that has none here.
    fn is_nearly(&self, pressed: &Self) -> bool {
        match (self.code, pressed.code) {
            (KeyCode::Char(bound), KeyCode::Char(letter)) => {
                bound.eq_ignore_ascii_case(&letter)
                    && self.modifiers == pressed.modifiers - KeyModifiers::SHIFT
            }
            (bound, code) => bound == code && self.modifiers.is_empty(),
        }
    }
}

/// As people write it: `Ctrl+O`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in
            [(KeyModifiers::CONTROL, "Ctrl+"), (KeyModifiers::ALT, "Alt+"), (KeyModifiers::SHIFT, "Shift+")]
        {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("Space"),
            KeyCode::Char(c) if self.modifiers.is_empty() => write!(f, "{c}"),
            KeyCode::Char(c) => write!(f, "{}", c.to_ascii_uppercase()),
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::Left => f.write_str("←"),
            KeyCode::Right => f.write_str("→"),
            KeyCode::PageUp => f.write_str("PgUp"),
            KeyCode::PageDown => f.write_str("PgDn"),
            KeyCode::BackTab => f.write_str("Shift+Tab"),
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_row_does_what_its_row_says() {
        for binding in BINDINGS {
            for key in binding.keys {
                let found = action(&[binding.place], KeyEvent::new(key.code, key.modifiers));
                assert_eq!(found, Some(binding.action), "{key} in {:?}", binding.place);
            }
        }
    }

    #[test]
    fn a_modifier_that_no_row_names_does_not_matter_but_to_a_letter() {
        let pressed =
            |code, modifiers| action(&[Place::Approval, Place::Prompt], KeyEvent::new(code, modifiers));
        let table = [
            (KeyCode::Char('Y'), KeyModifiers::SHIFT, Some(Action::Allow)),
            (KeyCode::Char('y'), KeyModifiers::CONTROL, None),
            (KeyCode::Up, KeyModifiers::ALT, Some(Action::Up)),
            (KeyCode::BackTab, KeyModifiers::SHIFT, Some(Action::AllowAllEdits)),
            (KeyCode::Enter, KeyModifiers::ALT, Some(Action::NewLine)),
            (KeyCode::Enter, KeyModifiers::CONTROL, Some(Action::Answer)),
            (KeyCode::Char('x'), KeyModifiers::NONE, None),
        ];
        for (code, modifiers, expected) in table {
            assert_eq!(pressed(code, modifiers), expected, "{code} {modifiers}");
        }
    }
}
