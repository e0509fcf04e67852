//! [`Activity`]: what is running in a session at a moment.

/// What is running at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The user is asked.
    Asking,
    /// A call of this tool is running.
    Running(String),
    /// The model is asked again, for this reason.
    Retrying(String),
    /// The conversation is summarized to make room in the context window.
    Summarizing,
    /// Calls are repeated, to find the calls that depend on one that is to be undone.
    Undoing,
    /// The reply is arriving.
    Responding,
    /// The model is writing a call of this tool.
    Calling(String),
    /// The model is thinking.
    Thinking,
    /// No model can answer until this time.
    Awaiting(String),
    /// The model has not produced anything yet.
    Waiting,
}

impl Activity {
    /// The activity in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Asking => "waiting for you".into(),
            Self::Running(name) => format!("running {name}"),
            Self::Retrying(why) => format!("asking again: {why}"),
            Self::Summarizing => "summarizing".into(),
            Self::Undoing => "making later calls again".into(),
            Self::Responding => "responding".into(),
            Self::Calling(name) => format!("writing a call of {name}"),
            Self::Thinking => "thinking".into(),
            Self::Awaiting(time) => format!("waiting until {time}"),
            Self::Waiting => "waiting for the model".into(),
        }
    }
}
