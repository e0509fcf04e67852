//! [`Reading`]: parses calls written as tags: one for the call, one for each parameter. A [`Shape`] describes them, so
//! that one reader serves `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">…` and
//! `f<arg_key>a</arg_key>…`.
//!
//! A value may contain any text but its end, so delimiters do not count there ([`Ends`]).
mod parameters;
mod shape;

pub(crate) use shape::{Shape, Tag, TagOptions, named_tag};

use super::{
    Call, Problem, Said, Setting,
    delimiters::Delimiters,
    ends::{Ends, Json, Mark, all},
    is_name, json_calls,
    typed::{Schema, typed},
};
use parameters::Parameters;
use serde_json::{Map, Value};
use shape::CDATA;

/// Maximum length of a name with the blanks before it, in bytes.
const LONGEST_NAME: usize = 256;

/// A shape with its sets of delimiters.
pub(super) struct Reading {
    shape: &'static Shape,
    /// The delimiters that end a block of calls.
    until: &'static [&'static str],
    pub(super) ends: Ends,
    stops: Delimiters,
    call_head: Delimiters,
    parameter_head: Delimiters,
}

impl Reading {
    pub(super) fn new(shape: &'static Shape, until: &'static [&'static str]) -> Self {
        let Shape { call, parameter, .. } = shape;
        let mut stops = [call.opens, parameter.opens].concat();
        stops.extend([call.close, parameter.close]);
        let head = |tag: &Tag| {
            let end = Some(tag.head_end).filter(|end| !end.is_empty());
            Delimiters::new(tag.name_ends.iter().copied().chain(end).chain(stops.iter().copied()))
        };
        Self {
            shape,
            until,
            ends: ends(shape, until),
            call_head: head(call),
            parameter_head: head(parameter),
            stops: Delimiters::new(stops),
        }
    }

    /// Whether a call begins here, after the block's `open`, which may be only a mention. `None` if more text is
    /// needed.
    pub(super) fn begins(&self, open: &str, rest: &str, over: bool) -> Option<bool> {
        if self.shape.options.is_certain {
            return Some(true);
        }
        let window = &rest[..rest.floor_char_boundary(LONGEST_NAME)];
        let text = window.trim_start();
        if text.is_empty() {
            return if window.len() < rest.len() { Some(false) } else { over.then_some(true) };
        }
        let opens = self.shape.call.opens;
        let named = opens.is_empty() || self.is_call(open);
        let others = if named { &[] } else { opens };
        let mut wanted = others.iter().chain(self.shape.options.leads).chain(self.until).chain(&["{", "["]);
        if wanted.clone().any(|delimiter| text.starts_with(delimiter)) {
            return Some(true);
        }
        if !over && wanted.any(|delimiter| delimiter.starts_with(text)) {
            return None;
        }
        if !named {
            return Some(false);
        }
        let ends = text.char_indices().find(|(at, _)| self.ends_name(&text[*at..]));
        let name = ends.map_or(text, |(at, _)| &text[..at]).trim_end();
        let plausible = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        match ends {
            Some(_) => Some(plausible),
            None if !plausible || window.len() < rest.len() || over => Some(plausible && over),
            None => None,
        }
    }

    fn ends_name(&self, rest: &str) -> bool {
        self.shape.call.name_ends.iter().any(|end| rest.starts_with(end))
    }

    /// Whether the delimiter that opens the block also opens a call.
    fn is_call(&self, open: &str) -> bool {
        self.shape.call.opens.iter().any(|delimiter| open.ends_with(delimiter))
    }

    /// Parses the calls between `open` and `close`; `close` is empty if the reply ended before it.
    pub(super) fn read(&self, open: &str, body: &str, close: &str, setting: &Setting, said: &mut Vec<Said>) {
        let is_cut = close.is_empty();
        let whole = if self.is_call(open) { format!("{open}{body}{close}") } else { body.to_owned() };
        let bare = whole.trim();
        let mut read = Vec::new();
        let result = match bare.starts_with(['{', '[']) {
            true if is_cut => Err(Problem::cut_off("the end of a call")),
            true => json_calls::calls(bare).map_err(Problem::from).map(|calls| {
                let retyped = |call| if self.shape.options.by_looks { retyped(call, setting) } else { call };
                read.extend(calls.into_iter().map(retyped).map(Said::Call));
            }),
            false => Body {
                reading: self,
                open,
                text: &whole,
                at: 0,
                no_more_ends: false,
                nameless: false,
                is_cut,
                setting,
                said: &mut read,
            }
            .read(),
        };
        let why = match result {
            Ok(()) if read.is_empty() && (is_cut || !bare.is_empty()) => {
                Problem::from("there is no call in it")
            }
            Ok(()) => return said.extend(read),
            Err(why) => why,
        };
        if is_cut && self.shape.options.silent_when_cut {
            return said.push(Said::problem(format!("{why}: `{open}{body}`")));
        }
        said.push(Said::Text(format!("{open}{body}{close}")));
        said.push(Said::problem(why));
    }
}

/// The delimiters to find the end of a block of such calls: one of `until` outside of values.
fn ends(shape: &'static Shape, until: &'static [&'static str]) -> Ends {
    let Shape { call, parameter, is_keyed, options } = shape;
    let values = all(shape.value_from(), Mark::Value);
    let mut value = vec![(parameter.close, Mark::ValueEnd)];
    if !is_keyed {
        value.extend(values.clone().chain([(call.close, Mark::ValueStop)]));
    }
    value.extend(options.cdata.then_some((CDATA.0, Mark::Cdata)));
    Ends {
        between: Delimiters::meaning(all(until, Mark::Close).chain(values).collect()),
        value: Delimiters::meaning(value),
        cdata: Delimiters::meaning(vec![(CDATA.1, Mark::Value)]),
        json: Json::First,
    }
}

/// Converts strings in the arguments to the types that the schema requires.
fn retyped(call: Call, setting: &Setting) -> Call {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(&call.arguments) else { return call };
    let schema = Schema::of(setting, &call.name);
    for (key, value) in &mut arguments {
        let kinds = schema.property(key).kinds();
        if let (Value::String(text), true) = (&*value, kinds.are_known()) {
            *value = typed(text, kinds);
        }
    }
    Call { arguments: Value::Object(arguments).to_string(), ..call }
}

/// The end of a call.
struct End {
    /// Start of its parameters.
    start: usize,
    /// Whether the call has a closing delimiter.
    closed: bool,
    /// What is missing at the end of its last parameter.
    doubt: Option<Problem>,
}

/// Parses the text of a block.
struct Body<'a> {
    reading: &'a Reading,
    open: &'a str,
    text: &'a str,
    at: usize,
    /// Whether a value without an end was found: then later values have none either.
    no_more_ends: bool,
    /// Whether the last name has no end.
    nameless: bool,
    /// Whether the reply ended in the block.
    is_cut: bool,
    setting: &'a Setting,
    said: &'a mut Vec<Said>,
}

impl<'a> Body<'a> {
    fn read(mut self) -> Result<(), Problem> {
        let opens = self.reading.shape.call.opens;
        if opens.is_empty() && self.text.trim().is_empty() {
            return Ok(());
        }
        loop {
            if opens.is_empty() || self.next().is_some_and(|delimiter| opens.contains(&delimiter)) {
                self.call()?;
            }
            // A call without an opening delimiter begins at the start of the block. After a value without an end,
            // another block may begin.
            let rest = &self.text[self.at..];
            match rest.trim_start().strip_prefix(self.open).filter(|_| opens.is_empty()) {
                Some(next) => self.at = self.text.len() - next.len(),
                None if opens.is_empty() || self.reading.stops.first(self.text, self.at).is_none() => {
                    return Ok(());
                }
                None => {}
            }
        }
    }

    /// Moves after the next delimiter that counts between values.
    fn next(&mut self) -> Option<&'static str> {
        let stops = &self.reading.stops;
        let (at, delimiter, _) = stops.first(self.text, self.at)?;
        self.at = at + delimiter.len();
        Some(delimiter)
    }

    /// Parses a call after its opening delimiter.
    fn call(&mut self) -> Result<(), Problem> {
        let shape = self.reading.shape;
        let (name, _) = self.head(&shape.call, &self.reading.call_head);
        let name = if shape.options.has_namespaces { self.without_namespace(name) } else { name };
        let schema =
            if shape.options.ignores_schema { Schema::ANYTHING } else { Schema::of(self.setting, name) };
        let mut call = Parameters { shape, schema, found: Map::new(), given: 0 };
        let End { start, closed, doubt } = self.given(name, &mut call)?;
        if name.is_empty() && !closed {
            // Little more than the call's beginning arrived, so only the calls before it count.
            return Ok(());
        }
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("a call has no name".into());
        }
        let within = doubt.is_some();
        let doubt = doubt.unwrap_or_else(|| Problem::cut_off(format!("the end of the call of `{name}`")));
        if !closed && !self.says_beginning(call.given, within) {
            return Err(doubt);
        }
        let body = self.text[start..self.at].trim_end().trim_end_matches(shape.call.close);
        self.said.push(Said::Call(Call::new(name, call.arguments(body)?)));
        self.said.extend((!closed).then_some(Said::Problem(doubt)));
        Ok(())
    }

    /// Parses the parameters of the call, up to its end.
    fn given(&mut self, name: &str, call: &mut Parameters<'_>) -> Result<End, Problem> {
        let shape = self.reading.shape;
        let mut start = self.at;
        let mut doubt = None;
        loop {
            match self.next() {
                Some(delimiter) if shape.parameter.opens.contains(&delimiter) => match self.parameter() {
                    Some((parameter, value, attributes, whole)) => {
                        call.add(parameter, value, attributes, self.said)?;
                        doubt = (!whole)
                            .then(|| Problem::cut_off(format!("the end of `{parameter}` of `{name}`")));
                    }
                    None if self.nameless && !self.is_cut => {
                        return Err(format!("an argument of `{name}` has no name").into());
                    }
                    // The parameter has no value.
                    None if self.stops_again() => {}
                    None => return Err(Problem::cut_off(format!("the end of the call of `{name}`"))),
                },
                Some(delimiter) if shape.call.opens.contains(&delimiter) => {
                    let at = self.at;
                    let (again, _) = self.head(&shape.call, &self.reading.call_head);
                    if again == name && call.given == 0 {
                        start = self.at;
                        continue;
                    }
                    self.at = at - delimiter.len();
                    return Ok(End { start, closed: true, doubt });
                }
                Some(delimiter) if delimiter == shape.call.close => {
                    return Ok(End { start, closed: true, doubt });
                }
                Some(_) => {}
                None => {
                    self.at = self.text.len();
                    return Ok(End { start, closed: !self.is_cut, doubt });
                }
            }
        }
    }

    fn without_namespace(&self, name: &'a str) -> &'a str {
        let short = name.split_once('.').map_or(name, |(_, short)| short);
        let is_tool = |name: &str| self.setting.tool(name).is_some();
        if !is_tool(name) && is_tool(short) { short } else { name }
    }

    /// Whether parsing can continue: the block is complete, or another delimiter that counts between values follows.
    fn stops_again(&self) -> bool {
        !self.is_cut || self.reading.stops.first(self.text, self.at).is_some()
    }

    /// Whether a call that was cut off is emitted with the parameters so far. `within`: whether a value was cut off.
    fn says_beginning(&self, given: usize, within: bool) -> bool {
        let Shape { call, options, .. } = self.reading.shape;
        // A call without its own opening delimiter has no closing one either.
        let is_perhaps_whole = call.opens.is_empty() && !within && !options.silent_when_cut;
        self.setting.beginnings && given > 0 && (is_perhaps_whole || (options.says_beginnings && within))
    }

    /// Parses a parameter after its opening delimiter: its name, its value, its attributes, and whether it has an end.
    /// `None` if it has no value.
    fn parameter(&mut self) -> Option<(&'a str, &'a str, &'a str, bool)> {
        let (name, attributes) = self.head(&self.reading.shape.parameter, &self.reading.parameter_head);
        let attributes = attributes?;
        let start = self.at;
        let (mut from, delimiters) = (start, &self.reading.ends.value);
        let found = loop {
            if self.no_more_ends {
                break None;
            }
            match delimiters.first(self.text, from) {
                Some((at, delimiter, _)) if delimiter == CDATA.0 => {
                    let end = self.reading.ends.cdata.first(self.text, at);
                    from = end.map_or(self.text.len(), |(at, ..)| at + CDATA.1.len());
                }
                found => break found,
            }
        };
        self.no_more_ends |= found.is_none();
        let (end, delimiter) = found.map_or((self.text.len(), ""), |(at, delimiter, _)| (at, delimiter));
        let (end, delimiter) = match self.forgotten(start, end, delimiter) {
            Some(end) => (end, ""),
            None => (end, delimiter),
        };
        let is_own = delimiter == self.reading.shape.parameter.close;
        self.at = if is_own { end + delimiter.len() } else { end };
        Some((name, &self.text[start..end], attributes, found.is_some() || !self.is_cut))
    }

    /// Finds the end of a value whose closing delimiter is missing, so that it contains another parameter or the end of
    /// the call.
    fn forgotten(&self, start: usize, end: usize, delimiter: &str) -> Option<usize> {
        let Shape { call, parameter, is_keyed, options } = self.reading.shape;
        let value = &self.text[start..end];
        if options.cdata && value.contains(CDATA.0) {
            return None;
        }
        // Among elements, the next one already ends the value.
        let opens = if *is_keyed { parameter.opens } else { &[] };
        let next: Option<usize> = opens.iter().find_map(|open| {
            let starts = value.match_indices(open).map(|(at, _)| at);
            starts.into_iter().find(|at| self.is_head(&value[at + open.len()..]))
        });
        if next.is_none() && !delimiter.is_empty() {
            return None;
        }
        let end = value[..next.unwrap_or(value.len())].find(call.close).or(next);
        end.map(|end| start + end)
    }

    /// Whether the text begins with the whole head of a parameter.
    fn is_head(&self, text: &str) -> bool {
        let Tag { name_ends, head_end, .. } = self.reading.shape.parameter;
        let text = &text[..text.floor_char_boundary(2 * LONGEST_NAME)];
        let named =
            name_ends.iter().filter_map(|end| text.split_once(end)).min_by_key(|(name, _)| name.len());
        named.is_some_and(|(name, rest)| is_name(name.trim()) && rest.trim_start().starts_with(head_end))
    }

    /// Parses the name and the attributes; `None` instead of attributes if the head has no end.
    fn head(&mut self, tag: &Tag, delimiters: &Delimiters) -> (&'a str, Option<&'a str>) {
        let start = self.at;
        let (at, _, which) = delimiters.first(self.text, start).unwrap_or((self.text.len(), "", usize::MAX));
        let name = self.text[start..at].trim().trim_matches(['\'', '"']);
        self.at = at;
        if tag.head_end.is_empty() {
            return (name, Some(""));
        }
        self.nameless = which > tag.name_ends.len();
        if self.nameless {
            return (name, None);
        }
        let mut from = at;
        while let Some((end, delimiter, _)) = delimiters.first(self.text, from) {
            match delimiter {
                delimiter if delimiter == tag.head_end => {
                    self.at = end + delimiter.len();
                    return (name, Some(&self.text[at..end]));
                }
                delimiter if tag.name_ends.contains(&delimiter) => from = end + delimiter.len(),
                _ => break,
            }
        }
        (name, None)
    }
}
