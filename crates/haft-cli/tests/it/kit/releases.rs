//! A server of releases on loopback that can be slow, be cut off and lie; its index is signed as `scripts/dist.sh` does it.
use super::Place;
use flate2::{Compression, write::GzEncoder};
use minisign::KeyPair;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    env::consts::{ARCH, OS},
    ffi::OsStr,
    io::{BufRead, BufReader, Cursor, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// The version that is offered.
pub(crate) const NEW: &str = "9.9.9";
/// The version under test.
pub(crate) const OLD: &str = env!("CARGO_PKG_VERSION");

/// How a file is served.
#[derive(Clone)]
pub(crate) enum Served {
    Whole(Vec<u8>),
    /// Half of it, and then the connection ends.
    CutOff(Vec<u8>),
    /// The same without a word of how long it is.
    CutOffUnannounced(Vec<u8>),
    /// Without a word of how long it is.
    Unannounced(Vec<u8>),
    /// Ten bytes, and then one byte each 50 ms.
    Slow(Vec<u8>),
    Redirect(String),
}

type Files = Arc<Mutex<BTreeMap<String, Served>>>;

/// Serves `/index.json`, its signature and packages. The last thread ends with the test.
pub(crate) struct Releases {
    pub(crate) address: String,
    key: KeyPair,
    files: Files,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Releases {
    /// With a signed index of the version [`NEW`] for this system.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (files, asked) = (Files::default(), Arc::<Mutex<Vec<String>>>::default());
        let (served, heard) = (files.clone(), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (served, heard) = (served.clone(), heard.clone());
                thread::spawn(move || {
                    let _the_client_has_left = answer(stream.unwrap(), &served, &heard);
                });
            }
        });
        let key = KeyPair::generate_unencrypted_keypair().unwrap();
        let releases = Self { address, key, files, asked };
        releases.release(NEW, &package(NEW, &program(NEW)));
        releases
    }

    pub(crate) fn public_key(&self) -> String {
        self.key.pk.to_base64()
    }

    /// What was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.heads().iter().map(|head| path_in(head).to_owned()).collect()
    }

    /// The same with the headers of each request.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn put(&self, path: &str, served: Served) {
        self.files.lock().unwrap().insert(path.to_owned(), served);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.files.lock().unwrap().remove(path);
    }

    /// Serves `package` as that of `version` for this system.
    pub(crate) fn release(&self, version: &str, package: &[u8]) {
        self.put("/package", Served::Whole(package.to_vec()));
        self.index(&index(version, package));
    }

    /// Serves this index, signed.
    pub(crate) fn index(&self, index: &Value) {
        let text = index.to_string();
        self.put("/index.json.minisig", Served::Whole(self.signature(&text).into_bytes()));
        self.put("/index.json", Served::Whole(text.into_bytes()));
    }

    pub(crate) fn signature(&self, text: &str) -> String {
        sign(&self.key, text)
    }

    /// Lets the person of `place` look for updates here.
    pub(crate) fn configure(&self, place: &Place, more: &str) {
        let (address, key) = (&self.address, self.public_key());
        place.configure(&format!("[update]\nindex = \"{address}/index.json\"\nkey = \"{key}\"\n{more}\n"));
    }
}

/// The signature of `text` by `key`, as the `.minisig` file has it.
pub(crate) fn sign(key: &KeyPair, text: &str) -> String {
    minisign::sign(None, &key.sk, Cursor::new(text), None, None).unwrap().to_string()
}

/// An index that names `package`.
pub(crate) fn index(version: &str, package: &[u8]) -> Value {
    let file =
        json!({"url": "package", "sha256": hex::encode(Sha256::digest(package)), "size": package.len()});
    json!({"format": 1, "version": version, "files": {target(): file}})
}

/// The name of this system in the index.
pub(crate) fn target() -> String {
    let system = match OS {
        "macos" => "apple-darwin",
        _ if cfg!(target_env = "musl") => "unknown-linux-musl",
        _ => "unknown-linux-gnu",
    };
    format!("{ARCH}-{system}")
}

/// A program that says that it is Haft.
pub(crate) fn program(version: &str) -> String {
    format!("#!/bin/sh\necho 'haft {version}'\n")
}

/// The tarball of `scripts/dist.sh` with this program.
pub(crate) fn package(version: &str, program: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let root = format!("haft-{version}-{}", target());
    for (name, content) in [("README.md", "Haft"), ("bin/haft", program)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        archive.append_data(&mut header, format!("{root}/{name}"), content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn path_in(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

fn answer(mut stream: TcpStream, files: &Files, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > "\r\n".len() {}
    asked.lock().unwrap().push(head.clone());
    let path = path_in(&head);
    let served = files.lock().unwrap().get(path).cloned();
    let begin = |length: Option<usize>| {
        let length = length.map(|length| format!("content-length: {length}\r\n")).unwrap_or_default();
        format!("HTTP/1.1 200 OK\r\n{length}connection: close\r\n\r\n")
    };
    match served {
        None => write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?,
        Some(Served::Redirect(to)) => write!(
            stream,
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )?,
        Some(Served::Whole(body)) => {
            stream.write_all(&[begin(Some(body.len())).as_bytes(), &body].concat())?
        }
        Some(Served::Unannounced(body)) => stream.write_all(&[begin(None).as_bytes(), &body].concat())?,
        Some(Served::CutOff(body)) => {
            stream.write_all(&[begin(Some(body.len())).as_bytes(), &body[..body.len() / 2]].concat())?;
        }
        Some(Served::CutOffUnannounced(body)) => {
            stream.write_all(&[begin(None).as_bytes(), &body[..body.len() / 2]].concat())?;
        }
        Some(Served::Slow(body)) => {
            stream.write_all(&[begin(Some(body.len())).as_bytes(), &body[..10]].concat())?;
            for byte in &body[10..] {
                thread::sleep(Duration::from_millis(50));
                stream.write_all(&[*byte])?;
            }
        }
    }
    stream.flush()
}

/// Copies a program in a process of its own: as long as any thread of this one forks, a file that it has open for writing
/// may be busy.
pub(crate) fn copy(program: impl AsRef<OsStr>, to: &Path) {
    let copied = Command::new("cp").arg(program).arg(to).status().unwrap();
    assert!(copied.success(), "{}", to.display());
}

/// A copy of the binary under test in a folder of its own, as `install.sh` leaves it.
pub(crate) struct Installed {
    pub(crate) program: PathBuf,
}

impl Installed {
    pub(crate) fn new(place: &Place) -> Self {
        let folder = place.path().join("prefix/bin");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("haft");
        copy(super::other_user::program(), &program);
        Self { program }
    }

    /// The copy with the environment of `place`.
    pub(crate) fn haft(&self, place: &Place, arguments: &[&str]) -> Command {
        let base = place.haft(&[]);
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(place.work()).env_clear();
        command.envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// The names in its folder.
    pub(crate) fn beside(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.program.parent().unwrap()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
