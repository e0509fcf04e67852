//! Reads calls in the text of a reply: `cargo run -p haft-dialects --example read_calls -- qwen2.5-7b <reply.txt`. The
//! argument is the name of the model or of its dialect; without one the dialect is told by what it reads in the text.
#![expect(clippy::print_stdout, reason = "it is a program that prints")]
use haft_dialects::{Call, Said, Setting, ToolSchema, dialect, guess, spoken_by};
use serde_json::json;
use std::io::{Read, stdin};

fn main() -> Result<(), String> {
    let mut text = String::new();
    stdin().read_to_string(&mut text).map_err(|error| format!("cannot read standard input: {error}"))?;
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let setting = Setting { tools: [ToolSchema::new("read", parameters)].into(), ..Setting::default() };
    let found = match std::env::args().nth(1) {
        Some(name) => dialect(&name).or_else(|| spoken_by(&name)),
        None => guess(&setting, &text),
    };
    let dialect = found.ok_or("the dialect is unknown")?;
    println!("dialect: {}", dialect.name);

    // A server sends the reply in pieces; what is certain is said at once.
    let mut reader = dialect.listen(&setting);
    let mut said = Vec::new();
    for piece in text.split_inclusive(' ') {
        reader.push(piece, &mut said);
        said.drain(..).for_each(show);
    }
    reader.end(&mut said);
    said.into_iter().for_each(show);
    Ok(())
}

fn show(said: Said) {
    match said {
        Said::Text(text) => println!("text: {text:?}"),
        Said::Thinking(text) => println!("thinking: {text:?}"),
        Said::ThinkingEnd => {}
        Said::Call(Call { name, arguments, .. }) => println!("call: {name} {arguments}"),
        Said::Problem(problem) => println!("problem: {problem}"),
    }
}
