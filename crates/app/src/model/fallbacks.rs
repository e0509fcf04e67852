//! [`with_fallbacks`]: opens the models that take over if a model cannot answer.
use super::{ToolCallFormat, connection, measured, open, with_account};
use crate::{App, Failure, config::Config};
use haft_engine::Model;
use haft_providers::{Loading, list_models, vendor};

/// Adds the fallbacks to `model`, which the user chose: those of `--fallback`, otherwise those of its own table. Asks
/// servers on this machine for the windows of their models.
///
/// # Errors
///
/// If a fallback cannot be used, or a list leads back to a model that it is for.
pub async fn with_fallbacks(
    app: &App,
    config: &Config,
    model: Model,
    format: ToolCallFormat<'_>,
) -> Result<Model, Failure> {
    let chosen = config.effective().fallback.map(|list| list.0);
    let mut opened = opened(app, config, model, chosen, format)?;
    for fallback in &mut opened.fallbacks {
        *fallback = measured(app, config, fallback.clone(), None, Loading::Avoided).await;
    }
    Ok(opened)
}

/// Adds the fallbacks of its own table to `model`. Asks no server.
pub(crate) fn with_own_fallbacks(
    app: &App,
    config: &Config,
    model: Model,
    format: ToolCallFormat<'_>,
) -> Result<Model, Failure> {
    opened(app, config, model, None, format)
}

fn opened(
    app: &App,
    config: &Config,
    model: Model,
    chosen: Option<Vec<String>>,
    format: ToolCallFormat<'_>,
) -> Result<Model, Failure> {
    let names = listed(config, &model.spec, chosen)?;
    let open = |name: &String| {
        open(app, config, name, None, format).map_err(|failure| Failure {
            message: format!("cannot use the fallback `{name}` of `{}`: {}", model.spec, failure.message),
            ..failure
        })
    };
    let fallbacks = names.iter().map(open).collect::<Result<_, _>>()?;
    Ok(Model { fallbacks, ..model })
}

/// The test of a fallback.
pub(crate) struct TriedFallback {
    /// Name of the model.
    pub name: String,
    /// The model that it takes over for.
    pub of: String,
    /// Whether it could take over, and if not, why.
    pub outcome: Result<(), Failure>,
}

/// Tests each fallback of the configuration: whether it can be opened, and whether its provider lists it when asked
/// with the key. Clouds, files and commands are only opened. No model is asked for a reply.
pub(crate) async fn try_fallbacks(app: &App, config: &Config) -> Vec<TriedFallback> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let settings = config.effective();
    let chosen = settings.model.zip(settings.fallback);
    let chosen =
        chosen.into_iter().flat_map(|(of, names)| names.0.into_iter().map(move |name| (of.clone(), name)));
    let tables = config.user.models.iter();
    let tables = tables.flat_map(|(of, table)| table.fallback.iter().map(|name| (of.clone(), name.clone())));
    for pair in chosen.chain(tables) {
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let tried = pairs.into_iter().map(|(of, name)| async move {
        let outcome = try_one(app, config, &with_default_model(name.clone())).await;
        TriedFallback { name, of, outcome }
    });
    futures::future::join_all(tried).await
}

/// Tests whether the model `spec` can be opened and its provider lists it.
pub(crate) async fn try_one(app: &App, config: &Config, spec: &str) -> Result<(), Failure> {
    open(app, config, spec, None, ToolCallFormat::default())?;
    let Some((kind, name)) = spec.split_once('/') else { return Ok(()) };
    let (kind, account) = with_account(kind);
    let Some(vendor) = vendor(kind).filter(|vendor| vendor.sign_in.is_none()) else { return Ok(()) };
    let config = config.clone().with_account(account);
    let listed = list_models(vendor, &connection(app, &config, vendor, None)).await?;
    // A server may list a model with a tag (`:latest`), or with the version that its name stands for (`-20250929`).
    let is_version = |rest: &str| rest.is_empty() || rest.starts_with(':') || rest.starts_with("-20");
    match listed.iter().any(|model| model.strip_prefix(name).is_some_and(is_version)) {
        true => Ok(()),
        false => Err(Failure::usage(format!("{} does not list the model `{name}`", vendor.title))
            .hint(format!("`haft models list {}` lists its models", vendor.name))),
    }
}

/// The models that take over for `spec`, each followed by those of its own table, without duplicates.
fn listed(config: &Config, spec: &str, chosen: Option<Vec<String>>) -> Result<Vec<String>, Failure> {
    let own = chosen.unwrap_or_else(|| of_table(config, spec));
    let mut all = Vec::new();
    collect(config, own, &mut vec![spec.to_owned()], &mut all)?;
    Ok(all)
}

/// Adds `names`, the fallbacks of the last model in `path`, and their own fallbacks.
fn collect(
    config: &Config,
    names: Vec<String>,
    path: &mut Vec<String>,
    all: &mut Vec<String>,
) -> Result<(), Failure> {
    for name in names.into_iter().map(with_default_model) {
        if path.contains(&name) {
            path.push(name);
            return Err(leads_back(path));
        }
        if !all.contains(&name) {
            all.push(name.clone());
            path.push(name.clone());
            collect(config, of_table(config, &name), path, all)?;
            path.pop();
        }
    }
    Ok(())
}

/// Completes the name of a vendor alone to its default model. A server on this machine has no default model, and is not
/// asked for one.
fn with_default_model(spec: String) -> String {
    let alone = vendor(spec.strip_suffix('/').unwrap_or(&spec));
    let default = alone.and_then(|vendor| Some(format!("{}/{}", vendor.name, vendor.default_model?)));
    default.unwrap_or(spec)
}

fn of_table(config: &Config, spec: &str) -> Vec<String> {
    config.user.models.get(spec).map(|table| table.fallback.clone()).unwrap_or_default()
}

fn leads_back(path: &[String]) -> Failure {
    let names = path.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    let message = match path {
        [own, again] if own == again => format!("{} cannot be its own fallback", names[0]),
        _ => format!("fallbacks lead back to a model that they are for: {}", names.join(" → ")),
    };
    Failure::usage(message).hint("remove one of them from `--fallback` or from `fallback` in `[models]`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ModelFile, ProjectFile, UserFile};

    fn check(tables: &[(&str, &[&str])], chosen: Option<&[&str]>, expected: Result<&[&str], &str>) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let table = |(name, fallback): &(&str, &[&str])| {
            ((*name).to_owned(), ModelFile { fallback: owned(fallback), ..ModelFile::default() })
        };
        let models = tables.iter().map(table).collect();
        let mut user = UserFile::default();
        user.models = models;
        let config = Config::of(user, ProjectFile::default());
        let found = listed(&config, "a/1", chosen.map(owned)).map_err(|failure| failure.message);
        assert_eq!(found, expected.map(owned).map_err(str::to_owned), "{tables:?} {chosen:?}");
    }

    #[test]
    fn fallbacks_are_those_of_the_model_and_then_theirs() {
        check(&[], None, Ok(&[]));
        check(&[("a/1", &["b/2", "c/3"])], None, Ok(&["b/2", "c/3"]));
        check(&[("a/1", &["b/2", "c/3"]), ("b/2", &["d/4", "c/3"])], None, Ok(&["b/2", "d/4", "c/3"]));
        check(&[("a/1", &["b/2"])], Some(&["c/3"]), Ok(&["c/3"]));
        check(&[("a/1", &["b/2"])], Some(&[]), Ok(&[]));
        check(&[("a/1", &["openai", "ollama"])], None, Ok(&["openai/gpt-5", "ollama"]));
        check(&[("a/1", &["a/1"])], None, Err("`a/1` cannot be its own fallback"));
        let back = "fallbacks lead back to a model that they are for: `a/1` → `b/2` → `a/1`";
        check(&[("a/1", &["b/2"]), ("b/2", &["a/1"])], None, Err(back));
    }
}
