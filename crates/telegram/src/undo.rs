//! `/undo` in a chat: lists what can be undone, as buttons, and shows what prevents an undo.
use super::{
    asking::{Button, UndoChoices, keyboard},
    chat::Chat,
    commands::MAX_LISTED,
    outbox::Job,
    rich::{Rich, Style},
    updates::Press,
};
use haft_core::{Command, UndoCalls, undo};
use haft_engine::Session;
use haft_present::{
    safe,
    undo::{Refusal, UndoWish, undoable},
};

impl Chat {
    /// Lists what can be undone, or undoes the call that `text` names.
    pub(super) async fn undo(&mut self, text: &str) {
        let Some(session) = self.quiet_session().await else { return };
        match UndoWish::read(text) {
            Ok(UndoWish::LastTurn | UndoWish::List) => self.list_undoable(&session),
            Ok(UndoWish::Calls(undo)) => self.send_undo(Command::UndoCalls(undo)),
            Err(why) => self.outbox.say(format!("{why}.")),
        }
    }

    fn list_undoable(&mut self, session: &Session) {
        let entries = session.entries();
        let turn = undo::before_last_turn(&entries);
        let turn = turn.map(|to| ("The last turn".to_owned(), Command::Rewind { to }));
        let mut text = Rich::default().with("What is to be undone?", &[Style::Bold]);
        let calls: Vec<_> = undoable(&entries).into_iter().rev().take(MAX_LISTED).collect();
        let mut choices: Vec<_> = turn.into_iter().collect();
        for call in calls {
            text.push(&format!("\n{call}"), &[]);
            let undo = UndoCalls { calls: vec![call.number], ..UndoCalls::default() };
            choices.push((format!("{}  {}", call.number, call.title), Command::UndoCalls(undo)));
        }
        match choices.is_empty() {
            true => self.outbox.say("There is nothing to undo."),
            false => self.offer_undo(session, text, choices),
        }
    }

    /// Sends `text`, with a button for each choice.
    fn offer_undo(&mut self, session: &Session, text: Rich, choices: Vec<(String, Command)>) {
        let id = self.bot.counted();
        let (labels, commands): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
        let rows =
            labels.into_iter().enumerate().map(|(place, label)| vec![(label, Button::Undo(id, place))]);
        let keyboard = Some(keyboard(rows.collect()));
        let entries = session.entries().len();
        self.choices = Some(UndoChoices { id, session: session.id().clone(), entries, commands });
        self.outbox.push(Job::Say { text, keyboard });
    }

    /// Handles the button with index `place` of the list `id`.
    pub(super) fn undo_chosen(&mut self, press: Press, id: u64, place: usize) {
        let session = self.open.as_ref().map(|open| open.session.clone());
        let is_current = |choices: &UndoChoices| {
            let same = |session: &Session| {
                *session.id() == choices.session && session.entries().len() == choices.entries
            };
            choices.id == id && session.as_ref().is_some_and(same)
        };
        let is_busy = self.outbox.is_running() || self.undoing.is_some();
        let choices = self.choices.take_if(|choices| !is_busy && is_current(choices));
        match choices.and_then(|choices| choices.commands.into_iter().nth(place)) {
            Some(command) => {
                self.bot.notice(&press.id, "");
                self.outbox.push(Job::Unbutton { message: press.message });
                self.send_undo(command);
            }
            None => self.over(press),
        }
    }

    fn send_undo(&mut self, command: Command) {
        self.undoing = match &command {
            Command::UndoCalls(undo) => Some(undo.clone()),
            _ => None,
        };
        self.send(command);
    }

    /// Tells the user why the session refused `undo`, with buttons for the alternatives.
    pub(super) fn undo_refused(&mut self, undo: UndoCalls, Refusal { why, depends, can_merge }: Refusal) {
        let session = self.open.as_ref().map(|open| open.session.clone());
        let Some(session) = session.filter(|_| can_merge) else {
            return self.outbox.say(format!("{why}."));
        };
        let mut choices = Vec::new();
        if !depends.is_empty() {
            let s = if depends.len() == 1 { "" } else { "s" };
            let numbers = depends.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let also = UndoCalls { with_dependents: true, merge: false, ..undo.clone() };
            choices.push((format!("Also undo call{s} {numbers}"), Command::UndoCalls(also)));
        }
        let merge = UndoCalls { with_dependents: false, merge: true, ..undo };
        choices.push(("Merge the text".to_owned(), Command::UndoCalls(merge)));
        let text = Rich::plain_text(&safe::text(&format!(
            "{why}.\nMerging puts conflict markers where both changed the text."
        )));
        self.offer_undo(&session, text, choices);
    }
}
