//! What `CONTRIBUTING.md` says of adding things is true: its changes apply, compile and work.
use crate::kit::Place;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The changes in `CONTRIBUTING.md`, each with its title.
fn changes() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let sections = page.split("\n### ").skip(1);
    let change = |section: &str| {
        let (title, rest) = section.split_once('\n')?;
        let (_, rest) = rest.split_once("```diff\n")?;
        let (diff, _) = rest.split_once("```")?;
        Some((title.to_owned(), diff.to_owned()))
    };
    sections.filter_map(change).collect()
}

/// The files of the repository, those that are not committed yet included.
fn copy_repository(to: &Path) {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let listed = Command::new("git").args(list).current_dir(root()).output().unwrap();
    for name in String::from_utf8(listed.stdout).unwrap().split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root().join(name), to.join(name));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        if let Ok(leads_to) = fs::read_link(&from) {
            symlink(leads_to, to).unwrap();
        } else if from.is_file() {
            fs::copy(&from, &to).unwrap();
            // Of a crate that nothing is added to, Cargo takes what it has compiled already.
            let modified = from.metadata().unwrap().modified().unwrap();
            fs::File::options().write(true).open(&to).unwrap().set_modified(modified).unwrap();
        }
    }
}

fn apply(diff: &str, folder: &Path) {
    let patch = folder.join("../change.diff");
    fs::write(&patch, diff).unwrap();
    let applied = Command::new("git").arg("apply").arg(&patch).current_dir(folder).output().unwrap();
    assert!(applied.status.success(), "{diff}\n{}", String::from_utf8_lossy(&applied.stderr));
}

/// Gives the crates that the changes add to a version of their own: Cargo keeps those of the same name and version in the same
/// files, wherever the source is.
fn set_versions(changes: &[(String, String)], folder: &Path) {
    let lines = changes.iter().flat_map(|(_, diff)| diff.lines());
    let files = lines.filter_map(|line| line.strip_prefix("+++ b/crates/"));
    let crates: BTreeSet<&str> = files.map(|file| file.split_once('/').unwrap().0).collect();
    for name in crates {
        let manifest = folder.join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let text = text.replacen("\nversion.workspace = true\n", "\nversion = \"0.1.0+additions\"\n", 1);
        assert!(text.contains("+additions"), "{text}");
        fs::write(&manifest, text).unwrap();
    }
}

/// Builds the binary in `folder` beside that of the other tests, with what was compiled for them.
fn build(folder: &Path) -> PathBuf {
    const NAME: &str = "haft-with-additions";
    let manifest = folder.join("crates/haft-cli/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let bin = |name: &str| format!("[[bin]]\nname = \"{name}\"");
    assert!(text.contains(&bin("haft")), "{text}");
    fs::write(&manifest, text.replace(&bin("haft"), &bin(NAME))).unwrap();
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    // Cargo compiles a package once for each set of features, and the tests were built with those that the whole workspace
    // and its tests need. An example needs what tests need.
    let words = ["-n", "19", env!("CARGO"), "build", "--jobs", "1", "--quiet", "--offline", "--workspace"];
    // Other tests go first.
    let built = haft_testing::without_package(Command::new("nice"))
        .args(words)
        .args(["--bin", NAME, "--example", "read_calls"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug").join(NAME)
}

#[test]
fn what_is_added_as_the_page_says_compiles_and_works() {
    let changes = changes();
    assert_eq!(changes.len(), 5, "{changes:?}");
    let place = Place::new();
    let folder = place.path().join("source/haft");
    fs::create_dir_all(&folder).unwrap();
    copy_repository(&folder);
    for (title, diff) in &changes {
        let files = diff.matches("diff --git ").count();
        assert!((1..=2).contains(&files), "`{title}` takes {files} files");
        apply(diff, &folder);
    }
    set_versions(&changes, &folder);
    let haft = build(&folder);
    let run = |words: &[&str]| {
        let mut command = place.haft(words);
        let mut own = Command::new(&haft);
        own.args(words).current_dir(place.work()).env_clear().stdin(Stdio::null());
        own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let _unused = command.stdin(Stdio::null());
        let ran = own.output().unwrap();
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    assert_eq!(run(&["hello", "Ann"]), "Hello, Ann!\n");
    assert!(run(&["help", "hello"]).contains("Usage: haft hello"));
    assert!(run(&["models", "list"]).contains("Acme"));
    assert!(run(&["config", "show"]).contains("# nickname is not set: nothing"));
    assert!(run(&["run", "--help"]).contains("--nickname <NAME>"));
    place.write("reply.txt", "<parrot>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</parrot>");
    assert!(run(&["parse", "--dialect", "parrot", "reply.txt"]).contains("\"path\": \"a\""));
}
