//! A server that lies, a network that fails and a disk that is full: each has its own sentence, and the program stays as it
//! was.
use crate::kit::{
    Place, Ran, other_user,
    releases::{Installed, NEW, OLD, Releases, Served, index, package, program, sign, target},
};
use minisign::KeyPair;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::{MetadataExt, PermissionsExt},
    process::Command,
    thread,
};

/// The program, and what stands beside it.
fn state(installed: &Installed) -> (u64, u64, Vec<String>) {
    let found = fs::metadata(&installed.program).unwrap();
    (found.ino(), found.len(), installed.beside())
}

fn run(command: &mut Command) -> Ran {
    Ran::from(command.output().unwrap())
}

/// The index of [`NEW`] with another value in its only file.
fn with(key: &str, value: Value) -> Value {
    let mut index = index(NEW, &package(NEW, &program(NEW)));
    index["files"][target()][key] = value;
    index
}

/// What goes wrong, how, and what is said.
type Fault = (&'static str, Box<dyn Fn(&Releases)>, &'static str);

fn fault(what: &'static str, make: impl Fn(&Releases) + 'static, told: &'static str) -> Fault {
    (what, Box::new(make), told)
}

fn new_package() -> Vec<u8> {
    package(NEW, &program(NEW))
}

fn faults_of_the_index() -> Vec<Fault> {
    vec![
        fault("no index", |to| to.remove("/index.json"), "index.json` answered with HTTP status 404"),
        fault(
            "no signature",
            |to| to.remove("/index.json.minisig"),
            "index.json.minisig` answered with HTTP status 404",
        ),
        fault(
            "a signature by another key",
            |to| {
                let text = index(NEW, &new_package()).to_string();
                let other = sign(&KeyPair::generate_unencrypted_keypair().unwrap(), &text);
                to.put("/index.json.minisig", Served::Whole(other.into_bytes()));
            },
            "error: the signature of `http://127.0.0.1:",
        ),
        fault(
            "no signature in its file",
            |to| to.put("/index.json.minisig", Served::Whole(b"signed, believe me".to_vec())),
            "is not a minisign signature",
        ),
        fault(
            "a checksum that was changed after it was signed",
            |to| to.put("/index.json", Served::Whole(with("sha256", json!("00")).to_string().into_bytes())),
            "error: the signature of `http://127.0.0.1:",
        ),
        fault(
            "an index of another form",
            |to| to.index(&json!({"format": 2})),
            "its format is 2, and this version reads format 1",
        ),
        fault(
            "a page in place of an index",
            |to| to.index(&json!("releases")),
            "cannot read the index of releases",
        ),
        fault(
            "an index without this system",
            |to| {
                to.index(&json!({"format": 1, "version": NEW, "files": {"s390x-ibm-zos": {"url": "x", "sha256": "x", "size": 1}}}))
            },
            "only for s390x-ibm-zos",
        ),
        fault(
            "an endless index",
            |to| to.put("/index.json", Served::Unannounced(vec![b' '; 2 << 20])),
            "has more than 1048576 bytes",
        ),
        fault(
            "an index that is cut off",
            |to| to.put("/index.json", Served::CutOff(vec![b' '; 999])),
            "was cut off after 499 bytes",
        ),
        fault("a slow index", |to| to.put("/index.json", Served::Slow(vec![b' '; 999])), "is too slow: "),
        fault(
            "a redirect without encryption",
            |to| to.put("/index.json", Served::Redirect("http://example.invalid/index.json".into())),
            "redirects to an address without HTTPS, or too often",
        ),
        fault(
            "a circle of redirects",
            |to| to.put("/index.json", Served::Redirect("/index.json".into())),
            "or too often",
        ),
        fault(
            "a file of this machine",
            |to| to.index(&with("url", json!("file:///etc/passwd"))),
            "`file:///etc/passwd` is not an HTTPS address",
        ),
        fault(
            "a file elsewhere",
            |to| to.index(&with("url", json!("http://example.invalid/a"))),
            "names a wrong address: `http://example.invalid/a` is not an HTTPS address",
        ),
    ]
}

fn faults_of_the_package() -> Vec<Fault> {
    let served = |what, served: fn(Vec<u8>) -> Served, told| {
        fault(what, move |to: &Releases| to.put("/package", served(new_package())), told)
    };
    let released = |what, content: fn() -> Vec<u8>, told| {
        fault(what, move |to: &Releases| to.release(NEW, &content()), told)
    };
    vec![
        fault("no package", |to| to.remove("/package"), "/package` answered with HTTP status 404"),
        fault(
            "a wrong checksum",
            |to| to.index(&with("sha256", json!("00ff"))),
            "is damaged: its SHA-256 is ",
        ),
        served("a package that is cut off", Served::CutOff, "was cut off after"),
        served("the same without its length", Served::CutOffUnannounced, "was cut off after"),
        served("a slow package", Served::Slow, "is too slow: "),
        fault(
            "a larger package",
            |to| to.put("/package", Served::Whole(vec![0; 9_999])),
            "/package` has more than ",
        ),
        fault(
            "the same without its length",
            |to| to.put("/package", Served::Unannounced(vec![0; 9_999])),
            "/package` has more than ",
        ),
        released("a package that is no archive", || b"no archive".to_vec(), "cannot unpack the package"),
        released(
            "a package of another version",
            || package("9.9.8", &program("9.9.8")),
            "the package has no file `haft-9.9.9-",
        ),
        released(
            "a program of another version",
            || package(NEW, &program("9.9.8")),
            "the package of haft 9.9.9 holds haft 9.9.8",
        ),
        released(
            "a program for another system",
            || package(NEW, "\u{7f}ELF for another processor"),
            "does not run on this system: ",
        ),
        released(
            "a program that needs a newer system",
            || package(NEW, "#!/bin/sh\necho \"GLIBC_2.99 not found\" >&2; exit 1"),
            "does not run on this system: GLIBC_2.99 not found (exit code 1)",
        ),
        released(
            "a program that crashes",
            || package(NEW, "#!/bin/sh\nkill -ILL $$"),
            "it was ended by signal 4",
        ),
        released("another program", || package(NEW, "#!/bin/sh\necho rm 1.0"), "it prints `rm 1.0`"),
    ]
}

fn each_changes_nothing(faults: Vec<Fault>) {
    let place = Place::new();
    let installed = Installed::new(&place);
    let before = state(&installed);
    for (what, make, told) in faults {
        let releases = Releases::start();
        releases.configure(&place, "timeout = 1");
        make(&releases);
        let ran = run(&mut installed.haft(&place, &["update"]));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{what}: {ran:?}");
        assert!(ran.err.contains(told) && ran.err.contains("nothing was changed"), "{what}: {ran:?}");
        assert_eq!(state(&installed), before, "{what}");
    }
}

// H-41
#[test]
fn an_index_that_is_not_as_it_should_be_changes_nothing() {
    each_changes_nothing(faults_of_the_index());
}

// H-41
#[test]
fn a_package_that_is_not_as_it_should_be_changes_nothing() {
    each_changes_nothing(faults_of_the_package());
}

#[test]
fn without_an_index_or_a_key_it_says_what_to_set() {
    let place = Place::new();
    let installed = Installed::new(&place);
    let key = KeyPair::generate_unencrypted_keypair().unwrap().pk.to_base64();
    let table = [
        (String::new(), "hint: set its address: `haft config set update.index"),
        (
            "index = \"https://example.invalid/index.json\"".into(),
            "hint: set it to the line of the `.pub` file",
        ),
        (
            "index = \"https://example.invalid/index.json\"\nkey = \"mine\"".into(),
            "`mine` is not a public minisign key",
        ),
        (
            format!("index = \"http://example.invalid/index.json\"\nkey = \"{key}\""),
            "is not an HTTPS address",
        ),
        (format!("index = \"index.json\"\nkey = \"{key}\""), "`index.json` is not an address"),
    ];
    for (settings, told) in table {
        place.configure(&format!("[update]\n{settings}\n"));
        for arguments in [&["update"][..], &["update", "--check"]] {
            let ran = run(&mut installed.haft(&place, arguments));
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{settings}: {ran:?}");
            assert!(ran.err.contains(told), "{settings}: {ran:?}");
        }
    }
    place.configure("");
    place.write(".haft/config.toml", "[update]\nindex = \"https://example.invalid/index.json\"\n");
    let ran = run(&mut installed.haft(&place, &["update"]));
    assert!(ran.err.contains("there is no index of releases"), "a repository has no say: {ran:?}");
}

#[test]
fn a_server_that_is_not_there_is_named_and_so_is_the_proxy() {
    let place = Place::new();
    let installed = Installed::new(&place);
    let key = KeyPair::generate_unencrypted_keypair().unwrap().pk.to_base64();
    let proxy = |status: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut asked = BufReader::new(stream.try_clone().unwrap()).lines();
                while asked.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let _it_has_left = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            }
        });
        format!("http://me:secret@{address}")
    };
    let web = "https://updates.invalid/index.json";
    let table = [
        ("http://127.0.0.1:1/index.json", String::new(), "cannot reach `127.0.0.1`: nothing listens there"),
        (
            web,
            "http://127.0.0.1:1".into(),
            "cannot reach `updates.invalid` through the proxy `http://127.0.0.1:1`: nothing listens there",
        ),
        (web, proxy("407 Proxy Authentication Required"), "the proxy wants a user name and a password"),
        (web, proxy("403 Forbidden"), "the proxy refuses the connection"),
    ];
    for (index, proxy, told) in table {
        place.configure(&format!("[update]\nindex = \"{index}\"\nkey = \"{key}\"\n"));
        let ran = run(installed.haft(&place, &["update"]).env("https_proxy", &proxy));
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains(told) && ran.err.contains("nothing was changed"), "{told}: {ran:?}");
        assert_eq!(ran.err.contains("`https_proxy`"), !proxy.is_empty(), "{ran:?}");
        assert!(!ran.err.contains("secret"), "{ran:?}");
    }
}

/// No telemetry: a request says which file, and which program asks.
#[test]
fn nothing_but_files_is_asked_for() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    assert_eq!(run(&mut installed.haft(&place, &["update"])).code, 0);
    assert_eq!(releases.asked(), ["/index.json", "/index.json.minisig", "/package"]);
    for head in releases.heads() {
        let mut lines: Vec<String> = head.trim_end().lines().skip(1).map(str::to_lowercase).collect();
        lines.sort();
        let host = releases.address.trim_start_matches("http://");
        let expected = ["accept: */*".to_owned(), format!("host: {host}"), format!("user-agent: haft/{OLD}")];
        assert!(head.starts_with("GET /") && lines == expected, "{head}");
    }
}

/// Incompressible, so that the package is as large.
fn large_package() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let filler: String = std::iter::repeat_with(|| random.alphanumeric()).take(6 << 20).collect();
    package(NEW, &format!("{}: {filler}\n", program(NEW)))
}

// H-41
#[test]
fn a_disk_that_is_full_keeps_the_program() {
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    releases.release(NEW, &large_package());
    let before = state(&installed);
    // The program itself would not fit.
    let script = r#"mkdir small && mount -t tmpfs -o size=1m none small && touch small/haft && mount --bind "$0" small/haft || exit 9
small/haft update; echo "ended with $?"; ls -A small"#;
    let mut command = installed.haft(&place, &[]);
    let (program, work) = (installed.program.clone(), place.work());
    let mut small = Command::new("unshare");
    small.args(["-Urm", "sh", "-c", script]).arg(program).current_dir(work).env_clear();
    small.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = run(&mut small);
    if ran.err.contains("unshare:") || ran.err.contains("mount:") {
        haft_testing::left_out(&format!("a full disk: nothing can be mounted here: {}", ran.err));
    } else {
        assert_eq!(ran.out, "ended with 1\nhaft\n", "{ran:?}");
        assert!(
            ran.err.contains("small`: the disk is full") && ran.err.contains("nothing was changed"),
            "{ran:?}"
        );
    }
    let limited = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" update";
    command = installed.haft(&place, &[]);
    let mut limit = Command::new("sh");
    limit.args(["-c", limited]).arg(&installed.program).current_dir(place.work()).env_clear();
    limit.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = run(&mut limit);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("the limit on the size of a file is too low"), "{ran:?}");
    assert_eq!(state(&installed), before);
}

#[test]
fn a_folder_that_cannot_be_written_keeps_the_program() {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // Root may write everywhere.
        return other_user::run_as_nobody(
            module_path!(),
            "a_folder_that_cannot_be_written_keeps_the_program",
        );
    }
    let (place, releases) = (Place::new(), Releases::start());
    let installed = Installed::new(&place);
    releases.configure(&place, "");
    let folder = installed.program.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = run(&mut installed.haft(&place, &["update"]));
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("prefix/bin`: permission denied") && ran.err.contains("with `sudo`"), "{ran:?}");
    assert_eq!(installed.beside(), ["haft"]);
    assert_eq!(run(&mut installed.haft(&place, &["--version"])).out, format!("haft {OLD}\n"));
}
