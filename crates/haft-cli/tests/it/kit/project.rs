//! A repository in which jobs work: one Go package, a bare remote, and an API that takes pull requests.
use super::{Place, Ran};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
};

pub(crate) const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

/// A repository with one Go package, and a bare remote beside it.
pub(crate) struct Project {
    pub(crate) place: Place,
    /// Pull requests that were opened.
    pub(crate) opened: Arc<Mutex<Vec<Value>>>,
    api: String,
    _runtime: tokio::runtime::Runtime,
}

impl Project {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        for name in ["go.mod", "instances.go"] {
            place.write(name, std::fs::read(format!("{EXAMPLES}/go/{name}")).unwrap());
        }
        let work = place.work();
        let bare = place.path().join("remote.git");
        git(place.path().as_path(), &["init", "--quiet", "--bare", "-b", "main", bare.to_str().unwrap()]);
        begin_repository(&work);
        git(&work, &["remote", "add", "origin", bare.to_str().unwrap()]);
        git(&work, &["push", "--quiet", "origin", "main"]);
        let (opened, api, runtime) = api();
        Self { place, opened, api, _runtime: runtime }
    }

    pub(crate) fn haft(&self, words: &[&str]) -> Command {
        let mut command = self.place.haft(words);
        command.env("GITHUB_TOKEN", "t0ken").env("GITHUB_API_URL", &self.api);
        command.env("GITHUB_REPOSITORY", "octo/instances");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.haft(words).output().unwrap())
    }

    pub(crate) fn build(&self, script: &str) -> Ran {
        self.run(&[
            "build",
            "--description",
            "Add tests for GenerateInstances",
            "--direct",
            "--permission",
            "full",
            "--model",
            script,
        ])
    }

    pub(crate) fn jobs(&self) -> Vec<Value> {
        let ran = self.run(&["jobs", "list", "--json"]);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Subjects of the commits that the remote has on `branch` and not on `main`.
    pub(crate) fn commits(&self, branch: &str) -> String {
        let bare = self.place.path().join("remote.git");
        git(&bare, &["log", "--format=%s", &format!("main..{branch}")])
    }
}

/// A cache with what every test of a Go package needs: to compile that takes 12 seconds, and each project would.
pub(super) fn go_cache() -> &'static Path {
    static CACHE: LazyLock<PathBuf> = LazyLock::new(|| {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-build");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.mod"), "module warm\n\ngo 1.21\n").unwrap();
        let test = "package warm\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n";
        std::fs::write(folder.path().join("x_test.go"), test).unwrap();
        let mut go = Command::new("go");
        go.args(["test", "./..."]).current_dir(folder.path()).env("GOCACHE", &cache);
        // Without Go, the tests that need it say so.
        let _is_not_there = go.stdout(Stdio::null()).stderr(Stdio::null()).status();
        cache
    });
    &CACHE
}

/// A repository with one commit, of all that lies in `work`.
pub(crate) fn begin_repository(work: &Path) {
    for words in [
        &["init", "--quiet", "-b", "main"][..],
        &["config", "user.name", "Octo"],
        &["config", "user.email", "octo@example.org"],
        &["add", "."],
        &["commit", "--quiet", "-m", "Begin"],
    ] {
        git(work, words);
    }
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    // Whatever the person's own git is told to do does not count here.
    let output = Command::new("git")
        .current_dir(folder)
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An API that takes pull requests.
fn api() -> (Arc<Mutex<Vec<Value>>>, String, tokio::runtime::Runtime) {
    use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
    let opened: Arc<Mutex<Vec<Value>>> = Arc::default();
    let open = |State(opened): State<Arc<Mutex<Vec<Value>>>>, Json(asked): Json<Value>| async move {
        let mut opened = opened.lock().unwrap();
        opened.push(asked);
        let url = format!("https://example.org/octo/instances/pull/{}", opened.len());
        (StatusCode::CREATED, Json(json!({"html_url": url})))
    };
    let router = Router::new().route("/repos/octo/instances/pulls", post(open)).with_state(opened.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, router).await });
    (opened, format!("http://{address}"), runtime)
}
