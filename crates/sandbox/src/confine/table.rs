//! [`MountTable`]: the mounts of this process, read from proc_pid_mountinfo(5).
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// File systems that hold no socket of a program. Overlays of some of them, such as those of EFI partitions, cannot be
/// mounted.
const WITHOUT_SOCKETS: [&str; 23] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "erofs",
    "exfat",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "msdos",
    "nsfs",
    "proc",
    "securityfs",
    "squashfs",
    "sysfs",
    "tracefs",
    "vfat",
];

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The device, as `MAJOR:MINOR`.
    device: String,
    /// Which folder of the file system is mounted.
    root: PathBuf,
    /// The path that it is mounted at.
    pub(super) place: PathBuf,
    /// Whether programs can listen there on sockets with a name.
    pub(super) may_have_sockets: bool,
}

/// The mounts, in the order of mounting.
pub(super) struct MountTable(pub(super) Vec<Mount>);

impl MountTable {
    /// Reads the mounts of this process. Empty if the system does not report them.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Mount::parse).collect())
    }

    /// Whether something is mounted below `folder`.
    pub(super) fn has_below(&self, folder: &Path) -> bool {
        self.0.iter().any(|mount| mount.place != folder && mount.place.starts_with(folder))
    }

    /// Other paths of `path` and of parts of it, through mounts of the same file system.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let holding = self.0.iter().rev().filter(|mount| path.starts_with(&mount.place));
        let Some(own) = holding.max_by_key(|mount| mount.place.as_os_str().len()) else { return Vec::new() };
        let inside = path.strip_prefix(&own.place).unwrap_or(path);
        let inner = own.root.join(inside);
        let others = self.0.iter().filter(|mount| mount.device == own.device && mount.place != own.place);
        let alias = |mount: &Mount| match inner.strip_prefix(&mount.root) {
            Ok(rest) => Some(mount.place.join(rest)),
            Err(_) => mount.root.starts_with(&inner).then(|| mount.place.clone()),
        };
        others.filter_map(alias).collect()
    }
}

impl Mount {
    /// `36 35 98:0 /root /place rw,noatime master:1 - ext4 /dev/root rw,errors=continue`
    fn parse(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        let (device, root, place) = (fields.next()?, fields.next()?, fields.next()?);
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
        let is_read_only = options.split(',').next() == Some("ro");
        Some(Self {
            device: device.to_owned(),
            root: unescaped(root),
            place: unescaped(place),
            may_have_sockets: !is_read_only && !WITHOUT_SOCKETS.contains(&kind),
        })
    }
}

/// Decodes blanks and backslashes, which the system writes as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let (mut plain, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let octal =
            || std::str::from_utf8(behind.get(..3)?).ok().and_then(|code| u8::from_str_radix(code, 8).ok());
        match octal().filter(|_| first == b'\\') {
            Some(byte) => {
                plain.push(byte);
                rest = &behind[3..];
            }
            None => {
                plain.push(first);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&plain))
}

/// Whether something is mounted below `folder`, which an overlay of it would not show.
pub fn has_mounts_below(folder: &Path) -> bool {
    MountTable::read().has_below(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
23 21 8:2 / /home rw - ext4 /dev/sda2 rw,errors=remount-ro
24 21 8:2 /me /mnt/of\\040me rw - ext4 /dev/sda2 rw
25 21 8:2 /me/.ssh/keys /keys rw - ext4 /dev/sda2 rw
26 21 7:1 / /snap/x rw - squashfs /dev/loop1 ro
27 21 8:3 / /backup rw - ext4 /dev/sda3 ro
";

    #[test]
    fn mounts_tell_where_else_something_lies_and_where_sockets_can_be() {
        let table = MountTable::parse(TABLE);
        let with_sockets = table.0.iter().filter(|mount| mount.may_have_sockets);
        let with_sockets: Vec<_> = with_sockets.map(|mount| mount.place.to_str().unwrap()).collect();
        assert_eq!(with_sockets, ["/", "/home", "/mnt/of me", "/keys"]);
        let aliases: [(&str, &[&str]); 4] = [
            ("/home/me/.ssh", &["/mnt/of me/.ssh", "/keys"]),
            ("/mnt/of me/.npmrc", &["/home/me/.npmrc"]),
            ("/home/other", &[]),
            ("/etc/passwd", &[]),
        ];
        for (path, expected) in aliases {
            let found = table.aliases(Path::new(path));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
        }
        assert!(table.has_below(Path::new("/snap")) && !table.has_below(Path::new("/home")));
    }
}
