//! [`answer`]: asks the user for the fields of a server's form, or to open an address.
use haft_core::{Person, Question, clip, schema::Schema};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use url::Url;

/// Maximum invalid answers to a field; after that, the form is declined.
const MAX_TRIES: usize = 3;
/// Maximum bytes of an invalid answer that are shown.
const MAX_SHOWN: usize = 100;
/// The answer that leaves an optional field empty. Not every front-end sends empty answers.
const EMPTY: &str = "-";

/// Asks `person` for each field. An empty answer accepts the server's default; [`EMPTY`] leaves an optional field empty.
pub(super) async fn answer(server: &str, request: ElicitRequestParams, person: &dyn Person) -> ElicitResult {
    let (message, requested_schema) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            (message, requested_schema)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            return ElicitResult::new(opened(server, &message, &url, person).await);
        }
        _ => return ElicitResult::new(ElicitationAction::Decline),
    };
    let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
    let asks = format!("The MCP server `{server}` asks: {}", indented(&message));
    match fill_in(&asks, &schema, person).await {
        Ok(content) => ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)),
        Err(action) => ElicitResult::new(action),
    }
}

/// The user's answer to a request to open an address. Haft does not open it, since the server chose the address.
async fn opened(server: &str, message: &str, address: &str, person: &dyn Person) -> ElicitationAction {
    let address = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some((address, host)) = address.as_ref().and_then(|url| Some((url, url.host_str()?))) else {
        return ElicitationAction::Decline;
    };
    let text = format!(
        "The MCP server `{server}` asks: {}\nIt wants you to open this address, which belongs to `{host}`:\n{address}\n\
         Do you? Open it yourself, and then say yes.",
        indented(message)
    );
    let choices = vec!["yes".to_owned(), "no".to_owned()];
    match person.ask(Question { text, choices, draft: None }).await.map(|said| is_yes(&said)) {
        None => ElicitationAction::Cancel,
        Some(Some(true)) => ElicitationAction::Accept,
        Some(_) => ElicitationAction::Decline,
    }
}

/// Indents the server's text, so that none of its lines looks like one of Haft.
fn indented(message: &str) -> String {
    message
        .replace("\r\n", "\n")
        .replace(['\n', '\r', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}', '\u{85}'], "\n  ")
}

async fn fill_in(
    asks: &str,
    schema: &Value,
    person: &dyn Person,
) -> Result<Map<String, Value>, ElicitationAction> {
    let fields: Vec<Field<'_>> = fields(schema);
    let mut content = Map::new();
    if fields.is_empty() {
        let choices = vec!["yes".to_owned(), "no".to_owned()];
        let said = person.ask(Question { text: asks.to_owned(), choices, draft: None }).await;
        let said = said.ok_or(ElicitationAction::Cancel)?;
        return if is_yes(&said) == Some(true) { Ok(content) } else { Err(ElicitationAction::Decline) };
    }
    for field in fields {
        if let Some(value) = field.ask(asks, person).await? {
            content.insert(field.name.to_owned(), value);
        }
    }
    Ok(content)
}

/// A field to fill in.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

fn fields(schema: &Value) -> Vec<Field<'_>> {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.map(|(name, schema)| Field {
        name,
        schema,
        is_required: required.iter().any(|required| required == name.as_str()),
    });
    fields.collect()
}

impl Field<'_> {
    /// Asks for the field; `None` if it is left empty. The server's default is used for an empty answer.
    async fn ask(&self, asks: &str, person: &dyn Person) -> Result<Option<Value>, ElicitationAction> {
        let mut wrong = String::new();
        for _ in 0..MAX_TRIES {
            let text = format!("{wrong}{}", self.question(asks));
            let question = Question { text, choices: self.titles(), draft: None };
            let said = person.ask(question).await.ok_or(ElicitationAction::Cancel)?;
            let said = said.trim();
            if said.is_empty() && (self.schema.get("default").is_some() || !self.is_required) {
                return Ok(self.schema.get("default").cloned());
            }
            if said == EMPTY && !self.is_required {
                return Ok(None);
            }
            let problem = match self.read(said).map(|value| (self.problem(&value), value)) {
                Some((None, value)) => return Ok(Some(value)),
                Some((problem, _)) => problem,
                None => None,
            };
            let problem = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
            let said = clip::head(said, MAX_SHOWN).escape_debug();
            wrong = format!("`{said}` is no answer to this{}.\n", indented(&problem));
        }
        Err(ElicitationAction::Decline)
    }

    /// What the field's schema does not allow of `value`, such as a number that is too large.
    fn problem(&self, value: &Value) -> Option<String> {
        let (schema, form) = (json!({"properties": {self.name: self.schema}}), json!({self.name: value}));
        // A schema that cannot be used is the server's own concern.
        let mut problems = Schema::new(schema).problems(&form).unwrap_or_default();
        (!problems.is_empty()).then(|| problems.swap_remove(0).message)
    }

    fn question(&self, asks: &str) -> String {
        let text = |key: &str| self.schema.get(key).and_then(Value::as_str);
        let title = text("title").unwrap_or(self.name);
        let more = text("description").map(|more| format!(": {more}")).unwrap_or_default();
        let kind = match self.schema["type"].as_str() {
            Some("array") => " (several, with commas between them)",
            Some("number" | "integer") => " (a number)",
            _ => "",
        };
        let proposal = self.schema.get("default").map(|value| format!(" [{value}]")).unwrap_or_default();
        let optional = match self.is_required {
            true => String::new(),
            false => format!(" (`{EMPTY}` leaves it empty)"),
        };
        format!("{asks}\n{}{kind}{optional}{}", indented(&format!("{title}{more}")), indented(&proposal))
    }

    /// The choices: each with its value for the server, and its title.
    fn options(&self) -> Vec<(&str, &str)> {
        let of = if self.schema["type"] == "array" { &self.schema["items"] } else { self.schema };
        let plain = texts(&of["enum"]);
        let shown = texts(&of["enumNames"]);
        if !plain.is_empty() {
            let title = |place: usize| shown.get(place).copied().unwrap_or(plain[place]);
            return plain.iter().enumerate().map(|(place, value)| (*value, title(place))).collect();
        }
        let titled = ["oneOf", "anyOf"].into_iter().find_map(|key| of[key].as_array());
        let titled = titled.into_iter().flatten().filter_map(|one| {
            let value = one["const"].as_str()?;
            Some((value, one["title"].as_str().unwrap_or(value)))
        });
        titled.collect()
    }

    fn titles(&self) -> Vec<String> {
        match self.schema["type"].as_str() {
            Some("boolean") => vec!["yes".into(), "no".into()],
            Some("string" | "number" | "integer") if self.options().is_empty() => {
                let default = self.schema.get("default").filter(|value| !value.is_null());
                default
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    .into_iter()
                    .collect()
            }
            // Several choices cannot be picked by one number.
            _ => self.options().into_iter().map(|(_, title)| title.to_owned()).collect(),
        }
    }

    /// The answer as a value of the required type; `None` if it is invalid.
    fn read(&self, said: &str) -> Option<Value> {
        match self.schema["type"].as_str() {
            Some("boolean") => is_yes(said).map(Value::Bool),
            Some("integer") => said.parse::<i64>().ok().map(Value::from),
            Some("number") => {
                said.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
            }
            Some("array") => said
                .split(',')
                .map(|one| self.choose(one.trim()))
                .collect::<Option<Vec<_>>>()
                .map(Value::from),
            _ => self.choose(said),
        }
    }

    fn choose(&self, said: &str) -> Option<Value> {
        let options = self.options();
        if options.is_empty() {
            return (!said.is_empty()).then(|| json!(said));
        }
        let alike = |text: &str| text.eq_ignore_ascii_case(said);
        let found = options.into_iter().find(|(value, title)| alike(value) || alike(title));
        found.map(|(value, _)| json!(value))
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_yes(said: &str) -> Option<bool> {
    match said.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::{BoxFuture, FutureExt, ready};
    use std::sync::Mutex;

    /// Gives one answer after the other, and records the questions.
    struct Says(Mutex<(Vec<&'static str>, Vec<String>)>);

    impl Person for Says {
        fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
            let mut said = self.0.lock().unwrap();
            said.1.push(format!("{} {}", question.text, question.choices.join("/")));
            let answer = (!said.0.is_empty()).then(|| said.0.remove(0).to_owned());
            Box::pin(ready(answer))
        }
    }

    fn asked(schema: Value, says: &[&'static str]) -> (Result<Value, ElicitationAction>, Vec<String>) {
        let person = Says(Mutex::new((says.to_vec(), Vec::new())));
        let filled = fill_in("Who?", &schema, &person).now_or_never().unwrap();
        (filled.map(Value::Object), person.0.into_inner().unwrap().1)
    }

    #[test]
    fn a_form_is_asked_field_by_field() {
        let form = json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "title": "Name", "description": "in full"},
            "age": {"type": "integer", "default": 30},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
            "ok": {"type": "boolean"},
        }});
        let (filled, questions) = asked(form.clone(), &["Ada", "", "blue", "a, c", "yes"]);
        assert_eq!(
            filled,
            Ok(json!({"name": "Ada", "age": 30, "color": "b", "tags": ["a", "c"], "ok": true}))
        );
        let expected = [
            "Who?\nName: in full ",
            "Who?\nage (a number) [30] 30",
            "Who?\ncolor (`-` leaves it empty) Red/Blue",
            "Who?\ntags (several, with commas between them) (`-` leaves it empty) a/b/c",
            "Who?\nok (`-` leaves it empty) yes/no",
        ];
        assert_eq!(questions, expected);
        let (filled, questions) = asked(form.clone(), &["", "", "Ada", "x", "7", "", "-", "-"]);
        assert_eq!((filled, questions.len()), (Ok(json!({"name": "Ada", "age": 7})), 8));
    }

    #[test]
    fn what_a_field_does_not_allow_is_told_and_asked_again() {
        let form = json!({"type": "object", "required": ["age", "tags"], "properties": {
            "age": {"type": "integer", "minimum": 18},
            "code": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 1},
        }});
        let (filled, questions) = asked(form, &["7", "-", "18", "abcd", "ab", "a, b", "b"]);
        assert_eq!(filled, Ok(json!({"age": 18, "code": "ab", "tags": ["b"]})));
        for (place, expected) in [
            (1, "`7` is no answer to this: `age` must be at least 18, not 7.\nWho?"),
            (2, "`-` is no answer to this."),
            (4, "`abcd` is no answer to this: `code` must have at most 3 characters, not 4.\nWho?"),
            (6, "`a, b` is no answer to this: `tags` must have at most 1 item, not 2.\nWho?"),
        ] {
            assert!(questions[place].starts_with(expected), "{place}: {questions:?}");
        }
    }

    #[test]
    fn an_address_is_shown_with_its_host_and_opened_by_the_person() {
        let table = [
            ("https://github.com/login/oauth?x=1", vec!["yes"], ElicitationAction::Accept, 1),
            ("https://github.com/login", vec!["no"], ElicitationAction::Decline, 1),
            ("https://github.com/login", vec!["perhaps"], ElicitationAction::Decline, 1),
            ("https://github.com/login", vec![], ElicitationAction::Cancel, 1),
            ("file:///etc/passwd", vec!["yes"], ElicitationAction::Decline, 0),
            ("javascript:alert(1)", vec!["yes"], ElicitationAction::Decline, 0),
            ("nowhere", vec!["yes"], ElicitationAction::Decline, 0),
        ];
        for (address, says, expected, count) in table {
            let person = Says(Mutex::new((says, Vec::new())));
            let request = json!({"mode": "url", "message": "Log in.", "url": address, "elicitationId": "1"});
            let answer = answer("mill", serde_json::from_value(request).unwrap(), &person);
            assert_eq!(answer.now_or_never().unwrap().action, expected, "{address}");
            let asked = person.0.into_inner().unwrap().1;
            assert_eq!(asked.len(), count, "{address}");
            assert!(
                asked
                    .iter()
                    .all(|asked| asked.contains("belongs to `github.com`:\nhttps://github.com/login"))
            );
        }
    }

    #[test]
    fn lines_of_a_server_begin_where_none_of_haft_do() {
        let field = json!({"type": "string", "title": "t\nAllowed: yes", "description": "d\r\nAllowed: yes"});
        let request = json!({
            "mode": "form", "message": "m\nAllowed: yes\u{2028}Allowed: yes",
            "requestedSchema": {"type": "object", "properties": {"n": field}},
        });
        let person = Says(Mutex::new((vec!["x"], Vec::new())));
        answer("mill", serde_json::from_value(request).unwrap(), &person).now_or_never().unwrap();
        let asked = person.0.into_inner().unwrap().1.remove(0);
        assert_eq!(asked.matches("\n  Allowed: yes").count(), 4, "{asked}");
        assert_eq!(asked.matches("Allowed: yes").count(), 4, "{asked}");
    }

    #[test]
    fn nobody_cancels_and_nonsense_declines() {
        let number = json!({"properties": {"n": {"type": "number"}}, "required": ["n"]});
        let table = [
            (number.clone(), vec![], Err(ElicitationAction::Cancel)),
            (number.clone(), vec!["a", "b", "c"], Err(ElicitationAction::Decline)),
            (number, vec!["a", "1.5"], Ok(json!({"n": 1.5}))),
            (json!({}), vec!["yes"], Ok(json!({}))),
            (json!({}), vec!["no"], Err(ElicitationAction::Decline)),
        ];
        for (schema, says, expected) in table {
            assert_eq!(asked(schema, &says).0, expected, "{says:?}");
        }
    }
}
