//! [`media_type`] and [`from_base64`]: recognize pictures that models accept.
use super::message::Image;
use base64::{Engine, prelude::BASE64_STANDARD};

/// Maximum bytes of a picture that every vendor accepts.
pub const LARGEST: u64 = 5 * 1024 * 1024;

/// Why data that was sent as a picture cannot be shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It contains characters that are not base64, or its padding is missing.
    #[error("its data is not base64 with padding")]
    NotBase64,
    /// The data does not begin like a picture in a format that models accept.
    #[error("its data is not a picture in PNG, JPEG, GIF or WebP")]
    NotAPicture,
}

/// Returns the media type of a picture by its first bytes (PNG 5.2, JFIF, GIF89a, RFC 9649); `None` if it is not a
/// picture in one of these formats.
pub fn media_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the picture whose bytes are `data` in base64. Its media type is determined from the bytes and not from what
/// the client declared, because a vendor rejects the whole conversation if it cannot decode a picture.
///
/// # Errors
///
/// The data is not base64, or not a picture that models take.
pub fn from_base64(data: String) -> Result<Image, Unusable> {
    let content = BASE64_STANDARD.decode(&data).map_err(|_| Unusable::NotBase64)?;
    let mime = media_type(&content).ok_or(Unusable::NotAPicture)?;
    Ok(Image { mime: mime.into(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    // D55
    #[test]
    fn what_a_file_is_its_bytes_say() {
        let table: [(&[u8], Option<&str>); 6] = [
            (b"\x89PNG\r\n\x1a\n", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"\x89PNG\n\x1a", None),
            (b"%PDF-1.7", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(media_type(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_picture_is_what_its_data_shows() {
        let table = [
            ("iVBORw0KGgo=", Ok("image/png")),
            ("R0lGODlh", Ok("image/gif")),
            ("AAAA", Err(Unusable::NotAPicture)),
            ("", Err(Unusable::NotAPicture)),
            ("iVBORw0KGgo", Err(Unusable::NotBase64)),
            ("not base64!", Err(Unusable::NotBase64)),
        ];
        for (data, expected) in table {
            let found = from_base64(data.to_owned());
            assert_eq!(found.as_ref().map(|image| image.mime.as_str()), expected.as_ref().copied(), "{data}");
        }
    }
}
