//! [`media_type`]: says which files are pictures that a model can be shown.

/// The largest picture that every vendor takes, in bytes.
pub const LARGEST: u64 = 5 * 1024 * 1024;

/// Returns the media type that the first bytes of a file show, whatever its name is; `None` if it is no such picture.
pub fn media_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
