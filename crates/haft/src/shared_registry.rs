//! [`SharedRegistry`]: tools that many tasks share, and change while others run them.
use crate::{
    CallContext, Executed, IntoTool, Registry, Result, SessionId, ToolCall, ToolResult, ToolSource, execute,
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};

/// Tools by name that many tasks share: clones are one registry. Tools may come and go while others run.
///
/// What runs them needs no session: [`SharedRegistry::execute`] runs one call, [`SharedRegistry::execute_all`] those of a
/// reply, [`crate::run_tool_loop`] a whole conversation. In a session, [`crate::Builder::tool_source`] takes it, and what
/// changes holds from the next round on.
///
/// ```
/// use haft::{SharedRegistry, prelude::*};
///
/// /// Doubles a number.
/// #[tool]
/// fn double(x: i64) -> i64 { 2 * x }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> haft::Result<()> {
/// let tools = SharedRegistry::new();
/// tools.register(double)?;
/// assert_eq!(tools.snapshot().summaries(), ["- `double` - Doubles a number."]);
/// let result = tools.execute("double", serde_json::json!({"x": 21})).await;
/// assert_eq!(result.content, "42");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct SharedRegistry(Arc<RwLock<Arc<Registry>>>);

impl SharedRegistry {
    /// Returns a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, or replaces the one of the same name.
    ///
    /// # Errors
    /// Fails if a function has no `#[tool]`.
    pub fn register<Marker>(&self, tool: impl IntoTool<Marker>) -> Result<()> {
        let tool = tool.into_tool()?;
        self.change(|tools| tools.register(tool));
        Ok(())
    }

    /// Removes the tool of this name, if there is one. Calls that run it continue.
    pub fn remove(&self, name: &str) {
        self.change(|tools| *tools = std::mem::take(tools).without(name));
    }

    /// Returns the tools of this moment: their names, how many there are, what models are shown of them.
    pub fn snapshot(&self) -> Arc<Registry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Registry)) {
        change(Arc::make_mut(&mut self.0.write().unwrap_or_else(PoisonError::into_inner)));
    }

    /// Runs a tool in the current folder. Whatever goes wrong is a result as well: an unknown name, arguments that do not
    /// fit, a panic, what may not run here.
    pub async fn execute(&self, name: &str, arguments: Value) -> ToolResult {
        let context = CallContext::new("", "", "");
        self.execute_in(&context, ToolCall::new("call", name, arguments)).await
    }

    /// Runs a call as `context` says. Dropping the future stops the call.
    pub async fn execute_in(&self, context: &CallContext, call: ToolCall) -> ToolResult {
        let mut results = self.execute_all(vec![call], context).await;
        results.pop().map(|executed| executed.result).unwrap_or_default()
    }

    /// Runs the calls of a reply: neighbors that only read together, all others one after the other. Returns what came of
    /// each, in the same order.
    pub async fn execute_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<Executed> {
        execute::all(&self.snapshot(), calls, context).await
    }
}

impl From<Registry> for SharedRegistry {
    fn from(tools: Registry) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(tools))))
    }
}

impl ToolSource for SharedRegistry {
    fn tools<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Arc<Registry>> {
        std::future::ready(self.snapshot()).boxed()
    }
}
