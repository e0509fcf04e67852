//! [`plan`]: small mode, with worked examples in place of a list of tools, for models that imitate what they have just
//! read.
//!
//! A model of a hundred million parameters cannot follow a list of tools. So it gets the four worked examples that
//! are nearest to the request (see [`nearest`]) as plain text to continue. A grammar (see [`grammar`]) limits the reply
//! to a call that a shown tool accepts, or to an answer of one line. A request of several steps is done one step
//! at a time (see [`steps`]).
//!
//! The system prompt of the request and the model's chat template are not used. Measured on our tasks with
//! SmolLM2 135M (2026-11-21): the same examples as turns of its chat template gave 66 % right first calls on
//! requests near to an example, as plain text 85 %.
pub(crate) mod grammar;
mod nearest;
pub(crate) mod reply;
mod steps;
mod transcript;
mod words;

use grammar::{Offer, reply_grammar};
use haft_core::{CallForm, Example, Request, ToolSpec};
use nearest::{Candidate, nearest};
use std::sync::LazyLock;
use transcript::{Transcript, shown, transcript};

/// Number of worked examples in a prompt. Each takes half a second of one core for each request (SmolLM2 135M,
/// 2026-11-22).
const SHOWN_EXAMPLES: usize = 4;

/// Requests that need no tool, with their answers.
const TALK: [(&str, &str); 8] = [
    ("Hello!", "Hello! What can I do for you?"),
    ("What is the capital of Peru?", "The capital of Peru is Lima."),
    ("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    ("What is the opposite of hot?", "The opposite of hot is cold."),
    ("When did the Titanic sink?", "The Titanic sank in 1912."),
    ("How many legs does a spider have?", "A spider has eight legs."),
    ("Tell me the chemical symbol of gold.", "The chemical symbol of gold is Au."),
    ("Thank you.", "You are welcome."),
];

/// The input of a small model for one reply.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The text that the model continues.
    pub(crate) text: String,
    /// The grammar of the reply, in GBNF.
    pub(crate) grammar: String,
}

/// Makes worked examples, the conversation and a grammar of the reply from a request. Calls have the form `form`.
pub(crate) fn plan(request: &Request, form: &CallForm) -> Plan {
    let Transcript { text: conversation, step, may_call } = transcript(request, form);
    let chosen = chosen(&step, &request.tools);
    let examples: String = chosen.iter().map(|example| shown(*example, form)).collect();
    let offers = if may_call { offers(&chosen, &request.tools, &step) } else { Vec::new() };
    // Without examples, nothing in the prompt shows a call, so the model would never make one by itself.
    let must_call = offers.iter().all(|offer| offer.shown.is_empty())
        && offers.iter().any(|offer| is_named(offer.tool, &step));
    let may_answer = !must_call && chosen.iter().any(|(tool, _)| tool.is_none());
    Plan { text: examples + &conversation, grammar: reply_grammar(form, &offers, may_answer, &step) }
}

/// A worked example and the tool that it calls, if any.
type Shown<'a> = (Option<&'a ToolSpec>, &'a Example);

/// The examples nearest to `wish`, the nearest last.
fn chosen<'a>(wish: &str, tools: &'a [ToolSpec]) -> Vec<Shown<'a>> {
    static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
        TALK.iter()
            .map(|(request, answer)| Example::new(request, serde_json::Value::Null, "", answer))
            .collect()
    });
    let calls = tools.iter().flat_map(|tool| tool.examples.iter().map(move |example| (Some(tool), example)));
    let all: Vec<Shown<'_>> = calls.chain(EXAMPLES.iter().map(|example| (None, example))).collect();
    let kind = |(tool, example): &Shown<'_>| {
        tool.map_or_else(String::new, |tool| format!("{} {}", tool.name, grammar::command_shape(example)))
    };
    let candidates: Vec<Candidate<'_>> =
        all.iter().map(|shown| Candidate { text: &shown.1.request, kind: kind(shown) }).collect();
    nearest(wish, &candidates, SHOWN_EXAMPLES).into_iter().map(|place| all[place]).collect()
}

/// The tools of the `chosen` examples; all tools if none has examples, otherwise also those that `wish` names.
fn offers<'a>(chosen: &[Shown<'a>], tools: &'a [ToolSpec], wish: &str) -> Vec<Offer<'a>> {
    let has_examples = tools.iter().any(|tool| !tool.examples.is_empty());
    let offer = |tool: &'a ToolSpec| {
        let calls = chosen.iter().filter(|(called, _)| called.is_some_and(|called| called.name == tool.name));
        let shown: Vec<&Example> = calls.map(|(_, example)| *example).collect();
        let is_offered =
            !shown.is_empty() || tool.examples.is_empty() && (!has_examples || is_named(tool, wish));
        is_offered.then_some(Offer { tool, shown })
    };
    tools.iter().filter_map(offer).collect()
}

fn is_named(tool: &ToolSpec, wish: &str) -> bool {
    tool.name.split('_').any(|word| wish.to_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{four_tools, prompt::form_of, tagged::Syntax};
    use haft_core::{CallId, Message, Part, ToolCall, ToolResult};
    use serde_json::json;
    use std::sync::Arc;

    fn plan_of(messages: Vec<Message>) -> Plan {
        // A prompt has room for only two examples of each of two tools.
        let tools = four_tools().into_iter().filter(|tool| ["read", "edit"].contains(&tool.name.as_str()));
        let few = |tool: ToolSpec| ToolSpec { examples: tool.examples[..2].to_vec().into(), ..tool };
        let messages = messages.into_iter().map(Arc::new).collect();
        let request = Request { messages, tools: tools.map(few).collect(), ..Request::default() };
        plan(&request, &form_of(Syntax::Tagged, &request.tools))
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
        let text = plan_of(vec![user("Read a.txt and tell me\nthe door."), call, result]).text;
        let nearest = "\
Request: Read diary.txt and tell me the door number.
Reply: <tool_call>
{\"name\": \"read\", \"arguments\": {\"path\": \"diary.txt\"}}
</tool_call>
Result: The door number is 318.
Reply: The door number is 318.

Request: Read a.txt and tell me the door.
Reply: <tool_call>
{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}
</tool_call>
Result: door: 7
Reply:";
        assert!(text.ends_with(nearest), "{text}");
        assert_eq!(text.matches("Request: ").count(), SHOWN_EXAMPLES + 1, "{text}");
    }

    #[test]
    fn after_a_result_comes_the_answer_or_the_next_step() {
        let table = [
            ("Read a.txt.", 0, true),
            ("Read a.txt.", 1, false),
            ("Read a.txt and then b.txt.", 1, true),
            ("Read a.txt and then b.txt.", 2, false),
            ("Read a.txt, then b.txt, then c.txt.", 2, true),
        ];
        for (wish, calls, expected) in table {
            let done = (0..calls).flat_map(|place| read(&format!("{place}.txt"), "x"));
            let plan = plan_of([user(wish)].into_iter().chain(done).collect());
            assert_eq!(plan.grammar.contains("read"), expected, "{wish} after {calls}");
        }
    }
}
