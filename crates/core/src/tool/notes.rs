//! [`Render::add_note`]: adds a note of Haft for the model to the result of a call, such as diagnostics or the message
//! of a hook.
//!
//! A note begins with a line break and follows the tool's text. A result that a profile formats as JSON stays JSON: the
//! note is in its `output` if it has a title, otherwise in the field `note`.
use super::render::{Render, Wording};
use crate::{Clip, ToolResult};
use serde_json::{Map, Value};

/// The field of a result as JSON that has its notes.
const FIELD: &str = "note";

/// How often the limit for each text is halved: a character takes up to six bytes in JSON (`\u0000`), and a result may have
/// several texts.
const MAX_CUTS: u32 = 4;

impl Render {
    /// Adds `note` to a result in this wording.
    pub fn add_note(&self, result: &mut ToolResult, note: &str) {
        if note.is_empty() {
            return;
        }
        match self.object(result) {
            Some(object) => result.content = object.with_edited_notes(|notes| notes.to_owned() + note),
            None => result.content += note,
        }
    }

    /// Cuts the content of a result to `clip`. In a JSON result, each text is cut, since half an object is invalid. If
    /// other values make the result too long, it becomes the text of a field.
    pub fn clipped(&self, result: &ToolResult, clip: &Clip) -> String {
        const HINT: &str = "ask for a part of it";
        let fits = |text: &str| clip.split(text).missing_bytes == 0;
        let Some(object) = self.object(result).filter(|_| !fits(&result.content)) else {
            return clip.apply(&result.content, HINT);
        };
        let shorter = |part: u32| Clip { bytes: clip.bytes >> part, ..*clip };
        let cut = |part: u32| object.with_texts(&|text| shorter(part).apply(text, HINT));
        let whole = (0..=MAX_CUTS).map(cut).find(|text| fits(text));
        whole.unwrap_or_else(|| object.as_text_field(&shorter(MAX_CUTS).apply(&result.content, HINT)))
    }

    /// Parses the content of a result that this wording made as JSON; `None` if the content is the tool's own text,
    /// such as a JSON file.
    fn object(&self, result: &ToolResult) -> Option<ObjectContent> {
        let object =
            (self.result != Wording::Text).then(|| ObjectContent::parse(&result.content)).flatten()?;
        let is_worded = match self.result {
            Wording::Text => false,
            Wording::Success | Wording::Titled => true,
            Wording::Fields => {
                let named = self.named(&result.details);
                let own = object.fields.keys().filter(|name| *name != FIELD);
                named.as_object().is_some_and(|named| own.eq(named.keys().filter(|name| *name != FIELD)))
            }
        };
        is_worded.then_some(object)
    }
}

/// Returns `content` of a result, in any wording, with the text or the field that has its notes replaced by the result
/// of `edit`.
pub fn edit_notes(content: &str, edit: impl FnOnce(&str) -> String) -> String {
    match ObjectContent::parse(content).filter(ObjectContent::has_notes) {
        Some(object) => object.with_edited_notes(edit),
        None => edit(content),
    }
}

/// Returns the output in `content` of a result that has a title.
pub(crate) fn output_below_title(content: &str) -> Option<String> {
    let object = ObjectContent::parse(content).filter(ObjectContent::is_titled)?;
    object.fields["output"].as_str().map(str::to_owned)
}

/// A result as a JSON object.
struct ObjectContent {
    fields: Map<String, Value>,
    is_indented: bool,
}

impl ObjectContent {
    fn parse(content: &str) -> Option<Self> {
        let fields = content.starts_with('{').then(|| serde_json::from_str(content).ok()).flatten()?;
        Some(Self { fields, is_indented: content.starts_with("{\n") })
    }

    /// Whether it is `{"title":…,"output":…}`, whose notes follow the output.
    fn is_titled(&self) -> bool {
        self.fields.keys().eq(["title", "output"])
    }

    fn has_notes(&self) -> bool {
        self.is_titled() || self.fields.contains_key(FIELD)
    }

    fn with_edited_notes(mut self, edit: impl FnOnce(&str) -> String) -> String {
        if self.is_titled() {
            let output = edit(self.fields["output"].as_str().unwrap_or_default());
            self.fields["output"] = output.into();
            return self.write();
        }
        let notes = self.fields.get(FIELD).and_then(Value::as_str).map(|notes| format!("\n{notes}"));
        let notes = edit(&notes.unwrap_or_default());
        match notes.trim_start_matches('\n') {
            "" => self.fields.shift_remove(FIELD),
            notes => self.fields.insert(FIELD.to_owned(), notes.into()),
        };
        self.write()
    }

    fn with_texts(&self, edit: &dyn Fn(&str) -> String) -> String {
        let fields = self.fields.iter().map(|(name, value)| (name.clone(), edited(value, edit))).collect();
        Self { fields, ..*self }.write()
    }

    /// The object with its short fields, and `text` as its output.
    fn as_text_field(&self, text: &str) -> String {
        let is_short = |value: &Value| value.is_boolean() || value.is_number();
        let short = self.fields.iter().filter(|(_, value)| is_short(value));
        let mut fields: Map<String, Value> =
            short.map(|(name, value)| (name.clone(), value.clone())).collect();
        fields.insert("output".to_owned(), text.into());
        Self { fields, ..*self }.write()
    }

    fn write(self) -> String {
        let object = Value::Object(self.fields);
        if self.is_indented { format!("{object:#}") } else { object.to_string() }
    }
}

/// Applies `edit` to each text in `value`.
fn edited(value: &Value, edit: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => edit(text).into(),
        Value::Array(items) => items.iter().map(|item| edited(item, edit)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), edited(value, edit))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
