//! Accepting parts of a change: a list of the parts, and the lines of the part at the cursor.
use super::{
    app::App, approval::changes_of, draw::Picture, list::unseen, mode::Mode, page::Page, parts::Parts,
    wrap::one_row,
};
use crate::{bindings::Place, offers::Offer, paint::diff::Room};
use haft_core::{Answer, Command, Fact};
use haft_present::timeline::Asked;
use ratatui::text::{Line, Span};

/// Divisor of the free rows: the list of parts gets at most this share, the rest shows the lines of one part.
const LIST_SHARE: usize = 3;
/// Minimum number of listed parts, whatever the size of the terminal.
const MIN_LISTED: usize = 2;

impl App {
    /// Lists the parts of the call's changes to files.
    pub(super) fn choose_parts(&mut self) {
        let (Some(Asked::Approval { fact, .. }), Some(session)) = (self.view.asked.front(), &self.session)
        else {
            return;
        };
        let offers = Offer::all(session, changes_of(fact));
        match offers.len() {
            0 => self.hint = Some("this call changes no file: y, a or n".into()),
            1 => self.hint = Some("this change has one part only: y, a or n".into()),
            _ => self.mode = Mode::Parts(Parts::new(offers)),
        }
    }

    /// The list of parts, if it has the focus.
    pub(super) fn parts(&mut self) -> Option<&mut Parts> {
        match &mut self.mode {
            Mode::Parts(parts) => Some(parts),
            _ => None,
        }
    }

    pub(super) fn accept_parts(&mut self) {
        let Some(parts) = self.parts() else { return };
        let (ticked, count, accepted) = (parts.ticked(), parts.parts.len(), parts.accepted());
        let Some(Asked::Approval { call, fact }) = self.view.asked.front().cloned() else { return };
        if ticked == 0 {
            self.hint = Some("no part is ticked: Space ticks one, Esc goes back to the question".into());
        } else if ticked == count && !has_folders(&fact) {
            self.answer(Answer::Once);
        } else if self.may_allow() {
            self.view.asked.pop_front();
            self.send(Command::accept(call, accepted));
            self.follow_asked();
        }
    }

    /// A page with all lines of the part at the cursor.
    pub(super) fn part_page(&self) -> Option<Page> {
        let Mode::Parts(parts) = &self.mode else { return None };
        let (offer, _) = parts.parts.get(parts.at)?;
        let lines = self
            .painted_in(Room::WHOLE, |painter| painter.diffs().files(offer.diff.as_slice(), painter.room));
        Some(Page::new(offer.name.clone(), lines, false))
    }

    /// Draws the list, below it the lines of the part at the cursor, and the keys.
    pub(super) fn parts_picture(&self, mut lines: Vec<Line<'static>>, parts: &Parts) -> Picture {
        let look = &self.look;
        let count = parts.parts.len();
        let title = [
            Span::styled("? ", look.warn()),
            Span::styled("Accept which parts?", look.bold()),
            Span::styled(format!("  {} of {count} ticked", parts.ticked()), look.dim()),
        ];
        lines.push(one_row(Line::from_iter(title), self.columns));
        let free = self.rows.saturating_sub(lines.len() + 1);
        let height = (free / LIST_SHARE).max(MIN_LISTED).min(count);
        let top = (parts.at + 1).saturating_sub(height);
        let listed = parts.parts.iter().enumerate().skip(top).take(height);
        lines.extend(listed.map(|(place, part)| self.part_row(part, place == parts.at)));
        lines.extend(unseen(top, count, height, look));
        if let Some((Offer { diff: Some(file), .. }, _)) = parts.parts.get(parts.at) {
            let room = self.rows.saturating_sub(lines.len() + 1);
            lines.extend(self.diff_in(std::slice::from_ref(file), room));
        }
        let keys = match &self.hint {
            Some(_) => self.foot(),
            None => Line::styled(format!("  {}", self.around.keys.foot(&[Place::Parts])), look.dim()),
        };
        lines.push(one_row(keys, self.columns));
        (lines, None)
    }

    fn part_row(&self, (offer, is_ticked): &(Offer, bool), is_chosen: bool) -> Line<'static> {
        let (mark, style) = if is_chosen { ("❯ ", self.look.chosen()) } else { ("  ", Default::default()) };
        let tick = if *is_ticked { "[x] " } else { "[ ] " };
        let lines = || offer.diff.iter().flat_map(|file| file.lines());
        let (added, removed) = (
            lines().filter(|line| line.is_added()).count(),
            lines().filter(|line| line.is_removed()).count(),
        );
        let gap = if added > 0 { " " } else { "  " };
        let row = [
            Span::styled(mark, style),
            Span::styled(format!("{tick}{}", offer.name), style),
            Span::styled(if added > 0 { format!("  +{added}") } else { String::new() }, self.look.good()),
            Span::styled(
                if removed > 0 { format!("{gap}−{removed}") } else { String::new() },
                self.look.bad(),
            ),
        ];
        one_row(Line::from_iter(row), self.columns)
    }
}

/// Whether the call changes folders that are shown as a summary: they can only be accepted with the whole.
fn has_folders(fact: &Fact) -> bool {
    matches!(fact, Fact::ApprovalAsked { bulk, .. } if !bulk.is_empty())
}
