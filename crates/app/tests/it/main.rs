//! The application, as a program that embeds it uses it: with a person's folders, a real engine, and a script as the model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod jobs;
mod replay;
mod sessions;

use haft_app::{App, SessionSpec, config::Environment};
use haft_core::Mode;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A person with folders of their own, and a directory to work in.
struct Person {
    folder: tempfile::TempDir,
}

impl Person {
    /// One whose model is a script of these lines.
    fn new(script: &[Value]) -> Self {
        let person = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(person.work()).unwrap();
        let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
        person.write("script.jsonl", &lines);
        person.configure("");
        person
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes a file of the person or, below `work`, of the project.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work().join(name)).ok()
    }

    /// Their own configuration: the script as the model, and `more`.
    fn configure(&self, more: &str) {
        let model = format!("model = \"script/{}\"\n", self.path("script.jsonl").display());
        self.write("config/haft/config.toml", &(model + more));
    }

    fn app(&self) -> App {
        let own = [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("HAFT_HOME", "sessions")];
        let own = own.map(|(name, value)| (name.to_owned(), self.path(value).display().to_string()));
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
        App::new(Environment { variables: own.into_iter().chain([path]).collect() }).unwrap()
    }

    fn spec(&self, mode: Option<Mode>) -> SessionSpec {
        let mut spec = SessionSpec { workspace: Some(self.work()), ..SessionSpec::default() };
        spec.settings.permission = mode;
        spec
    }
}

/// What an application warns of.
fn warnings_of(app: App) -> (App, Arc<parking_lot::Mutex<Vec<String>>>) {
    let heard = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let own = heard.clone();
    (app.on_warning(Arc::new(move |warning| own.lock().push(warning))), heard)
}

fn git(folder: &Path, words: &[&str]) {
    let own = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let ran = std::process::Command::new("git").args(own).args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}
