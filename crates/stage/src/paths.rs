//! [`resolve`]: resolves a path to its real location.
use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

/// Maximum links in a path, as in Linux (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// `path` (relative to `workspace`, or absolute) with every link followed as far as it exists, `.` and `..` removed.
/// Never fails: parts that cannot be read are kept as they are written.
pub(crate) fn resolve(workspace: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    let mut ahead = steps(&workspace.join(path));
    while let Some(step) = ahead.pop() {
        match step {
            Step::Root => resolved = PathBuf::from("/"),
            Step::Up => {
                resolved.pop();
            }
            Step::Down(name) => {
                resolved.push(name);
                let Ok(target) = fs::read_link(&resolved) else { continue };
                links += 1;
                if links <= MAX_LINKS {
                    resolved.pop();
                    ahead.extend(steps(&target));
                }
            }
        }
    }
    resolved
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

/// The steps of a path, the last one first, for a stack.
fn steps(path: &Path) -> Vec<Step> {
    let steps = path.components().rev().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_as_far_as_the_path_exists() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("w/sub")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        for (target, link) in [("sub", "inner"), ("../out", "outer"), ("loop", "loop"), ("inner", "twice")] {
            symlink(target, root.join("w").join(link)).unwrap();
        }
        symlink("w", root.join("door")).unwrap();
        let table = [
            ("a plain name", "a.txt", "w/a.txt"),
            ("nothing", "", "w"),
            ("dots", "./sub/../a.txt", "w/a.txt"),
            ("a link inside", "inner/a.txt", "w/sub/a.txt"),
            ("a link to a link", "twice/a.txt", "w/sub/a.txt"),
            ("a link to the outside", "outer/a.txt", "out/a.txt"),
            ("up from where a link leads", "outer/../a.txt", "a.txt"),
            ("a path that does not exist", "no/such/../file", "w/no/file"),
            ("a link to itself", "loop/a.txt", "w/loop/a.txt"),
        ];
        for (what, path, expected) in table {
            assert_eq!(resolve(&root.join("door"), Path::new(path)), root.join(expected), "{what}");
        }
        assert_eq!(resolve(&root, Path::new("/../..")), Path::new("/"));
    }
}
