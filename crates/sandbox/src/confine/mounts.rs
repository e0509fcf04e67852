//! [`steps`]: builds the file system of a confined process, step by step.
use super::{
    hidden::places,
    outside::{Piece, below, is_bound, pieces},
    rights::is_root_of_machine,
    step::{MAX_SLOTS, NO_DEVICES, NO_PROGRAMS, NO_SETUID, NOTHING, READ_ONLY, Step},
    table::MountTable,
};
use haft_core::{CacheMount, Confinement, Outside, Overlay, Reach, WorkspaceMount};
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
    mount::MountAttrFlags,
};
use std::{
    ffi::{CString, OsStr, OsString},
    fs, io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, FileTypeExt},
    },
    path::{Path, PathBuf},
};

/// The devices in `/dev`: no disk, and no terminal but the command's own.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The folder with the sockets of the user's programs and of the system.
const SOCKETS: &str = "/run";

/// Kernel files that change the whole system; root may write them without any capability.
const KERNEL: [&str; 5] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

/// Where the new root is built, and an empty folder. The command does not see the old contents of these places.
const NEW_ROOT: &str = SOCKETS;
const EMPTY: &str = "/dev";

pub(super) fn steps(confinement: &Confinement, is_root: bool) -> io::Result<Vec<Step>> {
    let mut plan = Mounts { steps: vec![Step::Private], slots: 0 };
    let Confinement { workspace, tmp, writable, reach, limits, .. } = confinement;
    let table = MountTable::read();
    // All paths are looked up before anything is mounted over them.
    let found = plan.found(workspace, &confinement.finds, is_root)?;
    let own_tmp = plan.found(tmp, &confinement.finds_tmp, is_root)?;
    let others = plan.others(confinement, is_root)?;
    let devices = DEVICES.iter().map(|name| Ok((plan.clone_of(&Path::new("/dev").join(name))?, *name)));
    let devices = devices.collect::<io::Result<Vec<_>>>()?;
    let resolver = if *reach == Reach::Everything { plan.resolver()? } else { None };
    let pieces = match confinement.outside {
        Outside::Overlays => pieces(&table, is_root),
        Outside::Bound => Vec::new(),
    };
    // In a user namespace, `proc` can be mounted only while another one is visible.
    let processes = plan.system("proc", &[], NO_SETUID | NO_DEVICES | NO_PROGRAMS)?;
    plan.outside(&pieces, is_root)?;
    plan.steps.push(attributes("/", READ_ONLY | NO_SETUID, NOTHING, true)?);
    plan.dev(devices)?;
    plan.attach(processes, "/proc")?;
    if is_root && limits_processes() {
        let text = CString::new(limits.processes.to_string())?;
        plan.steps.push(Step::Write { path: c"/proc/sys/kernel/pid_max".into(), text });
    }
    if rustix::process::geteuid().is_root() {
        plan.kernel()?;
    }
    plan.fresh("tmpfs", &[("mode", "755")], NOTHING, SOCKETS)?;
    if let Some((slot, file)) = resolver {
        plan.attach_new_file(slot, &file)?;
    }
    plan.own_tmp(own_tmp)?;
    let tmp = match &confinement.finds_tmp {
        WorkspaceMount::Copy(copy) => copy,
        WorkspaceMount::Itself | WorkspaceMount::ReadOnly | WorkspaceMount::Overlay(_) => tmp,
    };
    for (slot, folder) in &others {
        make_mount_point(folder, tmp)?;
        plan.writable(*slot, folder)?;
    }
    make_mount_point(workspace, tmp)?;
    match confinement.finds {
        WorkspaceMount::ReadOnly => plan.read_only(found, workspace)?,
        WorkspaceMount::Itself | WorkspaceMount::Overlay(_) | WorkspaceMount::Copy(_) => {
            plan.writable(found, workspace)?;
        }
    }
    let hidden = places(&confinement.hidden, workspace, &table);
    let shown: Vec<&Path> =
        others.iter().map(|(_, folder)| folder.as_path()).chain([workspace.as_path()]).collect();
    hidden.iter().try_for_each(|path| plan.hide(path, &shown))?;
    let is_open =
        |path: &Path| is_bound(path, &pieces) || writable.iter().any(|folder| path.starts_with(folder));
    sockets(&hidden, is_open).iter().try_for_each(|path| plan.hide(path, &shown))?;
    Ok(plan.steps)
}

/// Returns whether a limit on processes is effective for a command of this user. For root it is effective if each PID
/// namespace has a limit of its own: before Linux 6.14 there is only one limit for the machine.
pub fn limits_processes() -> bool {
    if !is_root_of_machine() {
        return true;
    }
    let system = rustix::system::uname();
    let mut numbers = system.release().to_str().unwrap_or_default().split(['.', '-']);
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number().zip(number()).is_some_and(|version| version >= (6, 14))
}

/// Maximum sockets that are hidden, so that the start of a command is not delayed.
const MAX_SOCKETS: usize = 4_096;

/// The sockets on which programs listen at this moment (proc_net(5)) and to which a command could connect, even without
/// write access. The system reports the name with which a socket was bound, which may have changed since.
fn sockets(hidden: &[PathBuf], is_open: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let all = fs::read("/proc/net/unix").unwrap_or_default();
    let paths = all.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'/')?;
        Some(PathBuf::from(OsString::from_vec(line[at..].to_vec())))
    });
    let is_hidden = |path: &PathBuf| hidden.iter().any(|folder| path.starts_with(folder));
    let seen = paths.filter_map(|path| fs::canonicalize(path).ok());
    let mut paths: Vec<PathBuf> =
        seen.filter(|path| !is_covered(path) && !is_hidden(path) && is_open(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.retain(|path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()));
    paths.truncate(MAX_SOCKETS);
    paths
}

/// Whether another mount covers the path anyway.
fn is_covered(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/var/run", SOCKETS].iter().any(|place| path.starts_with(place))
}

struct Mounts {
    steps: Vec<Step>,
    slots: usize,
}

impl Mounts {
    fn slot(&mut self) -> io::Result<usize> {
        self.slots += 1;
        if self.slots > MAX_SLOTS {
            return Err(io::Error::other("too many folders are to be writable"));
        }
        Ok(self.slots - 1)
    }

    /// Adds the mount that the command sees at `folder`.
    fn found(&mut self, folder: &Path, finds: &WorkspaceMount, is_root: bool) -> io::Result<usize> {
        match finds {
            WorkspaceMount::Itself | WorkspaceMount::ReadOnly => self.clone_of(folder),
            WorkspaceMount::Copy(copy) => self.clone_of(copy),
            WorkspaceMount::Overlay(overlay) => self.overlay(folder, overlay, is_root),
        }
    }

    /// Adds the mounts that are writable besides the workspace and `/tmp`. Returns each with its path.
    fn others(&mut self, confinement: &Confinement, is_root: bool) -> io::Result<Vec<(usize, PathBuf)>> {
        let Confinement { writable, caches, .. } = confinement;
        let real =
            writable.iter().filter_map(|folder| folder.canonicalize().ok()).filter(|path| path.is_dir());
        let real = real.map(|folder| Ok((self.clone_of(&folder)?, folder)));
        let mut others = real.collect::<io::Result<Vec<_>>>()?;
        for CacheMount { place, overlay } in caches {
            others.push((self.cache(place, overlay, is_root)?, place.clone()));
        }
        Ok(others)
    }

    /// Builds the new root from `pieces`.
    fn outside(&mut self, pieces: &[Piece], is_root: bool) -> io::Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        self.fresh("tmpfs", &[("mode", "755")], NOTHING, EMPTY)?;
        if !is_root {
            self.fresh("tmpfs", &[("mode", "755")], NOTHING, NEW_ROOT)?;
        }
        for piece in pieces {
            match piece {
                Piece::Overlay(place) => self.if_present(|plan| {
                    let layers = [escaped(place), EMPTY.into()].join(OsStr::new(":"));
                    let slot = plan.system("overlay", &[("lowerdir", &layers)], NOTHING)?;
                    plan.attach(slot, below(NEW_ROOT, place))
                })?,
                Piece::Bound(place) => self.if_present(|plan| {
                    let slot = plan.clone_of(place)?;
                    plan.attach(slot, below(NEW_ROOT, place))
                })?,
                Piece::Folder(place, mode) => {
                    self.steps.push(Step::Folder { path: name(&below(NEW_ROOT, place))?, mode: *mode });
                }
                Piece::File(place) => self.steps.push(Step::File { path: name(&below(NEW_ROOT, place))? }),
                Piece::Link(place, target) => {
                    let (path, target) = (name(&below(NEW_ROOT, place))?, name(target)?);
                    self.steps.push(Step::Link { path, target });
                }
            }
        }
        self.steps.push(Step::Root { place: CString::new(NEW_ROOT)? });
        Ok(())
    }

    /// Adds steps that put a mount in its place, or do nothing if a file was removed meanwhile: other programs create
    /// and remove files while the plan is made and run.
    fn if_present(&mut self, add: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let mut part = Self { steps: Vec::new(), slots: self.slots };
        add(&mut part)?;
        self.steps.push(Step::IfPresent(part.steps));
        Ok(())
    }

    fn clone_of(&mut self, path: &Path) -> io::Result<usize> {
        let slot = self.slot()?;
        self.steps.push(Step::Clone { path: name(path)?, slot });
        Ok(slot)
    }

    fn system(
        &mut self,
        kind: &str,
        options: &[(&str, &OsStr)],
        attributes: MountAttrFlags,
    ) -> io::Result<usize> {
        let slot = self.slot()?;
        let option =
            |(key, value): &(&str, &OsStr)| Ok((CString::new(*key)?, CString::new(value.as_bytes())?));
        let options = options.iter().map(option).collect::<io::Result<_>>()?;
        self.steps.push(Step::New { kind: CString::new(kind)?, options, attributes, slot });
        Ok(slot)
    }

    /// Mounts an empty file system at `place`.
    fn fresh(
        &mut self,
        kind: &str,
        options: &[(&str, &str)],
        attributes: MountAttrFlags,
        place: &str,
    ) -> io::Result<()> {
        let options: Vec<(&str, &OsStr)> =
            options.iter().map(|(key, value)| (*key, OsStr::new(*value))).collect();
        let slot = self.system(kind, &options, attributes)?;
        self.attach(slot, place)?;
        // A slot is free again once its mount is in place.
        self.slots -= 1;
        Ok(())
    }

    fn attach(&mut self, slot: usize, place: impl AsRef<Path>) -> io::Result<()> {
        self.steps.push(Step::Attach { slot, place: name(place.as_ref())? });
        Ok(())
    }

    /// Mounts the command's `/tmp`. `/var/tmp` is the same folder.
    fn own_tmp(&mut self, slot: usize) -> io::Result<()> {
        self.writable(slot, Path::new("/tmp"))?;
        if Path::new("/var/tmp").is_dir() {
            let also_tmp = self.clone_of(Path::new("/tmp"))?;
            self.writable(also_tmp, Path::new("/var/tmp"))?;
        }
        Ok(())
    }

    fn writable(&mut self, slot: usize, place: &Path) -> io::Result<()> {
        self.attach(slot, place)?;
        self.steps.push(attributes(place, NO_SETUID | NO_DEVICES, READ_ONLY, false)?);
        Ok(())
    }

    fn read_only(&mut self, slot: usize, place: &Path) -> io::Result<()> {
        self.attach(slot, place)?;
        self.steps.push(attributes(place, READ_ONLY | NO_SETUID | NO_DEVICES, NOTHING, true)?);
        Ok(())
    }

    /// Adds the files that name DNS servers, if they are in the folder of the hidden sockets.
    fn resolver(&mut self) -> io::Result<Option<(usize, PathBuf)>> {
        let file = fs::canonicalize("/etc/resolv.conf").ok().filter(|file| file.starts_with(SOCKETS));
        file.map(|file| Ok((self.clone_of(&file)?, file))).transpose()
    }

    /// Puts a file into folders of its own in a new file system.
    fn attach_new_file(&mut self, slot: usize, file: &Path) -> io::Result<()> {
        let above: Vec<&Path> =
            file.ancestors().skip(1).take_while(|above| *above != Path::new(SOCKETS)).collect();
        for folder in above.into_iter().rev() {
            self.steps.push(Step::Folder { path: name(folder)?, mode: 0o755 });
        }
        self.steps.push(Step::File { path: name(file)? });
        self.attach(slot, file)?;
        self.steps.push(attributes(file, READ_ONLY, NOTHING, false)?);
        Ok(())
    }

    /// Mounts an overlay. For root it allows existing folders to be renamed, which needs attributes that only root may
    /// set.
    fn overlay(&mut self, folder: &Path, overlay: &Overlay, is_root: bool) -> io::Result<usize> {
        let options = [("redirect_dir", "on"), ("metacopy", "off")];
        self.overlay_with(folder, overlay, if is_root { &options } else { &[("userxattr", "")] })
    }

    /// Mounts the overlay of a cache. Existing folders in it cannot be renamed: hidden files in them are hidden by
    /// their path, in later mounts, too.
    fn cache(&mut self, folder: &Path, overlay: &Overlay, is_root: bool) -> io::Result<usize> {
        let options = [("redirect_dir", "off"), ("metacopy", "off")];
        self.overlay_with(folder, overlay, if is_root { &options } else { &[("userxattr", "")] })
    }

    fn overlay_with(&mut self, folder: &Path, overlay: &Overlay, more: &[(&str, &str)]) -> io::Result<usize> {
        let work = new_work(overlay)?;
        let (lower, upper, work) = (escaped(folder), escaped(&overlay.upper), escaped(&work));
        let mut options: Vec<(&str, &OsStr)> =
            vec![("lowerdir", &lower), ("upperdir", &upper), ("workdir", &work)];
        // The content need not survive a power failure; without this option the whole file system is synced when a
        // command ends.
        options.push(("volatile", OsStr::new("")));
        options.extend(more.iter().map(|(key, value)| (*key, OsStr::new(*value))));
        self.system("overlay", &options, NOTHING)
    }

    /// Protects the kernel's files, also from root in a user namespace, which may count as root of the machine there.
    fn kernel(&mut self) -> io::Result<()> {
        for path in KERNEL.iter().filter(|path| Path::new(path).exists()) {
            let slot = self.clone_of(Path::new(path))?;
            self.attach(slot, path)?;
            self.steps.push(attributes(path, READ_ONLY, NOTHING, false)?);
        }
        Ok(())
    }

    fn dev(&mut self, devices: Vec<(usize, &str)>) -> io::Result<()> {
        self.fresh("tmpfs", &[("mode", "755"), ("size", "1m")], NO_SETUID, "/dev")?;
        for (slot, device) in devices {
            let place = Path::new("/dev").join(device);
            self.steps.push(Step::File { path: name(&place)? });
            self.attach(slot, &place)?;
        }
        for folder in ["/dev/pts", "/dev/shm"] {
            self.steps.push(Step::Folder { path: CString::new(folder)?, mode: 0o755 });
        }
        self.fresh("devpts", &[("ptmxmode", "0666"), ("mode", "620")], NO_SETUID | NO_PROGRAMS, "/dev/pts")?;
        self.fresh("tmpfs", &[("mode", "1777")], NO_SETUID | NO_DEVICES, "/dev/shm")?;
        let links = [
            ("/dev/ptmx", "pts/ptmx"),
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ];
        for (path, target) in links {
            self.steps.push(Step::Link { path: CString::new(path)?, target: CString::new(target)? });
        }
        Ok(())
    }

    /// Hides `path`, which leads through no link. A path below the workspace or `/tmp` was looked up at its real place,
    /// which these mounts may already cover. `shown`: the folders that are mounted at their real place.
    fn hide(&mut self, path: &Path, shown: &[&Path]) -> io::Result<()> {
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
        if is_covered(path) && !shown.iter().any(|folder| path.starts_with(folder)) {
            return Ok(());
        }
        let slot = match found.is_dir() {
            true => {
                let options = [("mode", OsStr::new("755")), ("size", OsStr::new("4k"))];
                self.system("tmpfs", &options, READ_ONLY)?
            }
            false => self.clone_of(Path::new("/dev/null"))?,
        };
        self.if_present(|plan| plan.attach(slot, path))?;
        self.slots -= 1;
        Ok(())
    }
}

/// Creates a mount point below `/tmp`, in the folder that is mounted as `/tmp`. Commands write in this folder: a link
/// that they left in the path is removed and not followed.
fn make_mount_point(path: &Path, tmp: &Path) -> io::Result<()> {
    let Some(inside) = ["/tmp", "/var/tmp"].iter().find_map(|place| path.strip_prefix(place).ok()) else {
        return Ok(());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(tmp, flags, Mode::empty())?;
    for name in inside {
        folder = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                rustix::fs::mkdirat(&folder, name, Mode::RWXU)?;
                rustix::fs::openat(&folder, name, flags, Mode::empty())?
            }
            Err(Errno::LOOP | Errno::NOTDIR) => {
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
                rustix::fs::mkdirat(&folder, name, Mode::RWXU)?;
                rustix::fs::openat(&folder, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(())
}

/// Creates a work folder for each mount. A volatile overlay leaves a mark in its work folder, and the kernel refuses to
/// mount it again.
fn new_work(overlay: &Overlay) -> io::Result<PathBuf> {
    for mount in 0.. {
        let folder = overlay.work_of(mount);
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Escapes the characters that overlayfs takes for a separator or an escape in the names of its folders.
fn escaped(path: &Path) -> OsString {
    let escaped = path.as_os_str().as_bytes().iter().flat_map(|byte| match byte {
        b':' | b',' | b'\\' => vec![b'\\', *byte],
        plain => vec![*plain],
    });
    OsString::from_vec(escaped.collect())
}

fn attributes(
    place: impl AsRef<Path>,
    set: MountAttrFlags,
    clear: MountAttrFlags,
    all: bool,
) -> io::Result<Step> {
    Ok(Step::Attributes { place: name(place.as_ref())?, set, clear, all })
}

fn name(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
