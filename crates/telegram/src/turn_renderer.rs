//! [`TurnRenderer`]: the presentation of a turn in a chat: the model's text, a line for each call, and the outcome.
use super::{
    markdown,
    rich::{Rich, Style},
};
use haft_core::{CallId, Fact, Image, Outcome, Part, Shown, Update, text_of};
use haft_engine::Chat;
use haft_present::{
    call_order::CallOrder,
    notes, safe,
    timeline::{Aside, Call, Item, Replies, Timeline},
};

/// Maximum consecutive calls that are shown, the last ones.
const MAX_CALLS: usize = 8;
/// Maximum characters of a call's summary.
const MAX_SUMMARY_CHARACTERS: usize = 60;

/// A part of a turn so far.
pub(super) struct TurnRenderer {
    timeline: Timeline,
    pieces: Vec<Piece>,
    /// The next reply so far. The growing message can be edited, so the recorded reply replaces it.
    live: String,
    /// Lines of calls that have ended before an earlier one.
    order: CallOrder<String>,
    images: Vec<Image>,
    /// Number of characters of text.
    said: usize,
    /// Number of starts and ends of calls.
    marks: usize,
    words: Chat,
}

/// A finished part of a turn.
#[derive(Default)]
pub(super) struct Section {
    pub(super) text: Rich,
    /// Pictures from results of calls.
    pub(super) images: Vec<Image>,
}

enum Piece {
    /// Text in Markdown.
    Said(String),
    Call {
        id: String,
        name: String,
        about: String,
        sign: char,
    },
    /// A note of the bot.
    Note(String),
    /// A line with a text of the profile.
    Line(String),
}

/// The size of the shown part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) said: usize,
    pub(super) marks: usize,
}

impl TurnRenderer {
    pub(super) fn new(words: Chat) -> Self {
        let timeline = Timeline::with(Replies::Anew);
        let (pieces, live, order, images, said, marks) = Default::default();
        Self { timeline, pieces, live, order, images, said, marks, words }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.live.trim().is_empty() && self.images.is_empty()
    }

    pub(super) fn extent(&self) -> Extent {
        Extent { said: self.said + self.live.len(), marks: self.marks }
    }

    /// Ends the part and returns it; the next one begins.
    pub(super) fn take(&mut self) -> Section {
        let text = self.rich();
        self.pieces.clear();
        self.live.clear();
        (self.said, self.marks) = (0, 0);
        Section { text, images: std::mem::take(&mut self.images) }
    }

    pub(super) fn update(&mut self, update: &Update) {
        let items = self.timeline.update(update);
        items.into_iter().for_each(|item| self.item(item));
    }

    pub(super) fn fact(&mut self, fact: &Fact) {
        let items = self.timeline.fact(0, fact);
        items.into_iter().for_each(|item| self.item(item));
    }

    /// Takes in what was told before, so that calls are known. Nothing of it is shown.
    pub(super) fn skip<'a>(&mut self, facts: impl Iterator<Item = &'a Fact>) {
        self.timeline = Timeline::with(Replies::Anew);
        facts.for_each(|fact| drop(self.timeline.fact(0, fact)));
    }

    fn item(&mut self, item: Item) {
        match item {
            Item::Text { text, .. } => self.live += &text,
            Item::Retrying { .. } => self.live.clear(),
            Item::Replied { parts } => self.replied(&parts),
            Item::Started { call, name, .. } if self.words.executing.is_none() => {
                let about = self.timeline.call(&call).map(about).unwrap_or_default();
                // A call that was cut off begins again.
                let is_cut_off =
                    |piece: &Piece| matches!(piece, Piece::Call { id, sign: '●' | '?', .. } if *id == call.0);
                self.pieces.retain(|piece| !is_cut_off(piece));
                self.mark(Piece::Call { id: call.0, name, about, sign: '●' });
            }
            Item::Asked { call, .. } => {
                self.sign(&call.0, '?');
            }
            Item::Call(call) => self.ended(&call),
            Item::Ended { outcome, rounds, .. } => self.turn_ended(outcome, rounds),
            Item::Failure { message, hint } => self.note(&notes::failed(&message, hint.as_deref())),
            Item::Denied { reason } => self.note(&notes::denied(&reason)),
            Item::Note(text) | Item::Aside { about: Aside::Task, text } => self.note(&text),
            // The chat in which a mode is chosen gets a separate answer.
            Item::Aside { about: Aside::Mode(_) | Aside::Room | Aside::Unsettled(_), .. } => {}
            Item::Prompt { .. } | Item::Thinking(_) | Item::Thought { .. } | Item::Reply(_) => {}
            Item::Started { .. } | Item::Announced { .. } | Item::Output { .. } => {}
            Item::Changed { .. } | Item::Rewound { .. } => {}
        }
    }

    fn replied(&mut self, parts: &[Part]) {
        self.live.clear();
        let text = text_of(parts);
        if !text.trim().is_empty() {
            self.said += text.len();
            self.pieces.push(Piece::Said(text));
        }
        let calls: Vec<_> = parts.iter().filter_map(Part::as_call).collect();
        self.order.asked(calls.iter().copied()).into_iter().for_each(|line| self.mark(Piece::Line(line)));
        if let Some(executing) = self.words.executing.as_ref().filter(|_| !calls.is_empty()) {
            let line = executing.replace("{n}", &calls.len().to_string());
            self.mark(Piece::Line(line));
        }
    }

    fn ended(&mut self, call: &Call) {
        let Call { id: CallId(id), made, result, .. } = call;
        self.images.extend(result.images.iter().cloned());
        if let Shown::Message(text) = &result.shown {
            self.pieces.retain(|piece| !matches!(piece, Piece::Call { id: other, .. } if other == id));
            self.said += text.len();
            return self.pieces.push(Piece::Said(text.clone()));
        }
        let words = if result.went_well() { &self.words.done } else { &self.words.failed };
        if let Some(words) = words {
            let line = words.replace("{name}", &made.name);
            let ready = self.order.ended(&made.id, line);
            return ready.into_iter().for_each(|line| self.mark(Piece::Line(line)));
        }
        let now = if result.went_well() { '✓' } else { '✗' };
        // The call began in a part that was sent already, such as one before a question.
        if !self.sign(id, now) {
            self.mark(Piece::Call { id: id.clone(), name: made.name.clone(), about: about(call), sign: now });
        }
    }

    /// Updates the sign of a call; returns whether the call is in this part.
    fn sign(&mut self, id: &str, now: char) -> bool {
        let open = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Call { id: other, sign, .. } if other == id => Some(sign),
            _ => None,
        });
        let is_here = open.is_some();
        if let Some(sign) = open {
            *sign = now;
            self.marks += 1;
        }
        is_here
    }

    fn turn_ended(&mut self, outcome: Outcome, rounds: u32) {
        self.order.rest().into_iter().for_each(|line| self.mark(Piece::Line(line)));
        match (outcome, &self.words.cap) {
            (Outcome::RoundLimit, Some(cap)) => {
                let line = cap.replace("{n}", &rounds.to_string());
                self.mark(Piece::Line(line));
            }
            _ => notes::of_outcome(outcome).iter().for_each(|note| self.note(note)),
        }
        if self.is_empty() {
            self.note("nothing was said");
        }
    }

    fn note(&mut self, text: &str) {
        self.mark(Piece::Note(text.to_owned()));
    }

    fn mark(&mut self, piece: Piece) {
        self.marks += 1;
        self.pieces.push(piece);
    }

    /// The whole part, with the next reply so far.
    pub(super) fn rich(&self) -> Rich {
        let mut whole = Rich::default();
        let (mut place, mut was_said) = (0, true);
        while let Some(piece) = self.pieces.get(place) {
            let calls =
                self.pieces[place..].iter().take_while(|piece| matches!(piece, Piece::Call { .. })).count();
            let is_said = matches!(piece, Piece::Said(_));
            let gap = if is_said || was_said { "\n\n" } else { "\n" };
            if calls > MAX_CALLS {
                let more =
                    Rich::default().with(&format!("… {} more calls", calls - MAX_CALLS), &[Style::Italic]);
                whole.block(more, gap);
                place += calls - MAX_CALLS;
                was_said = false;
                continue;
            }
            whole.block(drawn(piece), gap);
            was_said = is_said;
            place += 1;
        }
        whole.block(markdown::rich(&self.live), "\n\n");
        whole
    }
}

fn drawn(piece: &Piece) -> Rich {
    match piece {
        Piece::Said(text) => markdown::rich(text),
        Piece::Note(text) => Rich::default().with(&format!("({})", safe::text(text)), &[Style::Italic]),
        Piece::Line(line) => Rich::plain_text(safe::text(line).trim()),
        Piece::Call { name, about, sign, .. } => {
            let rich = Rich::default().with(&format!("{sign} "), &[]).with(&safe::text(name), &[Style::Bold]);
            match about.is_empty() {
                true => rich,
                false => rich.with(" ", &[]).with(about, &[Style::Code]),
            }
        }
    }
}

fn about(call: &Call) -> String {
    match call.summary.char_indices().nth(MAX_SUMMARY_CHARACTERS) {
        Some((at, _)) => format!("{}…", &call.summary[..at]),
        None => call.summary.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{StopReason, ToolCall, ToolResult, Usage};
    use serde_json::json;

    fn replied(text: &str, calls: Vec<ToolCall>) -> Fact {
        let parts = std::iter::once(Part::text(text)).chain(calls.into_iter().map(Part::ToolCall)).collect();
        Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn }
    }
    fn started(id: &str) -> Fact {
        let (name, how) = ("read".into(), haft_core::Tracking::Declared);
        Fact::ToolStarted {
            call: CallId(id.into()),
            name,
            arguments: json!({}),
            how,
            outside: false,
            reads: vec![],
        }
    }
    fn ended(id: &str, shown: Shown) -> Fact {
        let result = ToolResult { shown, ..ToolResult::default() };
        Fact::ToolEnded { call: CallId(id.into()), name: "read".into(), result, duration_ms: 1 }
    }
    fn over(outcome: Outcome) -> Fact {
        Fact::TurnEnded { outcome, rounds: 3, usage: Usage::default(), cost_usd: None }
    }
    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "read", json!({"path": "a.txt"}))
    }
    fn told(facts: &[Fact], words: Chat) -> String {
        let mut renderer = TurnRenderer::new(words);
        facts.iter().for_each(|fact| renderer.fact(fact));
        renderer.rich().plain()
    }

    // T-04
    #[test]
    fn a_turn_is_told_in_short() {
        let many: Vec<String> = (0..11).map(|n| n.to_string()).collect();
        let all: Vec<Fact> = many.iter().flat_map(|id| [started(id), ended(id, Shown::Preview)]).collect();
        let look = replied("I will look.", vec![call("1")]);
        let table = [
            (vec![look.clone(), started("1")], "I will look.\n\n● read a.txt".to_owned()),
            (
                vec![look.clone(), started("1"), ended("1", Shown::Preview), replied("**Done.**", vec![])],
                "I will look.\n\n✓ read a.txt\n\nDone.".to_owned(),
            ),
            (
                vec![look.clone(), started("1"), ended("1", Shown::Message("By the way".into()))],
                "I will look.\n\nBy the way".into(),
            ),
            // A call that a crash cut off begins again.
            (
                vec![look, started("1"), started("1"), ended("1", Shown::Preview)],
                "I will look.\n\n✓ read a.txt".into(),
            ),
            (all, format!("… 3 more calls{}", "\n✓ read".repeat(8))),
            (vec![over(Outcome::Interrupted)], "(interrupted)".into()),
            (vec![over(Outcome::Finished)], "(nothing was said)".into()),
            (vec![replied("x", vec![]), over(Outcome::Finished)], "x".into()),
            (
                vec![replied("x", vec![]), over(Outcome::RoundLimit)],
                "x\n\n(stopped: too many rounds without an end)".into(),
            ),
        ];
        for (facts, expected) in table {
            assert_eq!(told(&facts, Chat::default()), expected);
        }
    }

    #[test]
    fn a_call_of_before_is_known() {
        let mut renderer = TurnRenderer::new(Chat::default());
        renderer.skip([replied("I will look.", vec![call("1")]), started("1")].iter());
        renderer.fact(&ended("1", Shown::Preview));
        assert_eq!(renderer.rich().plain(), "✓ read a.txt");
    }

    //
    #[test]
    fn a_profile_has_words_of_its_own() {
        let alfred = haft_engine::Profile::named("alfred").unwrap().chat;
        let facts = [
            replied("Hm.", vec![call("1")]),
            started("1"),
            ended("1", Shown::Preview),
            over(Outcome::RoundLimit),
        ];
        let expected = "Hm.\n\n[Executing 1 tool(s)...]\n[read] ✓\n[Max iterations reached]";
        assert_eq!(told(&facts, alfred), expected);
    }

    //
    #[test]
    fn what_was_heard_before_a_retry_is_void() {
        let mut renderer = TurnRenderer::new(Chat::default());
        renderer.update(&Update::Text { text: "Hel".into() });
        renderer.update(&Update::Retrying { reason: "reset".into(), after_ms: 1 });
        renderer.update(&Update::Text { text: "Hi".into() });
        assert_eq!(renderer.rich().plain(), "Hi");
        renderer.fact(&replied("Hi", vec![]));
        assert_eq!(renderer.take().text.plain(), "Hi");
        assert!(renderer.is_empty());
    }
}
