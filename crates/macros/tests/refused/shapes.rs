#![allow(unused)]
use haft_macros::tool;

#[tool]
fn generic<T: Default>(value: T) {}

#[tool]
fn lifetime<'a>(value: u8) -> &'a str {
    ""
}

#[tool]
struct NoFunction;

#[tool]
fn without_body();

struct Owner;
impl Owner {
    #[tool]
    fn method(&self) {}
}

fn main() {}
