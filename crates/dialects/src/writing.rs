//! [`Writing`]: how a dialect writes a call, for the history and for what holds a model to the form of its calls.
use crate::{Call, kind_of};
use serde::Serialize;
use serde_json::{Map, Serializer, Value, ser::Formatter};
use std::io;

/// The arguments of a call.
pub type ArgumentMap = Map<String, Value>;

/// How a dialect writes a call, in a form that its reader reads.
pub enum Writing {
    /// Unknown: as Hermes does, which most readers understand.
    Unknown,
    /// An object with the name and the arguments.
    Json(JsonCall),
    /// The name, and an object with the arguments: the text before, between and behind.
    Named([&'static str; 3]),
    /// An element for each argument.
    Elements(Elements),
    /// A notation of its own.
    Own(fn(&str, &ArgumentMap) -> String),
}

/// A call as a JSON object.
pub struct JsonCall {
    /// The text before and behind it.
    pub around: [&'static str; 2],
    /// What the name and the arguments are called.
    pub keys: [&'static str; 2],
    /// What the id is called, if there is one. A model that is held to the form writes none.
    pub id: Option<&'static str>,
    /// Whether the whole reply is one object, with thoughts and calls.
    pub is_reply: bool,
}

/// The text around a call and around each of its arguments.
pub struct Elements {
    /// Before the name, behind it, and at the end of the call.
    pub call: [&'static str; 3],
    /// Before the key, behind it, and behind the value.
    pub argument: [&'static str; 3],
    /// The text between the key and the value.
    pub attribute: Attribute,
}

/// What an element says about its value.
#[derive(Clone, Copy)]
pub enum Attribute {
    /// No attribute.
    None,
    /// ` string="true"`, or `false` for any JSON.
    IsString,
    /// ` type="number"`.
    Type,
}

impl JsonCall {
    /// `{"name": …, "arguments": …}` between these.
    pub const fn between(open: &'static str, close: &'static str) -> Self {
        Self { around: [open, close], keys: ["name", "arguments"], id: None, is_reply: false }
    }

    fn around(&self) -> [String; 3] {
        let Self { around: [open, close], keys: [name, arguments], .. } = self;
        [format!("{open}{{\"{name}\": \""), format!("\", \"{arguments}\": "), format!("}}{close}")]
    }
}

impl Writing {
    /// An object between these.
    pub const fn json(open: &'static str, close: &'static str) -> Self {
        Self::Json(JsonCall::between(open, close))
    }

    /// An object that has these names for the name and the arguments.
    pub const fn json_with(keys: [&'static str; 2], open: &'static str, close: &'static str) -> Self {
        Self::Json(JsonCall { keys, ..JsonCall::between(open, close) })
    }

    /// An element for each argument that says nothing about its value.
    pub const fn elements(call: [&'static str; 3], argument: [&'static str; 3]) -> Self {
        Self::Elements(Elements { call, argument, attribute: Attribute::None })
    }

    /// Returns the text before the name, between the name and the arguments, and behind them; `None` if that depends on
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
            // What the model wrote as arguments and could not be read stands as it stood.
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
    /// The attribute for `value`, with the quote that ends the key.
    fn of(self, value: &Value) -> String {
        match self {
            Self::None => String::new(),
            Self::IsString => format!("\" string=\"{}\"", value.is_string()),
            Self::Type => format!("\" type=\"{}\"", kind_of(value)),
        }
    }
}

/// A string as it is, anything else as JSON.
pub(crate) fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One line of JSON with spaces where Python's `json.dumps` puts them, as the chat templates of the models do.
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
