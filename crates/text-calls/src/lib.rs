//! [`TextToolCalls`]: tools for a model whose server does not support them, as a wrapper around its provider.
//!
//! For the model, everything is text: the system prompt describes the tools and how to call them ([`voice`]); calls and
//! results are in the history in the notation of its dialect. Its replies are parsed by the dialect's reader. If a
//! server can constrain the model to the form of a call, the request contains that form ([`haft_core::CallForm`]).
//!
//! For a model with native calls, [`LeadingThoughts`] only separates the thoughts at the beginning of a reply.
//! [`UnreadCalls`] detects calls that a model writes as text and that Haft does not parse.
use futures::{StreamExt, stream::BoxStream};
use haft_core::{CallId, Delta, Message, Part, Provider, ProviderError, Request, StopReason, ToolSpec};
use haft_dialects::{Call, DIALECTS, Dialect, Reader, Said, Setting, ToolSchema, dialect, spoken_by};
use held::Held;
use std::sync::{Arc, OnceLock};
pub use thoughts::LeadingThoughts;
pub use unread::UnreadCalls;

mod held;
mod history;
mod thoughts;
mod trial;
mod unread;
mod voice;

/// The name of an invalid call, whose own name is unknown.
const UNREADABLE: &str = "unreadable_call";
const CUT_OFF: &str = "the reply reached its length limit before the call was whole; nothing was run. Send a shorter call, or \
                       the content in parts";
/// The dialect of unknown models: the one that most models have seen.
const COMMON: &str = "hermes";

/// A model that uses a dialect.
pub struct TextToolCalls {
    inner: Arc<dyn Provider>,
    dialect: Option<&'static Dialect>,
    /// The dialect that was recognized in the model's replies.
    found: Arc<OnceLock<&'static Dialect>>,
    history: History,
    is_held: bool,
    /// Whether calls in the text count only in a reply without native ones.
    is_fallback: bool,
}

/// How tools, calls and results are written into the conversation.
#[derive(Clone, Copy, PartialEq)]
enum History {
    /// By this wrapper, as text.
    Text,
    /// By the inner provider, with the model's own chat template.
    Inner,
}

impl TextToolCalls {
    /// Wraps `inner`, whose model uses this dialect.
    pub fn new(inner: Arc<dyn Provider>, dialect: &'static Dialect) -> Self {
        Self { dialect: Some(dialect), ..Self::auto(inner) }
    }

    /// Wraps `inner`, whose model uses the dialect for its name, `hermes` if the name is unknown. Calls in another
    /// dialect count, too, if they are certain; if delimiters identify that dialect, it is used from then on.
    pub fn auto(inner: Arc<dyn Provider>) -> Self {
        let (dialect, found, history) = (None, Arc::default(), History::Text);
        Self { inner, dialect, found, history, is_held: true, is_fallback: false }
    }

    /// Wraps `inner`, which passes the tools to its model and writes the history itself, but leaves calls in the text
    /// of the reply.
    pub fn listening(inner: Arc<dyn Provider>, dialect: &'static Dialect) -> Self {
        Self { history: History::Inner, ..Self::new(inner, dialect) }
    }

    /// Wraps `inner`, whose model calls natively, but may write a call as text. Such calls count only in a reply
    /// without native ones; otherwise they stay text.
    pub fn fallback(inner: Arc<dyn Provider>, dialect: &'static Dialect) -> Self {
        Self { is_fallback: true, ..Self::listening(inner, dialect).unheld() }
    }

    /// Does not constrain the model to the form of its calls.
    pub fn unheld(self) -> Self {
        Self { is_held: false, ..self }
    }

    fn dialect(&self, model: &str) -> &'static Dialect {
        let known = self.dialect.or_else(|| self.found.get().copied()).or_else(|| spoken_by(model));
        known.or_else(|| dialect(COMMON)).unwrap_or(DIALECTS[0])
    }

    fn told(&self, request: Request, dialect: &'static Dialect) -> Request {
        let form = voice::form(dialect, &request.tools).filter(|_| self.is_held).map(Arc::new);
        let told = match self.history {
            History::Text => history::told(request, dialect),
            History::Inner => request,
        };
        Request { form, ..told }
    }
}

impl Provider for TextToolCalls {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let dialect = self.dialect(&request.model);
        let found = self.dialect.is_none().then(|| self.found.clone());
        let mut listener = Listener::new(dialect, &request, found, self.is_fallback);
        let mut deltas = self.inner.stream(self.told(request, dialect));
        Box::pin(async_stream::stream! {
            while let Some(delta) = deltas.next().await {
                match delta {
                    Ok(delta) => {
                        for heard in listener.hear(delta) {
                            yield Ok(heard);
                        }
                    }
                    Err(error) => yield Err(error),
                }
            }
        })
    }
}

/// Parses one reply.
struct Listener {
    dialect: &'static Dialect,
    tools: Arc<[ToolSpec]>,
    setting: Setting,
    reader: Box<dyn Reader>,
    /// The index of the next call.
    next: usize,
    /// Number of calls in the conversation before; IDs continue from there.
    before: usize,
    /// Where to store another dialect that was recognized, if other dialects count.
    found: Option<Arc<OnceLock<&'static Dialect>>>,
    /// The reply so far.
    reply: String,
    held: Held,
}

impl Listener {
    fn new(
        dialect: &'static Dialect,
        request: &Request,
        found: Option<Arc<OnceLock<&'static Dialect>>>,
        is_fallback: bool,
    ) -> Self {
        let tools = request.tools.clone();
        let setting = Setting { tools: schemas(&tools), ..Setting::default() };
        let calls = |message: &Arc<Message>| match &**message {
            Message::Assistant { parts } => parts.iter().filter_map(Part::as_call).count(),
            Message::User { .. } | Message::Tool { .. } => 0,
        };
        let before = request.messages.iter().map(calls).sum();
        let (reader, held) = (dialect.listen(&setting), Held::new(is_fallback));
        Self { dialect, tools, reader, setting, next: 0, before, found, reply: String::new(), held }
    }

    fn hear(&mut self, delta: Delta) -> Vec<Delta> {
        let (mut said, mut deltas) = (Vec::new(), Vec::new());
        match delta {
            Delta::Text(text) => {
                self.reply += &text;
                self.reader.push(&text, &mut said);
                let certain = self.held.hear(said);
                self.tell(certain, None, &mut deltas);
                return deltas;
            }
            Delta::Stop(stop) => {
                self.reader.end(&mut said);
                let rest = self.held.end(said, self.dialect, &self.setting, &self.reply);
                self.tell(rest, Some(stop), &mut deltas);
                self.try_others(stop, &mut deltas);
                let waits = stop == StopReason::EndTurn && self.next > 0;
                deltas.push(Delta::Stop(if waits { StopReason::ToolUse } else { stop }));
                return deltas;
            }
            Delta::Retrying { .. } => {
                self.reader = self.dialect.listen(&self.setting);
                self.reply.clear();
                self.held.forget();
                self.next = 0;
            }
            Delta::CallStart { index, .. } => {
                self.next = self.next.max(index + 1);
                self.held.native();
            }
            Delta::Thinking(_)
            | Delta::Signature(_)
            | Delta::CallArguments { .. }
            | Delta::CallProblem { .. }
            | Delta::Usage(_) => {}
        }
        vec![delta]
    }

    /// Emits the calls in another dialect, if the reply has none in its own.
    fn try_others(&mut self, stop: StopReason, deltas: &mut Vec<Delta>) {
        let Some(found) = self.found.take().filter(|_| self.next == 0) else { return };
        let Some(other) = trial::calls(&self.reply, &self.setting) else { return };
        // Calls without delimiters may be anywhere in prose, so that dialect is not stored, and the next reply is tried
        // again.
        if other.is_announced {
            let _found_before = found.set(other.dialect);
        }
        self.tell(other.calls.into_iter().map(Said::Call).collect(), Some(stop), deltas);
    }

    /// Emits items. `stop`: set if the reply had ended before they were certain.
    fn tell(&mut self, said: Vec<Said>, stop: Option<StopReason>, deltas: &mut Vec<Delta>) {
        let is_cut_off = stop.is_some_and(StopReason::is_cut_off);
        let mut said = said.into_iter().peekable();
        while let Some(now) = said.next() {
            match now {
                Said::Text(text) => deltas.push(Delta::Text(text)),
                Said::Thinking(text) => deltas.push(Delta::Thinking(text)),
                Said::ThinkingEnd => {}
                Said::Call(call) => {
                    // A reader emits a call whose end is missing, followed by the problem. Sometimes it takes such a
                    // call as complete, although the rest was cut off.
                    let doubt = stop.and(said.next_if(|next| matches!(next, Said::Problem(_))));
                    let problem = match doubt {
                        _ if is_cut_off => Some(CUT_OFF.to_owned()),
                        Some(Said::Problem(problem)) => Some(problem.text),
                        _ => None,
                    };
                    self.push(call, problem, deltas);
                }
                Said::Problem(why) => {
                    let example = voice::example(self.dialect, &self.tools);
                    let problem =
                        format!("failed to parse tool calls: {why}. A call is written like this:\n{example}");
                    self.push(Call::new(UNREADABLE, ""), Some(problem), deltas);
                }
            }
        }
    }

    fn push(&mut self, call: Call, problem: Option<String>, deltas: &mut Vec<Delta>) {
        let index = self.next;
        self.next += 1;
        let id = match call.id.is_empty() {
            true => format!("call_{}", self.before + index),
            false => call.id,
        };
        deltas.push(Delta::CallStart { index, id: CallId(id), name: call.name });
        deltas.push(Delta::CallArguments { index, json: call.arguments });
        deltas.extend(problem.map(|problem| Delta::CallProblem { index, problem }));
    }
}

fn schemas(tools: &[ToolSpec]) -> Arc<[ToolSchema]> {
    let schema = |tool: &ToolSpec| {
        let ToolSpec { name, description, parameters, .. } = tool.clone();
        ToolSchema { name, description, parameters }
    };
    tools.iter().map(schema).collect()
}
