//! [`find`]: finds the program of a server, but never one in the workspace.
use std::{
    env::{join_paths, split_paths},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Returns the path of `command`: in a folder of `PATH`, or the command itself if it is an absolute path. Programs in
/// the workspace, also through links, are not found.
pub(crate) fn find(command: &str, environment: &[(String, String)], workspace: &Path) -> Option<PathBuf> {
    let command = Path::new(command);
    let is_usable = |path: &PathBuf| {
        let is_outside = |path: &Path| !path.starts_with(workspace);
        is_program(path)
            && is_outside(path)
            && fs::canonicalize(path)
                .is_ok_and(|real| is_outside(&real) && !is_stand_in(path, &real, environment))
    };
    let search = variable(environment, "PATH").unwrap_or_default();
    if command.is_absolute() {
        return Some(command.to_owned()).filter(is_usable);
    }
    let is_name = command.components().count() == 1;
    let folders = split_paths(search).filter(|folder| is_name && folder.is_absolute());
    folders.map(|folder| folder.join(command)).find(is_usable)
}

fn variable<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether `path` is a link that rustup creates for each component, and the component is not installed.
fn is_stand_in(path: &Path, real: &Path, environment: &[(String, String)]) -> bool {
    let (Some(name), true) = (path.file_name(), real.ends_with("rustup")) else { return false };
    let own = variable(environment, "RUSTUP_HOME").map(PathBuf::from);
    let home = own.or_else(|| Some(Path::new(variable(environment, "HOME")?).join(".rustup")));
    let toolchains = home.and_then(|home| fs::read_dir(home.join("toolchains")).ok()).into_iter().flatten();
    !toolchains.filter_map(Result::ok).any(|toolchain| is_program(&toolchain.path().join("bin").join(name)))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns the search path `search` without folders of the workspace and relative ones, so that a server does not start
/// programs of the project either.
pub(crate) fn outside(search: &str, workspace: &Path) -> String {
    let is_outside = |folder: &PathBuf| {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        folder.is_absolute() && !real.starts_with(workspace)
    };
    let joined = join_paths(split_paths(search).filter(is_outside)).unwrap_or_default();
    joined.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_program_of_the_workspace_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["bin", "links", "work/bin"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["bin/own", "work/bin/theirs"] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(root.join("bin/text"), "").unwrap();
        symlink(root.join("work/bin/theirs"), root.join("links/linked")).unwrap();
        let all = ["work/bin", "links", "bin"].map(|name| root.join(name).display().to_string()).join(":");
        let search = format!("bin:.:{all}");
        let absolute = |name: &str| root.join(name).display().to_string();
        let table = [
            ("own".to_owned(), Some("bin/own")),
            ("text".to_owned(), None),
            ("theirs".to_owned(), None),
            ("linked".to_owned(), None),
            ("../bin/own".to_owned(), None),
            (absolute("bin/own"), Some("bin/own")),
            (absolute("work/bin/theirs"), None),
        ];
        for (command, expected) in table {
            let environment = [("PATH".to_owned(), search.clone())];
            let found = find(&command, &environment, &root.join("work"));
            assert_eq!(found, expected.map(|name| root.join(name)), "{command}");
        }
        fs::write(root.join("bin/rustup"), "").unwrap();
        fs::set_permissions(root.join("bin/rustup"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("rustup", root.join("bin/rust-analyzer")).unwrap();
        for (toolchain, is_found) in [("none", false), ("toolchains/stable/bin", true)] {
            let component = root.join(toolchain).join("rust-analyzer");
            fs::create_dir_all(component.parent().unwrap()).unwrap();
            fs::copy(root.join("bin/own"), component).unwrap();
            let environment = [("PATH", search.clone()), ("RUSTUP_HOME", root.display().to_string())];
            let environment = environment.map(|(name, value)| (name.to_owned(), value));
            assert_eq!(
                find("rust-analyzer", &environment, &root.join("work")).is_some(),
                is_found,
                "{toolchain}"
            );
        }
        let kept = ["links", "bin"].map(|name| root.join(name).display().to_string()).join(":");
        assert_eq!(outside(&search, &root.join("work")), kept);
    }
}
