//! [`Server`]: the real routes in a place of their own.
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode},
    response::Response,
};
use futures::StreamExt;
use haft_app::{
    App, AppHost, SessionSpec,
    config::{Environment, Settings, serve::PushFile},
};
use haft_core::Mode;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use tempfile::TempDir;
use tower_service::Service;

pub(crate) const TOKEN: &str = "0123456789abcdef";

pub(crate) struct Server {
    router: Router,
    place: TempDir,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text))
    }
}

impl Server {
    /// With a model that says these lines.
    pub(crate) async fn start(mode: Mode, lines: &[Value]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::create_dir(path("work")).unwrap();
        let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(path("model"), script).unwrap();
        Self::in_place(place, mode).await
    }

    /// Another server in the same place, up to another mode. This one keeps its sessions open no longer.
    pub(crate) async fn again(self, mode: Mode) -> Self {
        let Self { router, place } = self;
        drop(router);
        Self::in_place(place, mode).await
    }

    async fn in_place(place: TempDir, mode: Mode) -> Self {
        let path = |name: &str| place.path().join(name);
        let variables = [("HOME", "person"), ("HAFT_HOME", "home")];
        let variables =
            variables.map(|(name, folder)| (name.to_owned(), path(folder).to_string_lossy().into_owned()));
        let app = App::new(Environment { variables: variables.into() }).unwrap();
        let model = Some(format!("script/{}", path("model").display()));
        let settings = Settings { model, permission: Some(mode), ..Settings::default() };
        let spec = SessionSpec { settings, workspace: Some(path("work")), ..SessionSpec::default() };
        let mut host = AppHost::new(&app, spec.clone(), Some(mode).into());
        let folders = vec![host.first_engine().await.unwrap().setup().workspace.clone()];
        let settings = haft_serve::Settings {
            login: None,
            roles: Default::default(),
            push: PushFile { after: Some(0), allow_private: true, ..PushFile::default() },
            app,
            spec,
            host,
            folders,
            workers: 1,
            token: TOKEN.to_owned(),
            hosts: Vec::new(),
            access_log: false,
            idle: Duration::from_secs(60),
        };
        Self { router: haft_serve::routes(settings, ([127, 0, 0, 1], 8171).into()), place }
    }

    /// Where sessions lie.
    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// The workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// A file of the workspace.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.place.path().join("work").join(name)).ok()
    }

    /// Puts a file into the workspace.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.place.path().join("work").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().call(request).await.unwrap()
    }

    /// `METHOD PATH` with a body, if it is not empty, and with the token.
    pub(crate) async fn ask(&self, line: &str, body: &str) -> Answer {
        answer(self.send(request(line, body)).await).await
    }

    /// The ID of a new session.
    pub(crate) async fn session(&self) -> String {
        let made = self.ask("POST /v1/sessions", "{}").await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(crate) async fn turn(&self, session: &str) -> Value {
        let body = json!({"text": "go", "wait": true}).to_string();
        self.ask(&format!("POST /v1/sessions/{session}/prompt"), &body).await.json()
    }

    /// The events of a stream, up to the first that `is_last`.
    pub(crate) async fn events(&self, path: &str, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut stream = self.send(request(&format!("GET {path}"), "")).await.into_body().into_data_stream();
        let mut events = Vec::new();
        while let Some(bytes) = stream.next().await {
            let bytes = bytes.unwrap();
            let text = std::str::from_utf8(&bytes).unwrap();
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            events.extend(data.map(|data| serde_json::from_str::<Value>(data).unwrap()));
            if events.last().is_some_and(&is_last) {
                break;
            }
        }
        events
    }
}

pub(crate) fn request(line: &str, body: &str) -> Request<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:8171")
        .header("authorization", format!("Bearer {TOKEN}"));
    match body {
        "" => request.body(Body::empty()),
        body => request.header("content-type", "application/json").body(Body::from(body.to_owned())),
    }
    .unwrap()
}

pub(crate) async fn answer(response: Response) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}
