//! [`verify`] (`haft verify`) and [`bundle`] (`haft bundle`): check that a session is as it was recorded, and write
//! everything that a verification needs to one file.
use super::interruptible::interruptible;
use crate::{
    CliContext,
    args::{BundleArgs, VerifyArgs},
};
use haft_app::{
    Failure,
    proof::{Verification, VerifyOptions},
};
use haft_present::safe;
use haft_serve::export_html;
use haft_terminal::Exit;
use serde_json::json;
use std::io::{Write, stdout};

/// `haft verify`
pub(crate) async fn verify(cli: &CliContext, args: VerifyArgs) -> Result<Exit, Failure> {
    let VerifyArgs { target, chain_only, cwd, signers, permission, json } = args;
    let folder = cwd.as_deref().map(|folder| haft_app::session::workspace(Some(folder))).transpose()?;
    let options = VerifyOptions { chain_only, permission, folder, signers };
    let verification = interruptible(cli.verify(&target, &options)).await??;
    if json {
        let line = serde_json::to_string(&verification).map_err(anyhow::Error::from)?;
        writeln!(stdout(), "{}", safe::json(&line))?;
    } else {
        tell(&target, &verification)?;
    }
    Ok(if verification.verified { Exit::Success } else { Exit::Unproven })
}

/// Prints the result, and below it what was checked.
fn tell(target: &str, verification: &Verification) -> Result<(), Failure> {
    let mut out = stdout().lock();
    for (number, line) in verification.lines(target).into_iter().enumerate() {
        writeln!(out, "{}{line}", if number == 0 { "" } else { "  " })?;
    }
    Ok(())
}

/// `haft bundle`
pub(crate) fn bundle(cli: &CliContext, args: &BundleArgs) -> Result<Exit, Failure> {
    let bundle = cli.bundle(&args.id, &export_html(cli, &args.id)?, args.sign.as_deref())?;
    let mut out = stdout().lock();
    if let Some(file) = &args.out {
        bundle.write(file)?;
        let shown = file.display().to_string();
        match args.json {
            true => {
                let line = json!({"file": shown, "sha256": bundle.sha256}).to_string();
                writeln!(out, "{}", safe::json(&line))?;
            }
            false => writeln!(out, "{}  {}", bundle.sha256, safe::name(&shown))?,
        }
    }
    if args.trailer {
        writeln!(out, "{}", bundle.trailer)?;
    }
    Ok(Exit::Success)
}
