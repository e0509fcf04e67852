//! What a confined command sees, changes and reaches.
#![cfg(target_os = "linux")]
use haft_core::{Confinement, Outside, Overlay, Reach, WorkspaceMount};
use haft_process::{Exit, Shell};
use haft_sandbox::{scopes_sockets, try_confinement};
use std::{
    env, fs,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::chown,
            net::{SocketAddr, UnixListener},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A workspace, and folders for what happens in its view.
struct Place {
    folder: TempDir,
    confinement: Confinement,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["work: a,b", "upper", "scratch", "tmp", "cache", "secret"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("work: a,b/old.txt"), "old\n").unwrap();
        fs::write(root.join("secret/key"), "key\n").unwrap();
        let overlay = Overlay { upper: root.join("upper"), work: root.join("scratch") };
        let confinement = Confinement {
            workspace: root.join("work: a,b"),
            finds: WorkspaceMount::Overlay(overlay),
            tmp: root.join("tmp"),
            finds_tmp: WorkspaceMount::Itself,
            outside: Outside::Overlays,
            writable: vec![root.join("cache")],
            caches: Vec::new(),
            hidden: vec![root.join("secret")],
            reach: Reach::Nothing,
            private_hosts: false,
            limits: Default::default(),
        };
        Self { folder, confinement }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn workspace(&self) -> &Path {
        &self.confinement.workspace
    }

    fn shell(&self, command: &str) -> Shell {
        let variable = |name: &str| (name.to_owned(), env::var(name).unwrap_or_default());
        Shell {
            command: command.into(),
            folder: self.workspace().to_owned(),
            environment: [variable("PATH"), variable("HOME")].into(),
            timeout: Some(Duration::from_secs(20)),
            capture: 10_000,
            spill: None,
            hidden: Arc::default(),
            confinement: Some(Arc::new(self.confinement.clone())),
        }
    }

    /// In which the workspace cannot be changed.
    fn read_only() -> Self {
        let mut place = Self::new();
        place.confinement.finds = WorkspaceMount::ReadOnly;
        place
    }

    async fn run(&self, command: &str) -> (String, Exit) {
        let finished = self.shell(command).run(|_| ()).await.unwrap();
        (finished.stdout.text + &finished.stderr.text, finished.exit)
    }
}

#[tokio::test]
async fn a_command_changes_its_view_and_not_the_workspace() {
    let place = Place::new();
    let (told, exit) =
        place.run("pwd; cat old.txt; echo new >new.txt; echo more >>old.txt; ls; cat old.txt").await;
    let workspace = place.workspace().display();
    assert_eq!(
        (told.as_str(), exit),
        (&*format!("{workspace}\nold\nnew.txt\nold.txt\nold\nmore\n"), Exit::Code(0))
    );
    assert_eq!(fs::read_to_string(place.workspace().join("old.txt")).unwrap(), "old\n");
    assert!(!place.workspace().join("new.txt").exists());
    assert_eq!(fs::read_to_string(place.root().join("upper/new.txt")).unwrap(), "new\n");
    // The next command with the same folders goes on where this one ended.
    assert_eq!(place.run("cat new.txt").await.0, "new\n");
}

#[tokio::test]
async fn a_workspace_that_is_read_only_is_seen_as_it_is_at_any_time() {
    let place = Place::read_only();
    let name = place.workspace().join("renamed.txt");
    let go = place.workspace().join("go");
    let seen = place.confinement.tmp.join("seen");
    let running = place.run("cat renamed.txt; touch /tmp/seen; until [ -e go ]; do sleep 0.01; done; cat renamed.txt; echo x >old.txt; touch new; ls");
    let changing = async {
        while !seen.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fs::rename(place.workspace().join("old.txt"), &name).unwrap();
        fs::write(place.workspace().join("newer"), "newer\n").unwrap();
        fs::rename(place.workspace().join("newer"), &name).unwrap();
        fs::write(go, "").unwrap();
    };
    fs::copy(place.workspace().join("old.txt"), &name).unwrap();
    let ((told, _), ()) = tokio::join!(running, changing);
    assert!(told.starts_with("old\nnewer\ngo\nrenamed.txt\n"), "{told}");
    assert_eq!(told.matches("Read-only file system").count(), 2, "{told}");
    assert!(!place.workspace().join("new").exists() && !place.workspace().join("old.txt").exists());
}

#[tokio::test]
async fn a_confined_command_changes_nothing_of_the_process_that_runs_it() {
    let place = Place::new();
    let own =
        || ["oom_score_adj", "coredump_filter"].map(|name| fs::read(format!("/proc/self/{name}")).unwrap());
    let before = own();
    let set = "for p in /proc/[0-9]* /proc/self/task/*; do for n in 900 1000; do echo $n >$p/oom_score_adj; \
               echo 0x7f >$p/coredump_filter; done; done 2>/dev/null; cat /proc/self/oom_score_adj";
    let (told, _) = place.run(set).await;
    assert_eq!((told.as_str(), own()), ("1000\n", before));
}

#[tokio::test]
async fn what_a_confined_command_may_not_do_fails() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let root = place.root();
    let root = root.display();
    let outside = "/etc/haft-confined-test";
    let table: &[(&str, &str)] = &[
        (&format!("echo x >{outside}"), "Read-only file system|Permission denied"),
        (&format!("echo x >{root}/outside"), ""),
        (&format!("cat {root}/secret/key"), "No such file or directory"),
        ("echo x >/proc/sys/kernel/hostname", "Read-only file system|Permission denied"),
        ("echo x >/sys/kernel/mm/ksm/run", "Read-only file system|Permission denied"),
        ("ls /dev/vda /dev/sda /dev/kmsg /dev/mem", "cannot access"),
        ("ls -A /run", ""),
        (&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"), "Connection refused"),
        ("exec 3<>/dev/tcp/192.0.2.1/80", "Network is unreachable"),
        ("mount -t tmpfs none /mnt", "permission denied|must be superuser|Operation not permitted"),
        ("unshare -r true", "Operation not permitted"),
        (
            "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); l.ptrace(16, 1, 0, 0); print(ctypes.get_errno())'",
            "1\n",
        ),
        ("grep -h CapEff /proc/self/status", "CapEff:\t0000000000000000\n"),
        ("grep -h CapBnd /proc/self/status", "CapBnd:\t0000000000000000\n"),
        ("grep -h NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"),
        ("kill -9 1; echo $$", "2\n"),
    ];
    for (command, expected) in table {
        let (told, _) = place.run(command).await;
        let is_told = expected.split('|').any(|expected| told.contains(expected));
        assert!(is_told, "{command}: {told:?}, not {expected:?}");
        assert!(!expected.is_empty() || told.is_empty(), "{command}: {told:?}");
    }
    assert!(!Path::new(outside).exists() && !place.root().join("outside").exists());
}

#[tokio::test]
async fn what_a_confined_command_needs_works() {
    let place = Place::new();
    let root = place.root();
    let root = root.display();
    let table: &[(&str, &str)] = &[
        (&format!("echo kept >{root}/cache/file; cat {root}/cache/file"), "kept\n"),
        ("echo a >/tmp/a; cat /var/tmp/a", "a\n"),
        ("echo x >/dev/null; head -c 2 /dev/zero | wc -c; cat <(echo inner)", "2\ninner\n"),
        ("script -qefc 'test -t 1 && echo terminal' /dev/null", "terminal\r\n"),
        ("python3 -c 'import multiprocessing as m; print(m.Lock() is not None)'", "True\n"),
        (
            "python3 - <<'E'\nimport socket as s\na = s.socket(); a.bind(('127.0.0.1', 0)); a.listen()\ns.create_connection(a.getsockname()); print('talks')\nE",
            "talks\n",
        ),
        ("sh -c 'exit 3'; echo $?", "3\n"),
        ("mkdir -p a/b && mv a c && ls c", "b\n"),
        ("(sleep 0.1; echo late) & echo now", "now\nlate\n"),
    ];
    for (command, expected) in table {
        assert_eq!(place.run(command).await.0, *expected, "{command}");
    }
}

// With the network of the machine come the sockets of all its programs that have no file.
#[tokio::test]
async fn a_command_with_all_of_the_network_reaches_no_socket_of_another_program() {
    let place = Place::new();
    let name = format!("haft-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let (tcp, reach) = (TcpListener::bind("127.0.0.1:0").unwrap(), Reach::Everything);
    let confinement = Some(Arc::new(Confinement { reach, ..place.confinement.clone() }));
    let told = async |command: &str| {
        let shell = Shell { confinement: confinement.clone(), ..place.shell(command) };
        let finished = shell.run(|_| ()).await.unwrap();
        finished.stdout.text + &finished.stderr.text
    };
    let connect = format!(
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); print(s.connect_ex(\"\\0{name}\"))'"
    );
    let expected = if scopes_sockets() { "1\n" } else { "0\n" };
    assert_eq!(told(&connect).await, expected);
    let port = tcp.local_addr().unwrap().port();
    assert_eq!(told(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")).await, "reached\n");
    let own = "python3 -c 'import socket; a, b = [socket.socket(socket.AF_UNIX) for _ in range(2)]; \
               a.bind(\"\\0own\"); a.listen(); print(b.connect_ex(\"\\0own\"))'";
    assert_eq!(told(own).await, "0\n");
}

#[tokio::test]
async fn a_confined_command_ends_as_others_do() {
    let place = Place::new();
    assert_eq!(place.run("exit 7").await.1, Exit::Code(7));
    assert_eq!(place.run("kill -TERM $$").await.1, Exit::Signal(15));
    assert_eq!(place.run("kill -SEGV $$").await.1, Exit::Signal(11));
    let held = place.run("exec sed -nE '/^Sig(Blk|Cgt)/p' /proc/self/status").await.0;
    assert_eq!(held, "SigBlk:\t0000000000000000\nSigCgt:\t0000000000000000\n");
    let begun = Instant::now();
    let left = Shell {
        timeout: Some(Duration::from_millis(300)),
        ..place.shell("trap 'echo tidy; exit 5' TERM; while :; do sleep 0.05; done")
    };
    let finished = left.run(|_| ()).await.unwrap();
    assert_eq!((finished.stdout.text.as_str(), finished.exit), ("tidy\n", Exit::TimedOut));
    let stubborn =
        "trap '' TERM; (setsid sleep 1000 &); setsid env -i sh -c 'sleep 1000 &' ; while :; do sleep 1; done";
    let left = Shell { timeout: Some(Duration::from_millis(300)), ..place.shell(stubborn) };
    assert_eq!(left.run(|_| ()).await.unwrap().exit, Exit::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(15));
}

// What settles the view afterwards must not meet a process that still writes there.
#[tokio::test]
async fn a_confined_command_that_is_ended_writes_nothing_more() {
    let place = Place::new();
    let count = "n=0; while :; do n=$((n + 1)); echo $n >count; done";
    let stubborn = format!("trap '' TERM; setsid env -i sh -c '{count}' & while :; do sleep 1; done");
    let left = Shell { timeout: Some(Duration::from_millis(300)), ..place.shell(&stubborn) };
    assert_eq!(left.run(|_| ()).await.unwrap().exit, Exit::TimedOut);
    let written = || fs::read(place.root().join("upper/count")).unwrap();
    let at_its_end = written();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(written(), at_its_end);
}

#[test]
fn it_is_known_beforehand_whether_commands_can_be_confined() {
    let place = Place::new();
    try_confinement(&place.confinement).unwrap();
    let finds =
        WorkspaceMount::Overlay(Overlay { upper: "/nothing/here".into(), work: "/nothing/there".into() });
    try_confinement(&Confinement { finds, ..place.confinement.clone() }).unwrap_err();
}

/// The tests of this file, by a user who may do nothing.
#[test]
fn somebody_who_is_not_root_is_confined_as_well() {
    const OTHER_USER: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tests");
    // By another process: a command that begins meanwhile would hold the file open for writing, and nothing could run it.
    let copied = Command::new("cp").arg(env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    chown(folder.path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    let mut tests = Command::new(program);
    tests
        .args(["confined::", "--skip", "somebody_who_is_not_root"])
        .current_dir(folder.path())
        .uid(OTHER_USER)
        .gid(OTHER_USER);
    let ended = tests.env("TMPDIR", folder.path()).env("HOME", folder.path()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert!(String::from_utf8_lossy(&ended.stdout).contains("9 passed"));
}
