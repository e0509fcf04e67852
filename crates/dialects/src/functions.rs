//! Qwen 3 Coder, Qwen 3.5, and those who took their way to write: Step 3.5, Nemotron 3, MiMo, Seed-OSS, MiniCPM-V (as their
//! chat templates show it).
//!
//! ```text
//! <tool_call>
//! <function=get_weather>
//! <parameter=city>
//! Oslo
//! </parameter>
//! </function>
//! </tool_call>
//! ```
//!
//! Small models forget `<tool_call>`, or an end of a parameter.
use super::{
    Dialect,
    blocks::{Block, Grammar, THINK, Thought, reader},
    tags::{Shape, Tag, TagOptions},
    writing::Writing,
};

pub(super) static QWEN3_CODER: Dialect = Dialect {
    name: "qwen3_coder",
    models: &["qwen3-coder", "qwen3_coder", "qwen3.5", "qwen3.6"],
    reader: |setting| reader(&CODER, setting),
    signs: &[&["<tool_call>", "<function=", "<parameter="]],
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static STEP3P5: Dialect = Dialect {
    name: "step3p5",
    models: &["step-3.5", "step3.5", "step3p5"],
    reader: |setting| reader(&ONCE, setting),
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static NEMOTRON_V3: Dialect = Dialect {
    name: "nemotron_v3",
    models: &["nemotron-3"],
    reader: |setting| reader(&NEMOTRON, setting),
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static MIMO: Dialect = Dialect {
    name: "mimo",
    models: &["mimo"],
    reader: |setting| reader(&AS_IT_IS, setting),
    writing: Writing::elements(
        ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
        ["<parameter=", ">", "</parameter>\n"],
    ),
    ..Dialect::BASE
};

pub(super) static SEED_OSS: Dialect = Dialect {
    name: "seed_oss",
    models: &["seed-oss", "seed_oss"],
    reader: |setting| reader(&SEED, setting),
    signs: &[&["<seed:tool_call>"]],
    writing: Writing::elements(
        ["<seed:tool_call>\n<function=", ">\n", "</function>\n</seed:tool_call>"],
        ["<parameter=", ">", "</parameter>\n"],
    ),
    ..Dialect::BASE
};

pub(super) static MINICPMV: Dialect = Dialect {
    name: "minicpmv",
    models: &["minicpm-v", "minicpm-o"],
    reader: |setting| reader(&MINICPM, setting),
    writing: WRITING,
    ..Dialect::BASE
};

/// With the value on lines of its own.
pub(super) const WRITING: Writing = Writing::elements(
    ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
    ["<parameter=", ">\n", "\n</parameter>\n"],
);

static CODER: Grammar = QWEN;
static ONCE: Grammar = Grammar { thinks_once: true, ..QWEN };
static AS_IT_IS: Grammar = Grammar { blocks: &AS_IT_IS_CALLS, ..QWEN };
static MINICPM: Grammar = Grammar { noise: &["<|im_end|>", "<reserved_12>", "<|reserved_13|>"], ..QWEN };
static NEMOTRON: Grammar = UNINTERRUPTED;
const UNINTERRUPTED: Grammar = Grammar { thoughts: &[THINK], ..QWEN };

/// Granite's thinking models write the same.
pub(super) static GRANITE: Grammar = Grammar { noise: &["<|end_of_text|>"], ..UNINTERRUPTED };

/// A mere `<tool_call>` in the thoughts is more often spoken about than meant.
const QWEN: Grammar = Grammar {
    thoughts: &[Thought::think_until(&["<tool_call>\n<function=", "<tool_call><function="])],
    blocks: &ON_LINES_CALLS,
    noise: &["<|im_end|>"],
    ..Grammar::NONE
};

static SEED: Grammar = Grammar {
    thoughts: &[Thought {
        breaks: &["<seed:tool_call>\n<function=", "<seed:tool_call><function="],
        ..Thought::new("<seed:think>", &["</seed:think>"])
    }],
    blocks: &[
        Block::tagged("<seed:tool_call>", &SHAPE, &["</seed:tool_call>"]),
        Block::tagged_before("<function=", &SHAPE, &["</function>"], &["</seed:tool_call>"]),
    ],
    noise: &["<seed:eos>"],
    ..Grammar::NONE
};

const ON_LINES_CALLS: [Block; 2] = calls(&SHAPE_ON_LINES);
const AS_IT_IS_CALLS: [Block; 2] = calls(&SHAPE);

const fn calls(shape: &'static Shape) -> [Block; 2] {
    [
        Block::tagged("<tool_call>", shape, &["</tool_call>"]),
        Block::tagged_before("<function=", shape, &["</function>"], &["</tool_call>"]),
    ]
}

static SHAPE: Shape = shape(TagOptions::PLAIN);
static SHAPE_ON_LINES: Shape =
    shape(TagOptions { on_lines: true, says_beginnings: true, ..TagOptions::PLAIN });

const fn shape(options: TagOptions) -> Shape {
    Shape {
        call: Tag {
            opens: &["<function="],
            name_ends: &[">", "<", "\n"],
            head_end: ">",
            close: "</function>",
        },
        parameter: Tag {
            opens: &["<parameter="],
            name_ends: &[">", "<", "\n"],
            head_end: ">",
            close: "</parameter>",
        },
        is_keyed: false,
        options,
    }
}
