//! What people see of a reply while it is written.
use haft_core::{CallId, Delta, StopReason, ToolCall, Update, reply};
use std::collections::{BTreeMap, HashSet};

/// The calls of a reply that is being written, so that each piece of one can be shown under its id.
#[derive(Default)]
pub(crate) struct LiveReply {
    calls: BTreeMap<usize, LiveCall>,
    ids: HashSet<CallId>,
}

struct LiveCall {
    id: CallId,
    name: String,
    arguments: String,
    scan: Scan,
    problem: bool,
    has_ended: bool,
}

impl LiveReply {
    /// What people see of the next piece.
    pub(crate) fn updates(&mut self, delta: &Delta) -> Vec<Update> {
        match delta {
            Delta::Text(text) if !text.is_empty() => vec![Update::Text { text: text.clone() }],
            Delta::Thinking(text) if !text.is_empty() => vec![Update::Thinking { text: text.clone() }],
            Delta::CallStart { index, id, name } => self.start(*index, id, name).into_iter().collect(),
            Delta::CallArguments { index, json } => self.add(*index, json),
            Delta::CallProblem { index, .. } => {
                self.calls.entry(*index).and_modify(|call| call.problem = true);
                Vec::new()
            }
            Delta::Retrying { reason, after, .. } => {
                *self = Self::default();
                vec![Update::Retrying { reason: reason.clone(), after_ms: after.as_millis() as u64 }]
            }
            Delta::Stop(stop) => self.stop(*stop),
            Delta::Text(_) | Delta::Thinking(_) | Delta::Signature(_) | Delta::Usage(_) => Vec::new(),
        }
    }

    /// Some servers repeat the start in each piece.
    fn start(&mut self, index: usize, id: &CallId, name: &str) -> Option<Update> {
        if self.calls.contains_key(&index) {
            return None;
        }
        let id = reply::unique(id.clone(), self.calls.len(), &self.ids);
        self.ids.insert(id.clone());
        let (arguments, scan) = Default::default();
        let call = LiveCall {
            id: id.clone(),
            name: name.to_owned(),
            arguments,
            scan,
            problem: false,
            has_ended: false,
        };
        self.calls.insert(index, call);
        Some(Update::ToolCall { call: id, name: name.to_owned() })
    }

    fn add(&mut self, index: usize, json: &str) -> Vec<Update> {
        let Some(call) = self.calls.get_mut(&index).filter(|_| !json.is_empty()) else { return Vec::new() };
        let delta = Update::ToolArguments { call: call.id.clone(), delta: json.to_owned() };
        // Of arguments that are too large there is an end, and no more.
        if call.arguments.len() <= reply::MAX_ARGUMENTS {
            call.arguments.push_str(json);
        }
        let is_whole = !call.has_ended && call.scan.is_whole_with(json);
        std::iter::once(delta).chain(is_whole.then(|| call.end())).collect()
    }

    /// Calls of a reply that would not end by itself are none.
    fn stop(&mut self, stop: StopReason) -> Vec<Update> {
        let left = self.calls.values_mut().filter(|call| !call.has_ended && !stop.is_endless());
        left.map(LiveCall::end).collect()
    }
}

impl LiveCall {
    /// With the arguments as they are recorded.
    fn end(&mut self) -> Update {
        self.has_ended = true;
        let read = ToolCall::parse(self.id.0.clone(), self.name.clone(), &self.arguments);
        let arguments = if self.problem { self.arguments.clone().into() } else { read.arguments };
        Update::ToolCallEnd { call: self.id.clone(), arguments }
    }
}

/// Where an object ends, read piece by piece.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Scan {
    /// Whether the object ends in `piece`.
    fn is_whole_with(&mut self, piece: &str) -> bool {
        let before = self.depth > 0;
        let mut ends = false;
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_text => self.is_escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    ends = self.depth == 0;
                }
                _ => {}
            }
        }
        ends && self.depth == 0 && (before || piece.trim_start().starts_with('{'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn start(index: usize, id: &str) -> Delta {
        Delta::CallStart { index, id: CallId(id.into()), name: "read".into() }
    }
    fn arguments(index: usize, json: &str) -> Delta {
        Delta::CallArguments { index, json: json.into() }
    }
    fn told(deltas: Vec<Delta>) -> Vec<String> {
        let mut reply = LiveReply::default();
        let updates = deltas.iter().flat_map(|delta| reply.updates(delta));
        let told = updates.map(|update| match update {
            Update::ToolCall { call, .. } => format!("start {call}"),
            Update::ToolArguments { call, delta } => format!("{call} {delta}"),
            Update::ToolCallEnd { call, arguments } => format!("end {call} {arguments}"),
            other => format!("{other:?}"),
        });
        told.collect()
    }

    // O-05
    #[test]
    fn a_call_ends_where_its_arguments_do() {
        let stop = || Delta::Stop(StopReason::ToolUse);
        let table = [
            (vec![start(0, "a"), stop()], vec!["start a", "end a {}"]),
            (
                vec![
                    start(0, "a"),
                    arguments(0, r#"{"x":"}"#),
                    arguments(0, r#"\"{"}"#),
                    start(1, ""),
                    stop(),
                ],
                vec![
                    "start a",
                    r#"a {"x":"}"#,
                    r#"a \"{"}"#,
                    r#"end a {"x":"}\"{"}"#,
                    "start call_1",
                    "end call_1 {}",
                ],
            ),
            (
                vec![
                    start(0, "a"),
                    start(1, "b"),
                    arguments(0, "{"),
                    arguments(1, "{}"),
                    arguments(0, "}"),
                    stop(),
                ],
                vec!["start a", "start b", "a {", "b {}", "end b {}", "a }", "end a {}"],
            ),
            (
                vec![start(0, "a"), arguments(0, "{oops"), stop()],
                vec!["start a", "a {oops", "end a \"{oops\""],
            ),
            (vec![start(0, "a"), start(0, "a"), arguments(0, ""), stop()], vec!["start a", "end a {}"]),
            (
                vec![start(0, "a"), arguments(0, "{"), Delta::Stop(StopReason::Endless)],
                vec!["start a", "a {"],
            ),
        ];
        for (deltas, expected) in table {
            assert_eq!(told(deltas), expected);
        }
        let problem = Delta::CallProblem { index: 0, problem: "it has no name".into() };
        assert_eq!(told(vec![start(0, "a"), problem, stop()])[1], format!("end a {}", json!("")));
    }
}
