//! [`Step`]: one step in building the file system of a confined process: one or two system calls without memory
//! allocation.
use rustix::{
    fs::{CWD, Mode, OFlags, chmod, mkdir, open, symlink},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
        UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
        move_mount, open_tree, unmount,
    },
    process::{chdir, pivot_root},
};
use std::{
    ffi::{CStr, CString},
    io,
    os::fd::OwnedFd,
};

/// Mounts that are not attached yet, by their number.
pub(super) type Slots = [Option<OwnedFd>; MAX_SLOTS];

/// Maximum unattached mounts at a time.
pub(super) const MAX_SLOTS: usize = 64;

/// A change to the mounts of the new process.
#[derive(Debug)]
pub(super) enum Step {
    /// Hides all later mounts from other processes.
    Private,
    /// Clones the mount at `path`, including those below it.
    Clone { path: CString, slot: usize },
    /// Creates a mount of a file system.
    New { kind: CString, options: Vec<(CString, CString)>, attributes: MountAttrFlags, slot: usize },
    /// Attaches the mount in `slot` at `place`.
    Attach { slot: usize, place: CString },
    /// Sets and clears attributes of the mount at `place`, and with `all` of those below it.
    Attributes { place: CString, set: MountAttrFlags, clear: MountAttrFlags, all: bool },
    /// Makes the mount at `place` the root, and unmounts the old one.
    Root { place: CString },
    /// Makes a folder.
    Folder { path: CString, mode: libc::mode_t },
    /// Makes an empty file.
    File { path: CString },
    /// Writes to an existing file.
    Write { path: CString, text: CString },
    /// Makes a link.
    Link { path: CString, target: CString },
    /// These steps, up to the first one that finds something removed in the meantime.
    IfPresent(Vec<Step>),
}

pub(super) const NOTHING: MountAttrFlags = MountAttrFlags::empty();
pub(super) const READ_ONLY: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_RDONLY;
pub(super) const NO_SETUID: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID;
pub(super) const NO_DEVICES: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NODEV;
pub(super) const NO_PROGRAMS: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOEXEC;

impl Step {
    pub(super) fn run(&self, slots: &mut Slots) -> io::Result<()> {
        match self {
            Self::Private => mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?,
            Self::Clone { path, slot } => {
                let flags = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                slots[*slot] = Some(open_tree(CWD, path, flags)?);
            }
            Self::New { kind, options, attributes, slot } => {
                slots[*slot] = Some(made(kind, options, *attributes)?);
            }
            Self::Attach { slot, place } => attach(slots[*slot].take(), place)?,
            Self::Attributes { place, set, clear, all } => set_attributes(place, *set, *clear, *all)?,
            Self::Root { place } => {
                chdir(place)?;
                // The old root is stacked on the new one for a moment, as pivot_root(2) describes.
                pivot_root(".", ".")?;
                unmount(".", UnmountFlags::DETACH)?;
                chdir("/")?;
            }
            Self::Folder { path, mode } => {
                let mode = Mode::from_raw_mode(*mode);
                mkdir(path, mode)?;
                // The umask may have cleared some bits.
                chmod(path, mode)?;
            }
            Self::File { path } => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                drop(open(path, flags, Mode::from_raw_mode(0o666))?);
            }
            Self::Write { path, text } => write(path, text)?,
            Self::Link { path, target } => symlink(target, path)?,
            Self::IfPresent(steps) => match steps.iter().try_for_each(|step| step.run(slots)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                run => run?,
            },
        }
        Ok(())
    }
}

/// Returns the error of a system call that returned -1.
pub(super) fn done(result: libc::c_long) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn made(
    kind: &CStr,
    options: &[(CString, CString)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let system = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        match value.is_empty() {
            true => fsconfig_set_flag(&system, key)?,
            false => fsconfig_set_string(&system, key, value)?,
        }
    }
    fsconfig_create(&system)?;
    fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn attach(mount: Option<OwnedFd>, place: &CStr) -> rustix::io::Result<()> {
    let mount = mount.ok_or(Errno::BADF)?;
    move_mount(&mount, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// `struct mount_attr` in `linux/mount.h`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

#[expect(unsafe_code, reason = "mount_setattr(2) has no safe form")]
fn set_attributes(place: &CStr, set: MountAttrFlags, clear: MountAttrFlags, all: bool) -> io::Result<()> {
    let (set, clear) = (set.bits().into(), clear.bits().into());
    let wanted = MountAttributes { set, clear, propagation: 0, user_namespace: 0 };
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<MountAttributes>();
    let (call, at) = (libc::SYS_mount_setattr, libc::AT_FDCWD);
    // SAFETY: the structure is as the kernel knows it, and outlives the call, as the name does.
    done(unsafe { libc::syscall(call, at, place.as_ptr(), flags, &raw const wanted, size) })
}

pub(super) fn write(path: &CStr, text: &CStr) -> rustix::io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes()).map(drop)
}
