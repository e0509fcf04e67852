//! [`with_model`]: at the first start, lets a user at a terminal without a model choose one, and saves the choice.
use super::{
    interruptible::interruptible,
    login::{self, Entered, Escape},
    look::of_questions,
    models,
};
use crate::{
    CliContext,
    args::{Form, TurnArgs},
    has_screen,
};
use haft_app::{
    Failure, SessionPlan,
    config::{Config, edit},
    model::{self, Offer},
};
use haft_providers::Vendor;
use haft_terminal::tui::menu;
use std::io::{Write, stderr};

/// A way to a model.
enum Way {
    /// It can be asked at once.
    Model(String),
    /// A key is needed first.
    Key(&'static Vendor),
    /// It is downloaded first.
    Download(models::Demo),
}

/// `plan` as it is if there is a model or no person can be asked; otherwise with the model that the person chooses. Nothing
/// where the person leaves.
pub(super) async fn with_model(
    cli: &CliContext,
    turn: &TurnArgs,
    plan: SessionPlan,
) -> Result<Option<SessionPlan>, Failure> {
    // A script that wants events or one object is not asked, even if it was started on a terminal.
    let can_ask = has_screen(cli, turn) && turn.output == Form::Text && !turn.json;
    if model::is_chosen(cli, &plan.config) || !can_ask {
        return Ok(Some(plan));
    }
    match choose(cli, &plan.config).await? {
        true => cli.plan(&turn.spec()).map(Some),
        false => Ok(None),
    }
}

/// Where none answers.
const NO_SERVER: &str = "A local server such as Ollama (`ollama serve`) is listed while it runs.";

/// Lets the person choose, and keeps the choice. `false` where they leave.
async fn choose(cli: &CliContext, config: &Config) -> Result<bool, Failure> {
    let (lines, ways): (Vec<_>, Vec<_>) = ways(cli, config).await.into_iter().unzip();
    let title = "Haft needs a model. Which one?";
    let has_server = ways.iter().any(|way| matches!(way, Way::Model(spec) if !spec.starts_with("local/")));
    let note = (!has_server).then_some(NO_SERVER);
    let model = loop {
        let chosen = menu::choose(title, &lines, note, of_questions(cli)).await?;
        match chosen.map(|place| &ways[place]) {
            None => return Ok(false),
            Some(Way::Model(spec)) => break spec.clone(),
            Some(Way::Key(vendor)) => {
                match login::enter(cli, config, vendor, true, Escape::GoesBack).await? {
                    Entered::Kept => {
                        break format!(
                            "{}/{}",
                            vendor.name,
                            vendor.default_model.as_deref().unwrap_or_default()
                        );
                    }
                    Entered::Back => {}
                    Entered::Left => return Ok(false),
                }
            }
            Some(Way::Download(demo)) => {
                let (cli, demo) = (cli.clone(), demo.clone());
                let fetched = tokio::task::spawn_blocking(move || models::fetch_demo(&cli, demo));
                break interruptible(fetched).await?.map_err(anyhow::Error::from)??;
            }
        }
    };
    edit::set(&cli.places.user_file, "model", &model)?;
    let change = "`haft config set model PROVIDER/MODEL` changes it";
    writeln!(stderr(), "Using `{model}`, saved in your configuration; {change}.")?;
    Ok(true)
}

/// What can be chosen, with a label and a few words: servers here, files here, vendors, the demo model.
async fn ways(cli: &CliContext, config: &Config) -> Vec<((String, String), Way)> {
    let server = |Offer { vendor, address, spec }| {
        let label = format!("{} on this machine", vendor.title);
        ((label, format!("{} at {address}", name_of(&spec))), Way::Model(spec))
    };
    let mut ways: Vec<_> = model::servers(cli, config).await.into_iter().map(server).collect();
    let demo = models::demo(cli);
    let files = model::files(cli).into_iter();
    let files = files.filter(|spec| demo.as_ref().is_none_or(|demo| *spec != demo.spec));
    ways.extend(files.map(|spec| {
        ((name_of(&spec).to_owned(), "on this machine, runs inside Haft".to_owned()), Way::Model(spec))
    }));
    let vendors = login::with_keys().filter(|vendor| vendor.default_model.is_some());
    ways.extend(vendors.map(|vendor| {
        let model = vendor.default_model.as_deref().unwrap_or_default();
        ((vendor.title.clone(), format!("enter an API key, uses {model}")), Way::Key(vendor))
    }));
    ways.extend(demo.map(|demo| {
        let from = match demo.megabytes {
            Some(megabytes) => format!("download {megabytes} MB"),
            None => "on this machine".to_owned(),
        };
        let detail = format!("{from}, runs inside Haft; for trying it out, not for real work");
        (("Demo model".to_owned(), detail), Way::Download(demo))
    }));
    ways
}

/// Without the vendor.
fn name_of(spec: &str) -> &str {
    spec.split_once('/').map_or(spec, |(_, name)| name)
}
