//! [`Account`]: how a session's tokens and costs are distributed over its uses. Estimated, and scaled to the servers'
//! counts.
use haft_core::{Entry, Fact, Message, Price, Transcript, Usage, active_path, tokens};
use std::{collections::BTreeMap, sync::Arc};

/// The costs of a session by use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// The largest first.
    pub rows: Vec<Row>,
    /// Tokens, as the providers counted them.
    pub usage: Usage,
    /// In US dollars; `None` if the price is unknown.
    pub usd: Option<f64>,
}

/// A use of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `system prompt`, `tool definitions`, `prompts`, `replies`, `results of NAME`, `written by the model`, `summaries`,
    /// `answers for MCP servers`, `requests that were given up`.
    pub what: String,
    /// Tokens, each time they were sent.
    pub tokens: u64,
    /// In US dollars; `None` if the price is unknown.
    pub usd: Option<f64>,
}

/// Computes the account from a journal's entries, the tokens of the system prompt and of the tool definitions in a
/// request, and the price of the model that the session began with; the entries contain the prices of models that took
/// over. Requests whose tokens no server counted are left out.
pub fn account(entries: &[Arc<Entry>], system: u64, tools: u64, price: Option<Price>) -> Account {
    let mut book = Book { system, tools, is_priced: price.is_some(), ..Book::default() };
    let mut transcript = Transcript::default();
    for entry in active_path(entries) {
        book.price = transcript.models().price(price);
        match &entry.fact {
            Fact::Replied { usage, .. } => book.enter(&transcript, *usage),
            Fact::Compacted { usage, .. } => book.whole("summaries", *usage),
            Fact::Sampled { usage, .. } => book.whole("answers for MCP servers", *usage),
            Fact::Retried { usage, .. } => book.whole("requests that were given up", *usage),
            _ => {}
        }
        transcript.apply(&entry.fact);
        if matches!(entry.fact, Fact::Evicted { .. } | Fact::Compacted { .. }) {
            (book.counted, book.messages) = Default::default();
        }
    }
    book.close()
}

#[derive(Default)]
struct Book {
    system: u64,
    tools: u64,
    /// Price of the model that is asked.
    price: Option<Price>,
    /// Whether all prices are known so far.
    is_priced: bool,
    usd: f64,
    /// Estimates of the first `counted` messages, by what they are.
    messages: BTreeMap<String, u64>,
    counted: usize,
    spent: BTreeMap<String, (f64, f64)>,
    usage: Usage,
}

impl Book {
    /// Adds a request with the messages of `transcript` and its `usage`.
    fn enter(&mut self, transcript: &Transcript, usage: Usage) {
        for message in &transcript.messages()[self.counted..] {
            *self.messages.entry(kind(message)).or_default() += tokens::of_message(message);
        }
        self.counted = transcript.messages().len();
        let read = Usage { output: 0, ..usage };
        let fixed = [("system prompt".to_owned(), self.system), ("tool definitions".to_owned(), self.tools)];
        let sent: Vec<(String, u64)> = fixed
            .into_iter()
            .chain(self.messages.iter().map(|(what, tokens)| (what.clone(), *tokens)))
            .collect();
        let estimated: u64 = sent.iter().map(|(_, tokens)| tokens).sum();
        let cost = self.cost(read);
        for (what, tokens) in sent {
            let share = tokens as f64 / estimated.max(1) as f64;
            self.add(what, read.total() as f64 * share, cost * share);
        }
        let written = Usage { output: usage.output, ..Usage::default() };
        self.add("written by the model".into(), usage.output as f64, self.cost(written));
        self.count(usage);
    }

    /// Adds a request as a whole, without distribution.
    fn whole(&mut self, what: &str, usage: Usage) {
        self.add(what.into(), usage.total() as f64, self.cost(usage));
        self.count(usage);
    }

    fn count(&mut self, usage: Usage) {
        self.usage += usage;
        self.usd += self.cost(usage);
        self.is_priced &= self.price.is_some();
    }

    fn cost(&self, usage: Usage) -> f64 {
        self.price.map(|price| price.cost(usage)).unwrap_or_default()
    }

    fn add(&mut self, what: String, tokens: f64, usd: f64) {
        let spent = self.spent.entry(what).or_default();
        *spent = (spent.0 + tokens, spent.1 + usd);
    }

    fn close(self) -> Account {
        let known = |usd| self.is_priced.then_some(usd);
        let rows = self.spent.into_iter().filter(|(_, (tokens, _))| *tokens >= 0.5);
        let mut rows: Vec<Row> = rows
            .map(|(what, (tokens, usd))| Row { what, tokens: tokens.round() as u64, usd: known(usd) })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
        Account { rows, usage: self.usage, usd: known(self.usd) }
    }
}

fn kind(message: &Message) -> String {
    match message {
        Message::User { .. } => "prompts".into(),
        Message::Assistant { .. } => "replies".into(),
        Message::Tool { name, .. } => format!("results of {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Part, Seq, StopReason, ToolCall, ToolResult};

    #[test]
    fn tokens_are_attributed_to_what_was_sent() {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        let replied = |parts, usage| Fact::Replied { parts, usage, stop: StopReason::EndTurn };
        let call = Part::ToolCall(ToolCall::new("a", "read", serde_json::json!({})));
        let result = ToolResult { content: "x".repeat(4 * 94), ..ToolResult::default() };
        let facts = [
            Fact::Prompted { parts: vec![Part::text("x".repeat(4 * 94))], channel: None },
            replied(vec![call], usage(200, 10)),
            Fact::ToolEnded { call: CallId("a".into()), name: "read".into(), result, duration_ms: 0 },
            replied(vec![Part::text("done")], usage(660, 20)),
        ];
        let entry = |(seq, fact)| Arc::new(Entry { seq: Seq(seq), parent: None, at: 0, fact, chain: None });
        let entries: Vec<_> = (0u64..).zip(facts).map(entry).collect();
        let price = Price { input: 1.0, output: 10.0, cache_read: None, cache_write: None };
        let account = account(&entries, 60, 40, Some(price));
        let of = |what: &str| account.rows.iter().find(|row| row.what == what).map_or(0, |row| row.tokens);
        // The first request: 60, 40, 100 of 200. The second: 60, 40, 100, 100 and a call of 14 in 660.
        assert_eq!((of("system prompt"), of("tool definitions"), of("prompts")), (186, 124, 310));
        assert_eq!((of("results of read"), of("written by the model")), (210, 30));
        let sum: f64 = account.rows.iter().filter_map(|row| row.usd).sum();
        assert!(
            (sum - account.usd.unwrap()).abs() < 1e-9 && (sum - (860.0 + 300.0) / 1e6).abs() < 1e-9,
            "{account:?}"
        );
        assert_eq!(account.usage, usage(860, 30));
    }
}
