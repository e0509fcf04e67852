//! [`open`]: opens a model by its name, `PROVIDER/MODEL`.
use crate::{Error, Result, environment::Environment};
use haft_core::schema::nearest;
use haft_engine::Model;
use haft_providers::{
    Card, Connection, Key, Loading, Missing, Retry, SignIn, Vendor, card, connect, served_window, vendor,
    vendors,
};
use std::sync::Arc;

/// What the program sets for reaching a model; the environment decides the rest.
#[derive(Clone, Default)]
pub(crate) struct Endpoint {
    pub(crate) key: Option<String>,
    pub(crate) base_url: Option<String>,
}

/// The keys of all vendors in the environment, and the program's own key.
pub(crate) fn keys(way: &Endpoint, environment: &Environment) -> Vec<String> {
    let variables = vendors().iter().filter_map(|vendor| vendor.key_variable);
    let variables = variables.chain(SignIn::SECRETS.iter().copied());
    let found = variables.filter_map(|name| environment.get(name)).map(|key| key.trim().to_owned());
    found.chain(way.key.clone()).collect()
}

/// Opens a model. Makes no connection, but checks everything that can be checked without one.
pub(crate) fn open(spec: &str, way: &Endpoint, environment: &Environment) -> Result<Model> {
    let (vendor, name) = named(spec)?;
    if way.key.as_ref().is_some_and(|key| key.trim().is_empty()) {
        let hint = vendor.key_variable.map(|variable| format!("leave `key` out to use {variable}"));
        return Err(Error::new(format!("cannot ask `{spec}`: the key is empty"))
            .with_hint(hint.unwrap_or_else(|| "leave `key` out".into())));
    }
    let connection = connection(vendor, way, environment);
    if vendor.sign_in.is_some() {
        let failed =
            |missing: Missing| Error::new(format!("cannot ask `{spec}`: {missing}")).with_hint(missing.hint);
        let signed_in = connection.key.is_none().then(|| vendor.signed_in(&connection.variables)).flatten();
        vendor.address(connection.base_url.as_deref(), &connection.variables).map_err(failed)?;
        signed_in.transpose().map_err(failed)?;
    } else if let (Some(variable), None, None) = (&vendor.key_variable, &connection.key, &connection.base_url)
    {
        return Err(Error::new(format!("cannot ask `{spec}`: there is no key for {}", vendor.title))
            .with_hint(format!("set {variable}, or give one with `key`")));
    }
    if let Some(url) = connection.base_url.as_deref().filter(|url| !is_http(url)) {
        return Err(Error::new(format!("cannot use the base URL `{url}` for `{spec}`"))
            .with_hint("begin it with `http://` or `https://`"));
    }
    let Card { window, price, documents } = card(vendor, name);
    let provider = Arc::new(Retry::new(connect(vendor, connection)));
    Ok(Model { window, price, documents, name: name.to_owned(), ..Model::plain(spec, provider) })
}

/// Asks a server on this machine for its model's window, if unknown.
pub(crate) async fn measured(model: Model, way: &Endpoint, environment: &Environment) -> Model {
    let found = named(&model.spec).ok().filter(|(vendor, _)| vendor.local && model.window.is_none());
    let Some((vendor, _)) = found else { return model };
    let connection = connection(vendor, way, environment);
    Model { window: served_window(vendor, &connection, &model.name, Loading::Allowed).await, ..model }
}

fn named(spec: &str) -> Result<(&'static Vendor, &str)> {
    let Some((kind, name)) = spec.split_once('/').filter(|(_, name)| !name.is_empty()) else {
        return Err(Error::new(format!(
            "cannot use the model `{spec}`: it is not of the form PROVIDER/MODEL"
        ))
        .with_hint("for example `openai/gpt-5-mini` or `ollama/qwen3`"));
    };
    let vendor = vendor(kind).ok_or_else(|| {
        let names: Vec<&str> = vendors().iter().map(|vendor| vendor.name).collect();
        if kind == "local" {
            return Error::new(format!("cannot use the model `{spec}`: no provider offers it"))
                .with_hint("open its file with `haft::local::LocalModel`, and give that with `provider`");
        }
        let near = nearest(kind, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Error::new(format!("cannot use the model `{spec}`: there is no provider `{kind}`"))
            .with_hint(format!("{near}there are {}", names.join(", ")))
    })?;
    Ok((vendor, name))
}

fn connection(vendor: &Vendor, way: &Endpoint, environment: &Environment) -> Connection {
    let variable = |name: Option<&str>| environment.get(name?).map(str::to_owned);
    let key = way.key.clone().or_else(|| variable(vendor.key_variable));
    let base_url = way.base_url.clone().or_else(|| variable(vendor.base_url_variable));
    let timeouts = vendor.timeouts_at(base_url.as_deref().unwrap_or(vendor.base_url));
    let variables = vendor.sign_in.map(|_| environment.variables()).unwrap_or_default();
    let (key, timeouts) = (key.map(Key::new), Some(timeouts));
    Connection { base_url, key, variables, timeouts, ..Connection::default() }
}

fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}
