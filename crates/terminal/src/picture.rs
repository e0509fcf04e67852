//! [`read`]: reads a picture from a file, for a model that accepts pictures.
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haft_core::{Image, picture::media_type};
use std::path::Path;

/// Maximum size in bytes: no vendor accepts more (Anthropic 5 MB, Gemini 20 MB, OpenAI 50 MB; 2026-11).
const MAX_PICTURE_BYTES: u64 = 50 << 20;

/// Reads the picture; the error says why that failed.
pub fn read(path: &Path) -> Result<Image, String> {
    let failed = |why: String| format!("cannot show the picture `{}`: {why}", path.display());
    let found = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !found.is_file() {
        return Err(failed("it is not a regular file".into()));
    }
    if found.len() > MAX_PICTURE_BYTES {
        return Err(failed(format!("it is larger than {} MB", MAX_PICTURE_BYTES >> 20)));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    // Vendors refuse the whole conversation for a file that is not a picture, so the content decides, not the name.
    let Some(mime) = media_type(&bytes) else {
        return Err(failed("its content is not a PNG, JPEG, GIF or WebP picture".into()));
    };
    Ok(Image { mime: mime.into(), data: STANDARD.encode(bytes) })
}
