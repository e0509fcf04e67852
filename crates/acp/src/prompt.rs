//! [`parts`]: converts a prompt of the editor to the parts of a message.
use super::{
    folder::Folder,
    sdk::{ContentBlock, EmbeddedResourceResource, Error, wrong},
};
use haft_core::{Part, picture::from_base64};
use std::path::Path;

/// Text with links at their places, then embedded contents, then pictures. A prompt that begins with `/` is expanded by
/// `meant`.
pub(super) fn parts(
    blocks: Vec<ContentBlock>,
    folder: &Folder,
    meant: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<Part>, Error> {
    let (mut text, mut embedded, mut pictures) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(said) => text += &said.text,
            ContentBlock::ResourceLink(link) => text += &mention(&link.name, &link.uri, folder),
            ContentBlock::Image(image) => pictures.push(picture(&image.mime_type, image.data)?),
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    embedded += &quoted(&named(&file.uri, folder), &file.text);
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    pictures.push(picture(
                        blob.mime_type.as_deref().unwrap_or("application/octet-stream"),
                        blob.blob,
                    )?);
                }
                _ => {
                    return Err(wrong(
                        "cannot read the prompt: an embedded resource is neither text nor data",
                    ));
                }
            },
            ContentBlock::Audio(_) => return Err(wrong("cannot hear: a prompt is text, pictures and files")),
            _ => return Err(wrong("cannot read the prompt: it has content of an unknown kind")),
        }
    }
    if text.trim_start().starts_with('/') {
        text = meant(&text).map_err(wrong)?;
    }
    let said = format!("{text}{embedded}");
    let words = (!said.trim().is_empty()).then(|| Part::text(said));
    let parts: Vec<Part> = words.into_iter().chain(pictures).collect();
    if parts.is_empty() { Err(wrong("the prompt is empty; say what to do")) } else { Ok(parts) }
}

/// The text of a prompt without attachments; `None` if it has some.
pub(super) fn only_text(blocks: &[ContentBlock]) -> Option<String> {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(said) => Some(said.text.clone()),
        _ => None,
    };
    blocks.iter().map(text).collect()
}

/// `mime`: the editor's media type, only used in the error.
fn picture(mime: &str, data: String) -> Result<Part, Error> {
    from_base64(data)
        .map(Part::Image)
        .map_err(|why| wrong(format!("cannot show `{}` to a model: {why}", mime.escape_debug())))
}

/// Formats `[@a.rs](src/a.rs)`.
fn mention(name: &str, uri: &str, folder: &Folder) -> String {
    format!("[@{name}]({})", named(uri, folder))
}

fn quoted(name: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n\n`{name}`:\n{fence}\n{text}{end}{fence}")
}

/// A fence with more backticks than any run in `text`.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// The name of a file in the workspace: its relative path; of another file: its full path; of anything else: its
/// address.
fn named(uri: &str, folder: &Folder) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let (path, place) =
        path.split_once('#').map_or((path, String::new()), |(path, place)| (path, format!("#{place}")));
    let path = unescaped(path);
    let inside = folder.inside(Path::new(&path)).and_then(Path::to_str);
    format!("{}{place}", inside.unwrap_or(&path))
}

/// Decodes percent-encoding: `%20` is a blank.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_tools_name_them() {
        let table = [
            ("file:///usr/src/a%20b.rs", "src/a b.rs"),
            ("file:///usr/src/a.rs#L3:9", "src/a.rs#L3:9"),
            ("file:///etc/hosts", "/etc/hosts"),
            ("https://example.org/a%20b", "https://example.org/a%20b"),
            ("file:///usr/100%", "100%"),
        ];
        let folder = Folder::of(Path::new("/usr")).unwrap();
        for (uri, expected) in table {
            assert_eq!(named(uri, &folder), expected, "{uri}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        for (text, expected) in [("", "```"), ("a `b` c", "```"), ("```rust\n```", "````")] {
            assert_eq!(fence(text), expected, "{text}");
        }
    }
}
