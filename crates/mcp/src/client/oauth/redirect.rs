//! [`Callback`]: the local address to which a login redirects the browser.
use axum::{
    Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::get,
};
use std::{future::IntoFuture, io, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    time::timeout,
};

/// How long the browser may take to read the last page.
const LAST_PAGE_TIMEOUT: Duration = Duration::from_secs(1);
/// The last page in the browser.
const PAGE: &str = "Haft received the answer. You can close this page and go back to the terminal.\n";
/// The page for requests of other programs or old tabs.
const FOREIGN: &str = "This address does not belong to a login that Haft waits for.\n";

/// A listener on loopback (RFC 8252, 7.3).
pub(super) struct Callback {
    listener: TcpListener,
    pub(super) port: u16,
}

impl Callback {
    /// Listens on `port`, or on a free one if it is 0.
    pub(super) async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The redirect address for the authorization server.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Waits for the browser, and returns the whole address of its request. A request with another `state` is refused.
    pub(super) async fn redirected(self, state: &str) -> io::Result<String> {
        let (sender, mut receiver) = mpsc::channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let expected = Arc::new(Expected { address: self.address(), state: state.to_owned(), sender });
        let router = Router::new().route("/callback", get(come)).with_state(expected);
        let serving = axum::serve(self.listener, router).with_graceful_shutdown(async {
            let _stopped_either_way = stopped.await;
        });
        let mut serving = std::pin::pin!(serving.into_future());
        tokio::select! {
            served = &mut serving => Err(served.err().unwrap_or_else(|| io::Error::other("it stopped listening"))),
            came = receiver.recv() => {
                let _it_stops_either_way = stop.send(());
                let _the_page_is_not_needed = timeout(LAST_PAGE_TIMEOUT, serving).await;
                came.ok_or_else(|| io::Error::other("it stopped listening"))
            }
        }
    }
}

struct Expected {
    address: String,
    state: String,
    sender: mpsc::Sender<String>,
}

async fn come(State(expected): State<Arc<Expected>>, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let given = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
    if given.is_none_or(|(_, state)| state != expected.state.as_str()) {
        return (StatusCode::BAD_REQUEST, FOREIGN).into_response();
    }
    let _the_first_one_counts = expected.sender.try_send(format!("{}?{query}", expected.address));
    PAGE.into_response()
}
