//! [`Calls`]: passes the messages that a server sends during a call to that call.
#![expect(
    deprecated,
    reason = "servers of all revisions in use still ask for roots and models, and log; 2026-07-28 only announces the end of it"
)]
use super::{elicit, roots::Roots, sampling};
use haft_core::ToolContext;
use parking_lot::Mutex;
use rmcp::{
    ClientHandler,
    model::{
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ErrorData, InitializeRequestParams, ListRootsResult,
        LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, Root,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{select, sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// The running calls of a server.
#[derive(Default)]
pub(crate) struct Calls(Mutex<Vec<Arc<Call>>>);

/// A call that waits for its result.
pub(crate) struct Call {
    ctx: ToolContext,
    /// Notified when the server sends anything.
    sign: Notify,
    /// Number of questions that wait for the user.
    questions: AtomicUsize,
    /// Cancelled when the result is not waited for anymore.
    ended: CancellationToken,
}

/// Removes the call when it is dropped.
pub(crate) struct Entered<'a> {
    calls: &'a Calls,
    pub(crate) call: Arc<Call>,
}

impl Calls {
    pub(crate) fn enter(&self, ctx: &ToolContext) -> Entered<'_> {
        let (sign, questions, ended) = Default::default();
        let call = Arc::new(Call { ctx: ctx.clone(), sign, questions, ended });
        self.0.lock().push(call.clone());
        Entered { calls: self, call }
    }

    /// The call, if only one is running. A server's message does not name its call, and must not reach the conversation
    /// of another user.
    fn only(&self) -> Option<Arc<Call>> {
        match self.0.lock().as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    fn show(&self, text: &str) {
        if let Some(call) = self.only() {
            call.ctx.progress(format!("{text}\n"));
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.call.ended.cancel();
        self.calls.0.lock().retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

impl Call {
    /// Completes once the server has sent nothing for `limit`. The time in which a question waits for the user does not
    /// count.
    pub(crate) async fn is_silent_for(&self, limit: Duration) {
        while timeout(limit, self.sign.notified()).await.is_ok() || self.questions.load(Ordering::Relaxed) > 0
        {
        }
    }

    /// Waits for the answer to a question; `None` if the question is withdrawn: by `is_withdrawn`, or because the call
    /// ends. The user may take hours, during which the call's channels to its session would otherwise stay open.
    async fn ask<T>(&self, asked: impl Future<Output = T>, is_withdrawn: &CancellationToken) -> Option<T> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        let answer = select! {
            answer = asked => Some(answer),
            () = self.ended.cancelled() => None,
            () = is_withdrawn.cancelled() => None,
        };
        self.questions.fetch_sub(1, Ordering::Relaxed);
        self.sign.notify_one();
        answer
    }
}

/// Haft's end of a connection.
#[derive(Clone)]
pub(crate) struct Client {
    /// The user's name of the server.
    pub(crate) server: String,
    pub(crate) calls: Arc<Calls>,
    /// Number of changes of the list of tools.
    pub(crate) changes: Arc<AtomicU64>,
    /// The folders for the server; `None` if it is not offered any.
    pub(crate) roots: Option<Roots>,
    /// Whether the server may request answers of a model.
    pub(crate) offers_sampling: bool,
}

impl ClientHandler for Client {
    fn get_info(&self) -> InitializeRequestParams {
        let mut introduction = introduction();
        if self.roots.is_none() {
            introduction.capabilities.roots = None;
        }
        introduction.capabilities.sampling = self.offers_sampling.then(Default::default);
        introduction
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let folders = self.roots.as_ref().map(Roots::tell).unwrap_or_default();
        let urls = folders.iter().filter_map(|folder| url::Url::from_directory_path(folder).ok());
        Ok(ListRootsResult::new(urls.map(|url| Root::new(url.to_string())).collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let cancelled = ElicitResult::new(ElicitationAction::Cancel);
        let Some(call) = self.calls.only() else { return Ok(cancelled) };
        let answer = elicit::answer(&self.server, request, &*call.ctx.person);
        Ok(call.ask(answer, &context.ct).await.unwrap_or(cancelled))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if !self.offers_sampling {
            return Err(sampling::rejected("the configuration does not let this server ask a model"));
        }
        let call = self.calls.only();
        let call = call.ok_or_else(|| sampling::rejected("it does not belong to a single running call"))?;
        let answer = call.ask(sampling::answer(&self.server, request, &call.ctx), &context.ct).await;
        answer.unwrap_or_else(|| Err(sampling::rejected("the call has ended")))
    }

    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let Some(call) = self.calls.only() else { return };
        call.sign.notify_one();
        let total = said.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = said.message.map(|message| format!(" {message}")).unwrap_or_default();
        call.ctx.progress(format!("{}{total}{message}\n", said.progress));
    }

    async fn on_logging_message(
        &self,
        said: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = said.data.as_str().map_or_else(|| said.data.to_string(), str::to_owned);
        self.calls.show(&text);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
}

/// The description of this client for the server.
pub(crate) fn introduction() -> InitializeRequestParams {
    use rmcp::model::{
        ClientCapabilities, ElicitationCapability, FormElicitationCapability, Implementation,
        UrlElicitationCapability,
    };
    let mut capabilities = ClientCapabilities::builder().enable_roots().build();
    let form = FormElicitationCapability::default();
    capabilities.elicitation =
        Some(ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::new()));
    let own = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft");
    InitializeRequestParams::new(capabilities, own)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
