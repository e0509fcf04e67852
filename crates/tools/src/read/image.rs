//! Pictures, as attachments.
use crate::files::Place;
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_core::{Image, ToolError, ToolOutput};
use std::path::Path;

/// More than this no vendor takes.
const LARGEST_IMAGE: u64 = 5 * 1024 * 1024;

/// By its extension.
pub(super) fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|extension| extension.to_str());
    matches!(extension, Some("jpg" | "jpeg" | "png" | "gif" | "webp"))
}

pub(super) fn read_image(place: &Place) -> Result<ToolOutput, ToolError> {
    let content = place.content("read", LARGEST_IMAGE)?;
    let text = format!("[Image: {}]", place.name.display());
    // A vendor refuses the whole conversation for one picture that is none, so it must be one.
    let Some(mime) = media_type(&content) else {
        return Ok(ToolOutput::text(format!("{text}\n[not shown: its content is no such image]")));
    };
    let image = Image { mime: mime.into(), data: BASE64_STANDARD.encode(&content) };
    Ok(ToolOutput { images: vec![image], ..ToolOutput::text(text) })
}

/// By its first bytes: what a file is called need not be what it is.
fn media_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
