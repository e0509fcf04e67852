//! [`Spaced`]: writes JSON as text, the way models have read it in training.
use serde::Serialize;
use serde_json::{Value, ser::Formatter};
use std::io;

/// Writes one line of JSON with spaces where Python's `json.dumps(value, ensure_ascii=False)` puts them.
pub fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut serializer).expect("a JSON value can be written");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Formatter that writes `, ` between values and `: ` after keys.
#[derive(Clone, Copy, Debug)]
pub struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
