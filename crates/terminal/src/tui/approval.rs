//! The approval of a call: what it would do, the question, and its three answers.
use super::{
    app::App,
    draw::Picture,
    markdown::plain,
    mode::Mode,
    screen::ROOMY_ROWS,
    wrap::{hanging, laid_out, one_row},
};
use crate::{
    bindings::{Action, Keys, Place},
    offers::proposed_file,
    paint::diff::Room,
};
use haft_core::{Answer, Change, Command, Fact, Mode as PermissionMode};
use haft_engine::{Recorded, Session};
use haft_present::{
    diff,
    file_diff::FileDiff,
    proposal::{
        Proposal,
        sentence::{NO, YES},
    },
    timeline::Asked,
};
use ratatui::text::{Line, Span};

const ANSWER_COUNT: usize = 3;
/// Index of the last answer, which refuses.
const REFUSAL: usize = ANSWER_COUNT - 1;
/// Minimum columns to show a second key for an answer.
const WIDE_COLUMNS: usize = 60;
/// Rows of a diff that shows both sides of a change: its head, two lines, and the count of further lines.
const DIFF_ROWS: usize = 4;
/// Minimum rows of a diff: a removed line and an added one.
const MIN_DIFF_ROWS: usize = 2;
const INSTEAD_PLACEHOLDER: &str = "what to do instead (Enter to refuse, Esc to go back)";
/// The hint after a key that is not an answer.
pub(super) fn answer_hint(keys: &Keys) -> String {
    format!("approval needed: {}", answer_keys(keys))
}

/// The keys of the answers: `y, a or n`.
pub(super) fn answer_keys(keys: &Keys) -> String {
    let [yes, always, no] =
        [Action::Allow, Action::AllowAlways, Action::Refuse].map(|action| keys.name(Place::Approval, action));
    format!("{yes}, {always} or {no}")
}

impl App {
    /// Draws the question below `lines`, with the cursor if something is typed.
    pub(super) fn approval_picture(&mut self, mut lines: Vec<Line<'static>>, fact: &Fact) -> Picture {
        let chosen = if let Mode::Approve(chosen) = self.mode { chosen } else { REFUSAL };
        if self.rows < ROOMY_ROWS {
            lines.retain(|line| line.width() > 0);
        }
        let (typed, cursor) = match self.mode {
            Mode::Refuse(_) => {
                let (rows, cursor) = self.input.rows_for(INSTEAD_PLACEHOLDER, self.columns, &self.look);
                (rows, Some(cursor))
            }
            // Text that the user was writing stays in view.
            _ if !self.input.is_empty() => (self.input.rows(self.columns, &self.look).0, None),
            _ => (Vec::new(), None),
        };
        // One row for the foot, and one for the text above.
        let room = self.rows.saturating_sub(lines.len() + typed.len() + 2).max(3);
        lines.extend(self.approval(fact, room, chosen));
        let cursor = cursor.map(|(row, column)| (lines.len() + row, column));
        lines.extend(typed);
        lines.push(self.foot());
        (lines, cursor)
    }

    /// What the call would do, the question, and what each answer means. The answers are always visible; above them are
    /// the arguments of the call, and its changes to files.
    fn approval(&self, fact: &Fact, room: usize, chosen: usize) -> Vec<Line<'static>> {
        let Some(proposal) = self.proposal(fact) else { return Vec::new() };
        let changes = changes_of(fact);
        let mut end = self.question_and_answers(&proposal, chosen, (room / 4).max(1));
        if !changes.is_empty() && room < end.len() + DIFF_ROWS {
            end = self.question_and_answers(&proposal, chosen, 1);
        }
        if self.rows >= ROOMY_ROWS && matches!(self.mode, Mode::Approve(_)) {
            end.extend(self.more_ways(changes));
        }
        let room = room.saturating_sub(end.len()).max(1);
        let mut called = self.lines_of(&proposal.called_with(&self.text_of(changes, diff::of_changes)).text);
        let below = self.lines_of(&proposal.below_diff());
        let mut lines = match changes {
            [] if proposal.sentence.names_all => called,
            [] => [self.lines_of(&proposal.brief_head().text), called].concat(),
            changes => {
                let most = (room / 2).max(2);
                // The title is dropped first.
                let title = usize::from(called.len() > most);
                let mut lines = self.beginning(called.split_off(title), most);
                let rest = room.saturating_sub(lines.len() + below.len()).max(room / 2);
                lines.extend(self.diff_in(&self.files_of(changes), rest));
                lines
            }
        };
        lines.extend(below);
        let mut lines = self.beginning(lines, room);
        lines.extend(end);
        lines
    }

    /// The question and the answers, in at most `most` rows each; the answers themselves are never cut.
    fn question_and_answers(&self, proposal: &Proposal, chosen: usize, most: usize) -> Vec<Line<'static>> {
        let look = &self.look;
        let sentence = &proposal.sentence;
        let mut lines = self.part(
            Span::styled("? ", look.warn()),
            vec![Span::styled(sentence.question.clone(), look.bold())],
            most,
        );
        if let Some(why) = &proposal.why {
            lines.extend(self.part(Span::raw("  "), vec![Span::styled(why.clone(), look.dim())], most));
        }
        let key = |action| self.around.keys.name(Place::Approval, action);
        let (all, mut yes) = (key(Action::AllowAllEdits), key(Action::Allow));
        if self.may_accept_edits() && self.columns >= WIDE_COLUMNS && !all.is_empty() {
            yes += &format!("; {all} to allow all edits");
        }
        let answers = [
            (YES.to_owned(), yes),
            (sentence.always(), key(Action::AllowAlways)),
            (NO.to_owned(), key(Action::Refuse)),
        ];
        for (place, (answer, key)) in answers.into_iter().enumerate() {
            let is_chosen = place == chosen;
            let (mark, style) = if is_chosen { ("❯ ", look.chosen()) } else { ("  ", Default::default()) };
            let first = Span::styled(format!("{mark}{}. ", place + 1), style);
            let key = Span::styled(if key.is_empty() { key } else { format!("  ({key})") }, look.dim());
            lines.extend(self.part(first, vec![Span::styled(answer, style), key], most));
        }
        lines
    }

    /// The keys for changes in addition to the three answers.
    fn more_ways(&self, changes: &[Change]) -> Option<Line<'static>> {
        let parts: usize = self.files_of(changes).iter().map(|file| file.hunks.len().max(1)).sum();
        let ways = [
            (parts > 1).then_some((Action::ChooseParts, "accepts parts of it")),
            proposed_file(changes).map(|_| (Action::EditProposal, "edits the file first")),
        ];
        let ways = ways.into_iter().flatten();
        let ways = ways.map(|(action, what)| (self.around.keys.name(Place::Approval, action), what));
        let ways: Vec<String> =
            ways.filter(|(key, _)| !key.is_empty()).map(|(key, what)| format!("{key} {what}")).collect();
        let text = Some(format!("  {}", ways.join(" · "))).filter(|_| !ways.is_empty())?;
        Some(one_row(Line::styled(text, self.look.dim()), self.columns))
    }

    /// A text in at most `most` rows; if `most` is 1, cut with `…`.
    fn part(&self, first: Span<'static>, spans: Vec<Span<'static>>, most: usize) -> Vec<Line<'static>> {
        match most {
            1 => vec![one_row(Line::from_iter(std::iter::once(first).chain(spans)), self.columns)],
            most => self.beginning(hanging(first, &spans, self.columns), most),
        }
    }

    /// The part of a diff that fits in `rows` rows. If whole lines do not fit, each takes one row, so that both sides
    /// of a change are visible.
    pub(super) fn diff_in(&self, files: &[FileDiff], rows: usize) -> Vec<Line<'static>> {
        let drawn = |room: Room| self.painted_in(room, |painter| painter.diffs().files(files, painter.room));
        let fitting = |room: fn(usize) -> Room| {
            let mut most = rows;
            while most >= MIN_DIFF_ROWS {
                let lines = drawn(room(most));
                let spare = lines.len().saturating_sub(rows);
                if spare == 0 {
                    return Some(lines);
                }
                most = most.min(lines.len()).saturating_sub(spare.div_ceil(4));
            }
            None
        };
        fitting(Room::of)
            .or_else(|| fitting(Room::tight))
            .unwrap_or_else(|| drawn(Room::tight(MIN_DIFF_ROWS)))
    }

    fn files_of(&self, changes: &[Change]) -> Vec<FileDiff> {
        self.session.as_ref().map(|session| FileDiff::all(session, changes)).unwrap_or_default()
    }

    fn proposal(&self, fact: &Fact) -> Option<Proposal> {
        Proposal::of(self.session.as_ref()?, fact)
    }

    fn text_of(&self, changes: &[Change], text: fn(&dyn Recorded, &[Change]) -> String) -> String {
        self.session.as_ref().map(|session| text(session, changes)).unwrap_or_default()
    }

    /// A text whose indentation is kept.
    fn lines_of(&self, text: &str) -> Vec<Line<'static>> {
        let text: String = text.lines().map(|line| format!("  {line}\n")).collect();
        laid_out(&text, self.look.dim(), self.columns)
    }

    /// The first lines, which say what the call is about; the rest is on a page.
    fn beginning(&self, mut lines: Vec<Line<'static>>, room: usize) -> Vec<Line<'static>> {
        let more = lines.len().saturating_sub(room);
        if more > 0 {
            lines.truncate(room.saturating_sub(1).max(1));
            let text = format!("  … {} more lines (Ctrl+O shows all)", more + usize::from(room > 1));
            lines.push(Line::styled(text, self.look.warn()));
        }
        lines
    }

    /// The whole question, with everything that the user needs to know before answering.
    pub(super) fn whole_question(&self, fact: &Fact) -> Vec<Line<'static>> {
        let Some(proposal) = self.proposal(fact) else { return Vec::new() };
        let mut lines = plain(&proposal.sentence.question, Span::raw("? "), self.columns, self.look.bold());
        lines.extend(self.lines_of(&format!("{}\n{}", proposal.reason, proposal.always_line())));
        lines.extend(self.lines_of(&proposal.head()));
        lines.extend(self.lines_of(&proposal.called_with_all(&self.text_of(changes_of(fact), diff::of_all))));
        let changes = changes_of(fact);
        let files = self.files_of(changes);
        lines.extend(self.painted_in(Room::WHOLE, |painter| painter.diffs().files(&files, painter.room)));
        lines.extend(self.lines_of(&proposal.below_diff()));
        lines
    }

    /// Carries out the selected answer. If text was typed, it is sent as a prompt instead.
    pub(super) fn answer_as_marked(&mut self) {
        match self.mode {
            _ if !self.input.is_empty() => self.submit(),
            Mode::Approve(0) => self.answer(Answer::Once),
            Mode::Approve(1) => self.answer(Answer::Always),
            _ => self.refuse(),
        }
    }

    /// Allows this change and all following ones.
    pub(super) fn allow_all_edits(&mut self) {
        if self.may_accept_edits() {
            self.set_permission_mode(PermissionMode::AcceptEdits.name());
            self.answer(Answer::Once);
        } else {
            self.hint = Some(answer_hint(&self.around.keys).into());
        }
    }

    /// Whether the question is about a change, and the session may switch to accepting edits.
    fn may_accept_edits(&self) -> bool {
        let asks_for_changes = match self.view.asked.front() {
            Some(Asked::Approval { fact, .. }) => !changes_of(fact).is_empty(),
            _ => false,
        };
        let ceiling = self.session.as_ref().map(Session::ceiling);
        asks_for_changes && ceiling >= Some(PermissionMode::AcceptEdits)
    }

    /// Asks what to do instead.
    pub(super) fn refuse(&mut self) {
        self.mode = Mode::Refuse(self.input.put_aside());
    }

    pub(super) fn send_refusal(&mut self) {
        let (instead, _) = self.input.take();
        self.answer_with(|call| Command::refuse(call, Some(instead)));
    }

    /// Returns to the answers, and restores the text that was being written before.
    pub(super) fn cancel_refusal(&mut self) {
        if let Mode::Refuse(draft) = std::mem::replace(&mut self.mode, Mode::Approve(REFUSAL)) {
            self.input.restore(draft);
        }
    }
}

/// The index of the next or previous answer.
pub(super) fn next(place: usize, is_below: bool) -> usize {
    let step = if is_below { 1 } else { ANSWER_COUNT - 1 };
    (place + step) % ANSWER_COUNT
}

pub(super) fn changes_of(fact: &Fact) -> &[Change] {
    match fact {
        Fact::ApprovalAsked { changes, .. } => changes,
        _ => &[],
    }
}
