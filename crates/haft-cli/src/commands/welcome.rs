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
use haft_terminal::{Exit, document, tui::menu};
use std::io::{Write, stderr};

/// A line of the list.
enum Way {
    /// A model that can be asked immediately.
    Model(String),
    /// A model that can be asked after the user enters a key.
    Key(&'static Vendor, String),
    /// A model that must be downloaded first.
    Download(models::Demo),
}

/// Returns `plan` unchanged if there is a model or the user cannot be asked; otherwise with the model that the user
/// selects. `None` if the user leaves.
pub(super) async fn with_model(
    cli: &CliContext,
    turn: &TurnArgs,
    plan: SessionPlan,
) -> Result<Option<SessionPlan>, Failure> {
    // A script that wants events or an object is not asked, even if it runs in a terminal.
    let can_ask = has_screen(cli, turn) && turn.output == Form::Text && !turn.json;
    if model::is_chosen(cli, &plan.config) || !can_ask {
        return Ok(Some(plan));
    }
    match choose(cli, &plan.config).await? {
        true => cli.plan(&turn.spec()).map(Some),
        false => Ok(None),
    }
}

/// Printed below the list if no server answers.
const NO_SERVER: &str = "A local server such as Ollama (`ollama serve`) is listed while it runs.";

/// Printed if the user leaves.
const LEFT: &str = "No model was chosen. `haft` asks again; `haft --model PROVIDER/MODEL` uses any model, \
                    `haft login PROVIDER` saves a key, and `haft help models` explains both.";

/// Lets the user select a model, and saves the choice; `false` if the user leaves.
async fn choose(cli: &CliContext, config: &Config) -> Result<bool, Failure> {
    let offers = model::offers(cli, config).await;
    let has_server = offers.iter().any(|offer| matches!(offer, Offer::Server { .. }));
    let (lines, ways): (Vec<_>, Vec<_>) = ways(cli, offers).into_iter().unzip();
    let note = (!has_server).then_some(NO_SERVER);
    let model = loop {
        let chosen = menu::choose("Haft needs a model. Which one?", &lines, note, of_questions(cli)).await?;
        match chosen.map(|place| &ways[place]) {
            None => return leave(),
            Some(Way::Model(spec)) => break spec.clone(),
            Some(Way::Key(vendor, spec)) => {
                match login::enter(cli, config, vendor, true, Escape::GoesBack).await {
                    Ok(Entered::Kept) => break spec.clone(),
                    Ok(Entered::Back) => {}
                    Ok(Entered::Left) => return leave(),
                    Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                    // For example, after a mistyped key, the user selects again.
                    Err(failure) => write!(stderr(), "{}", document::item("error: ", &failure.message))?,
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

fn leave() -> Result<bool, Failure> {
    write!(stderr(), "{}", document::item("", LEFT))?;
    Ok(false)
}

/// The lines of the list, each a label and a few words; the demo model comes last.
fn ways(cli: &CliContext, offers: Vec<Offer>) -> Vec<((String, String), Way)> {
    let demo = models::demo(cli);
    let is_demo = |offer: &Offer| matches!(offer, Offer::File(spec) if demo.as_ref().is_some_and(|demo| demo.spec == *spec));
    let offers = offers.into_iter().filter(|offer| !is_demo(offer));
    let mut ways: Vec<_> = offers.flat_map(lines_of).collect();
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

fn lines_of(offer: Offer) -> Vec<((String, String), Way)> {
    match offer {
        Offer::Server { vendor, address, specs } => {
            let label = format!("{} on this machine", vendor.title);
            let line = |spec: String| {
                ((label.clone(), format!("{} at {address}", name_of(&spec))), Way::Model(spec))
            };
            specs.into_iter().map(line).collect()
        }
        Offer::Key { vendor, variable, spec } => {
            let detail = format!("{variable} is set, uses {}", name_of(&spec));
            vec![((vendor.title.to_owned(), detail), Way::Model(spec))]
        }
        Offer::File(spec) => {
            let detail = "on this machine, runs inside Haft".to_owned();
            vec![((name_of(&spec).to_owned(), detail), Way::Model(spec))]
        }
        Offer::Login { vendor, spec } => {
            let detail = format!("enter an API key, uses {}", name_of(&spec));
            vec![((vendor.title.to_owned(), detail), Way::Key(vendor, spec))]
        }
    }
}

/// The name of a model without the vendor.
fn name_of(spec: &str) -> &str {
    spec.split_once('/').map_or(spec, |(_, name)| name)
}
