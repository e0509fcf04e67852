//! [`profiles`] (`haft profiles`): shows the profiles.
use crate::args::Profiles;
use haft_app::Failure;
use haft_engine::Profile;
use haft_terminal::Exit;
use haft_terminal::table::List;
use std::io::{Write, stdout};

/// `haft profiles …`
pub(crate) fn profiles(command: Profiles) -> Result<Exit, Failure> {
    match command {
        Profiles::List { json } => list(json),
        Profiles::Show { name } => show(&name),
    }
}

fn list(json: bool) -> Result<Exit, Failure> {
    let mut list = List::new(["PROFILE", "DESCRIPTION"], json);
    for Profile { name, title, .. } in Profile::all() {
        list.row([&name, &title], || serde_json::json!({"name": name, "title": title}));
    }
    Ok(list.print("There are no profiles.")?)
}

/// Prints the TOML of a profile, which the user can copy to a file.
fn show(name: &str) -> Result<Exit, Failure> {
    let Some(text) = Profile::source(name) else {
        let known = Profile::all().into_iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
        return Err(
            Failure::usage(format!("there is no profile `{name}`")).hint(format!("there are {known}"))
        );
    };
    write!(stdout(), "{text}")?;
    Ok(Exit::Success)
}
