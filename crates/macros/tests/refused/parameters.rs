#![allow(unused)]
use haft_macros::tool;
use std::path::Path;

struct ToolContext;

#[tool]
fn all_at_once(text: &str, path: &Path, list: &[u8], any: impl ToString, (a, b): (u8, u8)) {}

#[tool]
fn changed_context(ctx: &mut ToolContext, number: &u8) {}

fn main() {}
