//! A call that asks: what it would do, the question, its three answers, and the keys for them.
use super::{
    app::App,
    choice::Answering,
    draw::Picture,
    keys::PAUSE_FIRST,
    markdown::plain,
    wrap::{Break, hanging},
};
use crate::paint::diff::Room;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_core::{Answer, Change, Command, Fact, Mode, Part};
use haft_engine::Session;
use haft_present::{
    diff,
    file_diff::FileDiff,
    proposal::{
        Proposal,
        sentence::{NO, YES},
    },
    view::Asked,
};
use ratatui::text::{Line, Span};

const ANSWERS: usize = 3;
/// Columns from which an answer has room for a second key.
const WIDE: usize = 60;
const INSTEAD: &str = "what to do instead? Enter refuses, Esc goes back";

impl App {
    /// What asks, below `lines`, with the cursor where something is typed.
    pub(super) fn approval_picture(&mut self, mut lines: Vec<Line<'static>>, fact: &Fact) -> Picture {
        lines.extend(self.approval(fact));
        if !self.answering.is_refusing {
            // What somebody was writing waits, and is seen to.
            if !self.input.is_empty() {
                lines.extend(self.input.rows(self.columns, &self.look).0);
            }
            lines.push(self.foot());
            return (lines, None);
        }
        let (rows, (row, column)) = self.input.rows_for(INSTEAD, self.columns, &self.look);
        let cursor = (lines.len() + row, column);
        lines.extend(rows);
        lines.push(self.foot());
        (lines, Some(cursor))
    }

    /// What the call would do, the question, and what each answer means. The answers are always seen.
    fn approval(&self, fact: &Fact) -> Vec<Line<'static>> {
        let Some(proposal) = self.proposal(fact) else { return Vec::new() };
        let room = self.rows.saturating_sub(if self.answering.is_refusing { 5 } else { 4 }).max(3);
        let end = self.question_and_answers(&proposal, room);
        let room = room.saturating_sub(end.len()).max(1);
        let changes = changes_of(fact);
        let beside = proposal.beside(&self.text_of(changes, diff::of_changes));
        let mut beside = self.lines_of(&beside.text);
        let mut lines = match changes {
            [] if proposal.sentence.names_all => Vec::new(),
            [] => self.lines_of(&proposal.brief_head().text),
            changes => self.diff_in(changes, room.saturating_sub(beside.len()).max(room / 2)),
        };
        lines.append(&mut beside);
        let mut lines = self.beginning(lines, room);
        lines.extend(end);
        lines
    }

    fn question_and_answers(&self, proposal: &Proposal, room: usize) -> Vec<Line<'static>> {
        let look = &self.look;
        let sentence = &proposal.sentence;
        let question = plain(&sentence.question, Span::styled("? ", look.warn()), self.columns, look.bold());
        let mut lines = self.beginning(question, (room / 4).max(1));
        if let Some(why) = &proposal.why {
            let why = plain(why, Span::raw("  "), self.columns, look.dim());
            lines.extend(self.beginning(why, (room / 4).max(1)));
        }
        let yes = if self.may_accept_edits() && self.columns >= WIDE {
            "y; Shift+Tab: and all further edits"
        } else {
            "y"
        };
        let answers = [(YES.to_owned(), yes), (sentence.always(), "a"), (NO.to_owned(), "n")];
        for (place, (answer, key)) in answers.into_iter().enumerate() {
            let is_chosen = place == self.answering.chosen;
            let (mark, style) = if is_chosen { ("❯ ", look.chosen()) } else { ("  ", Default::default()) };
            let first = Span::styled(format!("{mark}{}. ", place + 1), style);
            let spans = [Span::styled(answer, style), Span::styled(format!("  ({key})"), look.dim())];
            let rows = hanging(first, &spans, self.columns, Break::Words);
            lines.extend(self.beginning(rows, (room / 4).max(1)));
        }
        lines
    }

    /// As much of a diff as fits in so many rows.
    fn diff_in(&self, changes: &[Change], rows: usize) -> Vec<Line<'static>> {
        let mut most = rows;
        loop {
            let lines = self.painted_in(Room::of(most), |painter| {
                painter.diffs().files(&(painter.files_of)(changes), painter.room)
            });
            let spare = lines.len().saturating_sub(rows);
            if spare == 0 || most == 0 {
                return lines;
            }
            most = most.saturating_sub(spare.div_ceil(4));
        }
    }

    fn proposal(&self, fact: &Fact) -> Option<Proposal> {
        Proposal::of(self.session.as_ref()?, fact)
    }

    fn text_of(&self, changes: &[Change], text: fn(&Session, &[Change]) -> String) -> String {
        self.session.as_ref().map(|session| text(session, changes)).unwrap_or_default()
    }

    /// A text that is laid out already, and whose blanks count.
    fn lines_of(&self, text: &str) -> Vec<Line<'static>> {
        let line = |line: &str| {
            let line = Span::styled(line.to_owned(), self.look.dim());
            hanging(Span::raw("  "), &[line], self.columns, Break::Anywhere)
        };
        text.lines().flat_map(line).collect()
    }

    /// The beginning says what it is about; the rest is on a page.
    fn beginning(&self, mut lines: Vec<Line<'static>>, room: usize) -> Vec<Line<'static>> {
        let more = lines.len().saturating_sub(room);
        if more > 0 {
            lines.truncate(room.saturating_sub(1).max(1));
            let text = format!("  … {} more lines (Ctrl+O shows all)", more + usize::from(room > 1));
            lines.push(Line::styled(text, self.look.warn()));
        }
        lines
    }

    /// All that there is to know before one answers.
    pub(super) fn whole_question(&self, fact: &Fact) -> Vec<Line<'static>> {
        let Some(proposal) = self.proposal(fact) else { return Vec::new() };
        let mut lines = plain(&proposal.sentence.question, Span::raw("? "), self.columns, self.look.bold());
        lines.extend(self.lines_of(&format!("{}\n{}", proposal.reason, proposal.always_line())));
        lines.extend(self.lines_of(&proposal.head()));
        let changes = changes_of(fact);
        let files = self.session.as_ref().map(|session| FileDiff::all(session, changes)).unwrap_or_default();
        lines.extend(self.painted_in(Room::WHOLE, |painter| painter.diffs().files(&files, painter.room)));
        lines.extend(self.lines_of(&proposal.beside_all_of(&self.text_of(changes, diff::of_all))));
        lines
    }

    /// With Ctrl or Alt a letter is a key of the shell, and no answer.
    pub(super) fn approval_key(&mut self, key: KeyEvent) {
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let chosen = &mut self.answering.chosen;
        match key.code {
            _ if !is_plain => self.hint = Some("y, a or n".into()),
            KeyCode::Up => *chosen = chosen.checked_sub(1).unwrap_or(ANSWERS - 1),
            KeyCode::Down | KeyCode::Tab => *chosen = (*chosen + 1) % ANSWERS,
            // What stands in the line is sent, and is no answer.
            KeyCode::Enter if !self.input.is_empty() => self.submit(),
            KeyCode::Enter => self.choose_answer(self.answering.chosen),
            KeyCode::Char('y' | 'Y' | '1') => self.choose_answer(0),
            KeyCode::Char('a' | 'A' | '2') => self.choose_answer(1),
            KeyCode::Char('n' | 'N' | '3') => self.choose_answer(2),
            KeyCode::Esc => self.answer(Answer::No),
            KeyCode::BackTab if self.may_accept_edits() => {
                self.mode(Mode::AcceptEdits.name());
                self.answer(Answer::Once);
            }
            // Somebody begins to write, so that the next letter is no answer, either.
            KeyCode::Char(_) => {
                self.type_in(key);
                self.hint = Some(PAUSE_FIRST.into());
            }
            _ => self.hint = Some("y, a or n".into()),
        }
    }

    /// Whether a change is asked about, and changes need not be from here on.
    fn may_accept_edits(&self) -> bool {
        let asks_for_changes = match self.view.asked.front() {
            Some(Asked::Approval { fact, .. }) => !changes_of(fact).is_empty(),
            _ => false,
        };
        let ceiling = self.session.as_ref().map(Session::ceiling);
        asks_for_changes && ceiling >= Some(Mode::AcceptEdits)
    }

    fn choose_answer(&mut self, place: usize) {
        match place {
            0 => self.answer(Answer::Once),
            1 => self.answer(Answer::Always),
            _ => {
                self.answering = Answering { chosen: place, is_refusing: true };
                self.draft = Some(self.input.put_aside());
            }
        }
    }

    /// Keys while the person says what to do instead.
    pub(super) fn reason_key(&mut self, key: KeyEvent) {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => self.stop_refusing(),
            KeyCode::Char('c') if ctrl => self.stop_refusing(),
            KeyCode::Enter if !key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT) => {
                let (instead, _) = self.input.take();
                self.stop_refusing();
                // In front of the answer, so that the next request has it.
                if !instead.trim().is_empty() {
                    self.send(Command::Prompt { parts: vec![Part::text(instead)], channel: None });
                }
                self.answer(Answer::No);
            }
            _ => {
                self.input.key(key);
            }
        }
    }

    /// Whoever was writing something else goes on with it.
    pub(super) fn stop_refusing(&mut self) {
        if std::mem::take(&mut self.answering.is_refusing)
            && let Some(draft) = self.draft.take()
        {
            self.input.restore(draft);
        }
    }
}

fn changes_of(fact: &Fact) -> &[Change] {
    match fact {
        Fact::ApprovalAsked { changes, .. } => changes,
        _ => &[],
    }
}
