//! [`Terminal`]: sets up the terminal, and restores it however the program ends.
use crossterm::{
    cursor::Show,
    event::{
        DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
        KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
    },
    execute,
    terminal::{
        EnableLineWrap, EndSynchronizedUpdate, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    },
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::{AsFd, OwnedFd},
    process::{Signal, getpid, kill_process},
};
use std::{
    fs::File,
    io::{self, IsTerminal, stdin, stdout},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tokio::sync::Notify;

/// How long the program may take to end after its terminal is gone.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Restores the terminal when it is dropped.
pub(super) struct Terminal(());

impl Terminal {
    /// Enables raw mode: keys are read one by one, without echo. A panic restores the terminal before its message is
    /// printed. If the panic is caught, as in the call of a tool, the terminal is [set up again](Self::given_back).
    pub(super) fn take() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
            GIVEN_BACK.notify_one();
        }));
        let taken = Self(());
        taken.enter()?;
        static WATCH: Once = Once::new();
        WATCH.call_once(|| drop(thread::spawn(|| tty().and_then(end_without))));
        Ok(taken)
    }

    fn enter(&self) -> io::Result<()> {
        enable_raw_mode()?;
        let keys = PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES);
        execute!(stdout(), EnableBracketedPaste, EnableFocusChange, keys)
    }

    /// Waits until a caught panic has restored the terminal, and sets it up again; its content is then unknown.
    pub(super) async fn given_back(&self) -> io::Result<()> {
        GIVEN_BACK.notified().await;
        self.enter()
    }

    /// Restores the terminal for `other`, and sets it up again afterwards.
    pub(super) async fn lend<T>(&self, other: impl Future<Output = T>) -> io::Result<T> {
        give_back();
        let done = other.await;
        self.enter()?;
        Ok(done)
    }

    /// Stops the process as a shell's Ctrl+Z does; afterwards the terminal is set up again.
    pub(super) fn suspend(&self) -> io::Result<()> {
        give_back();
        kill_process(getpid(), Signal::TSTP)?;
        self.enter()
    }
}

/// The terminal from which keys are read.
fn tty() -> io::Result<OwnedFd> {
    if stdin().is_terminal() {
        stdin().as_fd().try_clone_to_owned()
    } else {
        Ok(File::open("/dev/tty")?.into())
    }
}

/// Ends the program once `tty` is gone. The system notifies only the programs of its own session, and the next attempt
/// to read a key would loop forever (crossterm 0.29), even in the thread that handles signals.
fn end_without(tty: OwnedFd) -> io::Result<()> {
    let gone = PollFlags::HUP | PollFlags::ERR;
    let mut watched = [PollFd::new(&tty, PollFlags::empty())];
    while !watched[0].revents().intersects(gone) {
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().contains(PollFlags::NVAL) => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    kill_process(getpid(), Signal::HUP)?;
    thread::sleep(LEAVE_TIMEOUT);
    // The main thread does not respond. Its session is recovered as after any crash.
    Ok(kill_process(getpid(), Signal::KILL)?)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Notified once a panic has printed its message.
static GIVEN_BACK: Notify = Notify::const_new();

/// Whether a page is shown on the alternate screen.
static IS_PAGE: AtomicBool = AtomicBool::new(false);

/// Called before the alternate screen is shown, so that a panic can leave it.
pub(super) fn is_page(is_page: bool) {
    IS_PAGE.store(is_page, Ordering::Relaxed);
}

fn give_back() {
    let _no_terminal = execute!(stdout(), EnableLineWrap, EndSynchronizedUpdate, Show);
    if IS_PAGE.swap(false, Ordering::Relaxed) {
        let _no_terminal = execute!(stdout(), LeaveAlternateScreen);
    }
    let keys = PopKeyboardEnhancementFlags;
    let _no_terminal = execute!(stdout(), keys, DisableFocusChange, DisableBracketedPaste);
    let _no_terminal = disable_raw_mode();
}
