//! [`Writing`]: how a dialect writes a call, for the conversation's history and for constraining a model to this form.
use crate::{Call, kind_of};
use serde::Serialize;
use serde_json::{Map, Serializer, Value, ser::Formatter};
use std::io;

/// The arguments of a call.
pub type ArgumentMap = Map<String, Value>;

/// How a dialect writes a call, in a form that its reader parses.
pub enum Writing {
    /// Unknown: calls are written as Hermes does, which most readers parse.
    Unknown,
    /// An object with the name and the arguments.
    Json(JsonCall),
    /// The name, and an object with the arguments; holds the texts before, between and after them.
    Named([&'static str; 3]),
    /// An element for each argument.
    Elements(Elements),
    /// A notation with its own function.
    Own(fn(&str, &ArgumentMap) -> String),
}

/// A call as a JSON object.
pub struct JsonCall {
    /// The texts before and after it.
    pub around: [&'static str; 2],
    /// The keys of the name and of the arguments.
    pub keys: [&'static str; 2],
    /// The key of the ID, if there is one. A model that is constrained to this form writes none.
    pub id: Option<&'static str>,
    /// Whether the whole reply is a single object, with thoughts and calls.
    pub is_reply: bool,
}

/// The text around a call and around each of its arguments.
pub struct Elements {
    /// The texts before the name, after it, and at the end of the call.
    pub call: [&'static str; 3],
    /// The texts before the key, after it, and after the value.
    pub argument: [&'static str; 3],
    /// The attribute between the key and the value.
    pub attribute: Attribute,
}

/// The attribute of an element about its value.
#[derive(Clone, Copy)]
pub enum Attribute {
    /// No attribute.
    None,
    /// ` string="true"`, or `"false"` for any JSON.
    IsString,
    /// ` type="number"`.
    Type,
}

impl JsonCall {
    /// `{"name": …, "arguments": …}` between these texts.
    pub const fn between(open: &'static str, close: &'static str) -> Self {
        Self { around: [open, close], keys: ["name", "arguments"], id: None, is_reply: false }
    }

    fn around(&self) -> [String; 3] {
        let Self { around: [open, close], keys: [name, arguments], .. } = self;
        [format!("{open}{{\"{name}\": \""), format!("\", \"{arguments}\": "), format!("}}{close}")]
    }
}

impl Writing {
    /// An object between these texts.
    pub const fn json(open: &'static str, close: &'static str) -> Self {
        Self::Json(JsonCall::between(open, close))
    }

    /// An object with these keys for the name and the arguments.
    pub const fn json_with(keys: [&'static str; 2], open: &'static str, close: &'static str) -> Self {
        Self::Json(JsonCall { keys, ..JsonCall::between(open, close) })
    }

    /// An element for each argument, without an attribute.
    pub const fn elements(call: [&'static str; 3], argument: [&'static str; 3]) -> Self {
        Self::Elements(Elements { call, argument, attribute: Attribute::None })
    }

    /// Returns the texts before the name, between the name and the arguments, and after them; `None` if they depend on
    /// the arguments.
    pub fn around(&self) -> Option<[String; 3]> {
        match self {
            Self::Json(json) => Some(json.around()),
            Self::Named(around) => Some(around.map(str::to_owned)),
            Self::Elements(Elements { call, attribute: Attribute::None, .. }) => {
                Some(call.map(str::to_owned))
            }
            Self::Elements(_) | Self::Own(_) | Self::Unknown => None,
        }
    }

    pub(crate) fn written(&self, call: &Call) -> String {
        let arguments = serde_json::from_str(&call.arguments).ok();
        match (self, &arguments) {
            (Self::Own(written), Some(Value::Object(arguments))) => return written(&call.name, arguments),
            (Self::Elements(elements), Some(Value::Object(arguments))) => {
                return elements.written(&call.name, arguments);
            }
            _ => {}
        }
        let [mut before, between, behind] = self.around().unwrap_or_else(|| FALLBACK.around());
        if let Self::Json(JsonCall { id: Some(key), .. }) = self {
            let id = Value::from(call.id.as_str());
            before = before.replacen('{', &format!("{{\"{key}\": {id}, "), 1);
        }
        let arguments = match arguments {
            Some(Value::String(text))
                if matches!(self, Self::Elements(Elements { attribute: Attribute::None, .. })) =>
            {
                text
            }
            Some(arguments) => spaced(&arguments),
            // Arguments that could not be parsed are written as the model wrote them.
            None => call.arguments.clone(),
        };
        format!("{before}{}{between}{arguments}{behind}", call.name)
    }
}

const FALLBACK: JsonCall = JsonCall::between("<tool_call>\n", "\n</tool_call>");

impl Elements {
    fn written(&self, name: &str, arguments: &ArgumentMap) -> String {
        let ([open, named, close], [key, between, end]) = (self.call, self.argument);
        let element = |(name, value): (&String, &Value)| {
            let attribute = self.attribute.of(value);
            let value = match (value, self.attribute) {
                (Value::String(text), _) => text.clone(),
                (value, Attribute::None) => spaced(value),
                (value, _) => value.to_string(),
            };
            format!("{key}{name}{attribute}{between}{value}{end}")
        };
        let arguments: String = arguments.iter().map(element).collect();
        format!("{open}{name}{named}{arguments}{close}")
    }
}

impl Attribute {
    /// The attribute for `value`, including the quote that ends the key.
    fn of(self, value: &Value) -> String {
        match self {
            Self::None => String::new(),
            Self::IsString => format!("\" string=\"{}\"", value.is_string()),
            Self::Type => format!("\" type=\"{}\"", kind_of(value)),
        }
    }
}

/// A string without quotes, anything else as JSON.
pub(crate) fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One line of JSON with spaces as in Python's `json.dumps`, which the models' chat templates use.
fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut serializer).expect("a JSON value can be written");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes `, ` and `: `.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
