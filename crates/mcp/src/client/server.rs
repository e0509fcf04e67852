//! [`Server`]: one MCP server, started when a call first needs it, and again after it has died.
use super::{
    calls::{Calls, Client},
    limited::MAX_MESSAGE,
    link::{Link, LinkError},
    roots::Roots,
    settings::McpServer,
    words,
};
use haft_core::{ToolContext, ToolError, ToolErrorKind, ToolOutput};
use parking_lot::Mutex;
use rmcp::{
    model::{
        CallToolRequestParams, CallToolResult, JsonObject, PaginatedRequestParams, Prompt, Resource,
        ResourceTemplate, Tool,
    },
    service::ServiceError,
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::time::timeout;

/// Maximum pages and entries of a server's list; the rest is cut off.
const MAX_PAGES: usize = 50;
const MAX_LISTED: usize = 1_000;
/// The key in `_meta` of a call that the user sends from the outbox, by which a server recognizes a second attempt.
const IDEMPOTENCY_KEY: &str = "idempotencyKey";
/// Maximum number of names in a note.
const MAX_NAMED: usize = 3;

pub(crate) struct Server {
    pub(crate) settings: McpServer,
    workspace: PathBuf,
    environment: Arc<[(String, String)]>,
    on_note: Arc<dyn Fn(String) + Send + Sync>,
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
    known: Mutex<ToolList>,
    /// Number of changes of the list.
    changes: Arc<AtomicU64>,
}

/// The server's list of tools.
struct ToolList {
    tools: Arc<[Tool]>,
    /// The value of `changes` to which the list belongs; `None` if the server has sent no list.
    as_of: Option<u64>,
}

impl ToolList {
    /// Notes that the list is unavailable, so that it is not requested again in each round.
    fn give_up(&mut self, changes: &AtomicU64) {
        self.as_of = self.as_of.map(|_| changes.load(Ordering::Relaxed));
    }
}

/// Why a list is unavailable.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error("cannot start the MCP server: {0}")]
    Link(LinkError),
    #[error("the MCP server wants to know who asks (401): {0}")]
    Login(String),
    #[error("the MCP server does not tell its tools: {0}")]
    Refused(String),
    #[error("the MCP server does not tell its tools in time")]
    Silent,
}

impl From<LinkError> for ListError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Login(advice) => Self::Login(advice),
            error => Self::Link(error),
        }
    }
}

impl Server {
    pub(crate) fn new(
        settings: McpServer,
        workspace: PathBuf,
        environment: Arc<[(String, String)]>,
        on_note: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        let (link, changes) = Default::default();
        let known = Mutex::new(ToolList { tools: Arc::new([]), as_of: None });
        Self { settings, workspace, environment, on_note, link, known, changes }
    }

    /// The allowed tools. With `is_wanted`, a server that is not running is started; if that fails, it has no tools.
    pub(crate) async fn tools(&self, is_wanted: bool) -> Arc<[Tool]> {
        let as_of = self.known.lock().as_of;
        let is_due = as_of.map_or(is_wanted, |as_of| as_of != self.changes.load(Ordering::Relaxed));
        if is_due && let Err(error) = self.look_again().await {
            (self.on_note)(format!("{}: {error}", self.settings.name));
        }
        self.known.lock().tools.clone()
    }

    async fn look_again(&self) -> Result<(), ListError> {
        let link = self.link().await.inspect_err(|_| self.known.lock().give_up(&self.changes))?;
        let as_of = self.changes.load(Ordering::Relaxed);
        let listed = timeout(self.settings.start_timeout, tools(&link)).await;
        if listed.is_err() {
            self.leave_if_stuck(&link).await;
        }
        let listed = listed.map_err(|_| ListError::Silent).and_then(|listed| {
            listed.map_err(|error| ListError::Refused(words::of_request(&error) + &link.last_words()))
        });
        let listed = listed.inspect_err(|_| self.known.lock().give_up(&self.changes))?;
        let allowed = |tool: &Tool| {
            let tools = self.settings.tools.as_ref();
            tools.is_none_or(|names| names.iter().any(|name| *name == tool.name))
        };
        let tools: Arc<[Tool]> = listed.into_iter().filter(allowed).collect();
        let before =
            std::mem::replace(&mut *self.known.lock(), ToolList { tools: tools.clone(), as_of: Some(as_of) });
        if let Some(changed) = changed(&before.tools, &tools) {
            let name = &self.settings.name;
            (self.on_note)(format!(
                "{name}: the MCP server changed {changed}; what you allowed of them before needs your approval again"
            ));
        }
        Ok(())
    }

    /// Calls a tool. Dropping the future cancels the call at the server, too.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let name = &self.settings.name;
        let link = self.link().await.map_err(|error| {
            ToolError::new(ToolErrorKind::System, format!("the MCP server `{name}` is not there: {error}"))
                .hint("it is started again with the next call; or work without it")
        })?;
        link.is_ready().await;
        let entered = link.calls.enter(ctx);
        let mut request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if let Some(key) = ctx.access.idempotency_key() {
            request.meta.get_or_insert_default().insert(IDEMPOTENCY_KEY.to_owned(), key.into());
        }
        let limit = self.settings.call_timeout;
        let answer: Result<CallToolResult, ServiceError> = tokio::select! {
            biased;
            answer = link.service.call_tool(request) => answer,
            () = entered.call.is_silent_for(limit) => Err(ServiceError::Timeout { timeout: limit }),
        };
        drop(entered);
        if let Err(ServiceError::Timeout { .. }) = &answer
            && self.leave_if_stuck(&link).await
        {
            return Err(self.stuck(tool));
        }
        if let Err(ServiceError::TransportSend(error)) = &answer
            && words::is_unauthorized(error)
        {
            // The next call connects again, with the login that is stored by then.
            self.leave(&link).await;
            return Err(self.unauthorized(tool));
        }
        match answer {
            Ok(result) => super::result::output(result),
            Err(error) => Err(self.failed(tool, error, &link)),
        }
    }

    /// Closes the connection to a server that stopped inside a message, so that the next call starts it again. Returns
    /// whether it did.
    async fn leave_if_stuck(&self, stuck: &Arc<Link>) -> bool {
        if !stuck.is_inside_message() {
            return false;
        }
        self.leave(stuck).await;
        true
    }

    async fn leave(&self, left: &Arc<Link>) {
        let mut link = self.link.lock().await;
        if link.as_ref().is_some_and(|link| Arc::ptr_eq(link, left)) {
            *link = None;
        }
        left.hang_up();
    }

    fn unauthorized(&self, tool: &str) -> ToolError {
        let name = &self.settings.name;
        let message = format!("the MCP server `{name}` did not let `{tool}` in: it wants a login");
        let advice = self.settings.login_advice();
        ToolError::new(ToolErrorKind::User, message)
            .hint(format!("tell the user: {advice}; then call it again"))
    }

    fn stuck(&self, tool: &str) -> ToolError {
        let (name, seconds) = (&self.settings.name, self.settings.call_timeout.as_secs());
        let message = format!(
            "the MCP server `{name}` sent the beginning of a message and then nothing for {seconds} seconds; `{tool}` was \
             given up"
        );
        ToolError::new(ToolErrorKind::System, message)
            .hint("what it did is unknown; the server is started again with the next call")
    }

    fn failed(&self, tool: &str, error: ServiceError, link: &Link) -> ToolError {
        let name = &self.settings.name;
        match error {
            ServiceError::McpError(error) => {
                let message = format!("the MCP server `{name}` refused `{tool}`: {}", error.message);
                ToolError::new(ToolErrorKind::User, message)
            }
            ServiceError::TransportSend(error) if let Some(status) = words::busy(&error) => {
                let message = format!("the MCP server `{name}` did not take `{tool}`: HTTP {status}");
                ToolError::new(ToolErrorKind::User, message).hint("nothing was done; call it again later")
            }
            ServiceError::Timeout { timeout } => {
                let seconds = timeout.as_secs();
                let message = format!(
                    "the MCP server `{name}` was silent for {seconds} seconds; `{tool}` was cancelled"
                );
                ToolError::new(ToolErrorKind::System, message)
                    .hint("what it did is unknown; look before you call it again")
            }
            _ if link.has_overflowed() => {
                let most = MAX_MESSAGE >> 20;
                let message = format!(
                    "lost the MCP server `{name}` in the middle of `{tool}`: it sent a message of more than {most} MB"
                );
                ToolError::new(ToolErrorKind::System, message)
                    .hint("ask for less at a time; the server is started again with the next call")
            }
            error => {
                let said = link.last_words();
                let message = format!(
                    "lost the MCP server `{name}` in the middle of `{tool}`: {}{said}",
                    words::of_request(&error)
                );
                ToolError::new(ToolErrorKind::System, message)
                    .hint("what it did is unknown; the server is started again with the next call")
            }
        }
    }

    /// Returns the connection; connects again if it is broken.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, LinkError> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| link.is_up()) {
            return Ok(link.clone());
        }
        *link = None;
        let roots = self.settings.root_folders(&self.workspace, &self.environment);
        let client = || Client {
            server: self.settings.name.clone(),
            calls: Arc::new(Calls::default()),
            changes: self.changes.clone(),
            roots: roots.clone().map(Roots::new),
            offers_sampling: self.settings.sampling,
        };
        let opened = Link::open(&self.settings, &self.workspace, &self.environment, client).await?;
        // A restarted server may have other tools.
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(link.insert(Arc::new(opened)).clone())
    }
}

/// Names of existing tools whose definition has changed; `None` if there are none.
fn changed(before: &[Tool], after: &[Tool]) -> Option<String> {
    let is_changed = |tool: &&Tool| before.iter().any(|old| old.name == tool.name && old != *tool);
    let names: Vec<String> = after.iter().filter(is_changed).map(|tool| format!("`{}`", tool.name)).collect();
    let (shown, rest) = names.split_at(names.len().min(MAX_NAMED));
    match (shown, rest) {
        ([], _) => None,
        (shown, []) => Some(shown.join(", ")),
        (shown, rest) => Some(format!("{} and {} more tools", shown.join(", "), rest.len())),
    }
}

/// Everything that the server lists, page by page: at most [`MAX_PAGES`] pages and [`MAX_LISTED`] entries.
pub(crate) async fn all<T, F>(
    page: impl Fn(Option<PaginatedRequestParams>) -> F,
) -> Result<Vec<T>, ServiceError>
where
    F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
{
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let (listed, next) = page(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        all.extend(listed);
        cursor = next;
        if cursor.is_none() || all.len() > MAX_LISTED {
            break;
        }
    }
    all.truncate(MAX_LISTED);
    Ok(all)
}

pub(crate) async fn tools(link: &Link) -> Result<Vec<Tool>, ServiceError> {
    let peer = link.service.peer();
    all(|page| async { peer.list_tools(page).await.map(|listed| (listed.tools, listed.next_cursor)) }).await
}

pub(crate) async fn prompts(link: &Link) -> Result<Vec<Prompt>, ServiceError> {
    let peer = link.service.peer();
    all(|page| async { peer.list_prompts(page).await.map(|listed| (listed.prompts, listed.next_cursor)) })
        .await
}

pub(crate) async fn resources(link: &Link) -> Result<Vec<Resource>, ServiceError> {
    let peer = link.service.peer();
    all(|page| async { peer.list_resources(page).await.map(|listed| (listed.resources, listed.next_cursor)) })
        .await
}

pub(crate) async fn resource_templates(link: &Link) -> Result<Vec<ResourceTemplate>, ServiceError> {
    let peer = link.service.peer();
    all(|page| async {
        let listed = peer.list_resource_templates(page).await?;
        Ok((listed.resource_templates, listed.next_cursor))
    })
    .await
}
