//! [`SessionSpans`]: the spans of one session, folded from its facts.
//!
//! Names and attributes are those of the "Semantic conventions for generative AI systems" (OpenTelemetry 1.37).
use haft_core::{CallId, Entry, Fact, ModelFault, Outcome, SessionId, StopReason, ToolResult, Usage};
use opentelemetry::{
    Array, Context, KeyValue, StringValue, Value,
    metrics::{Histogram, Meter},
    trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_sdk::trace::SdkTracer;
use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

/// The metrics.
pub(crate) struct Instruments {
    tokens: Histogram<u64>,
    seconds: Histogram<f64>,
}

impl Instruments {
    pub(crate) fn of(meter: &Meter) -> Self {
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        let seconds = meter.f64_histogram("gen_ai.client.operation.duration").with_unit("s");
        // The conventions define the bounds.
        let token_bounds = (0..14).map(|power| f64::from(4u32.pow(power))).collect();
        let second_bounds = (0..14).map(|power| 0.01 * f64::from(2u32.pow(power))).collect();
        Self {
            tokens: tokens
                .with_description("Tokens that requests to a model used")
                .with_boundaries(token_bounds)
                .build(),
            seconds: seconds
                .with_description("How long requests, calls and turns took")
                .with_boundaries(second_bounds)
                .build(),
        }
    }
}

/// The running turn of a session, and its running calls.
pub(crate) struct SessionSpans {
    session: String,
    agent: String,
    /// `PROVIDER/MODEL`.
    model: String,
    /// The parent span of turns.
    parent: Context,
    turn: Option<Running>,
    calls: HashMap<CallId, Running>,
    /// When the last entry was recorded, in milliseconds since 1970: the next request begins there.
    last: u64,
}

/// A span that has not ended.
struct Running {
    context: Context,
    /// Start, in milliseconds since 1970.
    began: u64,
}

impl SessionSpans {
    pub(crate) fn new(session: &SessionId, parent: Context) -> Self {
        let session = session.0.to_string();
        let (agent, model, turn, calls) = Default::default();
        Self { session, agent, model, parent, turn, calls, last: 0 }
    }

    /// The span of a running call, otherwise of the turn.
    pub(crate) fn context_of(&self, call: &CallId) -> Option<Context> {
        let running = self.calls.get(call).or(self.turn.as_ref())?;
        Some(running.context.clone())
    }

    /// Stores data of an entry that later spans need, without creating spans.
    pub(crate) fn learn(&mut self, entry: &Entry) {
        self.last = entry.at;
        match &entry.fact {
            Fact::SessionOpened(opened) => {
                self.agent.clone_from(&opened.agent);
                self.model.clone_from(&opened.model);
            }
            Fact::SetupChanged { setup, .. } => {
                self.agent.clone_from(&setup.agent);
                self.model.clone_from(&setup.model);
            }
            Fact::ModelSwitched { to, .. } => self.model.clone_from(to),
            _ => {}
        }
    }

    /// Begins and ends the spans of `entry`.
    pub(crate) fn record(&mut self, entry: &Entry, tracer: &SdkTracer, instruments: &Instruments) {
        let at = entry.at;
        match &entry.fact {
            Fact::Prompted { .. } | Fact::TaskEnded { .. } | Fact::Called { .. } | Fact::Continued => {
                self.begin_turn(at, tracer);
            }
            Fact::Replied { usage, stop, .. } | Fact::Sampled { usage, stop, .. } => {
                let ended = Request { usage: *usage, stop: Some(*stop), error: None };
                self.request(at, ended, tracer, instruments);
            }
            Fact::Retried { usage, .. } => {
                let ended = Request { usage: *usage, stop: None, error: Some("retried") };
                self.request(at, ended, tracer, instruments);
            }
            Fact::ModelFailed { reason, .. } => {
                let error = reason.map_or("model_failed", ModelFault::name);
                let ended = Request { usage: Usage::default(), stop: None, error: Some(error) };
                self.request(at, ended, tracer, instruments);
            }
            Fact::ModelSwitched { from, to, .. } => {
                let attributes = vec![
                    KeyValue::new("haft.model.from", from.clone()),
                    KeyValue::new("haft.model.to", to.clone()),
                ];
                self.note("haft.model_switched", at, attributes);
            }
            Fact::ToolStarted { call, name, .. } => self.begin_call(call, name, at, tracer),
            Fact::ApprovalAsked { call, .. } => {
                self.note(
                    "haft.approval_asked",
                    at,
                    vec![KeyValue::new("gen_ai.tool.call.id", call.0.to_string())],
                );
            }
            Fact::ToolEnded { call, name, result, duration_ms } => {
                self.begin_call(call, name, at.saturating_sub(*duration_ms), tracer);
                self.end_call(call, name, result, at, instruments);
            }
            Fact::TurnEnded { outcome, usage, cost_usd, rounds } => {
                let attributes = [
                    Some(KeyValue::new("haft.outcome", outcome_name(*outcome))),
                    Some(KeyValue::new("haft.rounds", i64::from(*rounds))),
                    cost_usd.map(|usd| KeyValue::new("haft.cost_usd", usd)),
                ];
                let attributes = attributes.into_iter().flatten().chain(tokens(usage)).collect();
                self.end_turn(at, attributes, outcome.reason());
            }
            _ => {}
        }
        self.learn(entry);
    }

    /// Ends all running spans, since the process ends.
    pub(crate) fn end_all(&mut self) {
        let last = self.last;
        for (_, running) in self.calls.drain() {
            running.end(last);
        }
        if let Some(turn) = self.turn.take() {
            turn.end(last);
        }
    }

    fn begin_turn(&mut self, at: u64, tracer: &SdkTracer) {
        if self.turn.is_some() {
            return;
        }
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", self.agent.clone()),
            KeyValue::new("gen_ai.conversation.id", self.session.clone()),
        ];
        let builder = SpanBuilder::from_name(format!("invoke_agent {}", self.agent));
        let builder =
            builder.with_kind(SpanKind::Internal).with_attributes(attributes.into_iter().chain(self.asked()));
        self.turn = Some(Running::begin(builder, at, &self.parent, tracer));
    }

    fn end_turn(&mut self, at: u64, attributes: Vec<KeyValue>, reason: Option<&'static str>) {
        // A call of a turn that was cut off has no end of its own.
        for (_, running) in self.calls.drain() {
            running.end(at);
        }
        let Some(turn) = self.turn.take() else { return };
        let span = turn.context.span();
        span.set_attributes(attributes);
        if let Some(reason) = reason {
            span.set_status(Status::error(reason));
        }
        turn.end(at);
    }

    /// Creates the span of a request that has ended: it began with the previous entry.
    fn request(&mut self, at: u64, ended: Request, tracer: &SdkTracer, instruments: &Instruments) {
        let parent = self.turn.as_ref().map_or(&self.parent, |turn| &turn.context);
        let began = if self.last == 0 { at } else { self.last };
        let model = self.model.split_once('/').map_or(&*self.model, |(_, model)| model);
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.conversation.id", self.session.clone()),
        ];
        let attributes =
            attributes.into_iter().chain(self.asked()).chain(tokens(&ended.usage)).chain(ended.how());
        let builder = SpanBuilder::from_name(format!("chat {model}"));
        let builder = builder.with_kind(SpanKind::Client).with_attributes(attributes);
        let running = Running::begin(builder, began, parent, tracer);
        if let Some(error) = ended.error {
            running.context.span().set_status(Status::error(error));
        }
        running.end(at);

        let measured: Vec<KeyValue> =
            [KeyValue::new("gen_ai.operation.name", "chat")].into_iter().chain(self.asked()).collect();
        for (kind, count) in [("input", all_input(&ended.usage)), ("output", ended.usage.output)] {
            let kind = KeyValue::new("gen_ai.token.type", kind);
            instruments.tokens.record(count, &[&measured[..], &[kind]].concat());
        }
        let error = ended.error.map(|error| KeyValue::new("error.type", error));
        let measured: Vec<KeyValue> = measured.into_iter().chain(error).collect();
        instruments.seconds.record(seconds(began, at), &measured);
    }

    fn begin_call(&mut self, call: &CallId, name: &str, at: u64, tracer: &SdkTracer) {
        if self.calls.contains_key(call) {
            return;
        }
        let attributes = [
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", name.to_owned()),
            KeyValue::new("gen_ai.tool.call.id", call.0.to_string()),
            KeyValue::new("gen_ai.tool.type", "function"),
            KeyValue::new("gen_ai.conversation.id", self.session.clone()),
        ];
        let builder = SpanBuilder::from_name(format!("execute_tool {name}"));
        let builder = builder.with_kind(SpanKind::Internal).with_attributes(attributes);
        let parent = self.turn.as_ref().map_or(&self.parent, |turn| &turn.context);
        self.calls.insert(call.clone(), Running::begin(builder, at, parent, tracer));
    }

    fn end_call(
        &mut self,
        call: &CallId,
        name: &str,
        result: &ToolResult,
        at: u64,
        instruments: &Instruments,
    ) {
        let Some(running) = self.calls.remove(call) else { return };
        let error = result.error.as_ref().map(|error| error.kind.to_string());
        if let Some(error) = &error {
            let span = running.context.span();
            span.set_attribute(KeyValue::new("error.type", error.clone()));
            span.set_status(Status::error(error.clone()));
        }
        let measured = [
            Some(KeyValue::new("gen_ai.operation.name", "execute_tool")),
            Some(KeyValue::new("gen_ai.tool.name", name.to_owned())),
            error.map(|error| KeyValue::new("error.type", error)),
        ];
        let measured: Vec<KeyValue> = measured.into_iter().flatten().collect();
        instruments.seconds.record(seconds(running.began, at), &measured);
        running.end(at);
    }

    /// Adds an event to the turn's span.
    fn note(&self, name: &'static str, at: u64, attributes: Vec<KeyValue>) {
        if let Some(turn) = &self.turn {
            turn.context.span().add_event_with_timestamp(name, time(at), attributes);
        }
    }

    /// The attributes of the model and its provider.
    fn asked(&self) -> [KeyValue; 2] {
        let (provider, model) = self.model.split_once('/').unwrap_or(("", &self.model));
        // The account's name is not sent.
        let provider = provider.split('@').next().unwrap_or_default();
        [
            KeyValue::new("gen_ai.provider.name", provider_name(provider).to_owned()),
            KeyValue::new("gen_ai.request.model", model.to_owned()),
        ]
    }
}

/// The end of a request to the model.
struct Request {
    usage: Usage,
    stop: Option<StopReason>,
    error: Option<&'static str>,
}

impl Request {
    fn how(&self) -> impl Iterator<Item = KeyValue> {
        let stop = self.stop.map(|stop| {
            let reasons = Value::Array(Array::String(vec![StringValue::from(stop_name(stop))]));
            KeyValue::new("gen_ai.response.finish_reasons", reasons)
        });
        stop.into_iter().chain(self.error.map(|error| KeyValue::new("error.type", error)))
    }
}

impl Running {
    fn begin(builder: SpanBuilder, at: u64, parent: &Context, tracer: &SdkTracer) -> Self {
        let span = tracer.build_with_context(builder.with_start_time(time(at)), parent);
        Self { context: parent.with_span(span), began: at }
    }

    fn end(self, at: u64) {
        self.context.span().end_with_timestamp(time(at.max(self.began)));
    }
}

fn time(milliseconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
}

fn seconds(began: u64, ended: u64) -> f64 {
    Duration::from_millis(ended.saturating_sub(began)).as_secs_f64()
}

/// The conventions count cached tokens as input, too.
fn all_input(usage: &Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write
}

fn tokens(usage: &Usage) -> impl Iterator<Item = KeyValue> + use<> {
    let counts = [
        ("gen_ai.usage.input_tokens", all_input(usage)),
        ("gen_ai.usage.output_tokens", usage.output),
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
    ];
    counts.into_iter().map(|(name, count)| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX)))
}

/// The conventions' name of a provider, if there is one.
fn provider_name(provider: &str) -> &str {
    match provider {
        "openai-responses" => "openai",
        "gemini" | "gemini-native" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

fn stop_name(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::Length => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Repeating => "repeating",
        StopReason::Endless => "endless",
        StopReason::Interrupted => "interrupted",
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "finished",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed => "failed",
        Outcome::RoundLimit => "round_limit",
        Outcome::Budget => "budget",
        Outcome::Repeating => "repeating",
        Outcome::Refused => "refused",
        Outcome::Unproven => "unproven",
        Outcome::InvalidAnswer => "invalid_answer",
        Outcome::Stuck => "stuck",
    }
}
