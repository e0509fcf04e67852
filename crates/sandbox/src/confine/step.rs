//! [`Step`]: one step toward another view of the file system: a system call or two, which allocate nothing.
use std::{ffi::CString, io, ptr};

/// Mounts that have no place yet, by their number.
pub(super) type Slots = [libc::c_int; MAX_SLOTS];

/// Maximum mounts without a place at a time.
pub(super) const MAX_SLOTS: usize = 64;

/// A change to the mounts of the new process.
#[derive(Debug)]
pub(super) enum Step {
    /// Hides all later mounts from other processes.
    Private,
    /// Takes a copy of the mount at `path`, with those below it.
    Clone { path: CString, slot: usize },
    /// Makes a file system.
    New { kind: CString, options: Vec<(CString, CString)>, attributes: libc::c_uint, slot: usize },
    /// Mounts it in its place.
    Attach { slot: usize, place: CString },
    /// The same, if there still is something to hide.
    Hide { slot: usize, place: CString },
    /// Sets and clears attributes of the mount at `place`, and with `all` of those below it.
    Attributes { place: CString, set: u64, clear: u64, all: bool },
    /// Makes what is mounted at `place` the root, and takes the old one away.
    Root { place: CString },
    /// Makes a folder.
    Folder { path: CString, mode: libc::mode_t },
    /// Makes an empty file.
    File { path: CString },
    /// Writes to an existing file.
    Write { path: CString, text: CString },
    /// Makes a link.
    Link { path: CString, target: CString },
}

/// `MOUNT_ATTR_RDONLY` and its likes in `linux/mount.h`.
pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SETUID: u64 = 2;
pub(super) const NO_DEVICES: u64 = 4;
pub(super) const NO_PROGRAMS: u64 = 8;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const SET_FLAG: libc::c_uint = 0;
const SET_STRING: libc::c_uint = 1;
const CREATE: libc::c_uint = 6;

impl Step {
    pub(super) fn run(&self, slots: &mut Slots) -> io::Result<()> {
        match self {
            Self::Private => private(),
            Self::Clone { path, slot } => {
                slots[*slot] = opened(clone(path))?;
                Ok(())
            }
            Self::New { kind, options, attributes, slot } => {
                slots[*slot] = new(kind, options, *attributes)?;
                Ok(())
            }
            Self::Attach { slot, place } => attach(slots[*slot], place),
            Self::Hide { slot, place } => match attach(slots[*slot], place) {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                hidden => hidden,
            },
            Self::Attributes { place, set, clear, all } => attributes(place, *set, *clear, *all),
            Self::Root { place } => root(place),
            Self::Folder { path, mode } => folder(path, *mode),
            Self::File { path } => file(path),
            Self::Write { path, text } => write(path, text),
            Self::Link { path, target } => link(path, target),
        }
    }
}

/// The error of a system call that gives -1.
pub(super) fn done(result: libc::c_long) -> io::Result<()> {
    opened(result).map(drop)
}

fn opened(result: libc::c_long) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value as libc::c_int),
    }
}

#[expect(unsafe_code, reason = "mount(2) with a name that ends in NUL, and nothing else")]
fn private() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the names outlive the call; null is allowed for what a change of propagation does not need.
    done(unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), flags, ptr::null()) }.into())
}

#[expect(unsafe_code, reason = "open_tree(2) has no safe form that takes a name as it is")]
fn clone(path: &CString) -> libc::c_long {
    const CLONE: libc::c_uint = 1;
    let flags = CLONE | libc::AT_RECURSIVE as libc::c_uint | libc::O_CLOEXEC as libc::c_uint;
    // SAFETY: the name outlives the call.
    unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) }
}

#[expect(
    unsafe_code,
    reason = "fsopen(2), fsconfig(2) and fsmount(2) have no safe form without memory of their own"
)]
fn new(kind: &CString, options: &[(CString, CString)], attributes: libc::c_uint) -> io::Result<libc::c_int> {
    // SAFETY: all names outlive the calls, and the descriptor is our own.
    let system = opened(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), 1) })?;
    for (key, value) in options {
        let (way, value) = match value.is_empty() {
            true => (SET_FLAG, ptr::null()),
            false => (SET_STRING, value.as_ptr()),
        };
        // SAFETY: as above; a flag has no value.
        done(unsafe { libc::syscall(libc::SYS_fsconfig, system, way, key.as_ptr(), value, 0) })?;
    }
    let null = ptr::null::<libc::c_char>();
    // SAFETY: as above; to create it takes neither key nor value.
    done(unsafe { libc::syscall(libc::SYS_fsconfig, system, CREATE, null, null, 0) })?;
    // SAFETY: as above.
    let mount = opened(unsafe { libc::syscall(libc::SYS_fsmount, system, 1, attributes) })?;
    // SAFETY: the descriptor is our own, and not used again.
    unsafe { libc::close(system) };
    Ok(mount)
}

#[expect(unsafe_code, reason = "move_mount(2) has no safe form that takes a name as it is")]
fn attach(mount: libc::c_int, place: &CString) -> io::Result<()> {
    const FROM_DESCRIPTOR: libc::c_uint = 4;
    let (from, at) = (c"".as_ptr(), libc::AT_FDCWD);
    // SAFETY: the names outlive the call, and the descriptor is our own.
    let moved =
        unsafe { libc::syscall(libc::SYS_move_mount, mount, from, at, place.as_ptr(), FROM_DESCRIPTOR) };
    // SAFETY: it is not used again.
    unsafe { libc::close(mount) };
    done(moved)
}

#[expect(unsafe_code, reason = "mount_setattr(2) has no safe form")]
fn attributes(place: &CString, set: u64, clear: u64, all: bool) -> io::Result<()> {
    let wanted = MountAttributes { set, clear, propagation: 0, user_namespace: 0 };
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<MountAttributes>();
    let (call, at) = (libc::SYS_mount_setattr, libc::AT_FDCWD);
    // SAFETY: the structure is as the kernel knows it (`struct mount_attr`), and outlives the call, as the name does.
    done(unsafe { libc::syscall(call, at, place.as_ptr(), flags, &raw const wanted, size) })
}

/// The old root lies on the new one for a moment, as pivot_root(2) says.
#[expect(unsafe_code, reason = "pivot_root(2) has no safe form, and the others shall allocate nothing")]
fn root(place: &CString) -> io::Result<()> {
    let here = c".".as_ptr();
    // SAFETY: the names outlive the calls.
    unsafe {
        done(libc::chdir(place.as_ptr()).into())?;
        done(libc::syscall(libc::SYS_pivot_root, here, here))?;
        done(libc::umount2(here, libc::MNT_DETACH).into())?;
        done(libc::chdir(c"/".as_ptr()).into())
    }
}

#[expect(unsafe_code, reason = "mkdir(2) without memory of its own")]
fn folder(path: &CString, mode: libc::mode_t) -> io::Result<()> {
    // SAFETY: the name outlives the calls. The mode is set once more, since some bits are taken away at first.
    unsafe {
        done(libc::mkdir(path.as_ptr(), mode).into())?;
        done(libc::chmod(path.as_ptr(), mode).into())
    }
}

#[expect(unsafe_code, reason = "open(2) without memory of its own")]
fn file(path: &CString) -> io::Result<()> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call, and the descriptor is our own.
    let file = opened(unsafe { libc::open(path.as_ptr(), flags, 0o666) }.into())?;
    // SAFETY: it is not used again.
    unsafe { libc::close(file) };
    Ok(())
}

#[expect(unsafe_code, reason = "symlink(2) without memory of its own")]
fn link(path: &CString, target: &CString) -> io::Result<()> {
    // SAFETY: the names outlive the call.
    done(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }.into())
}

#[expect(unsafe_code, reason = "chdir(2) without memory of its own")]
pub(super) fn enter_folder(path: &CString) -> io::Result<()> {
    // SAFETY: the name outlives the call.
    done(unsafe { libc::chdir(path.as_ptr()) }.into())
}

#[expect(unsafe_code, reason = "open(2) and write(2) without memory of their own")]
pub(super) fn write(path: &std::ffi::CStr, text: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: the name and the text outlive the calls, and the descriptor is our own.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        done(file.into())?;
        let written = libc::write(file, text.as_ptr().cast(), text.count_bytes());
        let written = done(written as libc::c_long);
        libc::close(file);
        written
    }
}
