//! Calls as XML with the names in attributes: MiniMax M2, Step 3, MiniCPM 5 (as their chat templates show it).
//!
//! ```text
//! <minimax:tool_call>
//! <invoke name="get_weather">
//! <parameter name="city">Oslo</parameter>
//! </invoke>
//! </minimax:tool_call>
//! ```
//!
//! Step 3 writes `<steptml:invoke name="…">` within its own delimiters; MiniCPM 5 `<function name="…"><param name="…">`, with
//! `<![CDATA[…]]>` where the value has tags.
use super::{
    Dialect, Reader, Said, Setting,
    blocks::{Block, Grammar, Thought, reader},
    tags::{Shape, Tag, TagOptions, named_tag},
    writing::Writing,
};

pub(super) static MINIMAX_M2: Dialect = Dialect {
    name: "minimax_m2",
    models: &["minimax-m2"],
    reader: |setting| reader(&MINIMAX, setting),
    signs: &[&["<minimax:tool_call>"]],
    writing: Writing::elements(
        ["<minimax:tool_call>\n<invoke name=\"", "\">\n", "</invoke>\n</minimax:tool_call>"],
        ["<parameter name=\"", "\">", "</parameter>\n"],
    ),
    ..Dialect::BASE
};

pub(super) static STEP3: Dialect = Dialect {
    name: "step3",
    models: &["step3", "step-3"],
    reader: |setting| reader(&STEP, setting),
    signs: &[&["<steptml:"]],
    writing: Writing::elements(
        [
            "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name=\"",
            "\">",
            "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        ],
        ["<steptml:parameter name=\"", "\">", "</steptml:parameter>"],
    ),
    ..Dialect::BASE
};

pub(super) static MINICPM5: Dialect = Dialect {
    name: "minicpm5",
    models: &["minicpm5"],
    reader: minicpm5,
    writing: Writing::elements(
        ["<function name=\"", "\">", "</function>"],
        ["<param name=\"", "\">", "</param>"],
    ),
    ..Dialect::BASE
};

static MINIMAX: Grammar = Grammar {
    thoughts: &[Thought::think_until(&[
        "<minimax:tool_call>\n<invoke name=\"",
        "<minimax:tool_call><invoke name=\"",
    ])],
    blocks: &[Block::tagged("<minimax:tool_call>", &INVOKE, &["</minimax:tool_call>"])],
    noise: &["[e~["],
    ..Grammar::NONE
};

static STEP: Grammar = Grammar {
    blocks: &[Block::tagged("<｜tool_calls_begin｜>", &STEPTML, &["<｜tool_calls_end｜>"])],
    noise: &["<|EOT|>"],
    ..Grammar::NONE
};

static MINICPM: Grammar = Grammar {
    blocks: &[
        Block::tagged("<function name=\"", &FUNCTION, &["</function>"]),
        Block::tagged("<functionname=\"", &FUNCTION, &["</function>"]),
        Block::tagged("<function name=", &FUNCTION, &["</function>"]),
        Block::tagged("<functionname=", &FUNCTION, &["</function>"]),
    ],
    noise: &["<|im_end|>"],
    ..Grammar::NONE
};

pub(super) const INVOKE: Shape = Shape::new(named_tag!("invoke"), named_tag!("parameter"));
static STEPTML: Shape = Shape::new(named_tag!("steptml:invoke"), named_tag!("steptml:parameter"))
    .with(TagOptions { leads: &["<｜tool_call_begin｜>"], ..TagOptions::PLAIN });
static FUNCTION: Shape = Shape::new(named_tag!("function"), named_tag!("param")).with(TagOptions {
    cdata: true,
    declared: true,
    ..TagOptions::PLAIN
});

fn minicpm5(setting: &Setting) -> Box<dyn Reader> {
    Box::new(Unmarked(reader(&MINICPM, setting)))
}

/// Takes out the marks that the model's tokenizer puts in the place of blanks, and that some servers leave there.
struct Unmarked(Box<dyn Reader>);

impl Reader for Unmarked {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        // Most text is none of that, and is seen fast to be so.
        match !text.is_ascii() && text.contains(['Ġ', 'Ċ']) {
            true => self.0.push(&text.replace('Ġ', " ").replace('Ċ', "\n"), said),
            false => self.0.push(text, said),
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.0.end(said);
    }

    fn opens_calls(&self) -> Vec<&'static str> {
        self.0.opens_calls()
    }
}
