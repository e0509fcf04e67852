//! [`worker`] (`haft worker`): works on the jobs of a fleet.
use super::{address, fleet_key};
use crate::{CliContext, args::WorkerArgs};
use haft_app::{App, Failure};
use haft_core::Mode;
use haft_fleet::{self, AppWork, Database};
use haft_terminal::{Exit, signals::Interrupts};
use std::{path::Path, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Works until a signal interrupts, or until the worker is drained.
pub(crate) async fn worker(cli: &CliContext, args: &WorkerArgs) -> Result<Exit, Failure> {
    let (spec, address) = (args.work.spec(), address(cli, &args.fleet)?);
    args.queues.iter().try_for_each(|queue| haft_fleet::check_queue(queue))?;
    args.name.as_deref().map_or(Ok(()), haft_fleet::check_worker)?;
    // Reports errors in the model, the configuration or the options before a job is taken.
    cli.silent().plan(&spec)?.engine().await?;
    let database = Database::open(&address).await?.with_objects(&cli.environment.variables);
    let note = cli.warnings();
    let folder = args.folder.clone().unwrap_or_else(|| cli.places.home.join("fleet"));
    let name = args.name.clone().unwrap_or_else(own_name);
    note(format!("`{name}` runs jobs of {}", database.place()));
    if is_out_of_sight(&folder) && spec.settings.permission != Some(Mode::Full) {
        note(format!(
            "commands of agents do not see `{}`, which is below a folder for temporary files, so `git` does not work for \
             them: choose another one with `--folder`",
            folder.display()
        ));
    }
    let settings = haft_fleet::Settings {
        name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queues: args.queues.clone(),
        jobs: args.workers.get(),
        lease: Duration::from_secs(args.lease),
        folder,
        key: fleet_key(cli)?,
        note,
    };
    let work = Arc::new(AppWork { app: App::clone(&cli.silent()), spec });
    let (mut interrupts, stop) = (Interrupts::listen()?, CancellationToken::new());
    let working = haft_fleet::work(database, settings, work, stop.clone());
    tokio::pin!(working);
    tokio::select! {
        worked = &mut working => worked?,
        () = interrupts.next() => {
            stop.cancel();
            working.await?;
        }
    }
    Ok(Exit::Success)
}

/// Whether the folder is hidden from confined commands, which have temporary folders of their own.
fn is_out_of_sight(folder: &Path) -> bool {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    ["/tmp", "/var/tmp"].iter().any(|place| whole.starts_with(place))
}

fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
