//! [`Launch`]: what a new process is given, made before it starts: between its start and its program nothing is
//! allocated.
use crate::signals;
use std::{
    convert::Infallible,
    ffi::{CStr, CString, OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    process::Command,
    ptr,
};

/// A program with all that its process is given.
pub(crate) struct Launch {
    /// Where the program may be, tried one after the other. Empty: the process succeeds without running a program.
    places: Vec<CString>,
    arguments: Words,
    environment: Words,
    /// Where the process starts.
    pub(crate) folder: CString,
}

/// Where programs are looked up without a `PATH`, as `execvp` of the system's library does.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// Runs a file that the system does not know how to run.
const SHELL: &CStr = c"/bin/sh";

/// Maximum arguments of a script that does not name its interpreter.
const MAX_SCRIPT_ARGUMENTS: usize = 1_000;

impl Launch {
    /// The program of `command` with its arguments, its folder, and only the environment that it names. It is looked up
    /// in the `PATH` of that environment unless it is a path. A text with a NUL is an error of kind `InvalidInput`.
    pub(crate) fn new(command: &Command) -> io::Result<Self> {
        let variables: Vec<_> = command.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        let path = variables.iter().find(|(name, _)| *name == "PATH");
        let places = places(command.get_program(), path.map_or(DEFAULT_PATH, |(_, value)| value.as_bytes()));
        let variables = variables.into_iter().map(|(name, value)| {
            let parts = [name.as_bytes(), b"=", value.as_bytes()];
            OsString::from_vec(parts.concat())
        });
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let folder = command.get_current_dir().unwrap_or(Path::new("."));
        Ok(Self {
            places: places.into_iter().map(c_string).collect::<io::Result<_>>()?,
            arguments: Words::new(words.map(OsStr::to_owned))?,
            environment: Words::new(variables)?,
            folder: c_string(folder.as_os_str().to_owned())?,
        })
    }

    /// A process that ends where others begin their program.
    pub(crate) fn nothing(folder: &Path) -> io::Result<Self> {
        let launch = Self::new(Command::new("").current_dir(folder))?;
        Ok(Self { places: Vec::new(), ..launch })
    }

    /// Replaces this process with the program. Returns only if the program does not exist or cannot be run. Allocates
    /// nothing.
    #[expect(unsafe_code, reason = "execve(2) with words that are ready has no safe form")]
    pub(crate) fn run_program(&self) -> io::Result<Infallible> {
        signals::take_all();
        if self.places.is_empty() {
            // SAFETY: ends this process without running anything of the program that it was made from.
            unsafe { libc::_exit(0) }
        }
        let mut error = libc::ENOENT;
        for place in &self.places {
            // SAFETY: the name and both lists outlive the call, and each list ends with null.
            unsafe { libc::execve(place.as_ptr(), self.arguments.list(), self.environment.list()) };
            let failed = io::Error::last_os_error();
            match failed.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT) => {}
                // Another folder may have one that may be run.
                Some(libc::EACCES) => error = libc::EACCES,
                Some(libc::ENOEXEC) => return self.run_by_shell(place),
                _ => return Err(failed),
            }
        }
        Err(io::Error::from_raw_os_error(error))
    }

    /// Runs a script that does not name its interpreter, as `execvp` does.
    #[expect(unsafe_code, reason = "as above")]
    fn run_by_shell(&self, script: &CStr) -> io::Result<Infallible> {
        let mut list = [ptr::null(); MAX_SCRIPT_ARGUMENTS];
        let arguments = self.arguments.pointers.get(1..).unwrap_or_default();
        let Some(behind) = list.get_mut(2..2 + arguments.len()) else {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        };
        behind.copy_from_slice(arguments);
        (list[0], list[1]) = (SHELL.as_ptr(), script.as_ptr());
        // SAFETY: as above; the arguments end with null.
        unsafe { libc::execve(SHELL.as_ptr(), list.as_ptr(), self.environment.list()) };
        Err(io::Error::last_os_error())
    }
}

fn places(program: &OsStr, path: &[u8]) -> Vec<OsString> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let folders = path.split(|byte| *byte == b':');
    // An empty one is the folder where the process starts.
    folders.map(|folder| Path::new(OsStr::from_bytes(folder)).join(program).into_os_string()).collect()
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Texts, as execve(2) takes them.
struct Words {
    /// To `_texts`, and null behind them.
    pointers: Vec<*const libc::c_char>,
    _texts: Vec<CString>,
}

#[expect(unsafe_code, reason = "pointers to what is owned beside them")]
// SAFETY: the texts stay in place for as long as the pointers to them, and no code changes either.
unsafe impl Send for Words {}

impl Words {
    fn new(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let texts: Vec<CString> = texts.map(c_string).collect::<io::Result<_>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { pointers, _texts: texts })
    }

    fn list(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}
