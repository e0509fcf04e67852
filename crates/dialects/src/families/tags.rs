//! Dialects that write a tag for each argument of a call, as in the models' chat templates:
//!
//! ```text
//! Qwen 3 Coder, Qwen 3.5, Step 3.5, Nemotron 3, MiMo, Seed-OSS, MiniCPM-V, the thinking models of Granite 4
//!     <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
//! GLM 4.5 to 5, Ling 3, Poolside's Laguna, Hunyuan, Spark 2.5, K2 Horizon (with `ifm|` in each tag)
//!     <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
//! MiniMax M2, dots, Step 3 (with `steptml:`), DeepSeek 3.2 and later (with `｜DSML｜`)
//!     <minimax:tool_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke></minimax:tool_call>
//! MiniCPM 5
//!     <function name="NAME"><param name="KEY">VALUE</param></function>, with <![CDATA[…]]> where the value has tags
//! Kimi K3
//!     <|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|>…
//! ```
//!
//! Small models omit `<tool_call>`, or the end of a parameter.
use crate::{
    Dialect,
    blocks::{Block, CutDelimiter, Grammar, THINK, Thought},
    tagged_calls::{Shape, Tag, TagOptions, named_tag},
    writing::{Attribute, Elements, Writing},
};

pub(crate) static DIALECTS: [Dialect; 23] = [
    Dialect::new("nemotron_v3", &["nemotron-3"], &UNINTERRUPTED, ON_LINES),
    Dialect::new(
        "step3p5",
        &["step-3.5", "step3.5", "step3p5"],
        &Grammar { thinks_once: true, ..QWEN },
        ON_LINES,
    ),
    Dialect::new(
        "mimo",
        &["mimo"],
        &Grammar { blocks: &functions(&FUNCTION), ..QWEN },
        Writing::elements(
            ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
            ["<parameter=", ">", "</parameter>\n"],
        ),
    ),
    Dialect::new(
        "seed_oss",
        &["seed-oss", "seed_oss"],
        &Grammar::new(&[
            Block::tagged("<seed:tool_call>", &FUNCTION, &["</seed:tool_call>"]),
            Block::tagged("<function=", &FUNCTION, &["</function>"]).tail(&["</seed:tool_call>"]),
        ])
        .thoughts(&[Thought {
            breaks: &["<seed:tool_call>\n<function=", "<seed:tool_call><function="],
            ..Thought::new("<seed:think>", &["</seed:think>"])
        }])
        .noise(&["<seed:eos>"]),
        Writing::elements(
            ["<seed:tool_call>\n<function=", ">\n", "</function>\n</seed:tool_call>"],
            ["<parameter=", ">", "</parameter>\n"],
        ),
    )
    .signs(&[&["<seed:tool_call>"]]),
    Dialect::new(
        "minicpmv",
        &["minicpm-v", "minicpm-o"],
        &QWEN.noise(&["<|im_end|>", "<reserved_12>", "<|reserved_13|>"]),
        ON_LINES,
    ),
    Dialect::new("qwen3_coder", &["qwen3-coder", "qwen3_coder", "qwen3.5", "qwen3.6"], &QWEN, ON_LINES)
        .signs(&[&["<function=", "<parameter="]]),
    Dialect::new(
        "deepseek_v41",
        &["deepseek-v4.1"],
        &Grammar::new(&[
            Block::tagged("<｜DSML｜ calls>", &SPACED, &["</｜DSML｜ calls>"]),
            Block::tagged("<｜DSML｜ invoke name=\"", &SPACED, &["</｜DSML｜ invoke>", "</｜DSML｜ calls>"])
                .tail(&["</｜DSML｜ calls>"]),
        ])
        .thoughts(&[THINK.until(&["<｜DSML｜ calls>"])])
        .noise(DSML_NOISE)
        .hush_after_blocks(),
        Writing::Elements(Elements {
            call: [
                "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"",
                "\">\n",
                "</｜DSML｜ invoke>\n</｜DSML｜ calls>",
            ],
            argument: ["<｜DSML｜ parameter name=\"", ">", "</｜DSML｜ parameter>\n"],
            ..DSML_WRITING
        }),
    )
    .signs(&[&["<｜DSML｜ "]]),
    // The model sometimes garbles the outer tag. The encoding script opens the thoughts, and separates text before
    // calls from them by a blank line.
    Dialect::new(
        "deepseek_v4",
        &["deepseek-v4"],
        &Grammar {
            thinks_by_default: true,
            ..Grammar::new(&[
                Block::tagged("<｜DSML｜tool_calls>", &DSML, &["</｜DSML｜tool_calls>"]),
                lone("<｜DSML｜invoke name=\""),
                lone("<｜DSML｜tool>\n<｜DSML｜invoke name=\""),
                lone("<｜DSML｜toolcalls>\n<｜DSML｜invoke name=\""),
            ])
            .thoughts(&[THINK.until(&["<｜DSML｜tool_calls>"])])
            .noise(DSML_NOISE)
            .hush_after_blocks()
        },
        Writing::Elements(DSML_WRITING),
    ),
    Dialect::new(
        "deepseek_v32",
        &["deepseek-v3.2"],
        &Grammar::new(&[
            Block::tagged("<｜DSML｜function_calls>", &DSML, &["</｜DSML｜function_calls>"]),
            lone("<｜DSML｜invoke name=\""),
        ])
        .thoughts(&[THINK.until(&["<｜DSML｜function_calls>"])])
        .noise(DSML_NOISE),
        Writing::Elements(Elements {
            call: [
                "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"",
                "\">\n",
                "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            ],
            ..DSML_WRITING
        }),
    )
    .signs(&[&["<｜DSML｜"]]),
    Dialect::new(
        "minimax_m2",
        &["minimax-m2"],
        &Grammar::new(&[Block::tagged("<minimax:tool_call>", &INVOKE, &["</minimax:tool_call>"])])
            .thoughts(&[
                THINK.until(&["<minimax:tool_call>\n<invoke name=\"", "<minimax:tool_call><invoke name=\""])
            ])
            .noise(&["[e~["]),
        Writing::elements(
            ["<minimax:tool_call>\n<invoke name=\"", "\">\n", "</invoke>\n</minimax:tool_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
        ),
    )
    .signs(&[&["<minimax:tool_call>"]]),
    Dialect::new(
        "step3",
        &["step3", "step-3"],
        &Grammar::new(&[Block::tagged("<｜tool_calls_begin｜>", &STEPTML, &["<｜tool_calls_end｜>"])])
            .noise(&["<|EOT|>"]),
        Writing::elements(
            [
                "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name=\"",
                "\">",
                "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
            ],
            ["<steptml:parameter name=\"", "\">", "</steptml:parameter>"],
        ),
    )
    .signs(&[&["<steptml:"]]),
    // Some servers leave the tokenizer's marks for blanks in the reply.
    Dialect::new(
        "minicpm5",
        &["minicpm5"],
        &Grammar {
            blank_marks: &[('Ġ', " "), ('Ċ', "\n")],
            ..Grammar::new(&[
                Block::tagged("<function name=\"", &PARAM, &["</function>"]),
                Block::tagged("<functionname=\"", &PARAM, &["</function>"]),
                Block::tagged("<function name=", &PARAM, &["</function>"]),
                Block::tagged("<functionname=", &PARAM, &["</function>"]),
            ])
            .noise(&["<|im_end|>"])
        },
        Writing::elements(["<function name=\"", "\">", "</function>"], ["<param name=\"", "\">", "</param>"]),
    ),
    // The models sometimes put blanks into the delimiters.
    Dialect::new(
        "kimi_k3",
        &["kimi-k3"],
        &Grammar::new(&[
            Block::tagged("<|open|>tools<|sep|>", &KIMI, KIMI_END),
            Block::tagged("<|open|> tools <|sep|>", &KIMI, KIMI_END),
        ])
        .thoughts(&[Thought {
            breaks: &[
                "<|open|>response<|sep|>",
                "<|open|> response <|sep|>",
                "<|open|>tools<|sep|>",
                "<|open|> tools <|sep|>",
            ],
            ..Thought::new("<|open|>think<|sep|>", &["<|close|>think<|sep|>"])
        }])
        .noise(&[
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
            "<|open|> response <|sep|>",
            "<|close|> response <|sep|>",
            "<|open|> message <|sep|>",
            "<|close|> message <|sep|>",
            "<|open|>message role=\"assistant\"<|sep|>",
            "<|close|>message<|sep|>",
            "<|end_of_msg|>",
        ]),
        Writing::Elements(Elements {
            call: [
                "<|open|>tools<|sep|><|open|>call tool=\"",
                "\" index=\"1\"<|sep|>",
                "<|close|>call<|sep|><|close|>tools<|sep|>",
            ],
            argument: ["<|open|>argument key=\"", "<|sep|>", "<|close|>argument<|sep|>"],
            attribute: Attribute::Type,
        }),
    )
    .signs(&[&["<|open|>", "<|sep|>"]]),
    Dialect::new(
        "ling3",
        &["ling-3"],
        &Grammar::new(&[Block::tagged("<tool_call>", &ENTRY, &["</tool_call>"])])
            .thoughts(&[THINK.until(&["<tool_call>"])])
            .noise(&["<|role_end|>"]),
        KEY_ON_LINE,
    ),
    Dialect::new(
        "poolside_v1",
        &["laguna", "poolside"],
        &Grammar {
            cut: CutDelimiter::Problem,
            ..Grammar::new(&[Block::tagged(
                "<tool_call>",
                &ENTRY.with(TagOptions { silent_when_cut: true, ..TagOptions::PLAIN }),
                &["</tool_call>"],
            )])
        },
        KEY_ON_LINE,
    ),
    // An older model writes a JSON list between `<tool_calls>` and `</tool_calls>`.
    Dialect::new(
        "hunyuan_a13b",
        &["hunyuan"],
        &Grammar {
            cut: CutDelimiter::Problem,
            ..Grammar::new(&[Block::tagged("<tool_calls>", &SEPARATED, &["</tool_calls>"])])
                .noise(&["<answer>", "</answer>", "<|eos|>"])
                .hush_after_blocks()
        },
        SEPARATED_WRITING,
    )
    .signs(&[&["<tool_sep>", "<arg_key>"]]),
    Dialect::new("glm47", &["glm-4.7", "glm-5"], &GLM, KEY_ON_LINE),
    Dialect::new("glm4_moe", &["glm-4.5", "glm-4.6"], &GLM, KEY_ON_LINE)
        .signs(&[&["<arg_key>", "<arg_value>"]]),
    Dialect::new(
        "granite_thinking",
        &["granite-thinking", "granite-4-thinking"],
        &UNINTERRUPTED.noise(&["<|end_of_text|>"]),
        ON_LINES,
    ),
    Dialect::new(
        "spark25",
        &["spark-2.5", "spark2.5"],
        &Grammar::new(&SHOWN_ENTRIES).noise(&["<|end|>"]),
        Writing::elements(
            ["<tool_call>", "", "</tool_call>"],
            ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
        ),
    ),
    Dialect::new(
        "hy_v3",
        &["hy3", "hy-v3"],
        &Grammar::new(&SHOWN_ENTRIES).frame(&["<tool_calls>", "</tool_calls>"]),
        SEPARATED_WRITING,
    ),
    Dialect::new(
        "k2_horizon",
        &["k2-horizon"],
        &Grammar::new(&[Block::tagged("<ifm|tool_call>", &IFM, &["</ifm|tool_call>"])])
            .thoughts(&[Thought::new("<ifm|think>", &["</ifm|think>"])])
            .frame(&["<ifm|tool_calls>", "</ifm|tool_calls>"]),
        Writing::elements(
            ["<ifm|tool_calls><ifm|tool_call>", "", "</ifm|tool_call></ifm|tool_calls>"],
            ["<ifm|arg_key>", "</ifm|arg_key><ifm|arg_value>", "</ifm|arg_value>"],
        ),
    ),
    Dialect::new(
        "dots",
        &["dots.llm", "dots1"],
        &Grammar {
            cut: CutDelimiter::ProblemWithLetters,
            ..Grammar::new(&[Block::tagged(
                "<dots_function_call>",
                &INVOKE.with(TagOptions { silent_when_cut: false, ..SHOWN }),
                &["</dots_function_call>"],
            )])
        },
        Writing::elements(
            ["<dots_function_call>\n<invoke name=\"", "\">\n", "</invoke>\n</dots_function_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
        ),
    ),
];

/// Parameters whose value is on separate lines.
const ON_LINES: Writing = Writing::elements(
    ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
    ["<parameter=", ">\n", "\n</parameter>\n"],
);
/// A bare `<tool_call>` in the thoughts is more often a mention than a call.
const QWEN: Grammar =
    UNINTERRUPTED.thoughts(&[THINK.until(&["<tool_call>\n<function=", "<tool_call><function="])]);
const UNINTERRUPTED: Grammar = Grammar::new(LINE_BLOCKS).noise(&["<|im_end|>"]);
const LINE_BLOCKS: &[Block] = &functions(&LINES);
static LINES: Shape =
    FUNCTION.with(TagOptions { on_lines: true, says_beginnings: true, ..TagOptions::PLAIN });
const FUNCTION: Shape = Shape::new(
    Tag::new(&["<function="], &[">", "<", "\n"], ">", "</function>"),
    Tag::new(&["<parameter="], &[">", "<", "\n"], ">", "</parameter>"),
);

const fn functions(shape: &'static Shape) -> [Block; 2] {
    [
        Block::tagged("<tool_call>", shape, &["</tool_call>"]),
        Block::tagged("<function=", shape, &["</function>"]).tail(&["</tool_call>"]),
    ]
}

/// Keys and values on separate lines; newer models omit the line breaks.
const KEY_ON_LINE: Writing = Writing::elements(
    ["<tool_call>", "\n", "</tool_call>"],
    ["<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"],
);
const SEPARATED_WRITING: Writing = Writing::elements(
    ["<tool_calls><tool_call>", "<tool_sep>", "</tool_call></tool_calls>"],
    ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
);
static GLM: Grammar = Grammar::new(&[Block::tagged(
    "<tool_call>",
    &ENTRY.with(TagOptions { quoted: true, ..TagOptions::PLAIN }),
    &["</tool_call>"],
)])
.noise(&["<|observation|>", "<|user|>"]);
/// A key and a value for each argument. The block begins with the name.
const ENTRY: Shape = Shape {
    is_keyed: true,
    ..Shape::new(
        Tag::new(&[], &["\n", "<", "\\n"], "", "</tool_call>"),
        Tag::new(&["<arg_key>"], &["</arg_key>"], "<arg_value>", "</arg_value>"),
    )
};
static SEPARATED: Shape =
    Shape { call: Tag::new(&["<tool_call>"], &["<tool_sep>", "<", "\n"], "", "</tool_call>"), ..ENTRY };
const SHOWN_ENTRIES: [Block; 1] = [Block::tagged("<tool_call>", &SHOWN_ENTRY, &["</tool_call>"])];
const SHOWN_ENTRY: Shape =
    Shape { call: Tag::new(&[], &["<tool_sep>", "\n", "<"], "", "</tool_call>"), options: SHOWN, ..ENTRY };
static IFM: Shape = Shape {
    call: Tag::new(&[], &["\n", "<"], "", "</ifm|tool_call>"),
    parameter: Tag::new(&["<ifm|arg_key>"], &["</ifm|arg_key>"], "<ifm|arg_value>", "</ifm|arg_value>"),
    ..SHOWN_ENTRY
};

/// Values have the type that they look like.
const SHOWN: TagOptions = TagOptions {
    on_lines: true,
    by_looks: true,
    is_certain: true,
    silent_when_cut: true,
    ..TagOptions::PLAIN
};

const INVOKE: Shape = Shape::new(named_tag!("invoke"), named_tag!("parameter"));
static STEPTML: Shape = Shape::new(named_tag!("steptml:invoke"), named_tag!("steptml:parameter"))
    .with(TagOptions { leads: &["<｜tool_call_begin｜>"], ..TagOptions::PLAIN });

static PARAM: Shape = Shape::new(named_tag!("function"), named_tag!("param")).with(TagOptions {
    cdata: true,
    declared: true,
    ..TagOptions::PLAIN
});

const DSML_NOISE: &[&str] = &["<｜end▁of▁sentence｜>"];
/// The attribute says whether the value is a string; otherwise it is JSON.
const DSML_WRITING: Elements = Elements {
    call: [
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"",
        "\">\n",
        "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ],
    argument: ["<｜DSML｜parameter name=\"", ">", "</｜DSML｜parameter>\n"],
    attribute: Attribute::IsString,
};
static DSML: Shape = Shape::new(named_tag!("｜DSML｜invoke"), named_tag!("｜DSML｜parameter"));
static SPACED: Shape = Shape::new(named_tag!("｜DSML｜ invoke"), named_tag!("｜DSML｜ parameter"));

/// The block of a call without the outer tag.
const fn lone(open: &'static str) -> Block {
    Block::tagged(open, &DSML, &["</｜DSML｜invoke>", "</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"])
        .tail(&["</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"])
}

const KIMI_END: &[&str] = &["<|close|>tools<|sep|>", "<|close|> tools <|sep|>"];
static KIMI: Shape = Shape::new(
    Tag::new(&["<|open|>call tool=\""], &["\"", "<|sep|>"], "<|sep|>", "<|close|>call<|sep|>"),
    Tag::new(&["<|open|>argument key=\""], &["\"", "<|sep|>"], "<|sep|>", "<|close|>argument<|sep|>"),
)
.with(TagOptions { silent_when_cut: true, ..TagOptions::PLAIN });
