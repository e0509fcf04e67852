//! [`Updates`]: finds newer releases of Haft, installs them, and reverts the last update.
//!
//! A release is trusted only because the index that names it is signed with a key from this program or from the user's
//! configuration. Servers, proxies and redirects on the way need no trust, since the index contains the checksum of
//! each package. Nothing is sent except requests for files.
mod index;
mod installation;
mod notice;
mod owner;
mod shares;
mod trial;

pub use owner::Owner;

use crate::{
    App, Failure,
    config::{Settings, UpdateFile},
};
use haft_http::{Address, Download, DownloadError, Proxy};
use index::{Index, Package};
use installation::{Installation, unwritable};
use minisign_verify::PublicKey;
use semver::Version;
use sha2::{Digest, Sha256};
use std::{
    env::consts::{ARCH, OS},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

/// Address of the index, built into distributed builds.
const INDEX: Option<&str> = option_env!("HAFT_UPDATE_INDEX");
/// The public key that signs their releases.
const KEY: Option<&str> = option_env!("HAFT_UPDATE_KEY");
/// Maximum size of an index. It has a few hundred bytes for each system.
const MAX_INDEX_BYTES: u64 = 1 << 20;
/// Maximum size of a signature. It has about 300 bytes.
const MAX_SIGNATURE_BYTES: u64 = 16 << 10;
/// Used if the configuration sets no time.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The end of the message of every failure before the exchange.
const UNCHANGED: &str = "nothing was changed";

/// Updates of one program.
#[derive(Debug)]
pub struct Updates<'a> {
    app: &'a App,
    program: PathBuf,
}

/// The result of a check, an update or a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The version of the running program.
    pub from: String,
    /// The version that is installed afterwards. If nothing was done, the newest version, which equals `from` if there
    /// is no newer one.
    pub to: String,
    /// Whether the program was replaced.
    pub done: bool,
}

impl App {
    /// Updates of `program`, the file that this process runs.
    #[must_use]
    pub fn updates(&self, program: PathBuf) -> Updates<'_> {
        Updates { app: self, program }
    }
}

/// The source of releases.
struct Source {
    index: Address,
    keys: Vec<PublicKey>,
    timeout: Duration,
    proxy: Option<Proxy>,
}

impl Updates<'_> {
    /// Fetches the index and looks for a newer version.
    ///
    /// # Errors
    ///
    /// If no index or no key is known, the index cannot be fetched or is not signed by the key, or a newer version has no
    /// package for this system.
    pub async fn check(&self) -> Result<Outcome, Failure> {
        let index = self.source()?.index().await?;
        match index.is_newer_than(&current()) {
            true => index.package(&target()).map(|_| outcome(index.version.to_string(), false)),
            false => Ok(outcome(current().to_string(), false)),
        }
    }

    /// Installs the newest version, if it is newer, and keeps the program that it replaces. `progress` receives the
    /// number of bytes fetched so far, and the total.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::check`] does; if something else owns the program; if the package is incomplete, has another
    /// checksum, or does not run here; if the folder of the program cannot be written. The program then stays as it
    /// was.
    pub async fn install(&self, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<Outcome, Failure> {
        let program = self.own_program()?;
        let source = self.source()?;
        let index = source.index().await?;
        if !index.is_newer_than(&current()) {
            return Ok(outcome(current().to_string(), false));
        }
        let package = index.package(&target())?;
        let installation = Installation::open(&program)?;
        let file = source.fetch(package, &installation, progress).await?;
        let inside = format!("haft-{}-{}/bin/haft", index.version, target());
        let new = installation.unpack(file.path(), &inside)?;
        drop(file);
        let version = trial::version(&new, &self.app.environment).await?;
        if version != index.version.to_string() {
            let wrong = format!("the package of haft {} holds haft {version}", index.version);
            return Err(Failure::failed(wrong).hint(UNCHANGED));
        }
        installation.replace_by(new)?;
        self.refresh_shares(&program).await;
        Ok(outcome(version, true))
    }

    /// Swaps the program with the one that the last update replaced.
    ///
    /// # Errors
    ///
    /// If something else owns the program, there is no earlier one or it does not run, or the folder cannot be written.
    pub async fn back(&self) -> Result<Outcome, Failure> {
        let program = self.own_program()?;
        let installation = Installation::open(&program)?;
        let earlier = installation.earlier()?;
        let version = trial::version(&earlier, &self.app.environment).await?;
        installation.replace_by(earlier)?;
        self.refresh_shares(&program).await;
        Ok(outcome(version, true))
    }

    /// The real path of the program, if Haft may replace it.
    fn own_program(&self) -> Result<PathBuf, Failure> {
        let program = self.program.canonicalize().map_err(|error| {
            Failure::failed(format!("cannot find the running program `{}`: {error}", self.program.display()))
                .hint("it was moved or replaced while it ran: start it again")
        })?;
        match Owner::of(&program, Path::new("/")) {
            Some(owner) => Err(owned(&program, owner)),
            None => Ok(program),
        }
    }

    fn settings(&self) -> Result<UpdateFile, Failure> {
        // The configuration for the home, so that no project affects updates.
        Ok(self.app.config(&self.app.places.home, &Settings::default())?.user.update)
    }

    fn source(&self) -> Result<Source, Failure> {
        let settings = self.settings()?;
        let index = settings.index.as_deref().or(INDEX).filter(|text| !text.is_empty()).ok_or_else(|| {
            Failure::usage("cannot look for updates: there is no index of releases")
                .hint("set its address: `haft config set update.index https://…/index.json`")
        })?;
        let key = settings.key.as_deref().or(KEY).filter(|text| !text.is_empty()).ok_or_else(|| {
            Failure::usage("cannot verify updates: there is no public key of the releases")
                .hint("set it to the line of the `.pub` file: `haft config set update.key RW…`")
        })?;
        let index = Address::parse(index)
            .map_err(|error| Failure::usage(format!("`update.index` is invalid: {error}")))?;
        let timeout = settings.timeout.map_or(TIMEOUT, |seconds| Duration::from_secs(seconds.get().into()));
        let proxy = Proxy::of(|name| self.app.environment.get(name));
        Ok(Source { index, keys: index::keys(key)?, timeout, proxy })
    }

    /// Refreshes the files that come with the program. The program is already in place, so an error here is only
    /// reported.
    async fn refresh_shares(&self, program: &Path) {
        for problem in shares::refresh(program, &self.app.environment).await {
            self.app.warn(problem);
        }
    }
}

impl Source {
    async fn index(&self) -> Result<Index, Failure> {
        let signature = self.index.join(&format!("{}.minisig", self.index.file_name()));
        let signature =
            signature.map_err(|error| Failure::usage(format!("`update.index` is invalid: {error}")))?;
        let text = self.small_file(&self.index, MAX_INDEX_BYTES).await?;
        let signature = self.small_file(&signature, MAX_SIGNATURE_BYTES).await?;
        Index::verified(&text, &signature, &self.keys, &self.index.to_string())
    }

    async fn small_file(&self, address: &Address, max_bytes: u64) -> Result<Vec<u8>, Failure> {
        let mut content = Vec::new();
        let keep = |piece: &[u8]| {
            content.extend_from_slice(piece);
            Ok(())
        };
        self.download(address, max_bytes).fetch(keep).await.map_err(not_fetched)?;
        Ok(content)
    }

    fn download(&self, address: &Address, max_bytes: u64) -> Download {
        Download { address: address.clone(), max_bytes, timeout: self.timeout, proxy: self.proxy.clone() }
    }

    /// Fetches a package into the folder of the program, and verifies its size and its checksum.
    async fn fetch(
        &self,
        package: &Package,
        installation: &Installation,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<tempfile::NamedTempFile, Failure> {
        let address = self.index.join(&package.url).map_err(|error| {
            Failure::failed(format!("the index of releases names a wrong address: {error}")).hint(UNCHANGED)
        })?;
        let download = self.download(&address, package.size);
        let mut file = installation.new_file()?;
        let (mut sum, mut here) = (Sha256::new(), 0);
        let fetched = download.fetch(|piece| {
            sum.update(piece);
            here += piece.len() as u64;
            progress(here, package.size);
            file.write_all(piece)
        });
        match fetched.await {
            Ok(bytes) if bytes < package.size => Err(not_fetched(download.cut_off(bytes))),
            Ok(_) => Ok(()),
            Err(DownloadError::NotKept(error)) => Err(unwritable(installation.folder(), &error)),
            Err(error) => Err(not_fetched(error)),
        }?;
        let sum = hex::encode(sum.finalize());
        match sum.eq_ignore_ascii_case(&package.sha256) {
            true => Ok(file),
            false => {
                let wrong = format!("`{address}` is damaged: its SHA-256 is {sum}, not {}", package.sha256);
                Err(Failure::failed(wrong).hint(format!("{UNCHANGED}; run it again later")))
            }
        }
    }
}

fn outcome(to: String, done: bool) -> Outcome {
    Outcome { from: current().to_string(), to, done }
}

/// The version of the running program.
fn current() -> Version {
    env!("CARGO_PKG_VERSION").parse().expect("Cargo takes no other version")
}

/// The name of this system, as Rust and the index write it.
fn target() -> String {
    let system = match OS {
        "linux" if cfg!(target_env = "musl") => "unknown-linux-musl",
        "linux" => "unknown-linux-gnu",
        "macos" => "apple-darwin",
        other => other,
    };
    format!("{ARCH}-{system}")
}

fn owned(program: &Path, owner: Owner) -> Failure {
    let program = program.display();
    let message = match owner {
        Owner::Build => format!("`{program}` is {}, so Haft does not replace it", owner.name()),
        _ => format!("`{program}` was installed by {}, so Haft does not replace it", owner.name()),
    };
    Failure::usage(message).hint(match owner.command() {
        Some(command) => format!("update it with `{command}`"),
        None => "update it with that".to_owned(),
    })
}

fn not_fetched(error: DownloadError) -> Failure {
    let hint = match &error {
        DownloadError::Unreachable { proxy: Some(_), .. } => {
            "the proxy is that of the variable `https_proxy` or `all_proxy`; `no_proxy` lists hosts that need none"
        }
        DownloadError::Status { status: 404, .. } => "`update.index` may name the wrong address",
        DownloadError::TooLarge { .. } | DownloadError::Redirected { .. } => {
            "the server may be another one than it was"
        }
        _ => "run it again later",
    };
    Failure::failed(error.to_string()).hint(format!("{UNCHANGED}; {hint}"))
}
