//! [`IntoTool`]: values that can be added as a tool: a function with `#[tool]`, or a value that implements `Tool`.
use crate::{Error, Result};
use haft_core::{AnyTool, Registry, Tool, private};
use std::{
    any::{TypeId, type_name},
    sync::Arc,
};

/// A tool, or a function with `#[tool]`. `Marker` distinguishes them, and never has to be named.
pub trait IntoTool<Marker> {
    /// Converts the value to the form that a registry stores.
    ///
    /// # Errors
    /// Fails if a function has no `#[tool]`.
    fn into_tool(self) -> Result<Arc<dyn AnyTool>>;
}

/// Marks values that implement [`Tool`].
#[derive(Debug)]
pub struct IsTool;

impl<T: Tool> IntoTool<IsTool> for T {
    fn into_tool(self) -> Result<Arc<dyn AnyTool>> {
        Ok(private::erase(self))
    }
}

/// Marks tools in the form that a registry stores.
#[derive(Debug)]
pub struct IsMade;

impl IntoTool<IsMade> for Arc<dyn AnyTool> {
    fn into_tool(self) -> Result<Arc<dyn AnyTool>> {
        Ok(self)
    }
}

macro_rules! functions {
    ($($parameter:ident)*) => {
        impl<F: Fn($($parameter),*) -> R + 'static, R, $($parameter),*> IntoTool<fn($($parameter),*) -> R> for F {
            fn into_tool(self) -> Result<Arc<dyn AnyTool>> {
                Registry::declared_by(TypeId::of::<F>()).ok_or_else(|| {
                    Error::new(format!("`{}` is not a tool", type_name::<F>()))
                        .with_hint("write `#[tool]` on the function")
                })
            }
        }
    };
}

functions!();
functions!(A);
functions!(A B);
functions!(A B C);
functions!(A B C D);
functions!(A B C D E);
functions!(A B C D E G);
functions!(A B C D E G H);
functions!(A B C D E G H I);
