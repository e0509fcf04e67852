//! Kimi K3 (as its chat template shows it): everything stands between `<|open|>…<|sep|>` and `<|close|>…<|sep|>`, and each
//! argument says its type.
//!
//! ```text
//! <|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|>
//! <|open|>call tool="get_weather" index="1"<|sep|>
//! <|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>
//! <|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>
//! ```
use super::{
    Dialect,
    blocks::{Block, Grammar, Thought, reader},
    tags::{Shape, Tag, TagOptions},
    writing::{Attribute, Elements, Writing},
};

pub(super) static KIMI_K3: Dialect = Dialect {
    name: "kimi_k3",
    models: &["kimi-k3"],
    reader: |setting| reader(&GRAMMAR, setting),
    signs: &[&["<|open|>", "<|sep|>"]],
    writing: Writing::Elements(Elements {
        call: [
            "<|open|>tools<|sep|><|open|>call tool=\"",
            "\" index=\"1\"<|sep|>",
            "<|close|>call<|sep|><|close|>tools<|sep|>",
        ],
        argument: ["<|open|>argument key=\"", "<|sep|>", "<|close|>argument<|sep|>"],
        attribute: Attribute::Type,
    }),
    ..Dialect::BASE
};

static GRAMMAR: Grammar = Grammar {
    thoughts: &[Thought {
        breaks: &[
            "<|open|>response<|sep|>",
            "<|open|> response <|sep|>",
            "<|open|>tools<|sep|>",
            "<|open|> tools <|sep|>",
        ],
        ..Thought::new("<|open|>think<|sep|>", &["<|close|>think<|sep|>"])
    }],
    blocks: &[
        Block::tagged("<|open|>tools<|sep|>", &SHAPE, TOOLS_END),
        Block::tagged("<|open|> tools <|sep|>", &SHAPE, TOOLS_END),
    ],
    noise: &[
        "<|open|>response<|sep|>",
        "<|close|>response<|sep|>",
        "<|open|> response <|sep|>",
        "<|close|> response <|sep|>",
        "<|open|> message <|sep|>",
        "<|close|> message <|sep|>",
        "<|open|>message role=\"assistant\"<|sep|>",
        "<|close|>message<|sep|>",
        "<|end_of_msg|>",
    ],
    ..Grammar::NONE
};

/// The models put blanks there at times.
const TOOLS_END: &[&str] = &["<|close|>tools<|sep|>", "<|close|> tools <|sep|>"];

static SHAPE: Shape = Shape {
    call: Tag {
        opens: &["<|open|>call tool=\""],
        name_ends: &["\"", "<|sep|>"],
        head_end: "<|sep|>",
        close: "<|close|>call<|sep|>",
    },
    parameter: Tag {
        opens: &["<|open|>argument key=\""],
        name_ends: &["\"", "<|sep|>"],
        head_end: "<|sep|>",
        close: "<|close|>argument<|sep|>",
    },
    is_keyed: false,
    options: TagOptions { silent_when_cut: true, ..TagOptions::PLAIN },
};
