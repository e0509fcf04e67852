//! The protocol's types, from its official library. Only this file and `serve` name that library.
pub(super) use agent_client_protocol::{
    Agent, Channel, Client, Error, ErrorCode, RawJsonRpcMessage, TransportFrame,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            self, AgentCapabilities, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate,
            CancelNotification, ClientCapabilities, CloseSessionRequest, CloseSessionResponse, ContentBlock,
            ContentChunk, CurrentModeUpdate, Diff, EmbeddedResourceResource, FileSystemCapabilities,
            ImageContent, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
            ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer,
            NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind, Plan, PlanEntry,
            PlanEntryPriority, PlanEntryStatus, PromptCapabilities, PromptRequest, PromptResponse,
            ReadTextFileRequest, RequestPermissionOutcome, RequestPermissionRequest, ResumeSessionRequest,
            ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionConfigOption,
            SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfo, SessionListCapabilities,
            SessionMode, SessionModeState, SessionNotification, SessionResumeCapabilities, SessionUpdate,
            SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
            SetSessionModeResponse, StopReason, TextContent, ToolCall, ToolCallContent, ToolCallLocation,
            ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UnstructuredCommandInput,
            WriteTextFileRequest,
        },
    },
};

/// An error for an invalid request of the editor.
pub(super) fn wrong(message: impl Into<String>) -> Error {
    worded(Error::invalid_params(), message)
}

/// An error for something that was tried and failed.
pub(super) fn failed(message: impl Into<String>) -> Error {
    worded(Error::internal_error(), message)
}

/// The error for an unknown session.
pub(super) fn unknown_session(id: &str) -> Error {
    let unknown: Error = schema::Error::session_not_found(id.to_owned()).into();
    let message =
        format!("there is no session `{}`; `session/list` names those there are", id.escape_debug());
    worded(unknown, message)
}

/// Replaces the message of `error`, which editors show to users.
pub(super) fn worded(mut error: Error, message: impl Into<String>) -> Error {
    error.message = message.into();
    error
}
