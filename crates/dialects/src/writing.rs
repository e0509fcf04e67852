//! [`Writing`]: how a dialect writes a call, for the history and for what holds a model to the form of its calls.
use crate::{Call, kind_of};
use haft_core::{ArgumentForm, CallForm, ReplyForm, ToolSpec};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The arguments of a call.
pub type ArgumentMap = Map<String, Value>;

/// How a dialect writes a call. Its reader understands it.
pub enum Writing {
    /// Unknown: as Hermes does, which most readers understand.
    Unknown,
    /// An object with the name and the arguments.
    Json(JsonCall),
    /// The name, and an object with the arguments: what stands before, between and behind.
    Named([&'static str; 3]),
    /// An element for each argument.
    Elements(Elements),
    /// A notation of its own.
    Own(fn(&str, &ArgumentMap) -> String),
}

/// A call as a JSON object.
pub struct JsonCall {
    /// What stands before and behind it.
    pub around: [&'static str; 2],
    /// What the name and the arguments are called.
    pub keys: [&'static str; 2],
    /// What the id is called, if there is one. A model that is held to the form writes none.
    pub id: Option<&'static str>,
    /// Whether the whole reply is one object, with thoughts and calls.
    pub is_reply: bool,
}

/// What stands around a call and around each of its arguments.
pub struct Elements {
    /// Before the name, behind it, and at the end of the call.
    pub call: [&'static str; 3],
    /// Before the key, behind it, and behind the value.
    pub argument: [&'static str; 3],
    /// What stands between the key and the value.
    pub attribute: Attribute,
}

/// What an element says about its value.
#[derive(Clone, Copy)]
pub enum Attribute {
    /// Nothing.
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

    fn form(&self, tools: &Arc<[ToolSpec]>) -> CallForm {
        let Self { around: [open, close], keys, is_reply, .. } = self;
        let reply = || ReplyForm {
            thoughts: "thoughts".into(),
            calls: "tool_calls".into(),
            call: keys.map(str::to_owned),
        };
        CallForm {
            tools: tools.clone(),
            before: format!("{open}{{\"{}\": \"", keys[0]),
            between: format!("\", \"{}\": ", keys[1]),
            behind: format!("}}{close}"),
            arguments: ArgumentForm::Json,
            reply: is_reply.then(reply),
        }
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

    /// A call.
    pub(crate) fn written(&self, call: &Call) -> String {
        let arguments = serde_json::from_str(&call.arguments).ok();
        if let Some(Value::Object(object)) = &arguments
            && let Some(written) = self.notation(&call.name, object)
        {
            return written;
        }
        let no_tools: Arc<[ToolSpec]> = Arc::default();
        let mut form = self.form(&no_tools).unwrap_or_else(|| FALLBACK.form(&no_tools));
        if let Self::Json(JsonCall { id: Some(key), .. }) = self {
            let id = Value::from(call.id.as_str());
            form.before = form.before.replacen('{', &format!("{{\"{key}\": {id}, "), 1);
        }
        // What the model wrote as arguments and could not be read stands as it stood.
        match arguments {
            Some(arguments) => form.written(&call.name, &arguments),
            None => format!("{}{}{}{}{}", form.before, call.name, form.between, call.arguments, form.behind),
        }
    }

    /// How calls are written, if a model can be held to it.
    pub fn form(&self, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
        let ([before, between, behind], arguments) = match self {
            Self::Json(json) => return Some(json.form(tools)),
            Self::Named(around) => (*around, ArgumentForm::Json),
            Self::Elements(Elements { call, argument, attribute: Attribute::None }) => {
                let [key, value, end] = argument.map(str::to_owned);
                (*call, ArgumentForm::Elements { key, value, end })
            }
            Self::Elements(_) | Self::Own(_) | Self::Unknown => return None,
        };
        let [before, between, behind] = [before, between, behind].map(str::to_owned);
        Some(CallForm { tools: tools.clone(), before, between, behind, arguments, reply: None })
    }

    /// A call that has no [`CallForm`].
    fn notation(&self, name: &str, arguments: &ArgumentMap) -> Option<String> {
        match self {
            Self::Own(written) => Some(written(name, arguments)),
            Self::Elements(elements) if !matches!(elements.attribute, Attribute::None) => {
                Some(elements.written(name, arguments))
            }
            Self::Elements(_) | Self::Json(_) | Self::Named(_) | Self::Unknown => None,
        }
    }
}

const FALLBACK: JsonCall = JsonCall::between("<tool_call>\n", "\n</tool_call>");

impl Elements {
    fn written(&self, name: &str, arguments: &ArgumentMap) -> String {
        let ([open, named, close], [key, between, end]) = (self.call, self.argument);
        let element = |(name, value): (&String, &Value)| {
            let attribute = self.attribute.of(value);
            format!("{key}{name}{attribute}{between}{}{end}", bare(value))
        };
        let arguments: String = arguments.iter().map(element).collect();
        format!("{open}{name}{named}{arguments}{close}")
    }
}

impl Attribute {
    /// With the quote that ends the key.
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
