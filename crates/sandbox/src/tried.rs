//! [`try_confinement`]: finds out whether a confinement works, with a process that ends at once.
use crate::{
    confine::{Plan, exit},
    refused::explained,
};
use haft_core::Confinement;
use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

/// Whether processes can be confined here as `confinement` says; the error says why not. Starts a process that ends at
/// once.
pub fn try_confinement(confinement: &Confinement) -> io::Result<()> {
    let (plan, _) = Plan::new(confinement, &confinement.workspace)?;
    // No program begins: the process ends where it would.
    let mut command = Command::new("true");
    command.current_dir(&confinement.workspace);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    enter_and_end(&mut command, plan);
    let ended = command.spawn().map_err(explained)?.wait()?;
    match ended.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("it ended with {ended}"))),
    }
}

#[expect(unsafe_code, reason = "what runs between fork(2) and execve(2) must do system calls only")]
fn enter_and_end(command: &mut Command, plan: Plan) {
    // SAFETY: entering makes one system call after the other, allocates nothing and takes no lock.
    unsafe { command.pre_exec(move || plan.enter().map(|()| exit(0))) };
}
