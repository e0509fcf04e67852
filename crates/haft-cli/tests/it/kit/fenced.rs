//! A model that calls tools in fenced lines, behind a server that knows no tools.
use super::{Ran, Server, openai_text};
use serde_json::Value;
use std::process::Command;

/// A server whose model says these texts, one a request; the last one again and again.
pub(crate) fn says<S: AsRef<str>>(texts: &[S]) -> Server {
    Server::start(texts.iter().map(|text| openai_text(text.as_ref())).collect())
}

/// Lines as a model writes them that calls tools.
pub(crate) fn fence(lines: &str) -> String {
    format!("I go on.\n\n```bash\n{lines}\n```")
}

/// Runs `command` under the profile `pedro`, with the model of `server`.
pub(crate) fn run(mut command: Command, server: &Server) -> Ran {
    command.args(["--profile", "pedro", "--model", "openai/m"]);
    command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
    Ran::from(command.output().unwrap())
}

/// The system prompt of a request.
pub(crate) fn system(request: &Value) -> String {
    request["messages"][0]["content"].as_str().unwrap().to_owned()
}

/// The last message of a request, which is a person's.
pub(crate) fn heard(request: &Value) -> String {
    let last = request["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "user", "{request}");
    last["content"].as_str().unwrap().to_owned()
}
