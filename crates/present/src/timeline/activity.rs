//! [`Activity`]: what continues in a session at a moment.

/// What continues at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A person is asked.
    Asking,
    /// A call of this tool runs.
    Running(String),
    /// The model is asked again, for this reason.
    Retrying(String),
    /// Room is made in the window.
    Summarizing,
    /// Calls are made again, to see what depends on one that is to be undone.
    Undoing,
    /// The reply comes.
    Responding,
    /// The model writes a call of this tool.
    Calling(String),
    /// The model thinks.
    Thinking,
    /// No model can answer until this time.
    Awaiting(String),
    /// The model has said nothing yet.
    Waiting,
}

impl Activity {
    /// In a few words.
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
