//! An update replaces the program and keeps the old one; what Haft does not own it leaves alone.
use crate::kit::{
    Place, Ran, other_user,
    releases::{Installed, NEW, OLD, Releases, Served, copy, index, package, program, target},
    terminal::poll,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Stdio},
};

fn run(command: &mut Command) -> Ran {
    Ran::from(command.output().unwrap())
}

// H-40
#[test]
fn a_newer_version_replaces_the_program_and_keeps_the_old_one() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let old = fs::metadata(&installed.program).unwrap();

    let told = run(&mut installed.haft(&place, &["update", "--check"]));
    assert_eq!(
        told.out,
        format!("haft {NEW} is available, this is {OLD}; `haft update` installs it\n"),
        "{told:?}"
    );
    let told = run(&mut installed.haft(&place, &["update", "--check", "--json"]));
    assert_eq!(told.events(), [json!({"from": OLD, "to": NEW, "done": false})], "{told:?}");
    assert_eq!(installed.beside(), ["haft"]);
    assert!(!releases.asked().contains(&"/package".to_owned()), "{:?}", releases.asked());

    let done = run(&mut installed.haft(&place, &["update", "--json"]));
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    assert_eq!(done.events(), [json!({"from": OLD, "to": NEW, "done": true})]);
    assert_eq!(installed.beside(), ["haft", "haft.previous"]);
    assert_eq!(fs::read_to_string(&installed.program).unwrap(), program(NEW));
    assert_eq!(fs::metadata(&installed.program).unwrap().permissions().mode(), old.permissions().mode());
    let previous = installed.program.with_file_name("haft.previous");
    assert_eq!(fs::metadata(&previous).unwrap().ino(), old.ino());
    assert_eq!(run(Command::new(previous).arg("--version")).out, format!("haft {OLD}\n"));
}

#[test]
fn so_it_is_for_somebody_who_is_not_root() {
    other_user::run_as_nobody(module_path!(), "a_newer_version_replaces_the_program_and_keeps_the_old_one");
    other_user::run_as_nobody(module_path!(), "the_program_before_the_last_update_can_be_taken_back");
}

// H-40
#[test]
fn the_program_before_the_last_update_can_be_taken_back() {
    let place = Place::new();
    let installed = Installed::new(&place);
    let none = run(&mut installed.haft(&place, &["update", "--back"]));
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("error: there is no earlier version"), "{none:?}");

    let (previous, own) =
        (installed.program.with_file_name("haft.previous"), fs::metadata(&installed.program).unwrap());
    let put = |text: &str| {
        let text = place.write("previous", text);
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
        copy(text, &previous);
    };
    put("#!/bin/sh\necho libc is gone >&2; exit 127\n");
    let broken = run(&mut installed.haft(&place, &["update", "--back"]));
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(broken.err.contains("does not run on this system: libc is gone (exit code 127)"), "{broken:?}");
    assert_eq!(fs::metadata(&installed.program).unwrap().ino(), own.ino());

    put(&program("0.0.9"));
    let back = run(&mut installed.haft(&place, &["update", "--back"]));
    let expected = format!("went back from haft {OLD} to 0.0.9; `haft update --back` undoes that\n");
    assert_eq!((back.code, back.out.as_str()), (0, expected.as_str()), "{back:?}");
    assert_eq!(fs::read_to_string(&installed.program).unwrap(), program("0.0.9"));
    assert_eq!(fs::metadata(&previous).unwrap().ino(), own.ino());
    assert_eq!(installed.beside(), ["haft", "haft.previous"]);
}

#[test]
fn manual_pages_and_completions_beside_it_are_those_of_the_new_program() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let share = place.path().join("prefix/share");
    let (completions, pages) = (share.join("bash-completion/completions/haft"), share.join("man/man1"));
    for file in [&completions, &pages.join("haft.1")] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "old").unwrap();
    }
    let new = format!(
        "#!/bin/sh\ncase $1 in --version) echo 'haft {NEW} (built today)';; completions) echo \"for $2\";; man) echo page >\"$3/haft.1\";; esac\n"
    );
    releases.release(NEW, &package(NEW, &new));
    let done = run(&mut installed.haft(&place, &["update"]));
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    assert_eq!(fs::read_to_string(completions).unwrap(), "for bash\n");
    assert_eq!(fs::read_to_string(pages.join("haft.1")).unwrap(), "page\n");
    assert!(!share.join("zsh").exists(), "what was not installed is not added");
}

#[test]
fn an_index_with_the_same_or_an_older_version_changes_nothing() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    for version in [OLD, "0.0.9", &format!("{OLD}-rc.1")] {
        releases.release(version, &package(version, &program(version)));
        let ran = run(&mut installed.haft(&place, &["update", "--json"]));
        assert_eq!(ran.events(), [json!({"from": OLD, "to": OLD, "done": false})], "{version}: {ran:?}");
        let ran = run(&mut installed.haft(&place, &["update"]));
        assert_eq!((ran.code, ran.out), (0, format!("haft {OLD} is up to date\n")), "{version}");
    }
    assert_eq!(installed.beside(), ["haft"]);
}

// H-41
#[test]
fn what_a_package_manager_owns_is_left_alone() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let table = [
        ("lib/node_modules/haft/node_modules/haft-linux-x64/bin", "npm", "npm install -g haft@latest"),
        ("pipx/venvs/haft/bin", "pipx", "pipx upgrade haft"),
        ("uv/tools/haft/bin", "uv", "uv tool upgrade haft"),
        ("Cellar/haft/0.1.0/bin", "Homebrew", "brew upgrade haft"),
        ("cargo/bin", "cargo", "cargo install --force haft-cli"),
    ];
    fs::create_dir(place.path().join("cargo")).unwrap();
    fs::write(place.path().join("cargo/.crates.toml"), "[v1]\n\"haft-cli 0.1.0 (x)\" = [\"haft\"]\n")
        .unwrap();
    for (folder, owner, command) in table {
        let folder = place.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::hard_link(&installed.program, folder.join("haft")).unwrap();
        let owned = Installed { program: folder.join("haft") };
        for arguments in [&["update"][..], &["update", "--back"]] {
            let ran = run(&mut owned.haft(&place, arguments));
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
            assert!(
                ran.err.contains(&format!("was installed by {owner}, so Haft does not replace it")),
                "{ran:?}"
            );
            assert!(ran.err.contains(&format!("hint: update it with `{command}`")), "{ran:?}");
        }
        assert_eq!(owned.beside(), ["haft"]);
    }
    assert_eq!(releases.asked(), Vec::<String>::new(), "nothing is asked for it");
    let build = Installed { program: installed.program.clone() };
    fs::write(build.program.with_file_name(".cargo-lock"), "").unwrap();
    let ran = run(&mut build.haft(&place, &["update"]));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains("is a build from source") && ran.err.contains("cargo build --release"),
        "{ran:?}"
    );
}

#[test]
fn two_updates_do_not_run_at_once() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let held = fs::File::open(installed.program.parent().unwrap()).unwrap();
    held.lock().unwrap();
    for arguments in [&["update"][..], &["update", "--back"]] {
        let ran = run(&mut installed.haft(&place, arguments));
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("error: another update in") && ran.err.contains("is running"), "{ran:?}");
    }
    drop(held);
    assert_eq!(run(&mut installed.haft(&place, &["update"])).code, 0);
}

// H-41
#[test]
fn an_interrupted_update_leaves_nothing() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    releases.put("/package", Served::Slow(package(NEW, &program(NEW))));
    let mut update = installed.haft(&place, &["update"]).stderr(Stdio::null()).spawn().unwrap();
    poll(|| installed.beside().len() > 1, || "a file beside the program".into());
    kill_process(Pid::from_raw(update.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(update.wait().unwrap().code(), Some(130));
    assert_eq!(installed.beside(), ["haft"]);
}

#[test]
fn what_a_killed_update_left_is_removed_by_the_next_one() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let slow = package(NEW, &program(NEW));
    releases.put("/package", Served::Slow(slow.clone()));
    let mut killed = installed.haft(&place, &["update"]).stderr(Stdio::null()).spawn().unwrap();
    poll(|| installed.beside().len() > 1, || "a file beside the program".into());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = installed.beside();
    assert!(left.len() == 2 && left[0].starts_with(".haft-update-"), "{left:?}");

    releases.put("/package", Served::Whole(slow));
    let done = run(&mut installed.haft(&place, &["update"]));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(installed.beside(), ["haft", "haft.previous"]);
}

/// `scripts/index.sh`, as a release runs it, with the tarball of [`NEW`].
#[test]
fn the_index_of_a_release_is_one_that_an_update_takes() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let (name, new) = (format!("haft-{NEW}-{}.tar.gz", target()), package(NEW, &program(NEW)));
    let folder = place.write(&name, &new).parent().unwrap().to_owned();
    place.write("haft-0.0.9-x86_64-unknown-linux-gnu.tar.gz", "of another version");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/index.sh");
    let ran = run(Command::new("sh").arg(script).arg(&folder).arg(NEW).env_remove("HAFT_SIGNING_KEY"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("is not signed") && place.read("index.json.minisig").is_none(), "{ran:?}");

    let text = place.read("index.json").unwrap();
    releases.put("/index.json.minisig", Served::Whole(releases.signature(&text).into_bytes()));
    releases.put("/index.json", Served::Whole(text.into_bytes()));
    releases.put(&format!("/{name}"), Served::Whole(new));
    releases.remove("/package");
    let done = run(&mut installed.haft(&place, &["update"]));
    assert_eq!((done.code, done.out.contains(&format!("to {NEW}; "))), (0, true), "{done:?}");
}

#[test]
fn a_key_can_be_replaced_while_both_are_named() {
    let (place, releases, other) = (Place::new(), Releases::start(), Releases::start());
    let installed = Installed::new(&place);
    let keys = format!("{}, {}", other.public_key(), releases.public_key());
    let address = &releases.address;
    place.configure(&format!("[update]\nindex = \"{address}/index.json\"\nkey = \"{keys}\"\n"));
    let ran = run(&mut installed.haft(&place, &["update", "--check"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    releases.index(&index(NEW, b""));
    assert_eq!(run(&mut installed.haft(&place, &["update", "--check"])).code, 0);
}
