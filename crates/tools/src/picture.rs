//! What is a picture that a model can be shown.

/// More bytes than this no vendor takes.
pub(crate) const LARGEST: u64 = 5 * 1024 * 1024;

/// By its first bytes: what a file is called need not be what it is.
pub(crate) fn media_type(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
