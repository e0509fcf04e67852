//! GLM 4.5 to 5, Ling 3, Poolside's Laguna and Hunyuan (as their chat templates show it).
//!
//! ```text
//! <tool_call>get_weather
//! <arg_key>city</arg_key>
//! <arg_value>Oslo</arg_value>
//! </tool_call>
//! ```
//!
//! Newer ones leave out the line breaks. Hunyuan puts `<tool_calls>` around the calls and `<tool_sep>` behind the name; an
//! older one writes a JSON list there.
use super::{
    Dialect,
    blocks::{Block, CutDelimiter, Grammar, Thought, reader},
    tags::{Shape, Tag, TagOptions},
    writing::Writing,
};

pub(super) static GLM4_MOE: Dialect = Dialect {
    name: "glm4_moe",
    models: &["glm-4.5", "glm-4.6"],
    reader: |setting| reader(&GLM, setting),
    signs: &[&["<arg_key>", "<arg_value>"]],
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static GLM47: Dialect = Dialect {
    name: "glm47",
    models: &["glm-4.7", "glm-5"],
    reader: |setting| reader(&GLM, setting),
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static LING3: Dialect = Dialect {
    name: "ling3",
    models: &["ling-3"],
    reader: |setting| reader(&LING, setting),
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static POOLSIDE_V1: Dialect = Dialect {
    name: "poolside_v1",
    models: &["laguna", "poolside"],
    reader: |setting| reader(&LAGUNA, setting),
    writing: WRITING,
    ..Dialect::BASE
};

pub(super) static HUNYUAN_A13B: Dialect = Dialect {
    name: "hunyuan_a13b",
    models: &["hunyuan"],
    reader: |setting| reader(&HUNYUAN, setting),
    signs: &[&["<tool_sep>", "<arg_key>"]],
    writing: Writing::elements(
        ["<tool_calls><tool_call>", "<tool_sep>", "</tool_call></tool_calls>"],
        ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
    ),
    ..Dialect::BASE
};

/// With a line for each part.
const WRITING: Writing = Writing::elements(
    ["<tool_call>", "\n", "</tool_call>"],
    ["<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"],
);

static GLM: Grammar = Grammar {
    blocks: &[Block::tagged("<tool_call>", &QUOTED, &["</tool_call>"])],
    noise: &["<|observation|>", "<|user|>"],
    ..Grammar::NONE
};

static LING: Grammar = Grammar {
    thoughts: &[Thought::think_until(&["<tool_call>"])],
    blocks: &[Block::tagged("<tool_call>", &AS_IT_IS, &["</tool_call>"])],
    noise: &["<|role_end|>"],
    ..Grammar::NONE
};

static LAGUNA: Grammar = Grammar {
    blocks: &[Block::tagged("<tool_call>", &CUT_SILENTLY, &["</tool_call>"])],
    cut: CutDelimiter::Problem,
    ..Grammar::NONE
};

static HUNYUAN: Grammar = Grammar {
    blocks: &[Block::tagged("<tool_calls>", &SEPARATED, &["</tool_calls>"])],
    noise: &["<answer>", "</answer>", "<|eos|>"],
    hush_after_blocks: true,
    cut: CutDelimiter::Problem,
    ..Grammar::NONE
};

/// The name stands where the block begins.
pub(super) const UNTAGGED: Tag =
    Tag { opens: &[], name_ends: &["\n", "<", "\\n"], head_end: "", close: "</tool_call>" };

static QUOTED: Shape = shape(UNTAGGED, TagOptions { quoted: true, ..TagOptions::PLAIN });
static AS_IT_IS: Shape = shape(UNTAGGED, TagOptions::PLAIN);
static CUT_SILENTLY: Shape = shape(UNTAGGED, TagOptions { silent_when_cut: true, ..TagOptions::PLAIN });
static SEPARATED: Shape = shape(
    Tag {
        opens: &["<tool_call>"],
        name_ends: &["<tool_sep>", "<", "\n"],
        head_end: "",
        close: "</tool_call>",
    },
    TagOptions::PLAIN,
);

const fn shape(call: Tag, options: TagOptions) -> Shape {
    Shape { call, options, ..ENTRY }
}

/// A key and a value for each argument.
pub(super) const ENTRY: Shape = Shape {
    call: UNTAGGED,
    parameter: Tag {
        opens: &["<arg_key>"],
        name_ends: &["</arg_key>"],
        head_end: "<arg_value>",
        close: "</arg_value>",
    },
    is_keyed: true,
    options: TagOptions::PLAIN,
};
