//! [`Postgres`]: a separate PostgreSQL server for a test, in a scratch folder, on a Unix socket.
use crate::{free_port, left_out};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Mutex,
    thread::sleep,
    time::{Duration, Instant},
};

/// The unprivileged account, since PostgreSQL refuses to run as root.
const OTHER_USER: u32 = 65_534;
/// Timeout for the start of the server.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server. It ends, and its folder is removed, when this is dropped; it also ends with the process of the test.
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    running: Mutex<Option<Child>>,
}

impl Postgres {
    /// Starts a server. Reports the test as left out and returns `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    ///
    /// If it is installed and does not start.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            left_out("PostgreSQL: there is no `/usr/lib/postgresql/*/bin/postgres`; `scripts/setup.sh test`");
            return None;
        };
        let folder =
            std::env::temp_dir().join(format!("haft-pg-{}-{:x}", std::process::id(), fastrand::u64(..)));
        fs::create_dir(&folder).expect("a scratch folder");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a scratch folder");
        if is_root() {
            chown(&folder, Some(OTHER_USER), Some(OTHER_USER)).expect("root may give a folder away");
        }
        let server = Self { folder, programs, port: free_port(), running: Mutex::default() };
        let data = server.data();
        let words = ["--no-sync", "--auth=trust", "--username=haft", "--encoding=UTF8", "--locale=C", "-D"];
        let made = server.program("initdb").args(words).arg(data).output();
        assert_ok(&made.expect("initdb can be started"));
        server.begin();
        Some(server)
    }

    /// The log of the server since its start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The address of the server.
    pub fn address(&self) -> String {
        format!("postgres://haft@/postgres?host={}&port={}", self.folder.display(), self.port)
    }

    /// The number in the name of its socket, which is also its port with `listen_addresses=127.0.0.1`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server again after [`Self::stop`], and waits until it answers.
    ///
    /// # Panics
    ///
    /// Where it does not.
    pub fn begin(&self) {
        self.begin_with(&[]);
    }

    /// Like [`Self::begin`], with settings for this run, such as `ssl=on`.
    ///
    /// # Panics
    ///
    /// Where it does not.
    pub fn begin_with(&self, settings: &[&str]) {
        let mut running = self.running.lock().expect("no test panics while it holds the server");
        // The server ends with the process at the other end of its standard input.
        let script = r#""$@" & read _; kill -INT $!; wait $!"#;
        let mut command = Command::new("sh");
        let log = fs::File::create(self.folder.join("log")).expect("a scratch folder");
        command.args(["-c", script, "sh"]).args(self.words("postgres")).arg("-D").arg(self.data());
        let socket = format!("unix_socket_directories={}", self.folder.display());
        let port = format!("port={}", self.port);
        let usual = ["listen_addresses=", &socket, &port, "max_connections=60", "synchronous_commit=on"];
        for setting in usual.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        *running = Some(command.spawn().expect("a shell"));
        let begun = Instant::now();
        while !self.psql("SELECT 1").status.success() {
            assert!(begun.elapsed() < PATIENCE, "PostgreSQL does not answer: {}", self.log());
            sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server, whatever it is doing.
    pub fn stop(&self) {
        self.thaw();
        let running = self.running.lock().ok().and_then(|mut running| running.take());
        if let Some(mut child) = running {
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }

    /// Suspends the server: its clients get neither an answer nor an error.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes the server, which then answers all pending requests.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends a signal to the server and its processes for clients.
    fn signal(&self, signal: Signal) {
        let own = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let Some(own) = own.lines().next().map(str::to_owned) else { return };
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let all = std::iter::once(own.as_str()).chain(children.split_whitespace());
        for process in all.filter_map(|process| Pid::from_raw(process.parse().ok()?)) {
            let _it_has_ended = kill_process(process, signal);
        }
    }

    /// Writes a file into the server's folder, such as `pg_hba.conf`, which is read at its next start.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn keep(&self, name: &str, content: impl AsRef<[u8]>) {
        let place = self.data().join(name);
        fs::write(&place, content).expect("a scratch folder");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).expect("a scratch folder");
        if is_root() {
            chown(&place, Some(OTHER_USER), Some(OTHER_USER)).expect("root may give a file away");
        }
    }

    /// The output of `statement`, without decoration.
    ///
    /// # Panics
    ///
    /// Where PostgreSQL refuses it.
    pub fn sql(&self, statement: &str) -> String {
        let output = self.psql(statement);
        assert_ok(&output);
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// The whole content of its database, in the format of `pg_dump`.
    ///
    /// # Panics
    ///
    /// If `pg_dump` fails.
    pub fn dump(&self) -> Vec<u8> {
        let output = self.client("pg_dump", &["--format=custom"]).output().expect("pg_dump can be started");
        assert_ok(&output);
        output.stdout
    }

    /// Restores the output of [`Self::dump`], of this server or another one, into the empty database.
    ///
    /// # Panics
    ///
    /// Where PostgreSQL refuses it.
    pub fn restore(&self, dump: &[u8]) {
        let file = self.folder.join("dump");
        fs::write(&file, dump).expect("a scratch folder");
        let mut command = self.client("pg_restore", &["--no-owner", "--exit-on-error"]);
        assert_ok(&command.arg(&file).output().expect("pg_restore can be started"));
    }

    fn psql(&self, statement: &str) -> Output {
        let words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement];
        self.client("psql", &words).output().expect("psql can be started")
    }

    /// A program that connects to the server.
    fn client(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.args(["-U", "haft", "-d", "postgres", "-p", &self.port.to_string(), "-h"]).arg(&self.folder);
        command.args(words).stdin(Stdio::null());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn program(&self, name: &str) -> Command {
        let words = self.words(name);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn words(&self, name: &str) -> Vec<String> {
        let program = self.programs.join(name).display().to_string();
        let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        let before = if is_root() { as_nobody.as_slice() } else { &[] };
        before.iter().map(|word| (*word).to_owned()).chain([program]).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
        let _the_system_clears_it = fs::remove_dir_all(&self.folder);
    }
}

fn assert_ok(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The newest version that Debian's packages have installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    found.sort_by_key(|path| number(path));
    let mut newest = found.into_iter().map(|path| path.join("bin"));
    newest.rfind(|programs| programs.join("postgres").exists() && programs.join("psql").exists())
}
