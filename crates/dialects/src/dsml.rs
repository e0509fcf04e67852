//! DeepSeek 3.2 and later (as their encoding scripts show it). The attribute says whether the value is a string; else it is
//! JSON.
//!
//! ```text
//! <｜DSML｜function_calls>
//! <｜DSML｜invoke name="get_weather">
//! <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
//! <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜function_calls>
//! ```
//!
//! From version 4 on the outer tag is `tool_calls`, from 4.1 on `calls`, with a blank after each `｜DSML｜`.
use super::{
    Dialect,
    blocks::{Block, Grammar, Thought, reader},
    tags::{Shape, Tag, named_tag},
    writing::{Attribute, Elements, Writing},
};

pub(super) static DEEPSEEK_V32: Dialect = Dialect {
    name: "deepseek_v32",
    models: &["deepseek-v3.2"],
    reader: |setting| reader(&V32, setting),
    signs: &[&["<｜DSML｜"]],
    writing: Writing::Elements(Elements {
        call: [
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"",
            "\">\n",
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ],
        argument: ["<｜DSML｜parameter name=\"", ">", "</｜DSML｜parameter>\n"],
        attribute: Attribute::IsString,
    }),
    ..Dialect::BASE
};

pub(super) static DEEPSEEK_V4: Dialect = Dialect {
    name: "deepseek_v4",
    models: &["deepseek-v4"],
    reader: |setting| reader(&V4, setting),
    writing: Writing::Elements(Elements {
        call: [
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"",
            "\">\n",
            "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ],
        argument: ["<｜DSML｜parameter name=\"", ">", "</｜DSML｜parameter>\n"],
        attribute: Attribute::IsString,
    }),
    ..Dialect::BASE
};

pub(super) static DEEPSEEK_V41: Dialect = Dialect {
    name: "deepseek_v41",
    models: &["deepseek-v4.1"],
    reader: |setting| reader(&V41, setting),
    signs: &[&["<｜DSML｜ "]],
    writing: Writing::Elements(Elements {
        call: [
            "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"",
            "\">\n",
            "</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        ],
        argument: ["<｜DSML｜ parameter name=\"", ">", "</｜DSML｜ parameter>\n"],
        attribute: Attribute::IsString,
    }),
    ..Dialect::BASE
};

const NOISE: &[&str] = &["<｜end▁of▁sentence｜>"];

static V32: Grammar = Grammar {
    thoughts: &[Thought::think_until(&["<｜DSML｜function_calls>"])],
    blocks: &[
        Block::tagged("<｜DSML｜function_calls>", &SHAPE, &["</｜DSML｜function_calls>"]),
        lone("<｜DSML｜invoke name=\""),
    ],
    noise: NOISE,
    ..Grammar::NONE
};

static V4: Grammar = Grammar {
    thoughts: &[Thought::think_until(&["<｜DSML｜tool_calls>"])],
    blocks: &[
        Block::tagged("<｜DSML｜tool_calls>", &SHAPE, &["</｜DSML｜tool_calls>"]),
        lone("<｜DSML｜invoke name=\""),
        // It garbles the outer tag at times.
        lone("<｜DSML｜tool>\n<｜DSML｜invoke name=\""),
        lone("<｜DSML｜toolcalls>\n<｜DSML｜invoke name=\""),
    ],
    noise: NOISE,
    hush_after_blocks: true,
    // The encoding script opens the thoughts, and parts whatever comes before calls from them by a blank line.
    thinks_by_default: true,
    ..Grammar::NONE
};

static V41: Grammar = Grammar {
    thoughts: &[Thought::think_until(&["<｜DSML｜ calls>"])],
    blocks: &[
        Block::tagged("<｜DSML｜ calls>", &SPACED, &["</｜DSML｜ calls>"]),
        Block::tagged_before(
            "<｜DSML｜ invoke name=\"",
            &SPACED,
            &["</｜DSML｜ invoke>", "</｜DSML｜ calls>"],
            &["</｜DSML｜ calls>"],
        ),
    ],
    noise: NOISE,
    hush_after_blocks: true,
    ..Grammar::NONE
};

/// A call without the outer tag.
const fn lone(open: &'static str) -> Block {
    Block::tagged_before(
        open,
        &SHAPE,
        &["</｜DSML｜invoke>", "</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"],
        &["</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"],
    )
}

static SHAPE: Shape = Shape::new(named_tag!("｜DSML｜invoke"), named_tag!("｜DSML｜parameter"));
static SPACED: Shape = Shape::new(named_tag!("｜DSML｜ invoke"), named_tag!("｜DSML｜ parameter"));
