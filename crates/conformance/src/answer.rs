//! [`Answer`]: what the product says to a case.
use haft_core::ToolErrorKind;
use serde_json::{Value, json};

/// One of three, as the line of the results has them.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It did what it was asked to.
    Result(Value),
    /// It refused.
    Refused {
        /// In one word.
        code: String,
        /// In full.
        message: String,
        /// The files as they stand after it, for suites that have files.
        files: Option<Value>,
    },
    /// It has nothing that such a case could be given to.
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
