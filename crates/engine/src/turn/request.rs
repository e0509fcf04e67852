//! The window of a model, and the request that fills it.
use crate::session::context::SessionContext;
use haft_core::{Request, Transcript, Window};

/// Where nobody knows a model's window: most have at least that (2025-10).
const USUAL_WINDOW: u64 = 128_000;

/// The window of the session's model.
pub(crate) fn window(session: &SessionContext) -> Window {
    let setup = &session.shared.setup;
    let tokens = session.model.window.unwrap_or(USUAL_WINDOW);
    let reply = match setup.profile.max_output {
        0 => tokens,
        limit => u64::from(limit),
    };
    Window::new(tokens, reply, session.toolbox.kit().prefix.tokens)
}

/// The whole conversation; sharing its messages costs one pointer each.
pub(crate) fn request(session: &SessionContext, transcript: &Transcript) -> Request {
    let (setup, kit) = (&session.shared.setup, session.toolbox.kit());
    let prefix = &kit.prefix;
    Request {
        model: session.model.name.clone(),
        system: prefix.system.clone(),
        messages: transcript.messages().to_vec(),
        tools: prefix.tools.clone(),
        max_output: room_for_reply(session, transcript),
        form: None,
        options: setup.profile.options.clone(),
    }
}

/// As the profile has it, but what the window leaves: some servers refuse a request that could outgrow it.
fn room_for_reply(session: &SessionContext, transcript: &Transcript) -> u32 {
    let wanted = session.shared.setup.profile.max_output;
    if session.model.window.is_none() {
        return wanted;
    }
    let window = window(session);
    let left = window.tokens.saturating_sub(transcript.size(window.fixed)).max(window.reply.min(256));
    wanted.min(u32::try_from(left).unwrap_or(u32::MAX))
}
