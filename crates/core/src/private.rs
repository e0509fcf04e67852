//! Support for the code that `#[tool]` generates; not a public interface.
//!
//! What a function returns is found from its type by *autoref specialisation*: method lookup tries `&&Returned<T>`
//! before `&Returned<T>` before `Returned<T>`, so the most special rule is on the most references.

pub use futures::future::BoxFuture;
pub use inventory;
pub use schemars;
pub use serde;
pub use serde_json;

use crate::{AnyTool, Tool, ToolError, ToolErrorKind, ToolOutput};
use serde::Serialize;
use std::{any::TypeId, cell::Cell, fmt::Display, panic::resume_unwind, sync::Arc};
use tokio::{
    runtime::Handle,
    task::{JoinError, spawn_blocking},
};

/// A tool as a registry holds it.
pub fn erase(tool: impl Tool) -> Arc<dyn AnyTool> {
    Arc::new(crate::tool::erase(tool))
}

/// The type of a function.
pub fn type_of<F: 'static>(_: F) -> TypeId {
    TypeId::of::<F>()
}

/// Runs `work` on a thread where it may block. A panic in it continues here.
pub async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if Handle::try_current().is_err() {
        return work();
    }
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends, and the caller with it.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// What a function returned, to be taken once.
pub struct Returned<T>(Cell<Option<T>>);

impl<T> Returned<T> {
    /// Holds `value`.
    pub fn new(value: T) -> Self {
        Self(Cell::new(Some(value)))
    }

    fn take(&self) -> T {
        self.0.take().expect("generated code asks once")
    }
}

/// First step, first rule: an error that is worded for a model already.
pub trait FromToolError {
    /// Inside the `Result`.
    type Value;
    /// Takes it out.
    fn result(&self) -> Result<Self::Value, ToolError>;
}

impl<T> FromToolError for &&Returned<Result<T, ToolError>> {
    type Value = T;
    fn result(&self) -> Result<T, ToolError> {
        self.take()
    }
}

/// First step, second rule: an error is worded as it displays itself.
pub trait FromResult {
    /// Inside the `Result`.
    type Value;
    /// Takes it out.
    fn result(&self) -> Result<Self::Value, ToolError>;
}

impl<T, E: Display> FromResult for &Returned<Result<T, E>> {
    type Value = T;
    fn result(&self) -> Result<T, ToolError> {
        self.take().map_err(|error| ToolError::new(ToolErrorKind::System, error.to_string()))
    }
}

/// The last rule of the first step: any other type is not an error.
pub trait FromValue {
    /// The value itself.
    type Value;
    /// Takes it out.
    fn result(&self) -> Result<Self::Value, ToolError>;
}

impl<T> FromValue for Returned<T> {
    type Value = T;
    fn result(&self) -> Result<T, ToolError> {
        Ok(self.take())
    }
}

/// Second step, first rule: an output stays as it is, nothing is worded, and a text that may be missing is a text or null.
pub trait AsOutput {
    /// What the tool hands back.
    fn output(&self) -> Result<ToolOutput, ToolError>;
}

impl AsOutput for &&Returned<ToolOutput> {
    fn output(&self) -> Result<ToolOutput, ToolError> {
        Ok(self.take())
    }
}

impl AsOutput for &&Returned<()> {
    fn output(&self) -> Result<ToolOutput, ToolError> {
        self.take();
        Ok(ToolOutput::text(NO_OUTPUT))
    }
}

/// What a model reads of a function that returns nothing.
const NO_OUTPUT: &str = "(no output)";

impl<T: AsRef<str>> AsOutput for &&Returned<Option<T>> {
    fn output(&self) -> Result<ToolOutput, ToolError> {
        Ok(match self.take() {
            Some(text) => ToolOutput::text(text.as_ref()),
            None => ToolOutput::json(&serde_json::Value::Null),
        })
    }
}

/// Second step, second rule: a text stays as it is.
pub trait AsText {
    /// What the tool hands back.
    fn output(&self) -> Result<ToolOutput, ToolError>;
}

impl<T: AsRef<str>> AsText for &Returned<T> {
    fn output(&self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self.take().as_ref()))
    }
}

/// The last rule of the second step: any other type is written as JSON, indented by two.
pub trait AsJson {
    /// What the tool hands back.
    fn output(&self) -> Result<ToolOutput, ToolError>;
}

impl<T: Serialize> AsJson for Returned<T> {
    fn output(&self) -> Result<ToolOutput, ToolError> {
        match serde_json::to_value(self.take()) {
            Ok(value) => Ok(ToolOutput::json(&value)),
            Err(error) => {
                let message = format!("cannot write the result as JSON: {error}");
                Err(ToolError::new(ToolErrorKind::System, message).caused_by(error))
            }
        }
    }
}
