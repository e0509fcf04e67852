//! [`Call`]: how the editor shows a call while it runs and afterwards.
use super::{
    folder::Folder,
    kinds::Looks,
    prompt::fence,
    sdk::{
        ContentBlock, Diff, ImageContent, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
        TextContent, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    },
};
use haft_core::{Change, Changed, Fact, Report, Shown, StepStatus, ToolResult, clip};
use haft_engine::Session;
use haft_present::{diff, preview, safe};
use serde_json::{Value, json};

/// Maximum bytes of a running call's output that are shown, from its end.
const MAX_OUTPUT_BYTES: usize = 4_000;

/// Maximum bytes of a result that are shown; the model and the journal have the whole result.
const MAX_RESULT_BYTES: usize = 16_000;

/// Maximum bytes of a content or a value; larger ones are not sent.
const MAX_SENT_BYTES: usize = 1 << 20;

/// A call as the editor sees it.
pub(super) struct Call {
    /// ID for the editor, since IDs of calls are reused in other rounds.
    pub(super) id: String,
    name: String,
    pub(super) looks: Looks,
    pub(super) arguments: Value,
    changed: Changed,
    diffs: Vec<ToolCallContent>,
    /// Whether the user accepted only part of its changes; its result says which part.
    pub(super) is_accepted_in_part: bool,
    output: String,
    /// Whether there is output that was not shown yet.
    pub(super) has_news: bool,
}

impl Call {
    pub(super) fn new(id: String, name: &str, looks: Looks, arguments: Value) -> Self {
        let (name, changed, diffs) = (name.to_owned(), Changed::default(), Vec::new());
        let (is_accepted_in_part, output, has_news) = Default::default();
        Self { id, name, looks, arguments, changed, diffs, is_accepted_in_part, output, has_news }
    }

    /// Announces the call while the model still writes it.
    pub(super) fn announced(&self) -> SessionUpdate {
        let Looks { kind, title, locations } = self.looks.clone();
        let call =
            ToolCall::new(self.id.clone(), title).name(self.name.clone()).kind(kind).locations(locations);
        SessionUpdate::ToolCall(call.raw_input(self.raw_input()))
    }

    /// Everything known before the call runs, for a call that was announced earlier or needs approval.
    pub(super) fn described(&self) -> ToolCallUpdate {
        let Looks { kind, title, locations } = self.looks.clone();
        let fields = ToolCallUpdateFields::new().title(title).kind(kind).locations(locations);
        self.update(fields.raw_input(self.raw_input()))
    }

    pub(super) fn started(&self) -> ToolCallUpdate {
        self.update(ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
    }

    /// Updates the call with its changes to files.
    pub(super) fn changes(&mut self, session: &Session, folder: &Folder, fact: &Fact) -> ToolCallUpdate {
        self.changed.apply(fact);
        self.diffs = ShownChanges::of(session, folder, &self.changed.whole()).content();
        self.update(ToolCallUpdateFields::new().content(self.content()))
    }

    /// Appends output of the call.
    pub(super) fn says(&mut self, chunk: &str) {
        self.output += chunk;
        let surplus = self.output.len().saturating_sub(MAX_OUTPUT_BYTES);
        self.output.drain(..self.output.ceil_char_boundary(surplus));
        self.has_news = true;
    }

    /// Updates the call with its latest output.
    pub(super) fn output(&mut self) -> ToolCallUpdate {
        self.has_news = false;
        self.update(ToolCallUpdateFields::new().content(self.content()))
    }

    /// The changes to files so far, and the latest output.
    fn content(&self) -> Vec<ToolCallContent> {
        let output = (!self.output.is_empty()).then(|| text(&fenced_as_is(&shown(&self.output))));
        self.diffs.iter().cloned().chain(output).collect()
    }

    /// The update for a call that ended, with its changes and its output. A command has failed if its exit code is not
    /// 0, as in a terminal.
    pub(super) fn ended(&self, result: &ToolResult) -> ToolCallUpdate {
        let status = if result.went_well() { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let images = result.images.iter().map(|image| {
            ToolCallContent::from(ContentBlock::Image(ImageContent::new(
                image.data.clone(),
                image.mime.clone(),
            )))
        });
        let words = self.words(result).map(|words| text(&words));
        let content: Vec<_> = self.diffs.iter().cloned().chain(words).chain(images).collect();
        self.update(
            ToolCallUpdateFields::new().status(status).content(content).raw_output(raw_output(result)),
        )
    }

    /// The update for a call that the model took back.
    pub(super) fn dropped(&self) -> ToolCallUpdate {
        let content = vec![text("not called: the model began its reply anew")];
        self.update(ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(content))
    }

    /// The update for a call whose process ended before it did.
    pub(super) fn left(&self) -> ToolCallUpdate {
        let content = vec![text("interrupted: its process ended before it did")];
        self.update(ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(content))
    }

    fn update(&self, fields: ToolCallUpdateFields) -> ToolCallUpdate {
        ToolCallUpdate::new(self.id.clone(), fields)
    }

    fn raw_input(&self) -> Option<Value> {
        Some(self.arguments.clone()).filter(|arguments| !arguments.is_null() && is_sent(arguments))
    }

    /// The text of a result for the user.
    fn words(&self, result: &ToolResult) -> Option<String> {
        match (&result.error, &result.shown) {
            (Some(failure), _) => Some(shown(&failure.message)),
            (None, Shown::Message(words)) => Some(safe::text(words).into_owned()),
            (None, Shown::Nothing) => None,
            // A subagent's answer is Markdown, and is shown as such.
            _ if matches!(result.report(), Some(Report::Subagent(_))) => Some(shown(&result.content)),
            (None, Shown::Text(words)) if !self.is_accepted_in_part => Some(shown(words)),
            (None, Shown::Text(_) | Shown::Preview) => Some(fenced_as_is(&shown(&result.content))),
        }
    }
}

/// The final content of a terminal with this output or result, up to [`MAX_RESULT_BYTES`].
fn shown(words: &str) -> String {
    safe::text(clip::head(&preview::shown_last(words), MAX_RESULT_BYTES)).into_owned()
}

/// A text as content of a call.
pub(super) fn text(words: &str) -> ToolCallContent {
    ContentBlock::Text(TextContent::new(words)).into()
}

/// Fences `words` as code, so that Markdown shows them unchanged.
pub(super) fn fenced(words: &str) -> String {
    fenced_as_is(&safe::text(words))
}

/// Like [`fenced`], for text without control characters.
pub(super) fn fenced_as_is(words: &str) -> String {
    let fence = fence(words);
    format!("{fence}\n{}\n{fence}", words.trim_end_matches('\n'))
}

fn is_sent(value: &Value) -> bool {
    value.to_string().len() <= MAX_SENT_BYTES
}

/// The content that the model reads, with the details as fields if there are any.
fn raw_output(result: &ToolResult) -> Option<Value> {
    let content = Value::from(result.content.clone());
    let value = match result.details.is_null() {
        true => content,
        false => json!({"content": content, "details": result.details}),
    };
    Some(value).filter(is_sent)
}

/// The changes to files: each text with its previous version, and everything else in words.
pub(super) struct ShownChanges {
    pub(super) diffs: Vec<ToolCallContent>,
    /// Links, folders, modes, and contents that are not text or too long; empty if the diffs show all changes.
    pub(super) words: String,
}

impl ShownChanges {
    pub(super) fn of(session: &Session, folder: &Folder, changes: &[Change]) -> Self {
        let (mut words, texts) = diff::in_words_and_texts(session, changes);
        let mut diffs = Vec::new();
        for (change, before, after) in texts {
            if before.len().max(after.len()) > MAX_SENT_BYTES {
                words += &diff::of_all(session, std::slice::from_ref(change));
                continue;
            }
            let before = change.before.is_some().then_some(before);
            diffs.push(Diff::new(folder.told(&change.path), after).old_text(before).into());
        }
        Self { diffs, words }
    }

    /// The diffs, followed by the other changes in words.
    fn content(self) -> Vec<ToolCallContent> {
        let words = (!self.words.is_empty()).then(|| text(&fenced_as_is(&self.words)));
        self.diffs.into_iter().chain(words).collect()
    }
}

/// The plan in a result.
pub(super) fn plan(result: &ToolResult) -> Option<SessionUpdate> {
    let plan = result.plan()?;
    let entries = plan.items.iter().map(|step| {
        let status = match step.status {
            StepStatus::Pending => PlanEntryStatus::Pending,
            StepStatus::InProgress => PlanEntryStatus::InProgress,
            StepStatus::Done => PlanEntryStatus::Completed,
        };
        PlanEntry::new(safe::text(&step.text).into_owned(), PlanEntryPriority::Medium, status)
    });
    Some(SessionUpdate::Plan(Plan::new(entries.collect())))
}
