//! [`routes`]: serves the page at `/`: plain modules that are embedded in the program. The page loads nothing from
//! other servers, and runs no other scripts.
mod export;

pub use export::export_html;

use axum::{
    Router,
    http::{
        HeaderName, HeaderValue,
        header::{CONTENT_TYPE, REFERRER_POLICY},
    },
    response::{IntoResponse, Response},
    routing::get,
};

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

macro_rules! files {
    ($($path:literal $kind:literal $name:literal,)*) => {
        [$(File { path: $path, kind: $kind, content: include_bytes!(concat!("page/", $name)) }),*]
    };
}

const FILES: [File; 32] = files! {
    "/" "text/html; charset=utf-8" "index.html",
    "/style.css" "text/css; charset=utf-8" "style.css",
    "/icon.svg" "image/svg+xml" "icon.svg",
    "/icon.png" "image/png" "icon.png",
    "/manifest.webmanifest" "application/manifest+json" "manifest.webmanifest",
    "/main.js" "text/javascript; charset=utf-8" "main.js",
    "/api.js" "text/javascript; charset=utf-8" "api.js",
    "/listen.js" "text/javascript; charset=utf-8" "listen.js",
    "/streams.js" "text/javascript; charset=utf-8" "streams.js",
    "/worker.js" "text/javascript; charset=utf-8" "worker.js",
    "/service-worker.js" "text/javascript; charset=utf-8" "service-worker.js",
    "/notifications.js" "text/javascript; charset=utf-8" "notifications.js",
    "/dom.js" "text/javascript; charset=utf-8" "dom.js",
    "/drafts.js" "text/javascript; charset=utf-8" "drafts.js",
    "/diff.js" "text/javascript; charset=utf-8" "diff.js",
    "/markdown.js" "text/javascript; charset=utf-8" "markdown.js",
    "/transcript.js" "text/javascript; charset=utf-8" "transcript.js",
    "/session.js" "text/javascript; charset=utf-8" "session.js",
    "/job.js" "text/javascript; charset=utf-8" "job.js",
    "/lists.js" "text/javascript; charset=utf-8" "lists.js",
    "/approvals.js" "text/javascript; charset=utf-8" "approvals.js",
    "/choose.js" "text/javascript; charset=utf-8" "choose.js",
    "/complete.js" "text/javascript; charset=utf-8" "complete.js",
    "/review.js" "text/javascript; charset=utf-8" "review.js",
    "/outbox.js" "text/javascript; charset=utf-8" "outbox.js",
    "/verify.js" "text/javascript; charset=utf-8" "verify.js",
    "/home.js" "text/javascript; charset=utf-8" "home.js",
    "/overview.js" "text/javascript; charset=utf-8" "overview.js",
    "/code.js" "text/javascript; charset=utf-8" "code.js",
    "/composer.js" "text/javascript; charset=utf-8" "composer.js",
    "/fold.js" "text/javascript; charset=utf-8" "fold.js",
    "/live.js" "text/javascript; charset=utf-8" "live.js",
};

/// Everything is loaded from this server (the policy `worker` of the page names the scripts of its workers), pictures
/// may be inline, and other pages may not embed this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; manifest-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types worker";

/// Whether a path is a file of the page, which holds no private data.
pub(crate) fn is_part(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// The routes of the page.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let add =
        |router: Router<S>, file: &'static File| router.route(file.path, get(|| async { file.response() }));
    const ALL: &[File] = &FILES;
    ALL.iter().fold(Router::new(), add)
}

impl File {
    fn response(&self) -> Response {
        let own = [
            (CONTENT_TYPE, HeaderValue::from_static(self.kind)),
            (HeaderName::from_static("content-security-policy"), HeaderValue::from_static(POLICY)),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY")),
            (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        ];
        (own, self.content).into_response()
    }
}
