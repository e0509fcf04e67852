//! Small mode: tools for models so small that they only follow what they have just seen.
//!
//! A model of a hundred million parameters cannot read a list of tools, but it can imitate. So it is shown the
//! four worked examples that are nearest to the request (see [`nearest`]), as plain text to go on with, and it answers
//! with one line (see [`line`]). The tools bring the examples; a few that need no tool are added here. What it may say
//! next is imposed through a grammar (see [`grammar`]): a first call is made as the shown examples make theirs, with
//! names and texts of the request (see [`slots`]); after a tool's result comes the answer, in words of the result (see
//! [`answer`]), or the next step, if the request asks for several (see [`steps`]).
//!
//! Where the request says in which form calls are written ([`haft_core::CallForm`]), the examples and the reply have that
//! form in place of a line.
//!
//! The system prompt of the request and the model's chat template are not used. Measured on our tasks with
//! SmolLM2 135M (2026-11-21): the same examples as turns of its chat template gave 66 % right first calls on
//! requests near to an example, as plain text 85 %.
mod answer;
pub(crate) mod grammar;
pub(crate) mod in_form;
pub(crate) mod line;
mod nearest;
pub(crate) mod reader;
pub(crate) mod slots;
mod steps;
mod talk;
mod told;
mod words;

use grammar::{Answer, Offer};
use haft_core::{Example, Message, Request, ToolSpec, text_of};
use line::FINAL;
use nearest::{Candidate, nearest};
use std::sync::Arc;
use told::{asked, finished, heard, reason, resulted, shown, told};

/// Worked examples in one prompt. Each costs half a second of one core for each request (SmolLM2 135M, 2026-11-22).
const SHOWN_EXAMPLES: usize = 4;
/// What a small model is given for one reply.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The text that it continues.
    pub(crate) text: String,
    /// What the reply may be.
    pub(crate) grammar: String,
    /// What the person asked for in this turn.
    pub(crate) wish: String,
}

/// Turns a request into examples and a conversation of lines. Of a turn that asks for several steps each is a request of
/// its own; the next one comes when the one before has its result.
pub(crate) fn plan(request: &Request) -> Plan {
    let (turn, form) = (Turn::of(&request.messages), request.form.as_deref());
    let steps = steps::steps(&turn.wish);
    let at = turn.calls.min(steps.len().saturating_sub(1));
    let wish = steps.get(at).cloned().unwrap_or_else(|| turn.wish.clone());
    let chosen = chosen(&wish, &request.tools);
    let mut text: String = chosen.iter().map(|example| shown(*example, form)).collect();
    let (before, now) = request.messages.split_at(turn.begins);
    let mut told_before = String::new();
    for message in before {
        if let Message::User { parts } = message.as_ref() {
            told_before = text_of(parts);
        }
        text.push_str(&told(message, request, &told_before));
    }
    let (told_now, results) = told_steps(now, &steps, request);
    text.push_str(&told_now);
    let failed = failed(now);
    let may_call = turn.calls < steps.len().max(1) && failed.is_none();
    let offers = if may_call { offers(&chosen, &request.tools, &wish) } else { Vec::new() };
    let answer = match (&failed, may_call, chosen.iter().any(|(tool, _)| tool.is_none())) {
        (Some(why), ..) => Answer::Failed(why),
        (None, true, false) => Answer::None,
        (None, true, true) => Answer::Free,
        (None, false, _) => Answer::From(&results, chosen.iter().map(|(_, example)| *example).collect()),
    };
    let grammar = grammar::reply_grammar(form, &offers, &answer, &wish);
    Plan { text, grammar, wish }
}

/// Why the last call of this turn failed, if it did: a small model tells the success that its examples have.
fn failed(messages: &[Arc<Message>]) -> Option<String> {
    match messages.last()?.as_ref() {
        Message::Tool { result, .. } if !result.went_well() => reason(result),
        _ => None,
    }
}

/// The messages of this turn with a step of the request before each call; and the results of the last step.
fn told_steps(messages: &[Arc<Message>], steps: &[String], request: &Request) -> (String, Vec<String>) {
    let (mut text, mut results, mut at) = (String::new(), Vec::new(), 0);
    let step = |at: usize| steps.get(at.min(steps.len().saturating_sub(1))).map_or("", String::as_str);
    for message in messages {
        match message.as_ref() {
            Message::User { .. } => text.push_str(&asked(step(0))),
            Message::Tool { name, result, .. } => {
                let result = heard(name, result, &request.tools, step(at));
                at += 1;
                if at < steps.len() {
                    text.push_str(&finished(&result, step(at)));
                } else {
                    text.push_str(&resulted(&result));
                    results.push(result);
                }
            }
            Message::Assistant { .. } => text.push_str(&told(message, request, step(at))),
        }
    }
    (text, results)
}

/// What has happened since a person last spoke.
struct Turn {
    wish: String,
    /// The place of the message that it begins with.
    begins: usize,
    /// How many calls it has made.
    calls: usize,
}

impl Turn {
    fn of(messages: &[Arc<Message>]) -> Self {
        let mut turn = Self { wish: String::new(), begins: 0, calls: 0 };
        for (begins, message) in messages.iter().enumerate() {
            match message.as_ref() {
                Message::User { parts } => turn = Self { wish: text_of(parts), begins, calls: 0 },
                Message::Assistant { parts } => {
                    turn.calls += parts.iter().filter(|part| part.as_call().is_some()).count();
                }
                Message::Tool { .. } => {}
            }
        }
        turn
    }
}

/// A worked example: the tool that it calls, if any, and what was said.
type Shown<'a> = (Option<&'a ToolSpec>, &'a Example);

/// The nearest examples, the nearest last.
fn chosen<'a>(wish: &str, tools: &'a [ToolSpec]) -> Vec<Shown<'a>> {
    let calls = tools.iter().flat_map(|tool| tool.examples.iter().map(move |example| (Some(tool), example)));
    // Nothing can be fetched where no address is named.
    let has_address = |text: &str| words::alike(text).iter().any(|word| word == words::ADDRESS);
    let can_follow = has_address(wish);
    let calls = calls.filter(|(_, example)| can_follow || !has_address(&example.request));
    let all: Vec<Shown<'_>> = calls.chain(talk::examples().iter().map(|example| (None, example))).collect();
    // What an example asks in the same words needs no tool either.
    let words = words::alike(wish);
    let is_same = |(tool, example): &&Shown<'_>| tool.is_none() && words::alike(&example.request) == words;
    if let Some(same) = all.iter().find(is_same) {
        return vec![*same];
    }
    let candidates: Vec<Candidate<'_>> = all.iter().map(candidate).collect();
    nearest(wish, &candidates, SHOWN_EXAMPLES).into_iter().map(|place| all[place]).collect()
}

/// The tools that the examples call, and those without examples that the request names.
fn offers<'a>(chosen: &[Shown<'a>], tools: &'a [ToolSpec], wish: &str) -> Vec<Offer<'a>> {
    let shown = |tool: &ToolSpec| {
        let calls = chosen.iter().filter(|(called, _)| called.is_some_and(|called| called.name == tool.name));
        calls.map(|(_, example)| *example).collect()
    };
    let offers = tools.iter().map(|tool| Offer { tool, shown: shown(tool) });
    let (shown_how, wish) = (tools.iter().any(|tool| !tool.examples.is_empty()), wish.to_lowercase());
    let fits = |offer: &Offer<'_>| match offer.tool.examples.is_empty() {
        true => !shown_how || offer.tool.name.split('_').any(|word| wish.contains(word)),
        false => !offer.shown.is_empty(),
    };
    offers.filter(fits).collect()
}

/// Examples are of one kind where they call the same tool, and make the same command.
fn candidate<'a>((tool, example): &Shown<'a>) -> Candidate<'a> {
    let name = tool.map_or(FINAL, |tool| tool.name.as_str());
    Candidate { text: &example.request, kind: format!("{name} {}", slots::shape(example)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::four_tools;
    use haft_core::{CallId, Part, ToolCall, ToolResult};
    use serde_json::json;

    fn request(messages: Vec<Message>) -> Request {
        // Two examples of each of two tools are all that a prompt can show.
        let tools = four_tools().into_iter().filter(|tool| ["read", "edit"].contains(&tool.name.as_str()));
        let few = |tool: ToolSpec| ToolSpec { examples: tool.examples[..2].to_vec().into(), ..tool };
        let messages = messages.into_iter().map(Arc::new).collect();
        Request { messages, tools: tools.map(few).collect(), ..Request::default() }
    }

    fn user(text: &str) -> Message {
        Message::User { parts: vec![Part::text(text)] }
    }

    fn read(path: &str, content: &str) -> [Message; 2] {
        let call = ToolCall::new("c", "read", json!({"path": path}));
        let result = ToolResult { content: content.into(), ..ToolResult::default() };
        [
            Message::Assistant { parts: vec![Part::ToolCall(call)] },
            Message::Tool { call: CallId("c".into()), name: "read".into(), result },
        ]
    }

    #[test]
    fn the_prompt_is_four_examples_and_the_conversation() {
        let [call, result] = read("a.txt", "     1\tkey: 5\n     2\tdoor: 7");
        let plan = plan(&request(vec![user("Read a.txt and tell me\nthe door."), call, result]));
        let expected = "\
Request: Give me the name of the longest river in Africa.
Action: final The longest river in Africa is the Nile.

Request: Tell me the chemical symbol of gold.
Action: final The chemical symbol of gold is Au.

Request: Read plan.md and tell me the name of the hotel.
Action: read plan.md
Result: Hotel: Green Lake
Action: final The name of the hotel is Green Lake.

Request: Read diary.txt and tell me the door number.
Action: read diary.txt
Result: The door number is 318.
Action: final The door number is 318.

Request: Read a.txt and tell me the door.
Action: read a.txt
Result: door: 7
Action:";
        assert_eq!(plan.text, expected);
    }

    #[test]
    fn after_a_result_comes_the_answer_or_the_next_step() {
        let offers = |wish: &str, calls: usize| {
            let done = (0..calls).flat_map(|place| read(&format!("{place}.txt"), "x"));
            let plan = plan(&request([user(wish)].into_iter().chain(done).collect()));
            plan.grammar.lines().next().is_some_and(|root| root.contains("\"read \""))
        };
        let table = [
            ("Read a.txt.", 0, true),
            ("Read a.txt.", 1, false),
            ("Read a.txt and then b.txt.", 1, true),
            ("Read a.txt and then b.txt.", 2, false),
            ("Read a.txt, then b.txt, then c.txt.", 2, true),
        ];
        for (wish, calls, expected) in table {
            assert_eq!(offers(wish, calls), expected, "{wish} after {calls}");
        }
    }
}
