//! [`Template`]: the chat template, which turns a conversation into the text that a model continues.
//!
//! GGUF files contain it as Jinja, written for the `transformers` library of Hugging Face. The functions and filters
//! that this library adds to Jinja are available here, too.
use haft_core::json;
use minijinja::{Environment, Error, ErrorKind, Value as Jinja, context, syntax::SyntaxConfig, value::Serde};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::Serialize;
use serde_json::{Value, ser::Formatter};
use std::time::SystemTime;

/// The template for models without their own: the simplest form that base models continue well.
const PLAIN: &str = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n\n{% endfor %}\
                     {% if add_generation_prompt %}assistant:{% endif %}";

/// A compiled chat template.
pub(crate) struct Template {
    environment: Environment<'static>,
    source: String,
    start: String,
    end: String,
}

/// The input of a template. Messages are objects with `role` and `content`, as in OpenAI's chat format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Value>,
}

impl Template {
    /// `start` and `end`: the texts of the model's tokens for the beginning and the end of a text.
    pub(crate) fn new(source: Option<&str>, start: &str, end: &str) -> Result<Self, Error> {
        let source = source.unwrap_or(PLAIN).to_owned();
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_filter("tojson", tojson);
        environment.add_template_owned("chat", source.clone())?;
        Ok(Self { environment, source, start: start.into(), end: end.into() })
    }

    /// Whether it came with the model.
    pub(crate) fn is_own(&self) -> bool {
        self.source != PLAIN
    }

    /// The Jinja text.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The text that the model continues.
    pub(crate) fn render(&self, conversation: &Conversation) -> Result<String, Error> {
        let tools = (!conversation.tools.is_empty()).then(|| Jinja::from(Serde(&conversation.tools)));
        self.environment.get_template("chat")?.render(context! {
            messages => Jinja::from(Serde(&conversation.messages)),
            tools => tools,
            add_generation_prompt => true,
            bos_token => self.start.as_str(),
            eos_token => self.end.as_str(),
        })
    }
}

/// Whether a template has a place for tools.
pub(crate) fn has_tools(source: &str) -> bool {
    source.contains("tools")
}

fn raise_exception(message: String) -> Result<Jinja, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// The date in UTC, for the few templates that print one. They use the formats `%d %b %Y` and `%Y-%m-%d`.
fn strftime_now(format: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format_date(format, now.as_secs() / 86_400)
}

fn format_date(format: &str, days_since_1970: u64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (year, month, day) = civil(days_since_1970 as i64);
    let name = MONTHS[month as usize - 1];
    format
        .replace("%Y", &year.to_string())
        .replace("%m", &format!("{month:02}"))
        .replace("%d", &format!("{day:02}"))
        .replace("%b", &name[..3])
        .replace("%B", name)
}

/// Year, month (from 1) and day (from 1) in the Gregorian calendar.
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}

/// Formats JSON as Python's `json.dumps(value, ensure_ascii=False)` does, because models saw that in training.
fn tojson(value: &Jinja, options: minijinja::value::Kwargs) -> Result<Jinja, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Other options of Python's function (`sort_keys`, `separators`) do not occur in templates that need them.
    let _ignored: Option<bool> = options.get("ensure_ascii")?;
    let failed = |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let value = serde_json::to_value(value).map_err(failed)?;
    let text = match indent {
        Some(width) => {
            let indent = " ".repeat(width);
            written(&value, serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes()))
        }
        None => Ok(json::spaced(&value)),
    };
    text.map(Jinja::from_safe_string).map_err(failed)
}

fn written(value: &Value, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(source: &str, conversation: &Conversation) -> Result<String, String> {
        let template = Template::new(Some(source), "<s>", "</s>").map_err(|error| error.to_string())?;
        template.render(conversation).map_err(|error| error.to_string())
    }

    #[test]
    fn templates_find_what_transformers_gives_them() {
        let conversation = Conversation {
            messages: vec![json!({"role": "user", "content": " Hi <b> \"there\" "})],
            tools: vec![json!({"name": "read", "parameters": {"z": 1, "a": [1, 2]}})],
        };
        let table = [
            ("{{ bos_token }}{{ messages[0].content.strip() }}{{ eos_token }}", "<s>Hi <b> \"there\"</s>"),
            ("{{ messages[0]['content'] | tojson }}", "\" Hi <b> \\\"there\\\" \""),
            (
                "{% for tool in tools %}{{ tool | tojson }}{% endfor %}",
                "{\"name\": \"read\", \"parameters\": {\"z\": 1, \"a\": [1, 2]}}",
            ),
            (
                "{{ tools[0].parameters | tojson(indent=2) }}",
                "{\n  \"z\": 1,\n  \"a\": [\n    1,\n    2\n  ]\n}",
            ),
            (
                "{% for m in messages %}\n    {% if m.role == 'user' %}\n{{ m.role }}\n    {% endif %}\n{% endfor %}",
                "user\n",
            ),
            (
                "{% set ns = namespace(n=0) %}{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
                "4",
            ),
            (
                "{{ 'a,b'.split(',')[-1] }}{{ messages[::-1][0].role }}{% if x is defined %}!{% endif %}",
                "buser",
            ),
        ];
        for (source, expected) in table {
            assert_eq!(render(source, &conversation).as_deref(), Ok(expected), "{source}");
        }
        let refused = render("{{ raise_exception('Only one system message') }}", &conversation);
        assert!(refused.unwrap_err().contains("Only one system message"));
    }

    #[test]
    fn a_model_without_a_template_gets_a_plain_one() {
        let template = Template::new(None, "", "").unwrap();
        let messages =
            vec![json!({"role": "system", "content": "Be brief."}), json!({"role": "user", "content": "Hi"})];
        let text = template.render(&Conversation { messages, tools: vec![] }).unwrap();
        assert_eq!(text, "system: Be brief.\n\nuser: Hi\n\nassistant:");
        assert!(!template.is_own());
    }

    #[test]
    fn dates_are_civil() {
        for (days, expected) in [(0, "01 Jan 1970"), (19_782, "29 Feb 2024"), (20_453, "31 Dec 2025")] {
            assert_eq!(format_date("%d %b %Y", days), expected);
        }
        assert_eq!(format_date("%Y-%m-%d %B", 19_783), "2024-03-01 March");
    }
}
