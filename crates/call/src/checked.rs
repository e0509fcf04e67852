//! [`CheckedCall`]: a call whose tool was found, whose arguments are valid, and whose paths are resolved.
use crate::{
    resolved::{Names, resolved},
    scope::CallScope,
    tool::effects_of,
};
use haft_core::{AnyTool, Effect, Registry, ToolCall, ToolError, ToolErrorKind, schema};
use serde_json::Value;
use std::{path::PathBuf, sync::Arc};

/// A call and the result of checking it, before it runs.
pub(crate) struct PreparedCall {
    pub(crate) call: ToolCall,
    pub(crate) checked: Result<CheckedCall, ToolError>,
}

impl PreparedCall {
    /// Finds the tool and checks the arguments.
    pub(crate) fn new(scope: &CallScope, tools: &Registry, call: ToolCall) -> Self {
        let checked = CheckedCall::new(scope, tools, &call);
        Self { call, checked }
    }
}

/// A call that passed all checks before it runs.
pub(crate) struct CheckedCall {
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) arguments: Value,
    /// Resolved: no path leads through a symbolic link.
    pub(crate) effects: Vec<Effect>,
    /// The paths of the effects, as the call spells them.
    pub(crate) names: Names,
}

impl CheckedCall {
    fn new(scope: &CallScope, tools: &Registry, call: &ToolCall) -> Result<Self, ToolError> {
        let registered = tools.find(&call.name);
        if let Some(problem) = &call.problem {
            let message = format!("cannot call `{}`: {problem}", call.name);
            let error = ToolError::new(ToolErrorKind::Validation, message);
            // A call that could not be parsed may have no name either.
            let Ok(registered) = registered else { return Err(error) };
            return Err(error.example(&call.name, schema::example(registered.told())));
        }
        let registered = registered?;
        let arguments = registered.check(&call.arguments, scope.rules.validation)?;
        let checked =
            Self { tool: registered.tool.clone(), arguments, effects: Vec::new(), names: Names::new() };
        let (effects, names) = checked.effects_now(scope)?;
        Ok(Self { effects, names, ..checked })
    }

    /// Computes the effects of the call anew, because a link may lead elsewhere later.
    pub(crate) fn effects_now(&self, scope: &CallScope) -> Result<(Vec<Effect>, Names), ToolError> {
        let effects = effects_of(&*self.tool, &self.arguments, &scope.workspace)?;
        Ok(resolved(effects, &*scope.stage, &scope.workspace))
    }

    /// The files that the call declares to write.
    pub(crate) fn writes(&self) -> Vec<PathBuf> {
        let written = self.effects.iter().filter_map(|effect| match effect {
            Effect::Write(path) => Some(path.clone()),
            Effect::Read(_) | Effect::Execute(_) | Effect::Network(_) => None,
        });
        written.collect()
    }

    /// The call with the tool's own names, for hooks and users.
    pub(crate) fn with_own_names(&self, call: &ToolCall) -> ToolCall {
        ToolCall::new(call.id.0.clone(), self.tool.spec().name.clone(), self.arguments.clone())
    }

    /// Whether all effects are reads of files.
    pub(crate) fn only_reads(&self) -> bool {
        !self.effects.is_empty() && self.effects.iter().all(|effect| matches!(effect, Effect::Read(_)))
    }
}
