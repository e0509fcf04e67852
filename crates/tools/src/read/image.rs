//! [`read_image`]: attaches pictures.
use crate::files::Place;
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_core::{
    Image, ToolError, ToolOutput,
    picture::{LARGEST, media_type},
};
use std::path::Path;

/// Whether the file is a picture, by its extension.
pub(super) fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|extension| extension.to_str());
    matches!(extension, Some("jpg" | "jpeg" | "png" | "gif" | "webp"))
}

pub(super) fn read_image(place: &Place) -> Result<ToolOutput, ToolError> {
    let content = place.content("read", LARGEST)?;
    let text = format!("[Image: {}]", place.name.display());
    // A vendor refuses the whole conversation for one invalid picture, so the content is checked.
    let Some(mime) = media_type(&content) else {
        return Ok(ToolOutput::text(format!("{text}\n[not shown: its content is no such image]")));
    };
    let image = Image { mime: mime.into(), data: BASE64_STANDARD.encode(&content) };
    Ok(ToolOutput { images: vec![image], ..ToolOutput::text(text) })
}
