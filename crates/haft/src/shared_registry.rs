//! [`SharedRegistry`]: tools that several tasks share. Tools can be added and removed while others run.
use crate::{
    CallContext, Executed, IntoTool, Registry, Result, SessionId, ToolCall, ToolResult, ToolSource, execute,
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};

/// Tools by name that several tasks share: clones share one registry. Tools may be added and removed while others run.
///
/// Running tools needs no session: [`SharedRegistry::execute`] runs one call, [`SharedRegistry::execute_all`] those of
/// a reply, [`crate::run_tool_loop`] a whole conversation. For a session, pass it to [`crate::Builder::tool_source`];
/// changes take effect with the next round.
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

    /// Removes the tool of this name, if there is one. Its running calls continue.
    pub fn remove(&self, name: &str) {
        self.change(|tools| *tools = std::mem::take(tools).without(name));
    }

    /// Returns the current tools: their names, their number, and their descriptions for models.
    pub fn snapshot(&self) -> Arc<Registry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Registry)) {
        change(Arc::make_mut(&mut self.0.write().unwrap_or_else(PoisonError::into_inner)));
    }

    /// Runs a tool in the current folder. Errors are results, too: an unknown name, invalid arguments, a panic, a
    /// denied call.
    pub async fn execute(&self, name: &str, arguments: Value) -> ToolResult {
        let context = CallContext::new("", "", "");
        self.execute_in(&context, ToolCall::new("call", name, arguments)).await
    }

    /// Runs a call in `context`. Dropping the future stops the call.
    pub async fn execute_in(&self, context: &CallContext, call: ToolCall) -> ToolResult {
        let mut results = self.execute_all(vec![call], context).await;
        results.pop().map(|executed| executed.result).unwrap_or_default()
    }

    /// Runs the calls of a reply: adjacent calls that only read run concurrently, all others one after the other.
    /// Returns the results in the same order.
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
