//! [`doctor`] (`haft doctor`): shows what this machine supports, and what is missing.
use crate::{CliContext, args::DoctorArgs};
use haft_app::{
    Failure,
    diagnosis::{Finding, State},
    session,
};
use haft_terminal::Exit;
use std::io::{Write, stdout};

/// `haft doctor`
pub(crate) async fn doctor(cli: &CliContext, args: &DoctorArgs) -> Result<Exit, Failure> {
    let mut is_broken = false;
    let mut print = |Finding { state, what, finding }| {
        is_broken |= state == State::Missing;
        let state = match state {
            State::Ok => "ok",
            State::Optional => "-",
            State::Missing => "missing",
        };
        writeln!(stdout(), "{state:<8} {what}: {finding}").ok();
    };
    cli.diagnose(&session::workspace(args.cwd.as_deref())?, &mut print).await?;
    Ok(if is_broken { Exit::Failed } else { Exit::Success })
}
