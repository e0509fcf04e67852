//! [`examples_for`]: worked examples of the tools, from `examples.toml`.
use haft_core::Example;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::LazyLock};

/// A table for each tool: `[[read]]` with `request`, `arguments`, `result` and `answer`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    request: String,
    arguments: Value,
    result: String,
    answer: String,
}

static EXAMPLES: LazyLock<BTreeMap<String, Vec<Row>>> = LazyLock::new(|| {
    toml::from_str(include_str!("examples.toml")).expect("a test reads every example of this very text")
});

/// The examples of the tool `name`, in the order of the file.
pub(crate) fn examples_for(name: &str) -> Vec<Example> {
    let rows = EXAMPLES.get(name).into_iter().flatten();
    rows.map(|Row { request, arguments, result, answer }| Example {
        request: request.clone(),
        arguments: arguments.clone(),
        result: result.clone(),
        answer: answer.clone(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Validation;

    #[test]
    fn every_example_passes_the_check_of_its_tool() {
        let web_search = crate::WebSearchSettings { engine: Some("searxng".into()), ..Default::default() };
        let tools = crate::builtin(&crate::Settings { web_search, ..Default::default() });
        assert_eq!(EXAMPLES.keys().filter(|name| tools.get(name).is_none()).count(), 0);
        for tool in tools.all() {
            let spec = tool.tool.spec();
            for example in spec.examples.iter() {
                let checked = tool.check(&example.arguments, Validation::Strict);
                assert_eq!(checked.unwrap(), example.arguments);
            }
        }
    }
}
