//! Your own dialect: a model that writes its calls as text, and a reader that finds them.
use haft::{
    dialects::{Call, Dialect, Reader, Said, Setting, Writing},
    prelude::*,
    providers::Scripted,
};

/// A line `!NAME {JSON}` is a call; all else is prose.
static BANG: Dialect = Dialect::own("bang", &["bang-7b"], reader, Writing::Unknown);

fn reader(_: &Setting) -> Box<dyn Reader> {
    Box::new(Lines::default())
}

/// Waits for whole lines: however the text is cut, the same is said.
#[derive(Default)]
struct Lines(String);

impl Reader for Lines {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        self.0 += text;
        while let Some(end) = self.0.find('\n') {
            let line: String = self.0.drain(..=end).collect();
            said.push(read(&line));
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        if !self.0.is_empty() {
            said.push(read(&std::mem::take(&mut self.0)));
        }
    }
}

fn read(line: &str) -> Said {
    let call = line.trim().strip_prefix('!').and_then(|call| call.split_once(' '));
    match call {
        Some((name, arguments)) => {
            Said::Call(Call { id: String::new(), name: name.into(), arguments: arguments.into() })
        }
        None => Said::Text(line.to_owned()),
    }
}

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let model = Scripted::new([]).says("Let me see.\n!add {\"a\": 40, \"b\": 2}\n").says("It is 42.");
    let agent = Haft::builder().provider(model).dialect(&BANG).tool(add).in_memory().build().await?;
    let report = agent.session()?.prompt("What is 40 + 2?").await?;
    assert_eq!((report.calls[0].tool(), report.calls[0].result().content.as_str()), ("add", "42"));
    assert_eq!(report.text, "It is 42.");
    Ok(())
}
