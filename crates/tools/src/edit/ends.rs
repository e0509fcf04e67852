//! [`Ends`]: the line ends of a file. Models write `\n`, but files may use others.
use std::ops::Range;

/// The line ends of a file. A lone `\r` does not count as a line end.
pub(crate) struct Ends {
    /// `\n`
    pub(crate) plain: bool,
    /// `\r\n`
    pub(crate) windows: bool,
}

pub(crate) fn ends_in(content: &[u8]) -> Ends {
    let all = content.iter().filter(|byte| **byte == b'\n').count();
    let windows = content.windows(2).filter(|pair| pair == b"\r\n").count();
    Ends { plain: windows < all, windows: windows > 0 }
}

/// The first line end in `content`.
pub(crate) fn first_end(content: &[u8]) -> Option<&'static str> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    Some(if end > 0 && content[end - 1] == b'\r' { "\r\n" } else { "\n" })
}

/// Number of bytes of `content` from `start` on that match `wanted`. `bend`: whether its `\n` matches any line end.
pub(crate) fn matches_at(content: &[u8], start: usize, wanted: &[u8], bend: bool) -> Option<usize> {
    if !bend {
        return content[start..].starts_with(wanted).then_some(wanted.len());
    }
    let half = content[start] == b'\n' && start > 0 && content[start - 1] == b'\r';
    if half {
        return None;
    }
    let mut at = start;
    for byte in wanted {
        if *byte == b'\n' && content[at..].starts_with(b"\r\n") {
            at += 2;
        } else if content.get(at) == Some(byte) {
            at += 1;
        } else {
            return None;
        }
    }
    Some(at - start)
}

/// `text` with the line ends of the text that it replaces, in order. Further line ends equal the last of them; if there
/// were none, the line end of the line.
pub(crate) fn with_ends(text: &str, content: &[u8], span: &Range<usize>) -> Vec<u8> {
    let mut own = ends_of(&content[span.clone()]).into_iter();
    let after = first_end(&content[span.start..]);
    let before = || first_end(content);
    let mut end = after.or_else(before).unwrap_or("\n");
    let text = text.replace("\r\n", "\n");
    let mut bent = Vec::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            end = own.next().unwrap_or(end);
            bent.extend_from_slice(end.as_bytes());
        }
        bent.extend_from_slice(line.as_bytes());
    }
    bent
}

fn ends_of(content: &[u8]) -> Vec<&'static str> {
    let ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| if at > 0 && content[at - 1] == b'\r' { "\r\n" } else { "\n" }).collect()
}
