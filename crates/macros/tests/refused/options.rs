#![allow(unused)]
use haft_macros::tool;

#[tool(reads = "pat")]
fn misspelt(path: String) {}

#[tool(name = "other")]
fn unknown() {}

fn main() {}
