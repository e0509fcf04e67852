//! [`verify`] (`haft verify`) and [`bundle`] (`haft bundle`): shows that a session is what was recorded, and puts what
//! that needs into one file.
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

fn tell(target: &str, verification: &Verification) -> Result<(), Failure> {
    let Verification { entries, difference, head, unchained, cut, calls, tests, commits, signed_by, .. } =
        verification;
    let mut out = stdout().lock();
    if let Some(difference) = difference {
        writeln!(out, "not verified: {}", safe::text(difference))?;
        return Ok(());
    }
    writeln!(out, "verified: `{}`", safe::name(target))?;
    if let Some(signed_by) = signed_by {
        writeln!(out, "  signed by {}", safe::name(signed_by))?;
    }
    if *commits > 0 {
        let commits = counted(*commits, "commit holds", "commits hold");
        writeln!(out, "  {commits} what the sessions left that they name")?;
    }
    let entries = counted(*entries, "entry", "entries");
    match head {
        Some(head) if *commits == 0 => writeln!(out, "  {entries} in a chain that ends with {head}")?,
        _ => writeln!(out, "  {entries} in the chains of their journals")?,
    }
    if *unchained > 0 {
        let older = counted(*unchained, "entry is", "entries are");
        writeln!(
            out,
            "  {older} older than the chain: it shows only that they were not changed since it began"
        )?;
    }
    if *cut > 0 {
        writeln!(out, "  secrets were cut out of {}", counted(*cut, "entry", "entries"))?;
    }
    match (calls, tests) {
        (0, _) => writeln!(out, "  no call was made again")?,
        (_, 0) => writeln!(out, "  {} made again, with the same results", counted(*calls, "call", "calls"))?,
        _ => {
            let tests = counted(*tests, "run of tests", "runs of tests");
            let calls = counted(*calls, "call", "calls");
            writeln!(out, "  {calls} made again, with the same results, {tests} among them")?;
        }
    }
    Ok(())
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
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
