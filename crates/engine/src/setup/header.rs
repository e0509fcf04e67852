//! [`with_header`]: parses the header of a Markdown file: YAML between two lines `---`.
use serde::de::DeserializeOwned;

/// The error for a file without a valid header.
#[derive(Debug, thiserror::Error)]
pub enum BadHeader {
    /// The file has no header.
    #[error("it does not begin with a header between two lines `---`")]
    Missing,
    /// The header is invalid.
    #[error("its header cannot be read: {0}")]
    Unreadable(#[from] serde_saphyr::Error),
}

/// Returns the parsed header, and the text below it.
pub fn with_header<T: DeserializeOwned>(text: &str) -> Result<(T, &str), BadHeader> {
    let (header, below) = parted(text).ok_or(BadHeader::Missing)?;
    Ok((serde_saphyr::from_str(header)?, below))
}

/// The header and the text below it.
fn parted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let rest = text.strip_prefix("---")?.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let end = rest.find("\n---")?;
    let below = rest[end + 4..].split_once('\n').map_or("", |(_, below)| below);
    Some((&rest[..end], below))
}
