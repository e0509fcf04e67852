//! [`App::key`]: carries out the action of a key in the current mode.
use super::{
    app::{App, Done, Hint, Request},
    approval::{answer_hint, answer_keys},
    input::{Attached, Input},
    mode::{Change, Completion, Marked, Mode, Pick, What},
    page::Page,
    parts::Parts,
};
use crate::bindings::{Action, Place};
use crate::{
    clipboard, console,
    question::{EDIT, with_draft},
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_core::{Answer, Command, Entry, Fact, Image, Part, Seq, text_of, waiting_prompts};
use haft_engine::Session;
use haft_present::timeline::Asked;
use ratatui::text::Line;
use std::time::{Duration, Instant};

/// Keys that follow each other faster belong to the same text.
const TYPING_PAUSE: Duration = Duration::from_secs(1);
/// Minimum time to read a question. A key that is pressed earlier was meant for what was on the screen before.
const READING_TIME: Duration = Duration::from_millis(500);
const NEW_HINT: &str = "a question has just appeared: pause, read it, then answer";
/// Maximum time between the two presses of a double press.
const DOUBLE_PRESS_TIME: Duration = Duration::from_secs(2);

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) {
        if !matches!(self.hint, Some(Hint::Lasting(_))) {
            self.hint = None;
        }
        let is_same = |(before, _): &(KeyCode, Instant)| *before == key.code;
        self.escaped = self.escaped.take().filter(is_same);
        let is_typed = matches!(self.mode, Mode::Compose(_) | Mode::Answer(..) | Mode::Refuse(_));
        if is_typed && self.input.vim_key(key) {
            return self.has_typed();
        }
        let is_answer = matches!(self.mode, Mode::Approve(_)) && !self.is_typing();
        match self.around.keys.action(self.places(is_answer), key) {
            Some(action) if is_decision(action) && self.is_early() => self.take_early(key),
            Some(action) => self.act(action, key),
            None => self.other_key(key, is_answer),
        }
        if !self.is_covered() && std::mem::take(&mut self.is_asked_below) {
            self.asked_since = Some(Instant::now());
        }
        self.look_at_session();
    }

    /// The places in which a key is looked up, nearest first. `is_answer`: whether a call asks and the key does not
    /// belong to a word that is being typed.
    fn places(&self, is_answer: bool) -> &'static [Place] {
        use Place::{
            Approval, Choices, Completion, Conversation, Everywhere, Line, List, Models, Page, Parts, Prompt,
            Question, Refusal, Sessions, Tasks,
        };
        match &self.mode {
            Mode::Compose(None) => &[Prompt, Conversation, Everywhere],
            Mode::Compose(Some(_)) => &[Completion, Prompt, Conversation, Everywhere],
            Mode::Answer(None, _) if self.is_choosing() => {
                &[Choices, Question, Prompt, Conversation, Everywhere]
            }
            Mode::Answer(None, _) => &[Question, Prompt, Conversation, Everywhere],
            Mode::Answer(Some(_), _) => &[Completion, Question, Prompt, Conversation, Everywhere],
            Mode::Approve(_) if is_answer => &[Approval, Conversation, Everywhere],
            Mode::Approve(_) => &[Prompt, Conversation, Everywhere],
            Mode::Refuse(_) => &[Refusal, Everywhere],
            Mode::Parts(_) => &[Parts, Everywhere],
            Mode::Pick(pick, _) if pick.what == What::Model => &[Models, List, Everywhere],
            Mode::Pick(pick, _) if pick.change.is_some() => &[Line, Everywhere],
            Mode::Pick(pick, _) if pick.what == What::Session => &[Sessions, List, Everywhere],
            Mode::Pick(pick, _) if pick.what == What::Job => &[Tasks, List, Everywhere],
            Mode::Pick(..) => &[List, Everywhere],
            Mode::Read(page, _) if page.is_typed() => &[Line, Everywhere],
            Mode::Read(..) => &[Page, Everywhere],
        }
    }

    fn act(&mut self, action: Action, key: KeyEvent) {
        match action {
            Action::Suspend => self.request = Some(Request::Suspend),
            Action::Leave if self.input.is_empty() => self.leave(),
            Action::Help if self.input.is_empty() && matches!(self.mode, Mode::Compose(_)) => self.help(),
            // Inside other text, these keys are typed.
            Action::Leave | Action::Help => self.type_in(key),
            Action::ShowAll => self.show_all(),
            Action::Stop => self.stop_or_leave(),
            Action::ShowTasks => self.pick_job(),
            Action::ToggleThinking => self.toggle_thinking(),
            Action::SearchHistory => self.pick_typed(),
            Action::OpenEditor => self.edit_prompt(),
            Action::PastePicture => self.paste_picture(),
            Action::Submit => self.submit(),
            Action::NewLine => self.edit(|input| input.new_line()),
            Action::PreviousLine if self.can_withdraw() => self.withdraw(),
            Action::PreviousLine => self.edit(|input| input.up()),
            Action::NextLine => self.edit(|input| input.down()),
            Action::Escape => self.escape(),
            Action::ChangeMode => self.next_permission_mode(),
            Action::Up => self.move_by(false),
            Action::Down => self.move_by(true),
            Action::Complete => self.complete_or_ask(key),
            Action::CompleteAndSubmit => self.complete_and_submit(),
            Action::CloseCompletion => drop(self.mode.completion().and_then(Option::take)),
            Action::Reply => self.reply_as_typed(),
            Action::ReplyMarked => self.reply_as_marked(),
            Action::NoReply => self.reply(None),
            Action::Answer => self.answer_as_marked(),
            Action::Allow => self.answer(Answer::Once),
            Action::AllowAlways => self.answer(Answer::Always),
            Action::Refuse => self.refuse(),
            Action::RefuseAtOnce => self.answer(Answer::No),
            Action::AllowAllEdits => self.allow_all_edits(),
            Action::EditProposal => self.edit_proposal(),
            Action::ChooseParts => self.choose_parts(),
            Action::Tick => self.parts().map_or((), Parts::tick),
            Action::TickAll => self.parts().map_or((), Parts::tick_all),
            Action::AcceptParts => self.accept_parts(),
            Action::BackToQuestion => self.mode = Mode::Approve(0),
            Action::SendRefusal => self.send_refusal(),
            Action::CancelRefusal => self.cancel_refusal(),
            Action::Choose => self.choose(false),
            Action::ChooseForNewSessions => self.choose(true),
            Action::LessEffort => self.step_effort(false),
            Action::MoreEffort => self.step_effort(true),
            Action::EraseSearch => self.erase_search(),
            Action::DeleteSession => self.ask_of_listed(|_| Change::Delete),
            Action::StopTask => self.ask_to_stop(),
            Action::RenameSession => self.ask_of_listed(Change::Name),
            Action::Close => drop(self.mode.close()),
            // Actions of a list or a page.
            _ => self.act_on_page(action),
        }
    }

    fn act_on_page(&mut self, action: Action) {
        match &mut self.mode {
            Mode::Read(page, _) => page.act(action, self.rows),
            Mode::Pick(pick, _) => {
                if let Some(change) = pick.change.take().filter(|_| action == Action::TakeLine) {
                    self.change_listed(change);
                }
            }
            _ => {}
        }
    }

    fn erase_search(&mut self) {
        self.search(|typed| {
            let _it_was_empty = typed.pop();
        });
    }

    /// Handles a key without a binding.
    fn other_key(&mut self, key: KeyEvent, is_answer: bool) {
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match (&mut self.mode, key.code) {
            (Mode::Parts(_), _) => {}
            (Mode::Read(..) | Mode::Pick(..), KeyCode::Char(c))
                if !key.modifiers.contains(KeyModifiers::CONTROL) =>
            {
                self.search(|typed| typed.push(c));
            }
            (Mode::Read(..) | Mode::Pick(..), _) => {}
            // The user begins to write, so the next character is not an answer, either.
            (Mode::Approve(_), KeyCode::Char(_)) if is_answer && is_plain => {
                self.type_in(key);
                self.hint = Some(self.pause_hint());
            }
            // With Ctrl or Alt, a letter is neither text nor an answer.
            (Mode::Approve(_), _) if is_answer => self.hint = Some(answer_hint(&self.around.keys).into()),
            _ => self.type_in(key),
        }
    }

    pub(super) fn type_in(&mut self, key: KeyEvent) {
        if matches!(self.mode, Mode::Answer(..)) {
            // The rest of a text that was begun for the prompt is not an answer until the user pauses.
            let _is_marked = self.is_early();
        }
        if self.input.key(key) {
            self.has_typed();
        }
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Input)) {
        edit(&mut self.input);
        self.has_typed();
    }

    fn has_typed(&mut self) {
        self.typed = Some(Instant::now());
        self.complete();
    }

    fn pause_hint(&self) -> Hint {
        format!("approval needed: pause typing, then press {}", answer_keys(&self.around.keys)).into()
    }

    /// Whether the question on the screen has just appeared, or the user was typing when it did and has not paused
    /// since.
    fn is_early(&mut self) -> bool {
        let now = Instant::now();
        let is_new = self.asked_since.is_some_and(|since| now.duration_since(since) < READING_TIME);
        let is_early = is_new || self.early.is_some_and(|last| now.duration_since(last) < TYPING_PAUSE);
        self.early = is_early.then_some(now);
        is_early
    }

    /// Handles an early key that would have answered the question: a character is typed, any other key is ignored.
    fn take_early(&mut self, key: KeyEvent) {
        let is_text =
            matches!(key.code, KeyCode::Char(_)) && (key.modifiers - KeyModifiers::SHIFT).is_empty();
        if is_text {
            self.type_in(key);
        }
        let asks = matches!(self.mode, Mode::Approve(_));
        self.hint = Some(if asks { self.pause_hint() } else { NEW_HINT.into() });
    }

    /// Whether a list or a page covers the question.
    pub(super) fn is_covered(&self) -> bool {
        matches!(self.mode, Mode::Pick(..) | Mode::Read(..))
    }

    /// Whether the key belongs to a word that is being typed, and so does not answer the question.
    fn is_typing(&mut self) -> bool {
        let now = Instant::now();
        let is_typing = !self.input.is_empty() && is_in_a_word(self.typed, now);
        if is_typing {
            self.typed = Some(now);
            self.hint = Some(self.pause_hint());
        }
        is_typing
    }

    fn move_by(&mut self, is_down: bool) {
        let choices = self.choices();
        let list = match &mut self.mode {
            Mode::Read(page, _) => {
                return page.act(if is_down { Action::Down } else { Action::Up }, self.rows);
            }
            Mode::Parts(parts) => return parts.step(is_down),
            Mode::Approve(marked) => return *marked = super::approval::next(*marked, is_down),
            Mode::Answer(None, marked) => return *marked = Some(stepped(*marked, choices, is_down)),
            Mode::Compose(completion) | Mode::Answer(completion, _) => {
                completion.as_mut().map(|found| &mut found.list)
            }
            Mode::Pick(pick, _) => Some(&mut pick.list),
            Mode::Refuse(_) => None,
        };
        match list {
            Some(list) if is_down => list.down(),
            Some(list) => list.up(),
            None => {}
        }
    }

    /// Number of choices of the open question.
    fn choices(&self) -> usize {
        match self.view.asked.front() {
            Some(Asked::Question { question, .. }) => question.choices.len(),
            _ => 0,
        }
    }

    /// Whether the keys move among the choices of a question, since nothing is typed.
    fn is_choosing(&self) -> bool {
        self.input.is_empty() && self.choices() > 0
    }

    /// The choice that Enter sends.
    pub(super) fn marked_choice(&self) -> Marked {
        match self.mode {
            Mode::Answer(None, marked) if self.is_choosing() => marked,
            _ => None,
        }
    }

    fn reply_as_marked(&mut self) {
        if let Some(place) = self.marked_choice() {
            self.reply_with(&(place + 1).to_string());
        }
    }

    fn reply_as_typed(&mut self) {
        let (text, _) = self.input.take();
        self.reply_with(text.trim());
    }

    /// Answers the question. `said`: the number of a choice, or text.
    fn reply_with(&mut self, said: &str) {
        let Some(Asked::Question { call, question }) = self.view.asked.front().cloned() else { return };
        match said {
            "" => {}
            EDIT if question.draft.is_some() => self.edit_draft(),
            said => {
                let edited = self.edited_draft.take().filter(|(edited, _)| *edited == call);
                self.reply(Some(with_draft(&question, said, edited.map(|(_, text)| text))));
            }
        }
    }

    fn escape(&mut self) {
        if self.busy_since().is_some() {
            return self.interrupt();
        }
        let what = if self.input.is_empty() { "go back to an earlier prompt" } else { "clear the prompt" };
        match (self.is_second(KeyCode::Esc), self.input.is_empty()) {
            (true, true) => self.pick_prompt(),
            (true, false) => self.input.clear(),
            (false, _) => self.hint = Some(format!("press Esc again to {what}").into()),
        }
    }

    /// Whether the key is the second press of a double press.
    fn is_second(&mut self, key: KeyCode) -> bool {
        let is_second = self.escaped.take().is_some_and(|(_, before)| before.elapsed() < DOUBLE_PRESS_TIME);
        self.escaped = (!is_second).then(|| (key, Instant::now()));
        is_second
    }

    /// Whether there is a waiting prompt to take back, and nothing is typed.
    pub(super) fn can_withdraw(&self) -> bool {
        matches!(self.mode, Mode::Compose(_)) && self.input.is_empty() && !self.view.queued.is_empty()
    }

    /// Takes back the prompt that was sent last. It appears in the field once that is recorded.
    fn withdraw(&mut self) {
        self.is_withdrawing = true;
        self.send(Command::WithdrawPrompt);
    }

    /// Puts the prompt that was taken back into the field, to be changed.
    pub(super) fn withdrawn(&mut self, at: Seq) {
        if !std::mem::take(&mut self.is_withdrawing) || !self.input.is_empty() {
            return;
        }
        let entries = self.entries().unwrap_or_default();
        let before = entries.iter().map(AsRef::as_ref).filter(|entry: &&Entry| entry.seq < at);
        let Some(Fact::Prompted { parts, .. }) = waiting_prompts(before).pop() else { return };
        let images = parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        self.input.recall_with(&text_of(&parts), images);
        if parts.iter().any(|part| matches!(part, Part::Document(_))) {
            self.hint = Some("attach the document again before you send this".into());
        }
    }

    /// Leaves; if that ends work, only at the second press.
    fn leave(&mut self) {
        match self.ended_by_leaving() {
            Some(ends) if !self.is_second(KeyCode::Char('d')) => {
                self.hint = Some(format!("press Ctrl+D again to {ends} and quit").into());
            }
            _ => self.request = Some(Request::Leave),
        }
    }

    /// What would end if the user leaves: a turn, background commands. `None` for a session that another process has
    /// open.
    fn ended_by_leaving(&self) -> Option<String> {
        if self.session.as_ref().is_none_or(Session::is_joined) {
            return None;
        }
        let turn = self.busy_since().map(|_| "interrupt".to_owned());
        let ends: Vec<String> = turn.into_iter().chain(self.ended_tasks()).collect();
        (!ends.is_empty()).then(|| ends.join(", "))
    }

    /// Which background commands end if the session is closed; `None` if there are none, or another process has the
    /// session open.
    pub(super) fn ended_tasks(&self) -> Option<String> {
        let is_ours = self.session.as_ref().is_some_and(|session| !session.is_joined());
        match self.view.jobs.len() {
            count if count == 0 || !is_ours => None,
            1 => Some("end 1 background command".to_owned()),
            count => Some(format!("end {count} background commands")),
        }
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
            false => {
                let ends = self.ended_by_leaving().map(|ends| format!("{ends} and ")).unwrap_or_default();
                self.hint = Some(format!("press Ctrl+C again to {ends}quit").into());
            }
        }
    }

    /// Completes a word; a complete command is carried out.
    fn complete_and_submit(&mut self) {
        let Some(Some(Completion { list, .. })) = self.mode.completion() else { return };
        let value = list.chosen().map(|item| item.value.clone()).unwrap_or_default();
        let is_said = value == self.input.text() || console::parse(&value).is_some();
        self.accept();
        if is_said {
            self.submit();
        }
    }

    fn step_effort(&mut self, is_up: bool) {
        let Mode::Pick(pick, _) = &mut self.mode else { return };
        let levels = pick.list.chosen().map(|item| self.around.host.efforts(&item.value));
        pick.step_effort(&levels.unwrap_or_default(), is_up);
    }

    /// Changes the search text of the topmost list or page.
    fn search(&mut self, change: impl FnOnce(&mut String)) {
        match &mut self.mode {
            Mode::Pick(Pick { change: Some(Change::Name(name)), .. }, _) => change(name),
            Mode::Pick(Pick { change: Some(Change::Delete | Change::Stop(_)), .. }, _) => {}
            Mode::Pick(pick, _) => {
                change(&mut pick.typed);
                pick.list.narrow(&pick.typed);
            }
            Mode::Read(page, _) => page.searched().map_or((), change),
            _ => {}
        }
    }

    /// Inserts pasted text where text is typed.
    pub(super) fn paste(&mut self, text: &str) {
        match &self.mode {
            Mode::Pick(..) | Mode::Read(..) => {
                self.search(|typed| *typed += text.lines().next().unwrap_or_default())
            }
            Mode::Compose(_) | Mode::Answer(..) | Mode::Refuse(_) => {
                self.input.paste(text);
                self.complete();
            }
            // The text is for the prompt; the question stays open.
            Mode::Approve(_) => self.input.paste(text),
            Mode::Parts(_) => {}
        }
    }

    /// Attaches the clipboard's picture, if a prompt is being typed.
    fn paste_picture(&mut self) {
        if !matches!(self.mode, Mode::Compose(_)) {
            return;
        }
        self.hint = Some(Hint::Lasting("reading the clipboard …"));
        let (folder, environment) = (self.around.workspace.clone(), self.around.environment.clone());
        let read = async move { Done::Picture(clipboard::picture(&folder, environment).await) };
        self.waiting.push(Box::pin(read));
    }

    pub(super) fn picture_read(&mut self, picture: Result<Image, String>) {
        self.hint = match picture {
            Ok(_) if !matches!(self.mode, Mode::Compose(_)) => {
                Some("the picture was not attached; try again".into())
            }
            Ok(image) => {
                self.input.attach(Attached::Image(image));
                None
            }
            Err(why) => Some(why.into()),
        };
    }

    /// Shows a page with the part at the cursor, otherwise the diff of the question, otherwise the whole conversation.
    fn show_all(&mut self) {
        let page = match (self.part_page(), self.view.asked.front()) {
            (Some(part), _) => part,
            (None, Some(Asked::Approval { fact, .. })) => {
                Page::new("proposed call", self.whole_question(fact), false)
            }
            (None, _) if self.mode.pick().is_some_and(|pick| pick.what == What::Mode) => {
                Page::new("rules", self.rules().into_iter().map(Line::from).collect(), false)
            }
            (None, _) => Page::new("conversation", self.whole(), true),
        };
        self.mode.read(page);
    }
}

/// The next or previous choice after `marked`, of `choices`.
fn stepped(marked: Marked, choices: usize, is_down: bool) -> usize {
    match marked {
        None if is_down => 0,
        None => choices - 1,
        Some(place) => (place + if is_down { 1 } else { choices - 1 }) % choices,
    }
}

/// Whether the action answers a question.
fn is_decision(action: Action) -> bool {
    use Action::{
        Allow, AllowAllEdits, AllowAlways, Answer, ChooseParts, EditProposal, NoReply, Refuse, RefuseAtOnce,
        Reply, ReplyMarked,
    };
    matches!(
        action,
        Allow
            | AllowAllEdits
            | AllowAlways
            | Answer
            | ChooseParts
            | EditProposal
            | NoReply
            | Refuse
            | RefuseAtOnce
            | Reply
            | ReplyMarked
    )
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
