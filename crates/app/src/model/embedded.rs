//! [`open`]: opens a model in this process.
use super::{ToolCallFormat, call_format};
use crate::{App, Failure};
use haft_core::Provider;
use haft_dialects::{Dialect, by_delimiters, spoken_by};
use haft_local::{LocalModel, Settings, models};
use haft_text_calls::TextToolCalls;
use std::sync::Arc;

/// Dialects that the embedded engine parses itself.
const NATIVE: [&str; 2] = ["hermes", "llama3_json"];

/// Reads only the file's header, and does not load the model. Also returns the number of tokens in its window.
pub(super) fn open(
    app: &App,
    name: &str,
    speech: ToolCallFormat<'_>,
) -> Result<(Arc<dyn Provider>, u64), Failure> {
    let file = models::find(name, &app.places.models).map_err(|error| no_file(&error))?;
    let settings = Settings {
        cache_folder: Some(app.places.cache.join("local")),
        grammar: !speech.is_free,
        loading: app.loading,
        ..Settings::default()
    };
    let model = LocalModel::open(file, settings).map_err(|error| {
        Failure::usage(error.to_string()).hint("download it again: `haft models list` lists models to pull")
    })?;
    let window = model.window();
    Ok((speaking(Arc::new(model), name, speech)?, window))
}

fn speaking(
    model: Arc<LocalModel>,
    name: &str,
    speech: ToolCallFormat<'_>,
) -> Result<Arc<dyn Provider>, Failure> {
    let own = model.header().template.as_deref().and_then(by_delimiters);
    let is_small = model.is_small();
    let dialect = match speech.dialect.filter(|_| !speech.is_fallback) {
        // Small mode, and the dialects that the engine parses itself, need no other parser.
        None => own.filter(|own| !is_small && !NATIVE.contains(&own.name)),
        Some("auto") => spoken_by(name).or(own),
        Some(dialect) => Some(call_format(dialect)?),
    };
    // Small mode and the template write tools and history in the model's own format.
    let writes = |dialect: &Dialect| is_small || own.is_some_and(|own| own.name == dialect.name);
    Ok(match dialect {
        None if speech.dialect.is_none() || speech.is_fallback => model,
        None => Arc::new(TextToolCalls::auto(model)),
        Some(dialect) if writes(dialect) => Arc::new(TextToolCalls::listening(model, dialect)),
        Some(dialect) => Arc::new(TextToolCalls::new(model, dialect)),
    })
}

/// The failure if there is no such model file: says how to get it.
pub fn no_file(error: &models::FindError) -> Failure {
    use models::FindError;
    let failure = Failure::usage(error.to_string());
    match error {
        FindError::NotPulled { name, .. } => {
            failure.hint(format!("download it with `haft models pull {name}`"))
        }
        FindError::Unknown { .. } => failure.hint("use a `.gguf` file or a name from `haft models list`"),
    }
}
