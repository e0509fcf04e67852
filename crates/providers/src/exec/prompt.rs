//! [`render`]: a conversation as one text, which ends where the model continues.
use haft_core::{Message, Part, Request, text_of};

/// `System: …\n\nUser: …\n\nAssistant: ` (P-14). The messages hold only text: `TextToolCalls` of `haft-text-calls` has
/// converted calls and results to text.
pub(super) fn render(request: &Request) -> String {
    let system = Some(&request.system).filter(|system| !system.is_empty());
    let system = system.map(|system| format!("System: {system}"));
    let turns = request.messages.iter().map(|message| match &**message {
        Message::User { parts } => format!("User: {}", seen(parts)),
        Message::Assistant { parts } => format!("Assistant: {}", text_of(parts)),
        Message::Tool { call: _, name, result } => format!("User: Result of {name}:\n{}", result.content),
    });
    let blocks: Vec<String> = system.into_iter().chain(turns).chain(["Assistant: ".to_owned()]).collect();
    blocks.join("\n\n")
}

fn seen(parts: &[Part]) -> String {
    let images = parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
    let text = text_of(parts);
    match images {
        0 => text,
        _ => format!("{text}\n[images: {images}; this model cannot see them]").trim_start().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Image, ToolResult};
    use std::sync::Arc;

    fn user(text: &str) -> Message {
        Message::User { parts: vec![Part::text(text)] }
    }

    // P-14
    #[test]
    fn a_conversation_is_one_prompt() {
        let assistant = Message::Assistant { parts: vec![Part::text("a")] };
        let result = ToolResult { content: "out".into(), ..ToolResult::default() };
        let result = Message::Tool { call: CallId("1".into()), name: "bash".into(), result };
        let image = Part::Image(Image { mime: "image/png".into(), data: "AAAA".into() });
        let picture = Message::User { parts: vec![image] };
        let table = [
            ("S", vec![user("U")], "System: S\n\nUser: U\n\nAssistant: "),
            ("", vec![user("U")], "User: U\n\nAssistant: "),
            (
                "S",
                vec![user("U"), assistant, result],
                "System: S\n\nUser: U\n\nAssistant: a\n\nUser: Result of bash:\nout\n\nAssistant: ",
            ),
            ("", vec![picture], "User: [images: 1; this model cannot see them]\n\nAssistant: "),
        ];
        for (system, messages, expected) in table {
            let messages = messages.into_iter().map(Arc::new).collect();
            let request = Request { system: system.into(), messages, ..Request::default() };
            assert_eq!(render(&request), expected);
        }
    }
}
