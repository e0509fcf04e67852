//! [`try_confinement`]: finds out whether a confinement works, with a process that ends at once.
use crate::{
    begin::{Beginning, Begun},
    confine::Plan,
    launch::Launch,
    refused::explained,
    told::Told,
};
use haft_core::Confinement;
use rustix::{
    io::retry_on_intr,
    process::{WaitOptions, waitpid},
};
use std::{fs::File, io, os::fd::OwnedFd};

/// Whether processes can be confined here as `confinement` says; the error says why not. Starts a process that ends at
/// once.
pub fn try_confinement(confinement: &Confinement) -> io::Result<()> {
    let (plan, _) = Plan::new(confinement, &confinement.workspace)?;
    let nothing = || File::open("/dev/null").map(OwnedFd::from);
    let launch = Launch::nothing(&confinement.workspace)?;
    let streams = [nothing()?, nothing()?, nothing()?];
    let beginning = Beginning { launch, plan: Some(plan), streams, number: None, ends_with: None };
    let Begun { pid, told } = beginning.begin().map_err(explained)?;
    retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))?;
    match told.and_then(Told::status) {
        Some(ended) if ended.success() => Ok(()),
        ended => Err(io::Error::other(format!("it ended with {}", ended.unwrap_or_default()))),
    }
}
