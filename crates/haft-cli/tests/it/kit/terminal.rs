//! The real binary in a real terminal: a `tmux` of its own for each test.
use super::Place;
use std::{
    cell::Cell,
    process::{Command, Output},
    time::{Duration, Instant},
};

/// How long a test waits; a slow machine may take its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// So often the screen must look the same before it is at rest.
const AT_REST: usize = 3;

/// The shell is named: without a `$SHELL`, `tmux` would take the one of the account, and that of a system account ends at once.
const CONFIG: &str = "set -g history-limit 50000
set -g status off
set -s escape-time 0
set -g default-shell /bin/sh
";

/// A terminal with a program in it, gone when it is dropped.
pub(crate) struct Terminal {
    socket: String,
    /// How often a program was started.
    started: Cell<usize>,
}

impl Terminal {
    /// Opens one of so many columns and rows with a shell in `place`; nothing where there is no `tmux`.
    pub(crate) fn open(place: &Place, (columns, rows): (u16, u16)) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            haft_testing::left_out("the terminal: there is no `tmux` here");
            return None;
        }
        let socket = place.path().join("terminal").to_string_lossy().into_owned();
        let terminal = Self { socket, started: Cell::new(0) };
        let config = place.path().join("tmux.conf");
        std::fs::write(&config, CONFIG).unwrap();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let folder = place.work();
        let shell = "exec env -i PATH=\"$PATH\" TERM=tmux-256color PS1='$ ' ENV= /bin/sh";
        terminal.begin(&[
            "-f",
            config.to_str().unwrap(),
            "new-session",
            "-d",
            "-c",
            folder.to_str().unwrap(),
            "-x",
            &columns,
            "-y",
            &rows,
            shell,
        ]);
        terminal.see("$");
        Some(terminal)
    }

    /// Types a command for the shell: `haft` with the environment of `place`. On return nothing stands on the screen that
    /// stood there before.
    pub(crate) fn haft(&self, place: &Place, arguments: &str) {
        let binary = super::other_user::program();
        let binary = binary.display();
        let (home, person) = (place.path().join("home"), place.path().join("person"));
        self.started.set(self.started.get() + 1);
        let title = format!("start {}", self.started.get());
        let sandbox = if place.confines { "" } else { "HAFT_SANDBOX=off" };
        let line = format!(
            "clear; printf '\\033]2;{title}\\007'; HAFT_HOME={} HOME={} {sandbox} {binary} {arguments}; echo left $?",
            home.display(),
            person.display()
        );
        let file = place.path().join("start.sh");
        std::fs::write(&file, line).unwrap();
        self.say(&format!(". {}", file.display()));
        poll(|| self.title().trim_end() == title, || format!("the title {title:?}"));
    }

    /// Sends a signal, such as `TERM`, to the program that the shell waits for.
    pub(crate) fn signal(&self, name: &str) {
        let shell = text(&self.tmux(&["display-message", "-p", "#{pane_pid}"]));
        let found = Command::new("pgrep").args(["-P", shell.trim()]).output().unwrap();
        let sent = Command::new("kill").args([&format!("-{name}"), text(&found).trim()]).status().unwrap();
        assert!(sent.success(), "{name} to {found:?}");
    }

    /// As a person closes the window: the terminal is gone.
    pub(crate) fn close(&self) {
        self.tmux(&["kill-server"]);
    }

    /// Keys by the names that `tmux` has for them. A person reads a question first.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.reads();
        self.keys_at_once(keys);
    }

    fn reads(&self) {
        if self.screen().contains("waiting for you") {
            std::thread::sleep(Duration::from_millis(600));
        }
    }

    /// The same, whatever has just appeared.
    pub(crate) fn keys_at_once(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// A line, and Enter.
    pub(crate) fn say(&self, line: &str) {
        self.reads();
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    /// As a person pastes: in brackets.
    pub(crate) fn paste(&self, place: &Place, text: &str) {
        let file = place.path().join("paste");
        std::fs::write(&file, text).unwrap();
        self.tmux(&["load-buffer", file.to_str().unwrap()]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        text(&self.tmux(&["capture-pane", "-p"]))
    }

    /// Keeps in `file` what programs write from here on, byte for byte.
    pub(crate) fn record(&self, file: &std::path::Path) {
        self.tmux(&["pipe-pane", "-o", &format!("cat > {}", file.display())]);
    }

    /// The same with the codes of its colors.
    pub(crate) fn colors(&self) -> String {
        text(&self.tmux(&["capture-pane", "-p", "-e"]))
    }

    /// The shell's line editing is on again: a person does not type blindly.
    pub(crate) fn is_usable(&self) {
        self.say("stty -a | tr ' ' '\\n' | grep -xE -- '-?(echo|icanon|isig);?'");
        let screen = self.see("isig\n");
        for on in ["isig", "icanon", "echo"] {
            assert!(screen.lines().any(|line| line == on), "{on}: {screen}");
        }
    }

    /// What programs made of the title.
    pub(crate) fn title(&self) -> String {
        text(&self.tmux(&["display-message", "-p", "#{pane_title}"]))
    }

    /// What was scrolled away, too.
    pub(crate) fn all(&self) -> String {
        text(&self.tmux(&["capture-pane", "-p", "-S", "-"]))
    }

    /// Waits until the screen shows this, and gives it once it has come to rest.
    pub(crate) fn see(&self, expected: &str) -> String {
        self.wait(|screen| screen.contains(expected), expected)
    }

    /// Waits until the screen no longer shows this.
    pub(crate) fn no_longer_see(&self, unexpected: &str) -> String {
        self.wait(|screen| !screen.contains(unexpected), unexpected)
    }

    fn wait(&self, is_there: impl Fn(&str) -> bool, what: &str) -> String {
        let (mut screen, mut before, mut alike) = (String::new(), String::new(), 0);
        let is_at_rest = || {
            screen = self.screen();
            let still = without_what_moves(&screen);
            alike = if still == before { alike + 1 } else { 1 };
            before = still;
            is_there(&screen) && alike >= AT_REST
        };
        poll(is_at_rest, || format!("{what:?}, but there is:\n{}", self.screen()));
        screen
    }

    /// Starts the server, once more where the client lost it: on a loaded machine `tmux` 3.3 does so now and then
    /// ("server exited unexpectedly"), before the shell has begun.
    fn begin(&self, arguments: &[&str]) {
        let first = self.run(arguments);
        if !first.status.success()
            && String::from_utf8_lossy(&first.stderr).contains("server exited unexpectedly")
        {
            let _half_a_server = self.run(&["kill-server"]);
            self.tmux(arguments);
        } else {
            done(&first, arguments);
        }
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        done(&output, arguments);
        output
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").arg("-S").arg(&self.socket).args(arguments).output().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _it_may_be_gone = Command::new("tmux").args(["-S", &self.socket, "kill-server"]).output();
    }
}

/// Looks again and again.
pub(crate) fn poll(mut is_there: impl FnMut() -> bool, what: impl Fn() -> String) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < PATIENCE, "waited for {}", what());
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// A spinner turns and seconds count while nothing else happens.
fn without_what_moves(screen: &str) -> String {
    let is_braille = |c: char| ('\u{2800}'..='\u{28ff}').contains(&c);
    let moves = |line: &&str| {
        line.contains("Esc to interrupt") || line.contains("waiting for you") || line.starts_with(is_braille)
    };
    screen.lines().filter(|line| !moves(line)).collect::<Vec<_>>().join("\n")
}

fn done(output: &Output, arguments: &[&str]) {
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Without what differs from one time to the next: times, names of sessions and folders.
pub(crate) fn steady(screen: &str, place: &Place) -> String {
    let screen = screen.replace(&*place.path().to_string_lossy(), "PLACE");
    let words = screen.lines().map(|line| line.split(' ').map(steady_word).collect::<Vec<_>>().join(" "));
    let text: Vec<String> = words.map(|line| line.trim_end().to_owned()).collect();
    text.join("\n").trim_end().to_owned()
}

fn steady_word(word: &str) -> &str {
    let is_time = word.contains('.') && !word.ends_with('.') && word.parse::<f64>().is_ok();
    let is_session = word.len() == 32 && word.bytes().filter(|byte| *byte == b'-').count() == 2;
    match (is_time, is_session) {
        (true, _) => "N.N",
        (_, true) => "SESSION",
        _ => word,
    }
}
