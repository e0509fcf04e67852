//! [`serve`] (`haft serve --fleet`): serves the jobs of a fleet over HTTP.
use super::{address, fleet_key};
use crate::{
    CliContext,
    args::{FleetUrl, ServeArgs},
    commands::serve::{cannot_listen, greet, login, push},
};
use haft_app::{
    App, Failure,
    config::Settings,
    session,
    token::{self, Kept},
};
use haft_fleet::{self, ADMIN, Database, Owner};
use haft_serve::{self, Fleet, FleetSettings};
use haft_terminal::{Exit, signals::Interrupts};

/// Serves until a signal interrupts. Needs no model: workers have their own.
pub(crate) async fn serve(cli: &CliContext, args: &ServeArgs) -> Result<Exit, Failure> {
    let url = address(cli, &FleetUrl { fleet: args.fleet.clone().flatten() })?;
    let database = Database::open(&url).await?.with_objects(&cli.environment.variables);
    let admin = Owner(ADMIN.to_owned());
    haft_fleet::add_owner(&database, &admin, None).await?;
    let config = cli.config(&session::workspace(None)?, &Settings::default())?;
    let login = login(cli, &config.user.serve)?;
    // Written first: if this fails, no token is made that is never shown.
    let listening = haft_serve::listen(args.listen).await.map_err(|error| cannot_listen(args, &error))?;
    let Kept { token, is_new } = token::of(&cli.places.home, token::SERVE)?;
    greet(cli, &listening, args, &token, is_new)?;
    let settings = FleetSettings {
        fleet: Fleet { database, app: App::clone(cli), admin },
        token,
        login,
        roles: haft_app::users::roles(&config.user.serve),
        hosts: args.host.clone(),
        access_log: args.access_log,
        push: push(&config.user.serve)?,
        key: fleet_key(cli)?,
    };
    let mut interrupts = Interrupts::listen()?;
    let served =
        interrupts.until(|interrupted| haft_serve::serve_fleet(listening, settings, interrupted)).await;
    served.unwrap_or(Ok(()))?;
    Ok(Exit::Success)
}
