//! Support for the code that `#[tool]` generates; not a public interface.
//!
//! The conversion of a function's result depends on its type, by *autoref specialization*: method lookup tries
//! `&&Returned<T>` before `&Returned<T>` before `Returned<T>`, so the most specific rule is implemented for the most
//! references.

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

/// Converts a tool to the form that a registry stores.
pub fn erase(tool: impl Tool) -> Arc<dyn AnyTool> {
    Arc::new(crate::tool::erase(tool))
}

/// Returns the type of a function.
pub fn type_of<F: 'static>(_: F) -> TypeId {
    TypeId::of::<F>()
}

/// Runs `work` on a thread that may block. A panic in it continues in the caller.
pub async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if Handle::try_current().is_err() {
        return work();
    }
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends, and so does the caller.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// The result of a function, which can be taken once.
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

/// First step, first rule: an error that is already worded for a model.
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

/// First step, second rule: any other error gets its displayed text.
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

/// First step, last rule: any other type is not an error.
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

/// Second step, first rule: a `ToolOutput` stays as it is, `()` becomes a fixed text, and an optional text becomes the
/// text or null.
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

/// The text for the model if a function returns nothing.
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
