//! A call that was found and checked.
use super::named::{Names, resolved};
use haft_core::{AnyTool, Effect, Stage, ToolCall, ToolError};
use serde_json::Value;
use std::{path::Path, sync::Arc};

/// A call that was found and checked, or what is wrong with it.
pub(crate) struct Prepared {
    pub(crate) call: ToolCall,
    pub(crate) ready: Result<Ready, ToolError>,
}

/// All that is known of a call before it runs.
pub(crate) struct Ready {
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) arguments: Value,
    /// Resolved: no path leads through a link.
    pub(crate) effects: Vec<Effect>,
    /// What the call calls the files of its effects.
    pub(crate) names: Names,
}

impl Ready {
    /// `arguments` are checked.
    pub(crate) fn new(
        tool: Arc<dyn AnyTool>,
        arguments: Value,
        stage: &dyn Stage,
        workspace: &Path,
    ) -> Result<Self, ToolError> {
        let ready = Self { tool, arguments, effects: Vec::new(), names: Names::new() };
        let (effects, names) = ready.effects_now(stage, workspace)?;
        Ok(Self { effects, names, ..ready })
    }

    /// What the call would touch at this moment: links may lead elsewhere in the next one.
    pub(crate) fn effects_now(
        &self,
        stage: &dyn Stage,
        workspace: &Path,
    ) -> Result<(Vec<Effect>, Names), ToolError> {
        let effects = self.tool.effects(&self.arguments, workspace)?;
        Ok(resolved(effects, stage, workspace))
    }

    /// The call by the tool's own names, as hooks see it, and people who are asked.
    pub(crate) fn named(&self, call: &ToolCall) -> ToolCall {
        ToolCall::new(call.id.0.clone(), self.tool.spec().name.clone(), self.arguments.clone())
    }
}
