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
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, CutDelimiter, Json, Rules, Thought},
    bodies::{calls, invokes, unlined},
    is_name,
    typed::{Schema, typed_by_looks},
};
use serde_json::{Map, Value};

pub(super) static SPARK25: Dialect = Dialect {
    name: "spark25",
    models: &["spark-2.5", "spark2.5"],
    reader: |setting| blocks::reader(&SPARK, setting),
};
pub(super) static HY_V3: Dialect =
    Dialect { name: "hy_v3", models: &["hy3", "hy-v3"], reader: |setting| blocks::reader(&HUNYUAN, setting) };
pub(super) static K2_HORIZON: Dialect = Dialect {
    name: "k2_horizon",
    models: &["k2-horizon"],
    reader: |setting| blocks::reader(&HORIZON, setting),
};
pub(super) static DOTS: Dialect = Dialect {
    name: "dots",
    models: &["dots.llm", "dots1"],
    reader: |setting| blocks::reader(&DOTTED, setting),
};

const ENTRIES: Block = Block { json: Json::None, ..Block::new("<tool_call>", &["</tool_call>"], entries) };

static SPARK: Rules = Rules { blocks: &[ENTRIES], noise: &["<|end|>"], ..Rules::NONE };
static HUNYUAN: Rules =
    Rules { blocks: &[ENTRIES], frame: &["<tool_calls>", "</tool_calls>"], ..Rules::NONE };
static HORIZON: Rules = Rules {
    thoughts: &[Thought::new("<ifm|think>", &["</ifm|think>"])],
    blocks: &[Block { json: Json::First, ..Block::new("<ifm|tool_call>", &["</ifm|tool_call>"], horizon) }],
    frame: &["<ifm|tool_calls>", "</ifm|tool_calls>"],
    ..Rules::NONE
};
static DOTTED: Rules = Rules {
    blocks: &[Block {
        json: Json::First,
        ..Block::new("<dots_function_call>", &["</dots_function_call>"], invokes)
    }],
    cut: CutDelimiter::ProblemWithLetters,
    ..Rules::NONE
};

/// The delimiters around the parts of an entry.
struct Entries {
    key: (&'static str, &'static str),
    kind: (&'static str, &'static str),
    value: (&'static str, &'static str),
}

fn entries(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let delimiters = Entries {
        key: ("<arg_key>", "</arg_key>"),
        kind: ("<arg_type>", "</arg_type>"),
        value: ("<arg_value>", "</arg_value>"),
    };
    delimiters.read(body, setting, said);
}

fn horizon(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let delimiters = Entries {
        key: ("<ifm|arg_key>", "</ifm|arg_key>"),
        kind: ("<ifm|arg_type>", "</ifm|arg_type>"),
        value: ("<ifm|arg_value>", "</ifm|arg_value>"),
    };
    match calls(body.text) {
        _ if body.cut => body.told("a call was cut off", said),
        _ if !body.text.trim().starts_with('{') => delimiters.read(body, setting, said),
        Ok(calls) => said.extend(calls.into_iter().map(|call| Said::Call(retyped(call, setting)))),
        Err(why) => body.stays(why, said),
    }
}

/// A string where the schema wants something else is read as that.
fn retyped(call: Call, setting: &Setting) -> Call {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(&call.arguments) else { return call };
    for (key, value) in arguments.iter_mut().filter(|_| setting.tool(&call.name).is_some()) {
        if let Value::String(text) = value {
            *value = typed_by_looks(text, Schema::of(setting, &call.name).property(key).kinds());
        }
    }
    Call { arguments: Value::Object(arguments).to_string(), ..call }
}

impl Entries {
    fn read(&self, body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
        let start = body.text.find(self.key.0).unwrap_or(body.text.len());
        let (name, entries) = body.text.split_at(start);
        let name = name.trim().trim_end_matches("<tool_sep>").trim();
        if body.cut {
            return body.told("a call was cut off", said);
        }
        match self.arguments(name, entries, setting) {
            Some(arguments) if is_name(name) => {
                said.push(Said::Call(Call::new(name, Value::Object(arguments))));
            }
            _ => body.stays("a call must be a name, then keys and values", said),
        }
    }

    fn arguments(&self, tool: &str, entries: &str, setting: &Setting) -> Option<Map<String, Value>> {
        let mut arguments = Map::new();
        let mut rest = entries;
        while !rest.trim().is_empty() {
            let (key, after) = inside(rest, self.key)?;
            let (kind, after) =
                inside(after, self.kind).map_or((None, after), |(kind, after)| (Some(kind), after));
            // A key without a value says nothing.
            if after.trim().is_empty() || after.trim_start().starts_with(self.key.0) {
                rest = after;
                continue;
            }
            let (value, after) = self.value(after)?;
            let (key, value) = (key.trim(), unlined(value));
            let value = match kind.map(str::trim) {
                Some("string") => Value::String(value.into()),
                Some(_) => serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(value.into())),
                None => typed_by_looks(value, Schema::of(setting, tool).property(key).kinds()),
            };
            arguments.insert(key.into(), value);
            rest = after;
        }
        Some(arguments)
    }
}

impl Entries {
    /// The value with which the text begins. Where its end was forgotten, it ends where the next key begins.
    fn value<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = text.trim_start().strip_prefix(self.value.0)?;
        let end = rest.find(self.value.1).unwrap_or(rest.len());
        let heads = rest[..end].match_indices(self.key.0);
        let is_head =
            |at: usize| inside(&rest[at..], self.key).is_some_and(|(_, after)| self.is_value(after));
        match heads.map(|(at, _)| at).find(|at| is_head(*at)) {
            Some(next) => Some((&rest[..next], &rest[next..])),
            None => Some((&rest[..end], rest[end..].strip_prefix(self.value.1).unwrap_or_default())),
        }
    }

    fn is_value(&self, text: &str) -> bool {
        text.trim_start().starts_with(self.value.0)
    }
}

/// What lies between the delimiters with which the text begins, and what comes after them.
fn inside<'a>(text: &'a str, delimiters: (&str, &str)) -> Option<(&'a str, &'a str)> {
    text.trim_start().strip_prefix(delimiters.0)?.split_once(delimiters.1)
}

#[cfg(test)]
mod tests {
    use super::super::blocks::tests::check;

    #[test]
    fn values_are_what_the_schema_says() {
        let spark = [
            (
                "a<tool_call>look<arg_key>path</arg_key><arg_value>1</arg_value><arg_key>lines</arg_key><arg_value>2</arg_value></tool_call>b",
                "a«look {\"path\":\"1\",\"lines\":2}»b",
            ),
            ("<tool_call>look</tool_call>", "«look {}»"),
            ("<tool_call>look<arg_key>path</tool_call>", "<tool_call>look<arg_key>path</tool_call>!"),
            ("<tool_call>look<arg_key>pa", "!"),
            ("<tool_call>rm -rf /</tool_call>", "<tool_call>rm -rf /</tool_call>!"),
            ("<tool_call>{\"name\":\"look\",}</tool_call>", "<tool_call>{\"name\":\"look\",}</tool_call>!"),
        ];
        check("spark25", &spark);
        let hunyuan = [(
            "<tool_calls>\n<tool_call>look<tool_sep>\n<arg_key>lines</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n</tool_calls>",
            "\n«look {\"lines\":2}»\n",
        )];
        check("hy_v3", &hunyuan);
        let horizon = [
            (
                "<ifm|think>t</ifm|think><ifm|tool_calls><ifm|tool_call>look<ifm|arg_key>lines</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>2</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
                "~t~«look {\"lines\":\"2\"}»",
            ),
            (
                "<ifm|tool_call>{\"name\":\"look\",\"arguments\":{\"lines\":\"2\"}}</ifm|tool_call>",
                "«look {\"lines\":2}»",
            ),
        ];
        check("k2_horizon", &horizon);
        let dots = [
            (
                "<dots_function_call><invoke name=\"look\"><parameter name=\"path\">2</parameter></invoke></dots_function_call>",
                "«look {\"path\":\"2\"}»",
            ),
            ("<dots_function_call>{\"name\":\"look\"}</dots_function_call>a <", "«look {}»a <"),
            ("a<dots_func", "a!"),
        ];
        check("dots", &dots);
    }
}
