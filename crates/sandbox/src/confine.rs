//! [`Plan`]: confines a process to what a [`Confinement`] allows.
//!
//! Everything that allocates memory, such as file names and the filter of system calls, is prepared before the process
//! starts, as a [`Plan`]. The new process then only makes system calls, so that a program with threads can start
//! confined processes without a helper program.
mod calls;
mod filter;
mod hidden;
mod init;
mod listener;
mod mounts;
mod outside;
mod rights;
mod scope;
mod step;
mod table;

use haft_core::{Confinement, ProcessLimits, Reach};
pub use hidden::hidden_places;
pub(crate) use init::exit;
pub(crate) use listener::ADDRESS;
pub use listener::Receiver;
pub use mounts::limits_processes;
use mounts::steps;
use rights::Identity;
pub use rights::is_root_of_machine;
use rustix::thread::UnshareFlags;
pub use scope::scopes_sockets;
use std::{ffi::CString, io, os::unix::ffi::OsStrExt, path::Path};
use step::{MAX_SLOTS, Slots, Step};
pub use table::has_mounts_below;

/// The steps by which a new process confines itself.
pub struct Plan {
    namespaces: UnshareFlags,
    /// The user of the process in its own user namespace; `None` for root.
    identity: Option<Identity>,
    steps: Vec<Step>,
    /// Creates the socket on which the proxy listens, if the process may reach hosts through it.
    listening: Option<listener::Sender>,
    limits: ProcessLimits,
    filter: &'static filter::Filter,
    /// The folder in which the process starts, which must be entered again after the file system was replaced.
    folder: CString,
}

impl Plan {
    /// Also returns the end that receives the proxy's listening socket, if the process may reach hosts.
    pub fn new(confinement: &Confinement, folder: &Path) -> io::Result<(Self, Option<Receiver>)> {
        let is_root = is_root_of_machine();
        let mut namespaces = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
        namespaces.set(UnshareFlags::NEWNET, confinement.reach != Reach::Everything);
        namespaces.set(UnshareFlags::NEWUSER, !is_root);
        let pair = matches!(confinement.reach, Reach::Hosts(_)).then(listener::pair).transpose()?;
        let (listening, receiver) = pair.unzip();
        let plan = Self {
            namespaces,
            identity: (!is_root).then(Identity::own),
            steps: steps(confinement, is_root)?,
            listening,
            limits: confinement.limits,
            filter: filter::filter(confinement.outside)?,
            folder: CString::new(folder.as_os_str().as_bytes())?,
        };
        Ok((plan, receiver))
    }

    /// Confines the process that was just forked from this one, before its program begins: returns in a descendant
    /// process, which becomes the command. Allocates nothing.
    pub fn enter(&self) -> io::Result<()> {
        rights::unshare(self.namespaces)?;
        if let Some(identity) = &self.identity {
            identity.take()?;
        }
        if self.namespaces.contains(UnshareFlags::NEWNET) {
            rights::begin_loopback()?;
        }
        if let Some(listening) = &self.listening {
            listening.send_listener()?;
        }
        init::fork_command()?;
        self.confine()?;
        init::unblock_signals();
        Ok(())
    }

    /// Confines this process, which is already in new namespaces.
    fn confine(&self) -> io::Result<()> {
        let mut slots: Slots = [const { None }; MAX_SLOTS];
        self.steps.iter().try_for_each(|step| step.run(&mut slots))?;
        rustix::process::chdir(&self.folder)?;
        rights::give_up(&self.limits)?;
        scope::apply()?;
        filter::apply(self.filter)
    }
}
