//! [`Validator`]: checks values against JSON Schema (draft 2020-12 if a schema names none).
use super::plain::is_plain;
use boon::{CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use std::{collections::HashMap, error::Error, sync::Arc};

/// A schema that was compiled.
pub(super) struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
    /// Patterns that are not checked, because the library does not support them.
    pub(super) unchecked: Vec<String>,
}

/// The URI of the schema itself, for references within it.
const BASE_URI: &str = "json-schema:///arguments";

/// The URI of a schema that is known to be valid: the library does not check schemas of this host against the
/// metaschema.
const PLAIN_URI: &str = "https://json-schema.org/arguments";

impl Validator {
    /// Fails if `schema` is not a valid schema, or refers to one that is not among `known`.
    pub(super) fn new(schema: &Value, known: Arc<HashMap<String, Value>>) -> Result<Self, String> {
        let (mut schema, mut unchecked) = (schema.clone(), Vec::new());
        loop {
            let error = match Self::compile(schema.clone(), known.clone()) {
                Ok((schemas, root)) => return Ok(Self { schemas, root, unchecked }),
                Err(error) => error,
            };
            // ECMA 262 patterns can do more than the library's, for example look-ahead. The tool checks such patterns
            // itself.
            match unreadable_pattern(&error).filter(|regex| forget_pattern(&mut schema, regex)) {
                Some(regex) => unchecked.push(regex),
                None => return Err(format!("{error:#}")),
            }
        }
    }

    fn compile(
        schema: Value,
        known: Arc<HashMap<String, Value>>,
    ) -> Result<(Schemas, SchemaIndex), Box<CompileError>> {
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(KnownSchemas(known)));
        let base = if is_plain(&schema) { PLAIN_URI } else { BASE_URI };
        compiler.add_resource(base, schema)?;
        let mut schemas = Schemas::new();
        let root = compiler.compile(base, &mut schemas)?;
        Ok((schemas, root))
    }

    /// Returns all that is wrong with `value`, as a tree.
    pub(super) fn error_of<'a>(&'a self, value: &'a Value) -> Option<ValidationError<'a, 'a>> {
        self.schemas.validate(value, self.root).err()
    }
}

/// The schemas that others may refer to by their URI. Others are never fetched.
struct KnownSchemas(Arc<HashMap<String, Value>>);

impl UrlLoader for KnownSchemas {
    fn load(&self, uri: &str) -> Result<Value, Box<dyn Error>> {
        let known = self.0.get(uri).cloned();
        known.ok_or_else(|| format!("`{uri}` is not known, and schemas are not fetched").into())
    }
}

/// The pattern that the library does not support, if that is the error of a schema.
fn unreadable_pattern(error: &CompileError) -> Option<String> {
    fn find(error: &ValidationError<'_, '_>) -> Option<String> {
        match &error.kind {
            ErrorKind::Format { want: "regex", got, .. } => got.as_str().map(str::to_owned),
            _ => error.causes.iter().find_map(find),
        }
    }
    match error {
        CompileError::ValidationError { src, .. } => find(src),
        CompileError::InvalidRegex { regex, .. } => Some(regex.clone()),
        _ => None,
    }
}

/// Removes every `pattern` that is `regex`, and says whether there was one.
fn forget_pattern(schema: &mut Value, regex: &str) -> bool {
    let mut found = false;
    if let Value::Object(object) = schema {
        found = object.get("pattern").is_some_and(|pattern| pattern == regex);
        if found {
            object.shift_remove("pattern");
        }
        object.values_mut().for_each(|inner| found |= forget_pattern(inner, regex));
    }
    if let Value::Array(items) = schema {
        items.iter_mut().for_each(|inner| found |= forget_pattern(inner, regex));
    }
    found
}
