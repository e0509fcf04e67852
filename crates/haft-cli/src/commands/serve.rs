//! [`serve`] (`haft serve`): sessions and jobs over HTTP.
mod users;

pub(crate) use users::print as print_audit;

use crate::{CliContext, args::ServeArgs};
use haft_app::{
    App, AppHost, Failure, SessionSpec,
    config::serve::{OidcFile, PushFile, ServeFile},
    session,
    token::{self, Kept},
};
use haft_engine::Engine;
use haft_serve::{self, Listening, LoginSettings};
use haft_terminal::{Exit, signals::Interrupts};
use std::{path::PathBuf, time::Duration};
use tokio::runtime::{Builder, Runtime};
use url::Url;

/// Serves until a signal interrupts.
pub(crate) async fn serve(cli: &CliContext, args: &ServeArgs) -> Result<Exit, Failure> {
    if let Some(command) = &args.command {
        return users::carry_out(cli, command);
    }
    let spec = SessionSpec { workspace: args.cwd.clone(), ..args.work.spec() };
    // Errors in the model, the configuration or the options appear before a client connects.
    let mut host = AppHost::new(cli, spec.clone(), args.up_to.into());
    let folders = folders(&host.first_engine().await?, &args.folder)?;
    let config = cli.config(&folders[0], &spec.settings)?;
    let roles = haft_app::users::roles(&config.user.serve);
    // Written first: if this fails, no token is made that is never shown.
    let listening = haft_serve::listen(args.listen).await.map_err(|error| cannot_listen(args, &error))?;
    let Kept { token, is_new } = token::of(&cli.places.home, token::SERVE)?;
    greet(cli, &listening, args, &token, is_new)?;
    let settings = haft_serve::Settings {
        app: App::clone(cli),
        spec,
        host,
        folders,
        workers: args.workers.get(),
        token,
        roles,
        login: login(cli, &config.user.serve)?,
        push: push(&config.user.serve)?,
        hosts: args.host.clone(),
        access_log: args.access_log,
        idle: Duration::from_secs(args.idle),
    };
    let mut interrupts = Interrupts::listen()?;
    let served = interrupts.until(|interrupted| haft_serve::serve(listening, settings, interrupted)).await;
    served.unwrap_or(Ok(()))?;
    Ok(Exit::Success)
}

/// The login provider that the configuration names, with the client secret.
pub(crate) fn login(cli: &CliContext, file: &ServeFile) -> Result<Option<LoginSettings>, Failure> {
    let Some(provider) = file.oidc.clone() else { return Ok(None) };
    let roles = haft_app::users::roles(file);
    if let Some(role) = provider.groups.values().chain(&provider.role).find(|role| !roles.contains_key(*role))
    {
        return Err(Failure::usage(format!("`[serve.oidc]` names the role `{role}`, which does not exist"))
            .hint("name one of `haft help users`, or add it as `[serve.roles.NAME]`"));
    }
    check_provider(&provider)?;
    let secret = provider.client_secret_env.as_deref().map(|variable| {
        let value = cli.environment.get(variable).map(str::to_owned);
        value.ok_or_else(|| {
            Failure::usage(format!("there is no secret for the OpenID provider: {variable} is not set"))
                .hint("set the variable to the secret of the client, or remove `client_secret_env`")
        })
    });
    Ok(Some(LoginSettings { secret: secret.transpose()?, provider }))
}

/// Fails if the settings contradict each other, or if the provider could not redirect a browser back.
fn check_provider(provider: &OidcFile) -> Result<(), Failure> {
    let invalid = |what: String, hint: &str| Err(Failure::usage(format!("`[serve.oidc]` {what}")).hint(hint));
    let is_web = |address: &Url| matches!(address.scheme(), "http" | "https") && address.has_host();
    if !Url::parse(&provider.issuer).is_ok_and(|issuer| is_web(&issuer)) {
        let hint = "write the address of the provider, as in `https://login.example.com`";
        return invalid(format!("has an invalid `issuer`: `{}`", provider.issuer), hint);
    }
    let is_own = |url: &Url| is_web(url) && url.path() == "/" && url.query().is_none();
    if let Some(url) = provider.url.as_ref().filter(|url| !Url::parse(url).is_ok_and(|url| is_own(&url))) {
        let hint = "write where browsers reach this server, without a path, as in `https://haft.example.com`";
        return invalid(format!("has an invalid `url`: `{url}`"), hint);
    }
    if !provider.groups.is_empty() && provider.group_claim.is_none() {
        let hint = "set `group_claim` to the claim of the ID token that holds groups, often `groups`";
        return invalid("gives roles to groups, but has no `group_claim`".to_owned(), hint);
    }
    Ok(())
}

/// The settings for notifying devices.
pub(crate) fn push(file: &ServeFile) -> Result<PushFile, Failure> {
    let is_contact = |contact: &&String| contact.starts_with("mailto:") || contact.starts_with("https://");
    match file.push.contact.as_ref().filter(|contact| !is_contact(contact)) {
        None => Ok(file.push.clone()),
        Some(contact) => {
            Err(Failure::usage(format!("the contact in `[serve.push]` is invalid: `{contact}`"))
                .hint("write `contact = \"mailto:NAME@HOST\"`, or an HTTPS address"))
        }
    }
}

/// A runtime for many sessions, with several threads: a journal that waits for the disk blocks only one of them.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get() * 2).max(MAX_WAITING);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(MAX_BLOCKING).enable_all().build()
}

/// Maximum number of journals that wait for the disk at the same time.
const MAX_WAITING: usize = 4;
/// Maximum number of threads for other blocking file operations. Each thread takes memory, and a thousand sessions may
/// need one at the same time.
const MAX_BLOCKING: usize = 64;

/// The folder to work in, and the folders that were named.
fn folders(engine: &Engine, more: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let first = engine.setup().workspace.clone();
    let more = more.iter().map(|folder| session::workspace(Some(folder)));
    std::iter::once(Ok(first)).chain(more).collect()
}

pub(super) fn cannot_listen(args: &ServeArgs, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot listen on {}: {error}", args.listen))
        .hint("another `haft serve` may be using it; `--listen 127.0.0.1:0` selects a free port")
}

pub(super) fn greet(
    cli: &CliContext,
    listening: &Listening,
    args: &ServeArgs,
    token: &str,
    is_new: bool,
) -> Result<(), Failure> {
    let address = listening.address()?;
    let mut lines = vec![format!("listening on http://{address}")];
    if is_new || args.show_token {
        // Browsers do not send the part after `#` to the server.
        lines.push(format!("open http://{address}/#token={token}"));
        lines.push(format!("programs send `Authorization: Bearer {token}`"));
    } else {
        lines.push("`--show-token` prints the address with the token again".to_owned());
    }
    if !address.ip().is_loopback() {
        lines.push(
            "this address is reachable from the network, without TLS: put a proxy with TLS in front of it"
                .to_owned(),
        );
    }
    lines.into_iter().for_each(|line| cli.warn(line));
    Ok(())
}
