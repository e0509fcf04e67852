//! [`Folder`]: the folder of a session. The editor may use another path than the canonical one.
use super::sdk::{Error, wrong};
use std::path::{Path, PathBuf};

/// A folder with both of its paths.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// The canonical path: the workspace.
    pub(super) real: PathBuf,
    /// The path as the editor wrote it.
    named: PathBuf,
}

impl Folder {
    /// The folder that the editor names, which must be absolute and exist.
    pub(super) fn of(cwd: &Path) -> Result<Self, Error> {
        let cannot = |why: &str| wrong(format!("cannot work in `{}`: {why}", cwd.display()));
        if !cwd.is_absolute() {
            return Err(cannot("it is not an absolute path"));
        }
        let real = cwd.canonicalize().map_err(|error| cannot(&error.to_string()))?;
        if real.is_dir() {
            Ok(Self { real, named: cwd.to_owned() })
        } else {
            Err(cannot("it is not a folder"))
        }
    }

    /// The editor's path of a file; relative paths are below the folder.
    pub(super) fn told(&self, file: &Path) -> PathBuf {
        let inside = if file.is_relative() { Ok(file) } else { file.strip_prefix(&self.real) };
        match inside {
            Ok(inside) if inside.as_os_str().is_empty() => self.named.clone(),
            Ok(inside) => self.named.join(inside),
            Err(_) => file.to_owned(),
        }
    }

    /// The relative path of a file that the editor names, if it is in the folder.
    pub(super) fn inside<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        file.strip_prefix(&self.named).or_else(|_| file.strip_prefix(&self.real)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_two_paths() {
        let folder = Folder { real: "/data/w".into(), named: "/home/me/w".into() };
        let table = [
            ("/data/w/a.rs", "/home/me/w/a.rs", None),
            ("src/a.rs", "/home/me/w/src/a.rs", None),
            ("/data/w", "/home/me/w", None),
            ("/etc/hosts", "/etc/hosts", None),
            ("/home/me/w/a.rs", "/home/me/w/a.rs", Some("a.rs")),
        ];
        for (file, told, inside) in table {
            assert_eq!(folder.told(Path::new(file)), Path::new(told), "{file}");
            let found = folder.inside(Path::new(file)).filter(|_| inside.is_some());
            assert_eq!(found, inside.map(Path::new), "{file}");
        }
    }
}
