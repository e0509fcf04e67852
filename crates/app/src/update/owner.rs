//! [`Owner`]: the package manager that installed a program, and the command that updates it.
use std::{
    fs,
    path::{Component, Path},
};

/// The owner of the program, if it was not installed by `install.sh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `apt` and `dpkg`.
    Debian,
    /// `npm`.
    Npm,
    /// `pipx`.
    Pipx,
    /// `uv tool`.
    Uv,
    /// `pip`.
    Pip,
    /// Homebrew.
    Homebrew,
    /// Nix.
    Nix,
    /// `cargo install`.
    Cargo,
    /// A package manager that installs to `/usr/bin` and similar folders.
    System,
    /// A build from source that was not installed.
    Build,
}

impl Owner {
    /// Finds the owner of `program`, a path without links, on the system whose root is `root`. `None` means that the
    /// program may be replaced.
    pub(super) fn of(program: &Path, root: &Path) -> Option<Self> {
        let has = |names: &[&str]| has_components(program, names);
        let folder = program.parent()?;
        let is_below = |places: &[&str]| places.iter().any(|place| program.starts_with(place));
        Some(match () {
            () if program.starts_with("/nix/store") => Self::Nix,
            () if has(&["Cellar"]) => Self::Homebrew,
            () if has(&["node_modules"]) => Self::Npm,
            () if has(&["pipx", "venvs"]) => Self::Pipx,
            () if has(&["uv", "tools"]) => Self::Uv,
            () if is_of_dpkg(program, root) => Self::Debian,
            () if is_of_pip(folder) => Self::Pip,
            () if is_of_cargo(folder) => Self::Cargo,
            () if folder.join(".cargo-lock").exists() || folder.join(".fingerprint").is_dir() => Self::Build,
            () if is_below(&["/usr/local"]) => return None,
            () if is_below(&["/usr", "/bin", "/sbin", "/snap"]) => Self::System,
            () => return None,
        })
    }

    /// The name of the package manager.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Debian => "apt",
            Self::Npm => "npm",
            Self::Pipx => "pipx",
            Self::Uv => "uv",
            Self::Pip => "pip",
            Self::Homebrew => "Homebrew",
            Self::Nix => "Nix",
            Self::Cargo => "cargo",
            Self::System => "the system's package manager",
            Self::Build => "a build from source",
        }
    }

    /// The command that updates the program; `None` if it is unknown.
    #[must_use]
    pub fn command(self) -> Option<&'static str> {
        Some(match self {
            Self::Debian => "sudo apt-get install --only-upgrade haft",
            Self::Npm => "npm install -g haft@latest",
            Self::Pipx => "pipx upgrade haft",
            Self::Uv => "uv tool upgrade haft",
            Self::Pip => "pip install --upgrade haft",
            Self::Homebrew => "brew upgrade haft",
            Self::Nix => "nix profile upgrade haft",
            Self::Cargo => "cargo install --force haft-cli",
            Self::Build => "git pull && cargo build --release -p haft-cli",
            Self::System => return None,
        })
    }
}

/// Whether the path contains `names` in a row.
fn has_components(path: &Path, names: &[&str]) -> bool {
    let parts: Vec<&str> = path.components().filter_map(named).collect();
    parts.windows(names.len()).any(|window| window == names)
}

fn named(component: Component<'_>) -> Option<&str> {
    match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    }
}

/// Whether the list of files of the installed package names the program.
fn is_of_dpkg(program: &Path, root: &Path) -> bool {
    let lists = ["haft.list", "haft:amd64.list", "haft:arm64.list"];
    lists.iter().any(|list| names_file(&root.join("var/lib/dpkg/info").join(list), program))
}

fn names_file(list: &Path, program: &Path) -> bool {
    fs::read_to_string(list).is_ok_and(|text| text.lines().any(|line| Path::new(line) == program))
}

/// Whether a Python package installed the program: the package's record in a folder beside that of the program names
/// `../../../bin/haft`.
fn is_of_pip(folder: &Path) -> bool {
    let libraries = folder.parent().and_then(|prefix| fs::read_dir(prefix.join("lib")).ok());
    let pythons = libraries.into_iter().flatten().flatten().filter(|entry| begins(entry, "python3"));
    let packages = pythons.flat_map(|python| {
        let sites = ["site-packages", "dist-packages"].map(|name| fs::read_dir(python.path().join(name)));
        sites.into_iter().flatten().flatten().flatten()
    });
    let is_ours = |entry: &fs::DirEntry| begins(entry, "haft-") && has_record(&entry.path());
    packages.into_iter().any(|entry| is_ours(&entry))
}

fn begins(entry: &fs::DirEntry, name: &str) -> bool {
    entry.file_name().to_string_lossy().starts_with(name)
}

fn has_record(package: &Path) -> bool {
    fs::read_to_string(package.join("RECORD"))
        .is_ok_and(|text| text.lines().any(|line| line.starts_with("../../../bin/haft,")))
}

/// Whether the list of `cargo install` contains the program.
fn is_of_cargo(folder: &Path) -> bool {
    let list = folder.parent().map(|root| root.join(".crates.toml"));
    list.and_then(|list| fs::read_to_string(list).ok()).is_some_and(|text| text.contains("\"haft-cli "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_told_by_the_path() {
        let table = [
            ("/home/me/.local/bin/haft", None),
            ("/usr/local/bin/haft", None),
            ("/opt/haft/bin/haft", None),
            ("/nix/store/abc-haft-0.1.0/bin/haft", Some(Owner::Nix)),
            ("/opt/homebrew/Cellar/haft/0.1.0/bin/haft", Some(Owner::Homebrew)),
            ("/usr/lib/node_modules/haft/node_modules/haft-linux-x64/bin/haft", Some(Owner::Npm)),
            ("/home/me/.local/share/pipx/venvs/haft/bin/haft", Some(Owner::Pipx)),
            ("/home/me/.local/share/uv/tools/haft/bin/haft", Some(Owner::Uv)),
            ("/usr/bin/haft", Some(Owner::System)),
            ("/snap/haft/1/haft", Some(Owner::System)),
        ];
        let empty = tempfile::tempdir().unwrap();
        for (program, expected) in table {
            assert_eq!(Owner::of(Path::new(program), empty.path()), expected, "{program}");
        }
    }

    #[test]
    fn the_owner_is_told_by_what_it_notes_of_the_program() {
        let record = "haft-0.1.0.dist-info/METADATA,sha256=x,1\n../../../bin/haft,sha256=x,1\n";
        let other = "../../../bin/haft-other,sha256=x,1\n";
        let crates = "[v1]\n\"haft-cli 0.1.0 (registry+https://example.com)\" = [\"haft\"]\n";
        let table = [
            (".crates.toml", crates, Some(Owner::Cargo)),
            (".crates.toml", "[v1]\n\"ripgrep 14.0.0 (registry)\" = [\"rg\"]\n", None),
            ("lib/python3.12/site-packages/haft-0.1.0.dist-info/RECORD", record, Some(Owner::Pip)),
            ("lib/python3/dist-packages/haft-0.1.0.dist-info/RECORD", record, Some(Owner::Pip)),
            ("lib/python3.12/site-packages/haft-0.1.0.dist-info/RECORD", other, None),
            ("bin/.cargo-lock", "", Some(Owner::Build)),
            ("var/lib/dpkg/info/haft.list", "/.\nROOT/bin/haft\n", Some(Owner::Debian)),
            ("var/lib/dpkg/info/haft.list", "/.\n/usr/bin/haft\n", None),
        ];
        for (file, text, expected) in table {
            let folder = tempfile::tempdir().unwrap();
            let (root, file) = (folder.path(), folder.path().join(file));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text.replace("ROOT", root.to_str().unwrap())).unwrap();
            assert_eq!(Owner::of(&root.join("bin/haft"), root), expected, "{file:?} {text}");
        }
    }
}
