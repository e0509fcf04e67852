//! [`Prepared`]: pictures and files, in both directions. The file name from the sender's machine is shown to the model;
//! it is used for nothing else.
use super::{
    api::{Api, Refusal},
    types,
    updates::{File, Message, Quote},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haft_core::{Effect, Image, Part, Verdict, clip, picture::media_type, policy::normal};
use haft_engine::Setup;
use haft_present::safe;
use serde_json::json;
use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Maximum bytes of a file that a bot can download (Bot API, `getFile`).
const MAX_IN: usize = 20 << 20;
/// Maximum bytes of a file that a bot can send (Bot API, "Sending files").
const MAX_OUT: u64 = 50 << 20;
/// Maximum characters of a file's name that are shown.
const MAX_NAME_LENGTH: usize = 100;
/// Maximum bytes of a quotation: a message of Telegram has at most 4,096 characters.
const MAX_QUOTED_BYTES: usize = 16_384;
/// Delays before a download is retried that failed because of the connection.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(8)];

/// The content of messages, for the model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Prepared {
    /// IDs of the messages.
    pub(super) messages: Vec<i64>,
    pub(super) parts: Vec<Part>,
    /// Problems to show to the sender.
    pub(super) problems: Vec<String>,
}

/// Downloads the files of the messages of one prompt; files that are not pictures are stored in `folder`.
pub(super) async fn prepared(api: Api, messages: Vec<Message>, folder: PathBuf) -> Prepared {
    let ids = messages.iter().map(|message| message.id).collect();
    let mut prepared = Prepared { messages: ids, ..Prepared::default() };
    let mut words: Vec<String> = Vec::new();
    for message in messages {
        let text = safe::text(&message.text).trim().to_owned();
        match (message.is_forwarded, text.is_empty()) {
            (true, true) => words.push("Forwarded, from another person:".into()),
            (false, true) => {}
            (true, false) => words.push(format!("Forwarded, in the words of another person:\n{text}")),
            (false, false) => {
                words.extend(message.quotes.as_ref().map(quotation));
                words.push(text);
            }
        }
        let Some(file) = message.file.as_ref().or(message.answered_file.as_ref()) else { continue };
        match fetched(&api, file, message.id, &folder).await {
            Ok(Fetched::Picture(image)) => prepared.parts.push(Part::Image(image)),
            Ok(Fetched::File(told)) if message.file.is_none() => {
                words.push(format!("Of the message that this one answers: {told}"));
            }
            Ok(Fetched::File(told)) => words.push(told),
            Err(why) => prepared.problems.push(format!("I could not take {}: {why}.", called(file))),
        }
    }
    if !words.is_empty() {
        prepared.parts.insert(0, Part::text(words.join("\n\n")));
    }
    prepared
}

/// Formats a quotation in Markdown, cut to its maximum.
fn quotation(quote: &Quote) -> String {
    let text = safe::text(clip::head(quote.text.trim(), MAX_QUOTED_BYTES)).into_owned();
    let lines = text.lines().map(|line| format!("> {line}"));
    let whose = quote.is_of_another.then(|| "Quoted, in the words of another person:".to_owned());
    whose.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

enum Fetched {
    Picture(Image),
    /// The text about it for the model.
    File(String),
}

async fn fetched(api: &Api, file: &File, message: i64, folder: &Path) -> Result<Fetched, String> {
    if file.size.is_some_and(|size| size > MAX_IN as u64) {
        return Err(format!("it has more than {} MB", MAX_IN >> 20));
    }
    let bytes = downloaded(api, &file.id).await.map_err(|refusal| refusal.to_string())?;
    // The type is determined by the bytes: neither the name nor the media type is reliable.
    if let Some(mime) = media_type(&bytes) {
        return Ok(Fetched::Picture(Image { mime: mime.into(), data: STANDARD.encode(&bytes) }));
    }
    if file.is_photo {
        return Err("it is not a picture that models take".into());
    }
    let size = bytes.len();
    let path = stored(folder, message, file.name.as_deref(), &bytes).map_err(|error| error.to_string())?;
    let path = path.display();
    Ok(Fetched::File(format!("Here is {} with {size} bytes; it lies in `{path}`.", called(file))))
}

async fn downloaded(api: &Api, id: &str) -> Result<Vec<u8>, Refusal> {
    let mut pauses = RETRY_DELAYS.into_iter();
    loop {
        let asked = async {
            let told = api.call("getFile", &json!({"file_id": id})).await?;
            let told: Option<types::File> = serde_json::from_value(told).ok();
            let path = told.and_then(|file| file.file_path);
            let gone = || Refusal::Refused { code: 404, description: "Telegram has it no more".into() };
            api.file(&path.ok_or_else(gone)?, MAX_IN).await
        };
        let pause = match asked.await {
            Err(Refusal::Wait(time)) => Some(time),
            Err(Refusal::Unreachable(why)) => match pauses.next() {
                Some(pause) => Some(pause),
                None => return Err(Refusal::Unreachable(why)),
            },
            done => return done,
        };
        tokio::time::sleep(pause.unwrap_or_default()).await;
    }
}

/// Stores a file under a safe name: the message's ID, and an extension for its content.
fn stored(folder: &Path, message: i64, name: Option<&str>, bytes: &[u8]) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let end = name.and_then(|name| name.rsplit_once('.')).map_or("bin", |(_, end)| end);
    let fits = (1..=8).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let end = if fits { end.to_ascii_lowercase() } else { "bin".to_owned() };
    for attempt in 0.. {
        let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let path = folder.join(format!("received-{message}{again}.{end}"));
        match fs::File::options().create_new(true).write(true).mode(0o600).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The file's name in a form that is harmless in any text.
fn called(file: &File) -> String {
    let Some(name) = &file.name else {
        return if file.is_photo { "a picture".into() } else { "a file without a name".into() };
    };
    let odd = |c: char| c.is_control() || "/\\`<>\"".contains(c);
    let name: String =
        safe::text(name).chars().map(|c| if odd(c) { '_' } else { c }).take(MAX_NAME_LENGTH).collect();
    format!("the file \"{name}\"")
}

/// Reads a file of the workspace; also returns its name.
pub(super) fn of_workspace(setup: &Setup, path: &str) -> Result<(String, Vec<u8>), String> {
    let workspace = &setup.workspace;
    let failed = |why: String| format!("I cannot send `{path}`: {why}.");
    // Whether there is a file outside is not told either.
    let outside = || failed("it lies outside of the workspace".into());
    let real = match normal(&workspace.join(path)) {
        inside if inside.starts_with(workspace) => inside.canonicalize(),
        _ => return Err(outside()),
    };
    let real = real.map_err(|error| failed(error.to_string()))?;
    if !real.starts_with(workspace) {
        return Err(outside());
    }
    if let Verdict::Deny { reason } = setup.policy.judge(&[Effect::Read(real.clone())], workspace, &|_| false)
    {
        return Err(failed(reason));
    }
    let about = fs::metadata(&real).map_err(|error| failed(error.to_string()))?;
    if !about.is_file() {
        return Err(failed("it is not a file".into()));
    }
    if about.len() > MAX_OUT {
        return Err(failed(format!("it has more than {} MB", MAX_OUT >> 20)));
    }
    let bytes = fs::read(&real).map_err(|error| failed(error.to_string()))?;
    if setup.access.secrets.are_in(&String::from_utf8_lossy(&bytes)) {
        return Err(failed("it holds a key, which leaves this machine in no chat".into()));
    }
    if bytes.is_empty() {
        return Err(failed("it is empty, and Telegram takes no empty file".into()));
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    // D55
    #[test]
    fn a_file_gets_a_name_of_ours_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            (Some("../../.bashrc"), "received-7.bashrc"),
            (Some("../../.bashrc"), "received-7-1.bashrc"),
            (Some("/etc/passwd"), "received-7.bin"),
            (Some("a.PDF"), "received-7.pdf"),
            (Some("a.tar/../gz"), "received-7-1.bin"),
            (Some("a.\u{202e}txt"), "received-7-2.bin"),
            (None, "received-7-3.bin"),
        ];
        for (name, expected) in table {
            let path = stored(folder.path(), 7, name, b"x").unwrap();
            assert_eq!(path, folder.path().join(expected), "{name:?}");
        }
        let file = |name: &str| File { id: "x".into(), name: Some(name.into()), size: None, is_photo: false };
        assert_eq!(
            called(&file("../../`rm`\n\u{202e}x")),
            "the file \".._.._ rm__x\"".replace(' ', "_").replace("the_file_", "the file ")
        );
        assert_eq!(called(&file(&"x".repeat(200))).len(), "the file \"\"".len() + MAX_NAME_LENGTH);
    }
}
