//! [`BINDINGS`]: the action of each key in each place, from which the help of the keys is generated. [`Keys`] adds the
//! user's own keys.
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_core::schema::nearest;
use std::{collections::BTreeMap, fmt};

/// Keys with the same action in one place.
pub(crate) struct Binding {
    place: Place,
    keys: &'static [Key],
    pub(crate) action: Action,
    /// Text for the help; empty for keys that it omits. Adjacent bindings with the same text share a line.
    help: &'static str,
}

/// A context in which keys have their own meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Everywhere,
    /// While a prompt or an answer is typed, or a call asks for approval.
    Conversation,
    Prompt,
    Completion,
    /// While the answer to a question of a tool is typed.
    Question,
    /// While a question of a tool has choices, and nothing is typed.
    Choices,
    Approval,
    /// While the user types what to do instead of a refused call.
    Refusal,
    /// While the user ticks the parts of a change to accept.
    Parts,
    List,
    /// In addition to those of a list.
    Models,
    /// In addition to those of a list.
    Sessions,
    /// In addition to those of a list.
    Tasks,
    Page,
    /// While the user types one line or confirms something: a search on a page, the name of a session, the deletion of
    /// a session, the end of background work.
    Line,
}

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Suspend,
    /// Leaves, if nothing is typed.
    Leave,
    /// Opens the help, if nothing is typed.
    Help,
    ShowAll,
    /// Clears the typed text, otherwise interrupts, otherwise leaves.
    Stop,
    ShowTasks,
    ToggleThinking,
    SearchHistory,
    OpenEditor,
    /// Attaches the picture in the clipboard.
    PastePicture,
    Submit,
    NewLine,
    PreviousLine,
    NextLine,
    Escape,
    ChangeMode,
    /// Moves up or down in the text, list or page that has the focus.
    Up,
    Down,
    Complete,
    CompleteAndSubmit,
    CloseCompletion,
    Reply,
    /// Answers with the choice at the cursor.
    ReplyMarked,
    NoReply,
    /// Gives the answer at the cursor.
    Answer,
    Allow,
    AllowAlways,
    /// Asks what to do instead of the call.
    Refuse,
    RefuseAtOnce,
    AllowAllEdits,
    /// Opens the text that the call would write in the editor.
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
    DeleteSession,
    RenameSession,
    /// Ends the background work at the cursor.
    StopTask,
    Close,
    HalfPageUp,
    HalfPageDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    /// Asks what to search for on a page.
    Search,
    TakeLine,
    DropLine,
    NextMatch,
    PreviousMatch,
    NextFile,
    PreviousFile,
    NextHunk,
    PreviousHunk,
}

/// All bindings; if two match a key, the first one counts.
#[rustfmt::skip]
pub(crate) static BINDINGS: &[Binding] = {
    use {Action::*, KeyCode as K, Place::*};
    &[
        bind(Prompt, &[key(K::Enter)], Submit, "send; during a turn, add to the next request"),
        bind(Prompt, &[SHIFT_ENTER], NewLine, "new line (also \\ at the end)"),
        bind(Prompt, &[ALT_ENTER, ctrl('j')], NewLine, "new line"),
        bind(Prompt, &[key(K::Esc)], Escape, "interrupt; press twice to go back to an earlier prompt"),
        bind(Prompt, &[key(K::Up)], PreviousLine, "previous and next prompts"),
        bind(Prompt, &[key(K::Down)], NextLine, "previous and next prompts"),
        bind(Conversation, &[ctrl('r')], SearchHistory, "search earlier prompts"),
        bind(Prompt, &[key(K::Tab)], Complete, "complete prompts, arguments and resources of MCP servers"),
        bind(Prompt, &[key(K::BackTab)], ChangeMode, "change the permission mode"),
        bind(Conversation, &[ctrl('g')], OpenEditor, "edit the prompt in $VISUAL or $EDITOR"),
        bind(Conversation, &[ctrl('v')], PastePicture, "attach the picture in the clipboard"),
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

        bind(Choices, &[key(K::Up)], Up, "move among the choices"),
        bind(Choices, &[key(K::Down)], Down, "move among the choices"),
        bind(Choices, &[key(K::Tab)], Down, ""),
        bind(Choices, &[key(K::Enter)], ReplyMarked, "answer with the marked choice"),
        bind(Question, &[key(K::Enter)], Reply, "send what you typed: an answer, or the number of a choice"),
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
        bind(Approval, &[ctrl('d')], Leave, "quit"),
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
        bind(Sessions, &[ctrl('r')], RenameSession, "rename"),
        bind(Sessions, &[ctrl('d')], DeleteSession, "delete"),
        bind(Tasks, &[ctrl('d')], StopTask, "stop"),
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
        bind(Page, &[char('/')], Search, "search"),
        bind(Page, &[char('n')], NextMatch, "next and previous match"),
        bind(Page, &[char('N')], PreviousMatch, "next and previous match"),
        bind(Page, &[char(']')], NextFile, "next and previous file of a diff"),
        bind(Page, &[char('[')], PreviousFile, "next and previous file of a diff"),
        bind(Page, &[char('}')], NextHunk, "next and previous hunk of a diff"),
        bind(Page, &[char('{')], PreviousHunk, "next and previous hunk of a diff"),
        bind(Page, &[key(K::Esc), char('q')], Close, "close"),
        bind(Page, &[ctrl('c'), ctrl('o'), ctrl('t')], Close, ""),

        bind(Line, &[key(K::Enter)], TakeLine, "confirm"),
        bind(Line, &[key(K::Esc)], DropLine, "cancel"),
        bind(Line, &[ctrl('c')], DropLine, ""),
        bind(Line, &[key(K::Backspace)], EraseSearch, ""),
    ]
};

const SHIFT_ENTER: Key = Key { code: KeyCode::Enter, modifiers: KeyModifiers::SHIFT };
const ALT_ENTER: Key = Key { code: KeyCode::Enter, modifiers: KeyModifiers::ALT };

const fn bind(place: Place, keys: &'static [Key], action: Action, help: &'static str) -> Binding {
    Binding { place, keys, action, help }
}

/// The keys of the screen: [`BINDINGS`], with those that the user replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(Vec<Rebound>);

/// The user's own keys for an action in a place; empty if no key triggers the action.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rebound {
    place: Place,
    action: Action,
    keys: Vec<Key>,
}

/// Why a configuration of keys is invalid.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongKeys {
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl Keys {
    /// Parses keys, by place and action, in the form of the configuration: `prompt`, `submit`, `Alt+Enter`.
    ///
    /// # Errors
    /// Fails if a place, an action or a key is unknown, if a plain letter is bound where letters are typed, and if a
    /// key is bound twice in a place.
    pub fn of(tables: &BTreeMap<String, BTreeMap<String, Vec<String>>>) -> Result<Self, WrongKeys> {
        let mut own: Vec<Rebound> = Vec::new();
        for (place_name, actions) in tables {
            let place = place_named(place_name)?;
            for (action_name, names) in actions {
                let action = action_named(place, place_name, action_name)?;
                let what = format!("`{action_name}` in `[keys.{place_name}]`");
                let keys = names.iter().map(|name| key_named(name, place, action, &what));
                let keys = keys.collect::<Result<Vec<_>, _>>()?;
                let others = own.iter().filter(|other| other.place == place);
                let twice = others.flat_map(|other| other.keys.iter().map(move |key| (key, other.action)));
                if let Some((key, other)) = twice.clone().find(|(key, _)| keys.contains(key)) {
                    return Err(WrongKeys {
                        message: format!("`{key}` is bound twice in `[keys.{place_name}]`"),
                        hint: format!("it can be `{}` or `{action_name}`", other.name()),
                    });
                }
                own.push(Rebound { place, action, keys });
            }
        }
        Ok(Self(own))
    }

    /// The bindings of `places` with their effective keys, in the order of the table.
    fn rows(&self, places: &[Place]) -> Vec<(Vec<Key>, &'static Binding)> {
        let mut rows: Vec<(Vec<Key>, &Binding)> = Vec::new();
        for binding in BINDINGS.iter().filter(|binding| places.contains(&binding.place)) {
            let Binding { place, action, .. } = *binding;
            let here = || self.0.iter().filter(move |own| own.place == place);
            let is_first = rows.iter().all(|(_, row)| (row.place, row.action) != (place, action));
            let is_free = |key: &&Key| here().all(|own| !own.keys.contains(key));
            let keys = match here().find(|own| own.action == action) {
                Some(own) if is_first => own.keys.clone(),
                Some(_) => Vec::new(),
                None => binding.keys.iter().filter(is_free).copied().collect(),
            };
            rows.push((keys, binding));
        }
        rows
    }

    /// The action of `key` in the first of `places` that binds it.
    pub(crate) fn action(&self, places: &[Place], key: KeyEvent) -> Option<Action> {
        let pressed = Key { code: key.code, modifiers: key.modifiers };
        let of = |place: &Place, fits: fn(&Key, &Key) -> bool| {
            let mut rows = self.rows(&[*place]).into_iter();
            rows.find(|(keys, _)| keys.iter().any(|bound| fits(bound, &pressed)))
        };
        let exact = places.iter().find_map(|place| of(place, Key::is));
        let found = exact.or_else(|| places.iter().find_map(|place| of(place, Key::is_nearly)));
        found.map(|(_, binding)| binding.action)
    }

    /// The keys of `places` and their actions, for the help.
    pub(crate) fn help(&self, places: &[Place]) -> Vec<(String, &'static str)> {
        let mut rows: Vec<(String, &'static str)> = Vec::new();
        for (keys, binding) in self.rows(places) {
            if keys.is_empty() || binding.help.is_empty() {
                continue;
            }
            let keys = keys.iter().map(Key::to_string).collect::<Vec<_>>().join(", ");
            match rows.last_mut() {
                Some((before, help)) if *help == binding.help => *before += &format!(", {keys}"),
                _ => rows.push((keys, binding.help)),
            }
        }
        rows
    }

    /// The first key of an action, as it is written for users; empty if no key triggers it.
    pub(crate) fn name(&self, place: Place, action: Action) -> String {
        let rows = self.rows(&[place]).into_iter();
        let keys = rows.filter(|(_, binding)| binding.action == action).flat_map(|(keys, _)| keys);
        keys.map(|key| key.to_string()).next().unwrap_or_default()
    }

    /// The keys of [`Self::help`] in one line, which is shown below a list.
    pub(crate) fn foot(&self, places: &[Place]) -> String {
        let rows = self.help(places).into_iter();
        let rows = rows.map(|(keys, help)| format!("{} {help}", keys.replace(", ", " ")));
        rows.collect::<Vec<_>>().join(" · ")
    }
}

impl Place {
    const ALL: [Self; 15] = [
        Self::Everywhere,
        Self::Conversation,
        Self::Prompt,
        Self::Completion,
        Self::Question,
        Self::Choices,
        Self::Approval,
        Self::Refusal,
        Self::Parts,
        Self::List,
        Self::Models,
        Self::Sessions,
        Self::Tasks,
        Self::Page,
        Self::Line,
    ];

    /// Name in the configuration.
    fn name(self) -> String {
        snake_case(&format!("{self:?}"))
    }

    /// Whether letters are typed in this place.
    fn takes_text(self) -> bool {
        !matches!(self, Self::Approval | Self::Parts | Self::Page)
    }
}

impl Action {
    /// Name in the configuration.
    fn name(self) -> String {
        snake_case(&format!("{self:?}"))
    }
}

/// Converts `ShowAll` to `show_all`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Suggests a name: `did you mean X? there are A, B`.
fn meant(name: &str, known: &[String]) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(name, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    format!("{near}there are {}", names.join(", "))
}

fn place_named(name: &str) -> Result<Place, WrongKeys> {
    Place::ALL.into_iter().find(|place| place.name() == name).ok_or_else(|| WrongKeys {
        message: format!("there is no table `[keys.{name}]`"),
        hint: meant(name, &Place::ALL.map(Place::name)),
    })
}

fn action_named(place: Place, place_name: &str, name: &str) -> Result<Action, WrongKeys> {
    let here = BINDINGS.iter().filter(|binding| binding.place == place);
    let mut here: Vec<Action> = here.map(|binding| binding.action).collect();
    here.dedup();
    here.iter().copied().find(|action| action.name() == name).ok_or_else(|| WrongKeys {
        message: format!("`[keys.{place_name}]` has no action `{name}`"),
        hint: meant(name, &here.iter().map(|action| action.name()).collect::<Vec<_>>()),
    })
}

fn key_named(name: &str, place: Place, action: Action, what: &str) -> Result<Key, WrongKeys> {
    let key = Key::named(name).ok_or_else(|| WrongKeys {
        message: format!("there is no key `{name}` for {what}"),
        hint: "keys are written like Ctrl+S, Alt+Enter, Shift+Tab, F2, PgUp, Space or Esc".into(),
    })?;
    // Help and Leave act only on an empty line, so a plain letter can be their key.
    let is_letter = matches!(key.code, KeyCode::Char(_)) && key.modifiers.is_empty();
    match is_letter && place.takes_text() && !matches!(action, Action::Help | Action::Leave) {
        false => Ok(key),
        true => Err(WrongKeys {
            message: format!("`{name}` alone is typed as text and cannot be the key for {what}"),
            hint: format!("use it with a modifier, e.g., Ctrl+{}, or take F2 to F12", name.to_uppercase()),
        }),
    }
}

/// A key with its modifiers.
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

/// Keys that are not characters, with the names that users may write; the first name is shown.
const NAMED_KEYS: [(KeyCode, &[&str]); 16] = [
    (KeyCode::Enter, &["Enter", "Return"]),
    (KeyCode::Esc, &["Esc", "Escape"]),
    (KeyCode::Tab, &["Tab"]),
    (KeyCode::BackTab, &["Shift+Tab", "BackTab"]),
    (KeyCode::Backspace, &["Backspace"]),
    (KeyCode::Delete, &["Delete", "Del"]),
    (KeyCode::Insert, &["Insert"]),
    (KeyCode::Home, &["Home"]),
    (KeyCode::End, &["End"]),
    (KeyCode::PageUp, &["PgUp", "PageUp"]),
    (KeyCode::PageDown, &["PgDn", "PageDown"]),
    (KeyCode::Up, &["↑", "Up"]),
    (KeyCode::Down, &["↓", "Down"]),
    (KeyCode::Left, &["←", "Left"]),
    (KeyCode::Right, &["→", "Right"]),
    (KeyCode::Char(' '), &["Space"]),
];

impl Key {
    /// Parses the name of a key: `Ctrl+O`, `F2`.
    fn named(name: &str) -> Option<Self> {
        let code_of = |name: &str| {
            let is_named =
                |(_, names): &&(KeyCode, &[&str])| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            let mut letters = name.chars();
            match (NAMED_KEYS.iter().find(is_named), letters.next(), letters.as_str()) {
                (Some((code, _)), ..) => Some(*code),
                (None, Some(letter), "") if !letter.is_control() => Some(KeyCode::Char(letter)),
                (None, Some('F' | 'f'), number) => {
                    number.parse().ok().filter(|number| (1..=24).contains(number)).map(KeyCode::F)
                }
                _ => None,
            }
        };
        let (mut rest, mut modifiers) = (name.trim(), KeyModifiers::NONE);
        loop {
            match code_of(rest) {
                // With Ctrl or Alt, the case of a letter does not matter.
                Some(KeyCode::Char(letter)) if !modifiers.is_empty() => {
                    return Some(Self { code: KeyCode::Char(letter.to_ascii_lowercase()), modifiers });
                }
                Some(code) => return Some(Self { code, modifiers }),
                None => {}
            }
            let (modifier, behind) = rest.split_once('+')?;
            modifiers |= match modifier.trim().to_ascii_lowercase().as_str() {
                "ctrl" | "control" => KeyModifiers::CONTROL,
                "alt" | "meta" | "option" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return None,
            };
            rest = behind.trim();
        }
    }

    /// Whether `pressed` is this key. Shift is ignored for characters, which already depend on it.
    fn is(&self, pressed: &Self) -> bool {
        match self.code {
            KeyCode::Char(_) => {
                self.code == pressed.code && self.modifiers == pressed.modifiers - KeyModifiers::SHIFT
            }
            _ => self == pressed,
        }
    }

    /// Like [`Self::is`], but ignores the case of letters, and ignores modifiers if this key has none.
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

/// Writes the key for users: `Ctrl+O`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in
            [(KeyModifiers::CONTROL, "Ctrl+"), (KeyModifiers::ALT, "Alt+"), (KeyModifiers::SHIFT, "Shift+")]
        {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match (NAMED_KEYS.iter().find(|(code, _)| *code == self.code), self.code) {
            (Some((_, names)), _) => f.write_str(names[0]),
            (None, KeyCode::Char(c)) if self.modifiers.is_empty() => write!(f, "{c}"),
            (None, KeyCode::Char(c)) => write!(f, "{}", c.to_ascii_uppercase()),
            (None, other) => write!(f, "{other}"),
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
                let event = KeyEvent::new(key.code, key.modifiers);
                let found = Keys::default().action(&[binding.place], event);
                assert_eq!(found, Some(binding.action), "{key} in {:?}", binding.place);
            }
        }
    }

    #[test]
    fn a_modifier_that_no_row_names_does_not_matter_but_to_a_letter() {
        let pressed = |code, modifiers| {
            let event = KeyEvent::new(code, modifiers);
            Keys::default().action(&[Place::Approval, Place::Prompt], event)
        };
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

    /// Rows of place, action and keys.
    type Rows<'a> = &'a [(&'a str, &'a str, &'a [&'a str])];

    fn keys(toml: Rows<'_>) -> Result<Keys, WrongKeys> {
        let mut tables: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
        for (place, action, keys) in toml {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            tables.entry((*place).to_owned()).or_default().insert((*action).to_owned(), keys);
        }
        Keys::of(&tables)
    }

    #[test]
    fn every_key_has_a_name_that_is_read() {
        for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
            assert_eq!(Key::named(&key.to_string()), Some(*key), "{key}");
        }
        for (name, shown) in [
            ("ctrl+s", Some("Ctrl+S")),
            ("Control + S", Some("Ctrl+S")),
            ("Alt+Ctrl+x", Some("Ctrl+Alt+X")),
            ("f12", Some("F12")),
            ("escape", Some("Esc")),
            ("Alt++", Some("Alt++")),
            ("+", Some("+")),
            ("Ctlr+S", None),
            ("F99", None),
            ("", None),
            ("Ctrl+", None),
        ] {
            assert_eq!(Key::named(name).map(|key| key.to_string()).as_deref(), shown, "{name:?}");
        }
    }

    #[test]
    fn keys_of_the_user_stand_in_the_place_of_those_of_the_table() {
        let own = keys(&[
            ("prompt", "submit", &["Alt+Enter", "F2"]),
            ("prompt", "new_line", &["Enter"]),
            ("conversation", "show_tasks", &[]),
            ("page", "down", &["n"]),
        ])
        .unwrap();
        let places = [Place::Completion, Place::Prompt, Place::Conversation];
        let pressed = |name: &str| {
            let Key { code, modifiers } = Key::named(name).unwrap();
            own.action(&places, KeyEvent::new(code, modifiers))
        };
        // A list over the prompt has its own keys.
        assert_eq!(pressed("Enter"), Some(Action::CompleteAndSubmit));
        let table = [
            ("Alt+Enter", Some(Action::Submit)),
            ("F2", Some(Action::Submit)),
            ("Ctrl+J", None),
            ("Ctrl+T", None),
            ("Ctrl+O", Some(Action::ShowAll)),
        ];
        for (name, expected) in table {
            assert_eq!(pressed(name), expected, "{name}");
        }
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(own.action(&places[1..], enter), Some(Action::NewLine));
        let help = own.help(&[Place::Prompt]);
        assert_eq!(help[0], ("Alt+Enter, F2".into(), "send; during a turn, add to the next request"));
        assert!(own.foot(&[Place::Page]).contains("n scroll"), "{}", own.foot(&[Place::Page]));
    }

    #[test]
    fn wrong_keys_are_named_with_what_was_meant() {
        let table: [(Rows<'_>, &str, &str); 6] = [
            (&[("promt", "submit", &["F2"])], "there is no table `[keys.promt]`", "did you mean `prompt`?"),
            (
                &[("prompt", "sumbit", &["F2"])],
                "`[keys.prompt]` has no action `sumbit`",
                "did you mean `submit`?",
            ),
            (
                &[("prompt", "submit", &["Ctlr+S"])],
                "there is no key `Ctlr+S` for `submit` in `[keys.prompt]`",
                "written like Ctrl+S",
            ),
            (&[("prompt", "submit", &["x"])], "`x` alone is typed as text", "Ctrl+X"),
            (&[("list", "choose", &["Space"])], "`Space` alone is typed as text", "modifier"),
            (
                &[("prompt", "submit", &["F2"]), ("prompt", "escape", &["f2"])],
                "`F2` is bound twice in `[keys.prompt]`",
                "it can be `escape` or `submit`",
            ),
        ];
        for (given, message, hint) in table {
            let wrong = keys(given).unwrap_err();
            assert!(wrong.message.contains(message) && wrong.hint.contains(hint), "{given:?}: {wrong:?}");
        }
        assert!(keys(&[("approval", "allow", &["j"]), ("prompt", "help", &["!"])]).is_ok());
    }

    /// The page of `haft help keys` lists each place, and each of its actions with its keys.
    #[test]
    fn the_documentation_lists_places_and_actions() {
        let page = include_str!("../../../docs/terminal.md");
        let row = |place: Place| {
            let mut actions: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for binding in BINDINGS.iter().filter(|binding| binding.place == place) {
                actions
                    .entry(binding.action.name())
                    .or_default()
                    .extend(binding.keys.iter().map(Key::to_string));
            }
            let actions = actions.iter().map(|(action, keys)| format!("`{action}` ({})", keys.join(", ")));
            format!("| `[keys.{}]` | {} |\n", place.name(), actions.collect::<Vec<_>>().join(", "))
        };
        let table: String = Place::ALL.map(row).concat();
        assert!(page.contains(&table), "missing in docs/terminal.md:\n{table}");
    }
}
