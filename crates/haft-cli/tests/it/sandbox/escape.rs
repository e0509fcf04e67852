//! Ways out of the sandboxes of agents, tried by confined commands through the binary: none gets out.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, Read},
    net::{TcpListener, UdpSocket},
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::{
            fs::{OpenOptionsExt, symlink},
            net::{SocketAddr, UnixDatagram, UnixListener},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

#[derive(Deserialize)]
struct Escapes {
    escape: Vec<Escape>,
}

#[derive(Deserialize)]
struct Escape {
    name: String,
    sh: Option<String>,
    py: Option<String>,
    then: Option<String>,
    /// Whether Haft is started there once more.
    #[serde(default)]
    again: bool,
    /// What the person has done in the workspace before.
    before: Option<String>,
    /// Whether Haft keeps its data on another file system than the workspace.
    #[serde(default)]
    elsewhere: bool,
}

impl Escape {
    /// Whether it looks for what the variable names.
    fn tries(&self, variable: &str) -> bool {
        [&self.sh, &self.py].into_iter().flatten().any(|script| script.contains(variable))
    }
}

/// What `py` begins with.
const PYTHON: &str = r#"
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return libc.syscall(*(ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args))
def escaped(): print("ESC" + "APED")
def refused(*calls):
    for args in calls:
        result = call(*args)
        if result != -1 or ctypes.get_errno() not in (1, 38): print("ESC" + "APED", args, result, ctypes.get_errno())
def quietly(work):
    try: work()
    except OSError: pass
"#;

/// What no command may print.
const SECRET: &str = "canary-7f3a-of-what-is-hidden";

/// Everything that must stay as it is.
struct Outside {
    folder: tempfile::TempDir,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    named: UnixListener,
    /// More sockets than a command could be told of, in a folder of their own, for an escape that tries them.
    many: Vec<UnixListener>,
    /// One there that takes datagrams.
    datagrams: UnixDatagram,
    /// The reader of a named pipe there.
    pipe: fs::File,
    /// In memory.
    elsewhere: tempfile::TempDir,
    /// Whether Haft keeps its data there.
    is_elsewhere: bool,
    system: System,
}

/// What the system lets Haft mount.
#[derive(Clone, Copy, PartialEq)]
enum System {
    Everything,
    /// No overlay of the workspace: commands work on a copy.
    NoWorkspace,
    /// No overlay of what commands see of the machine, either.
    NoOverlays,
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _it_has_ended = self.victim.kill();
        let _it_has_ended = self.victim.wait();
    }
}

impl Outside {
    fn new(escape: &Escape, system: System) -> Self {
        let folder = tempfile::tempdir_in(crate::kit::other_user::seen_folder()).unwrap();
        let root = folder.path();
        let folders = ["outside", "work", "person/.ssh", "person/.aws", "person/.config/gh", "home"];
        for name in
            folders.into_iter().chain(["vault/kube", "sockets", "lower", "upper", "work-of-it", "between"])
        {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        secrets_behind_links(root);
        fs::write(root.join("outside/kept"), "kept\n").unwrap();
        for key in [".ssh/id", ".aws/credentials", ".netrc", ".git-credentials", ".config/gh/hosts.yml"] {
            fs::write(root.join("person").join(key), SECRET).unwrap();
        }
        fs::write(root.join("work/a.txt"), "a\n").unwrap();
        fs::create_dir(root.join("work/kept-folder")).unwrap();
        let made = Command::new("git").args(["init", "-q"]).current_dir(root.join("work")).status().unwrap();
        assert!(made.success());
        let mut victim = Command::new("sleep");
        victim.arg("600").env("CANARY", SECRET).stdin(Stdio::null()).process_group(0);
        let name = SocketAddr::from_abstract_name(folder.path().as_os_str().as_encoded_bytes()).unwrap();
        let many = if escape.tries("SOCKETS") { sockets(&root.join("sockets")) } else { Vec::new() };
        let pipe = pipe(&root.join("sockets/pipe"));
        let outside = Self {
            many,
            datagrams: UnixDatagram::bind(root.join("sockets/datagrams")).unwrap(),
            pipe,
            elsewhere: tempfile::tempdir_in("/dev/shm").unwrap(),
            is_elsewhere: escape.elsewhere,
            system,
            victim: victim.spawn().unwrap(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path: UnixListener::bind(root.join("outside/sock")).unwrap(),
            named: UnixListener::bind_addr(&name).unwrap(),
            folder,
        };
        outside.tcp.set_nonblocking(true).unwrap();
        outside.udp.set_nonblocking(true).unwrap();
        outside.path.set_nonblocking(true).unwrap();
        outside.datagrams.set_nonblocking(true).unwrap();
        outside.named.set_nonblocking(true).unwrap();
        outside
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn home(&self) -> PathBuf {
        if self.is_elsewhere { self.elsewhere.path().join("home") } else { self.root().join("home") }
    }

    /// `haft` on that system. Its data lie in an overlay, which cannot hold what is changed in another one; and if they lie
    /// in an overlay of an overlay, there can be no third one over it.
    fn haft(&self) -> Command {
        let lower = match self.system {
            System::Everything => return self.command(crate::kit::other_user::program()),
            System::NoWorkspace => "lower",
            System::NoOverlays => "between",
        };
        let script = format!(
            "cd \"$0\" && mount -t overlay overlay -o lowerdir=lower:vault,userxattr between && \
             mount -t overlay overlay -o lowerdir={lower},upperdir=upper,workdir=work-of-it,userxattr home && \
             cd work && exec \"$@\""
        );
        let mut haft = self.command("unshare");
        haft.args(["--map-root-user", "--mount", "sh", "-c", &script]).arg(self.root());
        haft.arg(crate::kit::other_user::program());
        haft
    }

    /// What the person does in the workspace.
    fn person(&self, script: &str) -> String {
        let mut person = self.command("bash");
        let ran = person.args(["-c", script]).env("HAFT_STATE", self.home()).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// A program in the workspace that knows where everything is.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root().join("work")).env_clear().stdin(Stdio::null());
        command.env("PATH", env::var_os("PATH").unwrap()).env("HOME", self.root().join("person"));
        command.env("HAFT_HOME", self.home()).env("STATE", self.home());
        command.env("VAULT", self.root().join("vault")).env("SOCKETS", self.root().join("sockets"));
        command.env("OUT", self.root().join("outside")).env("PERSON", self.root().join("person"));
        command.env("SOCK", self.root().join("outside/sock")).env("ABSTRACT", self.root());
        command.env("VICTIM", self.victim.id().to_string());
        command.env("TCP", self.tcp.local_addr().unwrap().port().to_string());
        command.env("UDP", self.udp.local_addr().unwrap().port().to_string());
        command
    }

    /// What the model reads of a command that it runs.
    fn run(&self, line: &str) -> String {
        let call = json!({"calls": [{"name": "bash", "arguments": {"command": line, "timeout": 60}}]});
        let model = self.root().join("model.jsonl");
        fs::write(&model, format!("{call}\n{}\n", json!({"say": "done"}))).unwrap();
        let mut haft = self.haft();
        haft.args(["run", "--sandbox", "require", "--permission", "accept-edits", "--json", "--model"]);
        let ran = haft.arg(format!("script/{}", model.display())).arg("go").output().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        let events = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ended: Vec<Value> = events.filter(|event| event["type"] == "tool_ended").collect();
        assert_eq!(ended.len(), 1, "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
        ended[0]["content"].as_str().unwrap().to_owned()
    }

    /// What is not as it was.
    fn harm(&mut self) -> Vec<String> {
        let outside = self.root().join("outside");
        let mut found: Vec<String> = fs::read_dir(&outside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        let mut harm = Vec::new();
        let mut expect = |what: &str, holds: bool| harm.extend((!holds).then(|| what.to_owned()));
        expect("a name outside", found == ["kept", "sock"]);
        expect("a file outside", fs::read(outside.join("kept")).is_ok_and(|content| content == b"kept\n"));
        expect("the process outside", self.victim.try_wait().unwrap().is_none());
        let is_silent =
            |error: Option<io::Error>| error.is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        expect("the server", is_silent(self.tcp.accept().err()));
        expect("the datagrams", is_silent(self.udp.recv(&mut [0; 8]).err()));
        expect("the socket at a path", is_silent(self.path.accept().err()));
        expect("the abstract socket", is_silent(self.named.accept().err()));
        expect("one of many sockets", self.many.iter().all(|socket| is_silent(socket.accept().err())));
        expect("the socket for datagrams", is_silent(self.datagrams.recv(&mut [0; 8]).err()));
        expect("the named pipe", is_silent(self.pipe.read(&mut [0; 8]).err()));
        harm
    }
}

/// What came of it that must not have.
fn tried(escape: &Escape, system: System) -> Vec<String> {
    let mut outside = Outside::new(escape, system);
    let mut told = escape.before.as_ref().map(|script| outside.person(script)).unwrap_or_default();
    let line = match (&escape.sh, &escape.py) {
        (Some(sh), _) => sh.clone(),
        (None, py) => format!("python3 - <<'END'\n{PYTHON}{}\nEND", py.as_deref().unwrap()),
    };
    let line = format!("export HAFT_STATE=$STATE\n{line}");
    told += &outside.run(&line);
    if escape.again {
        told += &outside.run("env; true");
    }
    told += &escape.then.as_ref().map(|script| outside.person(script)).unwrap_or_default();
    let mut harm = outside.harm();
    harm.extend(
        ["ESCAPED", SECRET]
            .iter()
            .filter(|word| told.contains(**word))
            .map(|word| format!("{word} in {told}")),
    );
    // A script that did not even begin would prove nothing.
    harm.extend(told.contains("SyntaxError").then(|| told.clone()));
    harm
}

/// A hidden file and a hidden folder that are links, a link out of a hidden folder, and a second name of a hidden file.
fn secrets_behind_links(root: &Path) {
    let (person, vault) = (root.join("person"), root.join("vault"));
    for name in ["npmrc", "kube/config", "key"] {
        fs::write(vault.join(name), SECRET).unwrap();
    }
    symlink(vault.join("npmrc"), person.join(".npmrc")).unwrap();
    symlink("../vault/kube", person.join(".kube")).unwrap();
    symlink("../../vault/key", person.join(".ssh/key")).unwrap();
    fs::write(person.join(".pypirc"), SECRET).unwrap();
    fs::hard_link(person.join(".pypirc"), root.join("work/second-name")).unwrap();
}

/// Some of which the system tells another name, or none.
fn sockets(folder: &Path) -> Vec<UnixListener> {
    let by_descriptor = fs::File::open(folder).unwrap();
    let held = PathBuf::from(format!("/proc/self/fd/{}", by_descriptor.as_raw_fd()));
    let many = (0..300).map(|number| UnixListener::bind(held.join(format!("s{number:03}"))).unwrap());
    let many: Vec<_> = many.inspect(|socket| socket.set_nonblocking(true).unwrap()).collect();
    fs::rename(folder.join("s299"), folder.join("renamed")).unwrap();
    many
}

fn pipe(path: &Path) -> fs::File {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    fs::File::options()
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .unwrap()
}

fn escapes() -> Vec<Escape> {
    let all: Escapes = toml::from_str(include_str!("escapes.toml")).unwrap();
    assert!(all.escape.len() >= 75, "{}", all.escape.len());
    all.escape
}

/// All of them, or those whose names contain `HAFT_ESCAPE`.
fn no_way_out(system: System) {
    let only = env::var("HAFT_ESCAPE").unwrap_or_default();
    let all = escapes();
    let left = Mutex::new(all.iter().filter(|escape| escape.name.contains(&only)));
    let out = Mutex::new(Vec::new());
    // Each mostly waits for processes, and all of them one after the other take longer than the rest of the tests.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(escape) = { left.lock().unwrap().next() } {
                    let harm = tried(escape, system).into_iter();
                    out.lock().unwrap().extend(harm.map(|harm| format!("{}: {harm}", escape.name)));
                }
            });
        }
    });
    let out = out.into_inner().unwrap();
    assert!(out.is_empty(), "{}", out.join("\n"));
}

// D03, D04, D07, D08, D09, D10, D11, D12, D43, D57, D62, D63, D65, D67
#[test]
fn no_published_way_out_leads_out() {
    no_way_out(System::Everything);
}

#[test]
fn nor_where_commands_work_on_a_copy() {
    no_way_out(System::NoWorkspace);
}

// D09
#[test]
fn sockets_are_out_of_reach_where_no_overlay_can_be_mounted_or_a_folder_beside_changes() {
    let all = escapes();
    let sockets: Vec<_> = all.iter().filter(|escape| escape.name.contains("socket")).collect();
    assert!(sockets.len() >= 3);
    let ended = AtomicBool::new(false);
    let harm: Vec<String> = thread::scope(|scope| {
        // Below the folder in which Haft's data are mounted anew, so that every command finds others there than the one before.
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                drop(tempfile::tempdir_in(crate::kit::other_user::seen_folder()).unwrap());
            }
        });
        let systems = [System::NoOverlays, System::NoWorkspace];
        let harm = systems.iter().flat_map(|system| sockets.iter().flat_map(|escape| tried(escape, *system)));
        let harm = harm.collect();
        ended.store(true, Ordering::Relaxed);
        harm
    });
    assert!(harm.is_empty(), "{}", harm.join("\n"));
}

/// The same by a user who may do nothing.
#[test]
fn nor_for_somebody_who_is_not_root() {
    crate::kit::other_user::run_as_nobody(module_path!(), "no_published_way_out_leads_out");
}
