//! A session resumed after a crash: the program dies in the middle of a call, and the next one goes on where it stopped.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;
use std::{env, fs, path::Path, process::Command as Process};

/// Writes a greeting to a file; the first time the whole program dies in the middle.
#[tool(writes = "path")]
fn greet(path: String, name: String, context: &ToolContext) -> Result<&'static str, std::io::Error> {
    fs::write(context.path(&path), "Hel")?;
    if env::var_os("DIE").is_some() {
        std::process::abort();
    }
    fs::write(context.path(&path), format!("Hello, {name}!")).map(|()| "written")
}

async fn agent(folder: &Path) -> haft::Result<Haft> {
    let call = ("greet", json!({"path": "hello.txt", "name": "Ann"}));
    let model = Scripted::new([]).calls([call]).says("I said hello.");
    let builder = Haft::builder().provider(model).tool(greet).mode(Mode::AcceptEdits);
    builder.workspace(folder.join("work")).home(folder.join("home")).build().await
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    if let Some(folder) = env::args_os().nth(1) {
        let session = agent(Path::new(&folder)).await?.session()?;
        session.prompt("Say hello to Ann").await?;
        unreachable!("the call ends the program");
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    fs::create_dir(folder.path().join("work")).expect("there is room for a folder");
    let program = env::current_exe().expect("a program knows where it lies");
    let died = Process::new(program).arg(folder.path()).env("DIE", "1").status().expect("it can be started");
    assert!(!died.success());
    // The call had a private view: nothing of it is real.
    let file = folder.path().join("work/hello.txt");
    assert!(!file.exists());

    let agent = agent(folder.path()).await?;
    let lost = agent.engine().setup().home.list();
    let session = agent.resume(&lost[0].id.0).await?;
    let report = session.resume().await?;
    assert_eq!(fs::read_to_string(file).expect("the call ran again"), "Hello, Ann!");
    assert_eq!((report.calls.len(), report.text.as_str()), (1, "I said hello."));
    Ok(())
}
