//! Haft as a person has set it up: a session with their configuration, a job, and an export (feature `app`).
use haft::app::{App, Failure, SessionSpec, export::ExportFormat, jobs::JobRequest};
use std::{env, fs};

#[tokio::main]
async fn main() -> haft::Result<()> {
    let folder = tempfile::tempdir().map_err(Failure::from)?;
    let app = set_up(&folder)?;
    let work = folder.path().join("work");
    let spec = SessionSpec { workspace: Some(work.clone()), ..SessionSpec::default() };

    let opened = app.open(&spec).await?;
    let report = opened.session.prompt("Say hello").await?;
    assert_eq!(report.text, "Hello!");
    opened.engine.shut_down().await;

    let (kind, description) = ("triager".to_owned(), "It crashes".to_owned());
    let request = JobRequest { kind, description, origin: work, keeps_files: false, user: None };
    let job = app.jobs().begin(request, &spec).await?;
    let id = job.session.id().clone();
    let conclusion = job.work().await;
    assert_eq!(conclusion.status.to_string(), "failed", "the model says hello in place of a verdict");

    let page = app.export(&id.0, ExportFormat::Markdown)?;
    assert!(page.contains("It crashes") && page.contains("Hello!"), "{page}");
    Ok(())
}

/// What a person would have: a file with their settings. The model is a script.
fn set_up(folder: &tempfile::TempDir) -> Result<App, Failure> {
    let script = folder.path().join("hello.jsonl");
    fs::write(&script, "{\"say\": \"Hello!\"}\n".repeat(4))?;
    let config = folder.path().join("config/haft/config.toml");
    fs::create_dir_all(folder.path().join("config/haft"))?;
    fs::create_dir(folder.path().join("work"))?;
    fs::write(config, format!("model = \"script/{}\"\n", script.display()))?;
    let own = [("XDG_CONFIG_HOME", "config"), ("HAFT_HOME", "home")];
    let own = own.map(|(name, value)| (name.to_owned(), folder.path().join(value).display().to_string()));
    let variables = env::vars().chain(own).collect();
    App::new(haft::app::config::Environment { variables })
}
