//! Dialects that write each argument as a key and a value, or as an element:
//!
//! ```text
//! Spark 2.5    <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
//! Hunyuan 3    <tool_calls><tool_call>NAME<tool_sep><arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call></tool_calls>
//! K2 Horizon   <ifm|tool_calls><ifm|tool_call>NAME<ifm|arg_key>KEY</ifm|arg_key><ifm|arg_value>VALUE</ifm|arg_value>…,
//!              with <ifm|arg_type>TYPE</ifm|arg_type> before the value, or JSON in <ifm|tool_call>
//! dots         <dots_function_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>…, or JSON
//! ```
use super::{
    Dialect,
    arg_keys::{ENTRY, UNTAGGED},
    blocks::{self, Block, CutDelimiter, Grammar, THINK, Thought},
    invokes::INVOKE,
    tags::{Shape, Tag, TagOptions},
    writing::Writing,
};

pub(super) static SPARK25: Dialect = Dialect {
    name: "spark25",
    models: &["spark-2.5", "spark2.5"],
    reader: |setting| blocks::reader(&SPARK, setting),
    writing: Writing::elements(
        ["<tool_call>", "", "</tool_call>"],
        ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
    ),
    ..Dialect::BASE
};
pub(super) static HY_V3: Dialect = Dialect {
    name: "hy_v3",
    models: &["hy3", "hy-v3"],
    reader: |setting| blocks::reader(&HUNYUAN, setting),
    writing: Writing::elements(
        ["<tool_calls><tool_call>", "<tool_sep>", "</tool_call></tool_calls>"],
        ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
    ),
    ..Dialect::BASE
};
pub(super) static K2_HORIZON: Dialect = Dialect {
    name: "k2_horizon",
    models: &["k2-horizon"],
    reader: |setting| blocks::reader(&HORIZON, setting),
    writing: Writing::elements(
        ["<ifm|tool_calls><ifm|tool_call>", "", "</ifm|tool_call></ifm|tool_calls>"],
        ["<ifm|arg_key>", "</ifm|arg_key><ifm|arg_value>", "</ifm|arg_value>"],
    ),
    ..Dialect::BASE
};
pub(super) static DOTS: Dialect = Dialect {
    name: "dots",
    models: &["dots.llm", "dots1"],
    reader: |setting| blocks::reader(&DOTTED, setting),
    writing: Writing::elements(
        ["<dots_function_call>\n<invoke name=\"", "\">\n", "</invoke>\n</dots_function_call>"],
        ["<parameter name=\"", "\">", "</parameter>\n"],
    ),
    ..Dialect::BASE
};

static SPARK: Grammar = Grammar {
    blocks: &[Block::tagged("<tool_call>", &ENTRIES, &["</tool_call>"])],
    noise: &["<|end|>"],
    ..Grammar::NONE
};
static HUNYUAN: Grammar =
    Grammar { blocks: SPARK.blocks, frame: &["<tool_calls>", "</tool_calls>"], ..Grammar::NONE };
static HORIZON: Grammar = Grammar {
    thoughts: &[Thought::new("<ifm|think>", &["</ifm|think>"])],
    blocks: &[Block::tagged("<ifm|tool_call>", &IFM, &["</ifm|tool_call>"])],
    frame: &["<ifm|tool_calls>", "</ifm|tool_calls>"],
    ..Grammar::NONE
};
static DOTTED: Grammar = Grammar {
    thoughts: &[THINK],
    blocks: &[Block::tagged("<dots_function_call>", &INVOKES, &["</dots_function_call>"])],
    cut: CutDelimiter::ProblemWithLetters,
    ..Grammar::NONE
};

const OPTIONS: TagOptions = TagOptions {
    on_lines: true,
    by_looks: true,
    is_certain: true,
    silent_when_cut: true,
    ..TagOptions::PLAIN
};

static ENTRIES: Shape =
    Shape { call: Tag { name_ends: &["<tool_sep>", "\n", "<"], ..UNTAGGED }, options: OPTIONS, ..ENTRY };
static IFM: Shape = Shape {
    call: Tag { opens: &[], name_ends: &["\n", "<"], head_end: "", close: "</ifm|tool_call>" },
    parameter: Tag {
        opens: &["<ifm|arg_key>"],
        name_ends: &["</ifm|arg_key>"],
        head_end: "<ifm|arg_value>",
        close: "</ifm|arg_value>",
    },
    is_keyed: true,
    options: OPTIONS,
};
static INVOKES: Shape = INVOKE.with(TagOptions { silent_when_cut: false, ..OPTIONS });
