//! [`over_streams`]: serves the methods of the protocol.
use super::{
    Settings, modes, options,
    sdk::{
        Agent, AgentCapabilities, CancelNotification, Channel, Client, CloseSessionRequest,
        CloseSessionResponse, ConnectionTo, Error, Implementation, InitializeRequest, InitializeResponse,
        ListSessionsRequest, LoadSessionRequest, LoadSessionResponse, McpCapabilities, NewSessionRequest,
        NewSessionResponse, PromptCapabilities, PromptRequest, ProtocolVersion, Responder,
        ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
        SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
        SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
    },
    sessions::{Again, LAST_WORDS, Sessions},
    wire::{self, Flow},
};
use agent_client_protocol::{HandleDispatchFrom, on_receive_notification, on_receive_request, v1::Builder};
use anyhow::Context;
use std::{future::Future, io::ErrorKind, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves over these streams until `input` ends, the reader of `output` is gone, or `stop` completes. Then stops all
/// sessions and their processes. `is_taken`: whether the editor has read all that was written to `output`.
pub async fn over_streams(
    input: impl AsyncRead + Send,
    output: impl AsyncWrite + Send,
    is_taken: fn() -> bool,
    settings: Settings,
    stop: impl Future<Output = ()> + Send,
) -> anyhow::Result<()> {
    let (ours, theirs) = Channel::duplex();
    let flow = Arc::new(Flow::default());
    let host = Arc::new(Sessions::new(settings, flow.clone()));
    let carrying = wire::carry(input, output, is_taken, theirs, &flow);
    let serving = serve(host.clone(), ours, stop);
    tokio::pin!(carrying);
    let mut serving = Box::pin(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        carried = &mut carrying => {
            // The followers belong to `serving`, and have no editor to write to anymore.
            drop(serving);
            host.end().await;
            return match carried {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("the connection broke"),
                _ => Ok(()),
            };
        }
    };
    let _it_reads_no_more = tokio::time::timeout(LAST_WORDS, carrying).await;
    served.map_err(|error| anyhow::anyhow!("{error}")).context("the connection broke")
}

/// Serves until the editor disconnects or `stop` completes.
async fn serve(
    host: Arc<Sessions>,
    channel: Channel,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let agent = working(host.clone(), opening(host.clone()));
    let until = async move |connection: ConnectionTo<Client>| {
        tokio::select! {
            () = connection.incoming_closed() => {}
            () = stop => {}
        }
        host.end().await;
        Ok(())
    };
    agent.connect_with(channel, until).await
}

/// The methods that initialize the connection and open sessions.
fn opening(host: Arc<Sessions>) -> Builder<Agent, impl HandleDispatchFrom<Client>> {
    let (meet, create, load, resume) = (host.clone(), host.clone(), host.clone(), host);
    Agent
        .v1()
        .name("haft")
        .on_receive_request(
            async move |asked: InitializeRequest, responder: Responder<_>, _| {
                meet.meet(asked.client_capabilities);
                responder.respond(introduction())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: NewSessionRequest, responder, connection: ConnectionTo<Client>| {
                apart(&connection, created(create.clone(), connection.clone(), asked, responder))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                apart(&connection, loaded(load.clone(), connection.clone(), asked, responder))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: ResumeSessionRequest, responder, connection: ConnectionTo<Client>| {
                apart(&connection, resumed(resume.clone(), connection.clone(), asked, responder))
            },
            on_receive_request!(),
        )
}

/// The methods for open sessions, in addition to those of `agent`. A prompt is accepted before the next message is
/// read, so that a cancel finds it.
fn working(
    host: Arc<Sessions>,
    agent: Builder<Agent, impl HandleDispatchFrom<Client>>,
) -> Builder<Agent, impl HandleDispatchFrom<Client>> {
    let (list, close, prompt) = (host.clone(), host.clone(), host.clone());
    let (mode, option, cancel) = (host.clone(), host.clone(), host);
    agent
        .on_receive_request(
            async move |asked: ListSessionsRequest, responder: Responder<_>, _| {
                responder.respond(list.list(&asked))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: CloseSessionRequest, responder, connection: ConnectionTo<Client>| {
                apart(&connection, closed(close.clone(), asked, responder))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: PromptRequest, responder, connection| match prompt.find(&asked.session_id.0) {
                Ok(open) => open.prompt(asked, responder, &prompt.editor(connection)),
                Err(error) => responder.respond_with_error(error),
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: SetSessionModeRequest, responder: Responder<_>, _| {
                let set = mode.find(&asked.session_id.0).and_then(|open| open.set_mode(&asked.mode_id.0));
                responder.respond_with_result(set.map(|()| SetSessionModeResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: SetSessionConfigOptionRequest, responder, connection: ConnectionTo<Client>| {
                apart(&connection, configured(option.clone(), connection.clone(), asked, responder))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |asked: CancelNotification, _| {
                if let Ok(open) = cancel.find(&asked.session_id.0) {
                    open.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
}

/// Runs slow work separately, so that it does not block other messages.
fn apart(
    connection: &ConnectionTo<Client>,
    work: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Result<(), Error> {
    connection.spawn(async move {
        let _it_has_left = work.await;
        Ok(())
    })
}

fn introduction() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let can = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let own = Implementation::new("haft", env!("CARGO_PKG_VERSION")).title("Haft".to_owned());
    InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(can).agent_info(own)
}

async fn created(
    host: Arc<Sessions>,
    connection: ConnectionTo<Client>,
    asked: NewSessionRequest,
    responder: Responder<NewSessionResponse>,
) -> Result<(), Error> {
    match host.create(connection.clone(), asked.cwd, asked.mcp_servers).await {
        Ok(open) => {
            let response = NewSessionResponse::new(open.id().to_owned());
            responder.respond(response.modes(modes::of(&open.session)).config_options(options::of(&open)))?;
            host.started(connection, &open);
            Ok(())
        }
        Err(error) => responder.respond_with_error(error),
    }
}

async fn loaded(
    host: Arc<Sessions>,
    connection: ConnectionTo<Client>,
    asked: LoadSessionRequest,
    responder: Responder<LoadSessionResponse>,
) -> Result<(), Error> {
    let wanted = (&*asked.session_id.0, asked.cwd, asked.mcp_servers);
    let open = host.load(connection, wanted, Again::Replayed).await;
    responder.respond_with_result(open.map(|open| {
        LoadSessionResponse::new().modes(modes::of(&open.session)).config_options(options::of(&open))
    }))
}

async fn resumed(
    host: Arc<Sessions>,
    connection: ConnectionTo<Client>,
    asked: ResumeSessionRequest,
    responder: Responder<ResumeSessionResponse>,
) -> Result<(), Error> {
    let wanted = (&*asked.session_id.0, asked.cwd, asked.mcp_servers);
    let open = host.load(connection, wanted, Again::Silent).await;
    responder.respond_with_result(open.map(|open| {
        ResumeSessionResponse::new().modes(modes::of(&open.session)).config_options(options::of(&open))
    }))
}

async fn configured(
    host: Arc<Sessions>,
    connection: ConnectionTo<Client>,
    asked: SetSessionConfigOptionRequest,
    responder: Responder<SetSessionConfigOptionResponse>,
) -> Result<(), Error> {
    let options = host.choose(connection, &asked).await;
    responder.respond_with_result(options.map(SetSessionConfigOptionResponse::new))
}

async fn closed(
    host: Arc<Sessions>,
    asked: CloseSessionRequest,
    responder: Responder<CloseSessionResponse>,
) -> Result<(), Error> {
    let closed = host.close(&asked.session_id.0).await;
    responder.respond_with_result(closed.map(|()| CloseSessionResponse::new()))
}
