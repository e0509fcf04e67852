//! [`Prompt`]: a request as the text that the model continues, with the limits on its reply.
use crate::{
    listen::Listen,
    plain::Plain,
    small::{self, reply::OneReply},
    tagged::{Syntax, TagReader},
    template::{Conversation, Template},
};
use haft_core::{
    ArgumentForm, CallForm, Message, Part, Request, ToolSpec, grammar::Rules, json::spaced, text_of,
};
use minijinja::Error;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Explains the form of a call to a model whose template does not.
const CALL_INSTRUCTIONS: &str = "You may call functions. To call one, write a JSON object with its name and arguments \
between <tool_call> and </tool_call>:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>\n\
The result comes between <tool_response> and </tool_response>. The functions:";

/// How tools are described to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// By worked examples.
    Small,
    /// By the template, which has a place for tools; calls have this form.
    Native(Syntax),
    /// In the system prompt: the template has a place for tools, but in an unknown form.
    Spoken,
}

/// Everything that is needed for one reply.
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// Number of bytes at the beginning of the text that are the same in every conversation with this system prompt and
    /// these tools.
    pub(crate) fixed: usize,
    /// The grammar that applies from the first token.
    pub(crate) grammar: Option<String>,
    /// The grammar that applies from the beginning of a call.
    pub(crate) call_grammar: Option<String>,
    pub(crate) listener: Box<dyn Listen>,
}

impl Dialect {
    /// `small`: whether small mode is used, because of the settings or of the model's size.
    pub(crate) fn of(template: &Template, small: bool) -> Self {
        let source = template.source();
        match (small, source.contains("<tool_call>"), source.contains("<function=")) {
            (true, ..) => Self::Small,
            (false, true, false) => Self::Native(Syntax::Tagged),
            (false, false, _) if source.contains("\"parameters\": ") => Self::Native(Syntax::Bare),
            _ => Self::Spoken,
        }
    }

    /// `defuse` changes texts that look like the model's control tokens, so that they have no effect.
    pub(crate) fn prompt(
        self,
        request: &Request,
        template: &Template,
        defuse: &dyn Fn(String) -> String,
    ) -> Result<Prompt, Error> {
        match due_answer(request) {
            Some(schema) => self.answer_prompt(request, schema, template, defuse),
            None => self.reply_prompt(request, template, defuse),
        }
    }

    /// The prompt if the next reply must be JSON: no tools, and a grammar from the first token.
    fn answer_prompt(
        self,
        request: &Request,
        schema: &Value,
        template: &Template,
        defuse: &dyn Fn(String) -> String,
    ) -> Result<Prompt, Error> {
        let request = Request { tools: Arc::default(), form: None, ..request.clone() };
        let prompt = self.reply_prompt(&request, template, defuse)?;
        let mut rules = Rules::new(None);
        let root = rules.schema(schema);
        let grammar = Some(rules.into_grammar(&root));
        Ok(Prompt { grammar, call_grammar: None, listener: Box::new(Plain::new("")), ..prompt })
    }

    fn reply_prompt(
        self,
        request: &Request,
        template: &Template,
        defuse: &dyn Fn(String) -> String,
    ) -> Result<Prompt, Error> {
        match self {
            // Without tools, no examples are needed if the template marks the end of an answer.
            Self::Small if request.tools.is_empty() && template.is_own() => {
                large_prompt(self, request, template, defuse)
            }
            Self::Small => Ok(small_prompt(request, defuse)),
            Self::Native(_) | Self::Spoken => large_prompt(self, request, template, defuse),
        }
    }
}

/// The JSON Schema of the next reply, if the final answer is due: the work is done, or there are no tools to call.
fn due_answer(request: &Request) -> Option<&Value> {
    let answer = request.answer.as_ref()?;
    (answer.is_due || request.tools.is_empty()).then_some(&*answer.schema)
}

fn small_prompt(request: &Request, defuse: &dyn Fn(String) -> String) -> Prompt {
    let own = || Arc::new(form_of(Syntax::Tagged, &request.tools));
    let form = request.form.clone().unwrap_or_else(own);
    let plan = small::plan(request, &form);
    let reader: Box<dyn Listen> = match &request.form {
        Some(form) => Box::new(Plain::new(form.sign())),
        None => Box::new(TagReader::new(Syntax::Tagged, false)),
    };
    let listener = Box::new(OneReply::new(&form, reader));
    Prompt { text: defuse(plan.text), fixed: 0, grammar: Some(plan.grammar), call_grammar: None, listener }
}

fn large_prompt(
    dialect: Dialect,
    request: &Request,
    template: &Template,
    defuse: &dyn Fn(String) -> String,
) -> Result<Prompt, Error> {
    let render = |messages: &[Arc<Message>]| {
        template.render(&defused(conversation(dialect, request, messages), defuse))
    };
    let text = render(&request.messages)?;
    // The common beginning with a different conversation is common to all conversations.
    let other = render(&[Arc::new(Message::User { parts: vec![Part::text("\u{1}")] })]).unwrap_or_default();
    let fixed = text.bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count();
    let syntax = match dialect {
        Dialect::Native(syntax) => syntax,
        Dialect::Small | Dialect::Spoken => Syntax::Tagged,
    };
    let own_form = || (!request.tools.is_empty()).then(|| Arc::new(form_of(syntax, &request.tools)));
    let form = request.form.clone().or_else(own_form);
    let call_grammar = form.map(|form| form.call_grammar());
    let listener: Box<dyn Listen> = match &request.form {
        Some(form) => Box::new(Plain::new(form.sign())),
        None => Box::new(TagReader::new(syntax, text.trim_end().ends_with("<think>"))),
    };
    let fixed = text.floor_char_boundary(fixed);
    Ok(Prompt { text, fixed, grammar: None, call_grammar, listener })
}

/// The form of calls of a model with its own template.
pub(crate) fn form_of(syntax: Syntax, tools: &Arc<[ToolSpec]>) -> CallForm {
    let [before, between, behind] = match syntax {
        Syntax::Tagged => ["<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>"],
        Syntax::Bare => ["{\"name\": \"", "\", \"parameters\": ", "}"],
    };
    let [before, between, behind] = [before, between, behind].map(str::to_owned);
    CallForm { tools: tools.clone(), before, between, behind, arguments: ArgumentForm::Json, reply: None }
}

fn conversation(dialect: Dialect, request: &Request, messages: &[Arc<Message>]) -> Conversation {
    let spoken = dialect == Dialect::Spoken && !request.tools.is_empty();
    let system = match spoken {
        true => format!("{}\n\n{}", request.system, told(&request.tools)).trim().to_owned(),
        false => request.system.clone(),
    };
    let system = (!system.is_empty()).then(|| json!({"role": "system", "content": system}));
    let messages = system.into_iter().chain(messages.iter().map(|message| chat_message(message, spoken)));
    let tools = match spoken {
        true => Vec::new(),
        false => request.tools.iter().map(ToolSpec::definition).collect(),
    };
    Conversation { messages: messages.collect(), tools }
}

fn told(tools: &[ToolSpec]) -> String {
    let lines: Vec<String> = tools.iter().map(|tool| spaced(&tool.definition())).collect();
    format!("{CALL_INSTRUCTIONS}\n{}", lines.join("\n"))
}

/// A message in OpenAI's chat format, for which templates are written.
fn chat_message(message: &Message, spoken: bool) -> Value {
    match message {
        Message::User { parts } => json!({"role": "user", "content": text_of(parts)}),
        Message::Tool { result, .. } if spoken => {
            json!({"role": "user", "content": format!("<tool_response>\n{}\n</tool_response>", result.content)})
        }
        Message::Tool { call, name, result } => {
            json!({"role": "tool", "name": name, "tool_call_id": call, "content": result.content})
        }
        Message::Assistant { parts } => assistant(parts, spoken),
    }
}

fn assistant(parts: &[Part], spoken: bool) -> Value {
    let calls = parts.iter().filter_map(Part::as_call);
    let calls: Vec<Value> =
        calls.map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    });
    let (mut content, thinking): (String, String) = (text_of(parts), thoughts.collect());
    let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    if !thinking.is_empty() {
        message.insert("reasoning_content".into(), thinking.into());
    }
    if spoken {
        let written = calls.iter().map(|call| format!("<tool_call>\n{}\n</tool_call>", spaced(call)));
        content = [content]
            .into_iter()
            .filter(|text| !text.is_empty())
            .chain(written)
            .collect::<Vec<_>>()
            .join("\n");
    } else if !calls.is_empty() {
        let calls: Vec<Value> =
            calls.into_iter().map(|function| json!({"type": "function", "function": function})).collect();
        message.insert("tool_calls".into(), calls.into());
    }
    message.insert("content".into(), content.into());
    message.into()
}

fn defused(mut conversation: Conversation, defuse: &dyn Fn(String) -> String) -> Conversation {
    for message in &mut conversation.messages {
        if let Some(Value::String(content)) = message.get_mut("content") {
            *content = defuse(std::mem::take(content));
        }
    }
    conversation
}
