//! [`Answer`]: the product's answer to a case.
use haft_core::ToolErrorKind;
use serde_json::{Value, json};

/// The answer to a case, as a line of the results.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The result of the case.
    Result(Value),
    /// The case was refused.
    Refused {
        /// The reason as one word.
        code: String,
        /// The full message.
        message: String,
        /// The files afterwards, for suites with files.
        files: Option<Value>,
    },
    /// The product has no part that could run the case.
    Skipped(String),
}

impl Answer {
    /// The line of the results.
    pub fn line(&self, id: &str) -> Value {
        match self {
            Self::Result(result) => json!({"id": id, "result": result}),
            Self::Refused { code, message, files } => {
                let mut line = json!({"id": id, "error": {"code": code, "message": message}});
                files.iter().for_each(|files| line["files"] = files.clone());
                line
            }
            Self::Skipped(why) => json!({"id": id, "skip": why}),
        }
    }

    pub(crate) fn refused(kind: ToolErrorKind, message: &str) -> Self {
        Self::Refused { code: kind.to_string(), message: message.to_owned(), files: None }
    }

    pub(crate) fn skipped(why: &str) -> Self {
        Self::Skipped(why.to_owned())
    }
}
