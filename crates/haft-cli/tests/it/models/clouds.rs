//! Clouds: each is asked in its own form, and signed in to as its own tools do it. The real binary; servers on loopback.
mod azure;
mod bedrock;
mod vertex;

use crate::kit::{
    Place, Ran, Reply,
    cloud::{Cloud, Said},
};
use std::{fs, os::unix::fs::PermissionsExt};

/// Secrets of these tests. None of them may be seen anywhere.
const SECRET: &str = "s3cret-of-the-application";
const TOKENS: [&str; 2] = ["first-token-0123456789", "second-token-0123456789"];

impl From<Reply> for Said {
    fn from(Reply(status, media, body): Reply) -> Self {
        Self(status, vec![("content-type", media.into())], body.into_bytes())
    }
}

/// One prompt with `model` and these variables; all that it prints and keeps is without a secret. Faults of the model are
/// events: `err` has them, too.
fn run(place: &Place, model: &str, variables: &[(&str, &str)]) -> Ran {
    let arguments = ["run", "--permission", "full", "--model", model, "--json", "go"];
    let ran = Ran::from(place.haft(&arguments).envs(variables.iter().copied()).output().unwrap());
    let kept = fs::read_dir(place.path().join("home/sessions"))
        .into_iter()
        .flatten()
        .map(|session| fs::read_to_string(session.unwrap().path().join("journal.jsonl")).unwrap_or_default());
    let seen = format!("{ran:?}{}", kept.collect::<String>());
    for secret in TOKENS.iter().chain(&[SECRET]) {
        assert!(!seen.contains(secret), "{secret} is seen: {seen}");
    }
    Ran { err: format!("{}{}", ran.err, ran.out), ..ran }
}

/// What the model said at last.
fn said(ran: &Ran) -> String {
    let replied = ran.events().into_iter().rfind(|event| event["type"] == "replied");
    replied.unwrap_or_else(|| panic!("{ran:?}"))["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A folder for the `PATH` with this program in it, which is a shell script; returns the `PATH`.
fn program(place: &Place, name: &str, script: &str) -> String {
    let folder = place.path().join("programs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// The values of the header that carries the token, in the order in which the model was asked.
fn bearers(cloud: &Cloud, path: &str) -> Vec<String> {
    let bearer = |header: &str| header.strip_prefix("Bearer ").unwrap_or_default().to_owned();
    cloud.heard_at(path).iter().map(|heard| bearer(heard.header("authorization"))).collect()
}
