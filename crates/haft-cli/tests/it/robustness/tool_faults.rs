//! What goes wrong around tools, row by row (faults of group B), through the real binary and the whole path of a call.

use crate::kit::{Place, Reply, vendor::VendorServer};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The printed object of one call that may do anything.
fn call(place: &Place, tool: &str, arguments: &Value) -> Value {
    told(place.haft(&["tools", "call", tool, &arguments.to_string(), "--permission", "full"]))
}

fn told(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(output.status.code(), Some(if told["ok"] == true { 0 } else { 1 }), "{told}");
    told
}

fn content(told: &Value) -> &str {
    told["content"].as_str().unwrap()
}

// B01, B02, B04, B05, B07, B08, B10, B11
#[test]
fn commands_that_do_not_behave_give_results_in_time() {
    let place = Place::new();
    let quick = place.path().join("quick.toml");
    let profile = "name = \"quick\"\ntitle = \"short\"\nsystem = \"\"\nmax_output = 100\n[tools.bash]\ntimeout_default = 1\n";
    fs::write(&quick, profile).unwrap();
    // The number tells our own commands from those of others on this machine.
    let lasting = |seconds: u32| format!("{seconds}.{}", std::process::id());
    let (daemon, stubborn) = (lasting(301), lasting(302));
    let bash = |command: &str| json!({"command": command});
    let limited = |command: &str| json!({"command": command, "timeout": 1});
    let patient = |command: &str| json!({"command": command, "timeout": 60});
    let leave = format!("setsid sleep {daemon} >/dev/null 2>&1 </dev/null & echo started");
    let ignore = format!("trap '' TERM INT HUP; while :; do sleep {stubborn}; done");
    let table = [
        ("B01", limited("sleep 100000"), "timed out after 1 s"),
        ("B02", bash("sleep 100000"), "still running after 1 s; it goes on as job 1"),
        ("B04", patient("sleep 300 & echo started"), "started"),
        ("B05", patient(&leave), "started"),
        ("B07", patient("head -c 1000000 /dev/urandom"), "\u{fffd}"),
        ("B08", patient("head -c 10000000 /dev/zero | tr '\\0' x"), "bytes, 0 lines left out"),
        ("B10", patient("read x </dev/tty; echo rc=$?"), "rc=1"),
        ("B10", patient("ssh -o BatchMode=no x@127.0.0.1; echo rc=$?"), "rc="),
        ("B11", limited(&ignore), "timed out after 1 s"),
    ];
    for (row, arguments, expected) in table {
        let start = Instant::now();
        let profile = ["--profile", quick.to_str().unwrap()];
        let arguments = arguments.to_string();
        let mut haft = place.haft(&["tools", "call", "bash", &arguments, "--permission", "full"]);
        let told = told({
            haft.args(profile);
            haft
        });
        assert!(content(&told).contains(expected), "{row}: {told}");
        assert!(content(&told).len() < 60_000, "{row}");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(30), "{row}: {took:?}");
    }
    for left in [daemon, stubborn] {
        let is_gone = (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !runs(&left)
        });
        assert!(is_gone, "`sleep {left}` is still there");
    }
}

/// Whether some process has this argument.
fn runs(argument: &str) -> bool {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

/// `haft` with `arguments`, as a user that may have so many processes more than it has: another one where we are root,
/// whom no limit holds.
fn limited(place: &Place, more: usize, arguments: &[&str]) -> Command {
    let base = place.haft(&[]);
    let mut command = Command::new("prlimit");
    if is_root() {
        give_away(place);
        let other = [OTHER_USER, OTHER_USER].map(|id| id.to_string());
        command.arg(format!("--nproc={more}"));
        command.args(["setpriv", "--clear-groups", "--reuid", &other[0], "--regid", &other[1]]);
    } else {
        command.arg(format!("--nproc={}", more + own_threads()));
    }
    command.arg(env!("CARGO_BIN_EXE_haft")).args(arguments);
    command.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(place.work()).stdin(Stdio::null());
    command
}

/// A user ID that no account of this machine has.
const OTHER_USER: u32 = 12_345;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Everything in `place` belongs to the other user from here on.
fn give_away(place: &Place) {
    let owner = OTHER_USER.to_string();
    assert!(
        Command::new("chown").args(["-R", &owner, "."]).current_dir(place.path()).status().unwrap().success()
    );
}

/// What the kernel counts against the limit.
fn own_threads() -> usize {
    let me = fs::metadata("/proc/self").unwrap().uid();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == me));
    own.filter_map(|entry| fs::read_dir(entry.path().join("task")).ok()).map(Iterator::count).sum()
}

// B03
#[test]
fn a_fork_bomb_is_survived() {
    let place = Place::new();
    // The number tells our own bomb from those of others on this machine.
    let bomb = format!(":(){{ :|:& }};: # {}", std::process::id());
    let arguments = json!({"command": bomb, "timeout": 2}).to_string();
    let start = Instant::now();
    let mut haft = limited(&place, 300, &["tools", "call", "bash", &arguments, "--permission", "full"]);
    let output = haft.output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert!(told["content"].is_string());
    let is_over = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !runs(&bomb)
    });
    assert!(is_over, "the bomb goes on");
}

// B06, B14
#[test]
fn floods_are_kept_out_of_memory_and_of_the_disk() {
    let place = Place::new();
    let large = place.write("large", "a line of text\n".repeat(10_000));
    fs::File::options().append(true).open(large).unwrap().set_len(500 << 20).unwrap();
    let base = peak(&place, "bash", &json!({"command": "true"})).1;
    let table = [
        (
            "B06",
            "bash",
            json!({"command": "head -c 256M /dev/zero | tr '\\0' x", "timeout": 600}),
            "left out",
        ),
        ("B14", "read", json!({"path": "large"}), "continue with offset="),
    ];
    for (row, tool, arguments, expected) in table {
        let (told, peak) = peak(&place, tool, &arguments);
        assert!(told["ok"] == true && content(&told).contains(expected), "{row}");
        assert!(peak < base + 64 * 1024, "{row}: {peak} kB, {base} kB without");
    }
    assert!(size_of(&place.path().join("home")) < 100 << 20, "the disk was flooded");
}

/// What a call gives, and how many kB of memory it took at most.
fn peak(place: &Place, tool: &str, arguments: &Value) -> (Value, u64) {
    let mut haft = place.haft(&["tools", "call", tool, &arguments.to_string(), "--permission", "full"]);
    let child = haft.stdout(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let ending = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut most = 0;
    while !ending.is_finished() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok());
        most = most.max(now.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    (serde_json::from_slice(&ending.join().unwrap().stdout).unwrap(), most)
}

fn size_of(folder: &Path) -> u64 {
    let sizes = fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let data = entry.metadata().unwrap();
        if data.is_dir() { size_of(&entry.path()) } else { data.blocks() * 512 }
    });
    sizes.sum()
}

// B12, B13, B15
#[test]
fn what_is_no_regular_file_is_refused() {
    let place = Place::new();
    place.write("a.txt", "a\n");
    symlink("/dev/zero", place.work().join("zero")).unwrap();
    let pipe = place.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let table = [
        ("B12", "zero", "it is not a regular file"),
        ("B13", "pipe", "it is not a regular file"),
        ("B15", ".", "it is a folder"),
        ("B15", "nope.txt", "no such file"),
        ("B15", "a.txt/x", "a part of the path is a file"),
    ];
    for (row, path, expected) in table {
        let start = Instant::now();
        let told = call(&place, "read", &json!({"path": path}));
        assert!(told["ok"] == false && content(&told).contains(expected), "{row}: {told}");
        assert!(start.elapsed() < Duration::from_secs(30), "{row}");
    }
}

// B18, B19, B20, B24, B25, B26, B27, B28, B29
#[test]
fn an_edit_leaves_every_other_byte_as_it_was() {
    let place = Place::new();
    /// Row, content before, text, its replacement, content after.
    type Row = (&'static str, &'static [u8], &'static str, &'static str, Option<&'static [u8]>);
    let table: [Row; 9] = [
        ("B18", b"a\r\nb\r\nc\r\n", "b", "B", Some(b"a\r\nB\r\nc\r\n")),
        ("B19", b"a\r\nb\r\nc\r\n", "a\nb", "A\nB", Some(b"A\r\nB\r\nc\r\n")),
        ("B20", b"\xef\xbb\xbfa\nb\n", "b", "B", Some(b"\xef\xbb\xbfa\nB\n")),
        ("B24", b"a\0\0\nb\n\0", "b", "B", Some(b"a\0\0\nB\n\0")),
        ("B25", b"\ta  \n\x0cb\t \nno end", "b", "B", Some(b"\ta  \n\x0cB\t \nno end")),
        ("B26", b"a\nb\n", "b", "$& $1 \\1 $$ `$'", Some(b"a\n$& $1 \\1 $$ `$'\n")),
        ("B27", b"x = 1\nx = 1\n", "x = 1", "x = 2", None),
        ("B28", b"x = 1\n", "y = 1", "y = 2", None),
        ("B29", b"x = 1\n", "", "y = 2", None),
    ];
    for (row, before, old, new, after) in table {
        let file = place.write("file", before);
        let told = call(&place, "edit", &json!({"path": "file", "old_text": old, "new_text": new}));
        assert_eq!(told["ok"], after.is_some(), "{row}: {told}");
        assert_eq!(fs::read(file).unwrap(), after.unwrap_or(before), "{row}");
    }
}

// B16, B17, B30
#[test]
fn a_session_loses_no_change() {
    let step = |calls: Value| json!({"calls": calls});
    let one = |name: &str, arguments: Value| step(json!([{"name": name, "arguments": arguments}]));
    let read = || one("read", json!({"path": "a.txt"}));
    let outside = || one("bash", json!({"command": "sed -i s/one/ONE/ a.txt"}));
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let lines = ["one", "two", "three", "four", "five"];
    let edits: Value = lines
        .iter()
        .map(|line| json!({"name": "edit", "arguments": edit(line, &line.to_uppercase())}))
        .collect();
    let table = [
        ("B16", vec![read(), outside(), one("edit", edit("two", "TWO"))], "ONE\ntwo\nthree\nfour\nfive\n"),
        (
            "B17",
            vec![read(), outside(), one("write", json!({"path": "a.txt", "content": "old\n"}))],
            "ONE\ntwo\nthree\nfour\nfive\n",
        ),
        ("B30", vec![read(), step(edits)], "ONE\nTWO\nTHREE\nFOUR\nFIVE\n"),
    ];
    for (row, mut steps, after) in table {
        let place = Place::unconfined();
        place.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        steps.push(json!({"say": "done"}));
        let model = place.script("script", &steps);
        let ran = place.run(&["run", "go", "--model", &model, "--permission", "full", "--json"]);
        assert_eq!(ran.code, 0, "{row}: {}", ran.err);
        assert_eq!(place.read("a.txt").as_deref(), Some(after), "{row}: {}", ran.out);
    }
}

// B31, B34
#[test]
fn bytes_modes_and_links_are_kept() {
    let place = Place::new();
    let exact = "a\r\n\tb 😀\nno end";
    assert_eq!(call(&place, "write", &json!({"path": "new/exact", "content": exact}))["ok"], true, "B31");
    assert_eq!(place.read("new/exact").as_deref(), Some(exact), "B31");
    let program = place.write("program", "b\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let target = place.write("target", "b\n");
    symlink("target", place.work().join("link")).unwrap();
    for path in ["program", "link"] {
        let told = call(&place, "edit", &json!({"path": path, "old_text": "b", "new_text": "B"}));
        assert_eq!(told["ok"], true, "B34 {path}: {told}");
    }
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755, "B34");
    assert!(fs::symlink_metadata(place.work().join("link")).unwrap().is_symlink(), "B34");
    assert_eq!(fs::read(target).unwrap(), b"B\n", "B34");
}

// B32, B33
#[test]
fn a_disk_that_takes_nothing_loses_nothing() {
    let place = Place::new();
    let haft = env!("CARGO_BIN_EXE_haft");
    let large = place.path().join("large.json");
    fs::write(&large, json!({"path": "old", "content": "x".repeat(2_000_000)}).to_string()).unwrap();
    let full = r#"mount -t tmpfs -o size=1m none . && cd "$PWD" && echo old > old
"$0" tools call write "$(cat "$1" | head -c 120000)" --permission full >/dev/null 2>&1
head -c 990000 /dev/zero > filler; head -c 100000 /dev/zero | tr '\0' y > body
"$0" tools call write "{\"path\":\"old\",\"content\":\"$(cat body)\"}" --permission full
cat old; ls -A"#;
    let readonly = r#"echo old > old; mount --bind . . && mount -o remount,bind,ro . && cd "$PWD"
"$0" tools call write '{"path":"old","content":"new"}' --permission full
"$0" tools call edit '{"path":"old","old_text":"old","new_text":"new"}' --permission full
cat old; ls -A"#;
    for (row, script, left) in [("B32", full, "old\nbody\nfiller\nold\n"), ("B33", readonly, "old\nold\n")] {
        let base = place.haft(&[]);
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", script, haft]).arg(&large).current_dir(place.work());
        command.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if err.contains("unshare") || err.contains("mount:") {
            haft_testing::left_out(&format!("{row}: nothing can be mounted here: {err}"));
            continue;
        }
        assert!(
            out.matches(r#""ok":false"#).count() >= 1 && !out.contains(r#""ok":true"#),
            "{row}: {out} {err}"
        );
        assert!(out.ends_with(left), "{row}: {out} {err}");
    }
}

// B36
#[test]
fn a_workspace_that_is_gone_is_an_error_and_no_crash() {
    let place = Place::unconfined();
    place.write("a", "a\n");
    let one = |name: &str, arguments: Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let steps = [
        one("bash", json!({"command": "rm -rf \"$PWD\""})),
        one("read", json!({"path": "a"})),
        one("bash", json!({"command": "echo still there"})),
        json!({"say": "done"}),
    ];
    let model = place.script("script", &steps);
    let ran = place.run(&["run", "go", "--model", &model, "--permission", "full", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ended = ran.events().into_iter().filter(|event| event["type"] == "tool_ended");
    assert_eq!(
        ended.map(|event| event["ok"] == true).collect::<Vec<_>>(),
        [true, false, false],
        "{}",
        ran.out
    );
}

// B40
#[test]
fn what_the_machine_denies_is_an_error() {
    let place = Place::new();
    let closed = place.write("closed", "secret");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(place.work().join("folder")).unwrap();
    fs::set_permissions(place.work().join("folder"), fs::Permissions::from_mode(0o555)).unwrap();
    let root = is_root();
    if root {
        give_away(&place);
    }
    let table = [("read", json!({"path": "closed"})), ("write", json!({"path": "folder/a", "content": "a"}))];
    for (tool, arguments) in table {
        let line = ["tools", "call", tool, &arguments.to_string(), "--permission", "full"].map(str::to_owned);
        let mut command = place.haft(&line.each_ref().map(String::as_str));
        if root {
            use std::os::unix::process::CommandExt;
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        let Ok(output) = command.output() else {
            return haft_testing::left_out("B40: the binary cannot be run as another user");
        };
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(
            (&told["ok"], &told["error"]["type"]),
            (&json!(false), &json!("permission_error")),
            "{told}"
        );
    }
}

// B41
#[test]
fn two_processes_lose_no_edit_in_silence() {
    let place = Place::new();
    let lines: String = (0..40).map(|line| format!("line {line};\n")).collect();
    place.write("shared", &lines);
    let edit = |line: usize| {
        let arguments = json!({"path": "shared", "old_text": format!("line {line};"), "new_text": format!("done {line};")});
        call(&place, "edit", &arguments)["ok"] == true
    };
    let done: Vec<(usize, bool)> = std::thread::scope(|scope| {
        let halves = [0..20, 20..40]
            .map(|half| scope.spawn(move || half.map(|line| (line, edit(line))).collect::<Vec<_>>()));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    let after = place.read("shared").unwrap();
    for (line, ok) in done {
        let word = if ok { "done" } else { "line" };
        assert!(after.contains(&format!("{word} {line};\n")), "line {line}, told {ok}:\n{after}");
    }
}

// D56
#[test]
fn pages_of_this_machine_are_not_fetched_however_they_are_written() {
    let place = Place::new();
    let server = VendorServer::start(|_| Reply(200, "text/html", "<p>a secret of this machine</p>".into()));
    let address = server.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let port = address.rsplit(':').next().unwrap();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "①②⑦.0.0.1",
    ];
    for host in hosts {
        let told = call(&place, "fetch", &json!({"url": format!("http://{host}:{port}/")}));
        assert!(content(&told).contains("of this machine or of a private network"), "{host}: {told}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
    // The server is there for each program that may reach it.
    place.configure("[tools.fetch]\nallow_private = true");
    let told = call(&place, "fetch", &json!({"url": format!("http://{address}/")}));
    assert_eq!((content(&told).trim(), server.asked().len()), ("a secret of this machine", 1), "{told}");
}
