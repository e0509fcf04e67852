//! [`Pictures`]: shows pictures inside text, if the terminal supports it.
use super::sixel;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haft_core::Image;

/// The format in which the terminal shows pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// The terminal shows no pictures.
    #[default]
    None,
    /// Unknown: the terminal is asked when there is a picture to show.
    Asked,
    /// Sixels, which the terminal lists among its attributes; with the size of a cell in pixels.
    Sixel((usize, usize)),
    /// The graphics protocol of kitty (sw.kovidgoyal.net/kitty/graphics-protocol): kitty, Ghostty.
    Kitty,
    /// Inline images of iTerm2 (iterm2.com/documentation-images.html): iTerm2, WezTerm.
    Iterm,
}

/// Maximum columns and rows of a picture.
const MAX_CELLS: (usize, usize) = (60, 20);
/// Approximate width and height of a terminal cell in pixels.
const CELL_PIXELS: (usize, usize) = (10, 20);
/// Maximum length of an escape sequence of kitty, in bytes.
const MAX_SEQUENCE_BYTES: usize = 4096;

impl Pictures {
    /// Chooses the format by the variables `TERM` and `TERM_PROGRAM`. `tmux` and `screen` pass only sixels, and only in
    /// some versions.
    pub fn of(term: Option<&str>, program: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        match program.unwrap_or_default() {
            _ if term.is_empty() || term == "dumb" => Self::None,
            _ if term.starts_with("tmux") || term.starts_with("screen") => Self::Asked,
            "iTerm.app" | "WezTerm" => Self::Iterm,
            "ghostty" => Self::Kitty,
            _ if term.contains("kitty") || term.contains("ghostty") => Self::Kitty,
            _ => Self::Asked,
        }
    }

    /// Chooses the format by the terminal's answer to a request for its attributes (DA1): 4 means sixels.
    pub(crate) fn of_attributes(answer: &str, cell: Option<(usize, usize)>) -> Self {
        match answer.split(';').skip(1).any(|attribute| attribute == "4") {
            true => Self::Sixel(cell.unwrap_or(CELL_PIXELS)),
            false => Self::None,
        }
    }

    /// The sequence that shows `image` in `columns` columns; `None` if the terminal does not support it, or if the data
    /// is invalid.
    pub(crate) fn sequence(self, image: &Image, columns: usize) -> Option<String> {
        let bytes = STANDARD.decode(&image.data).ok()?;
        let (columns, rows) = cells(&bytes, columns);
        match (self, image.mime.as_str()) {
            (Self::Kitty, "image/png") => Some(kitty(&image.data, columns, rows)),
            (Self::Iterm, _) => {
                let form =
                    format!("size={};width={columns};height={rows};preserveAspectRatio=1", bytes.len());
                Some(format!("\x1b]1337;File=inline=1;{form}:{}\x07", image.data))
            }
            (Self::Sixel((wide, high)), "image/png") => {
                sixel::sequence(&bytes, (columns * wide, rows * high))
            }
            (Self::Kitty | Self::Sixel(_) | Self::Asked | Self::None, _) => None,
        }
    }
}

/// The sequence in chunks, as kitty's protocol requires; `q=2` suppresses the terminal's answers.
fn kitty(data: &str, columns: usize, rows: usize) -> String {
    let pieces = data.as_bytes().chunks(MAX_SEQUENCE_BYTES).map(String::from_utf8_lossy);
    let last = data.len().div_ceil(MAX_SEQUENCE_BYTES).saturating_sub(1);
    let sequence = pieces.enumerate().map(|(place, piece)| {
        let more = u8::from(place < last);
        match place {
            0 => format!("\x1b_Gf=100,a=T,q=2,c={columns},r={rows},m={more};{piece}\x1b\\"),
            _ => format!("\x1b_Gm={more};{piece}\x1b\\"),
        }
    });
    sequence.collect()
}

/// The columns and rows of a picture: its own size if that is known and fits.
fn cells(bytes: &[u8], columns: usize) -> (usize, usize) {
    let most = columns.saturating_sub(4).clamp(1, MAX_CELLS.0);
    let Some((wide, high)) = png_size(bytes) else { return (most.min(40), 12) };
    let columns = (wide / CELL_PIXELS.0).clamp(1, most);
    let rows = (high * columns * CELL_PIXELS.0 / wide.max(1) / CELL_PIXELS.1).max(1);
    match rows > MAX_CELLS.1 {
        true => ((columns * MAX_CELLS.1 / rows).max(1), MAX_CELLS.1),
        false => (columns, rows),
    }
}

/// The size of a PNG in pixels (RFC 2083, 3.2 and 4.1.1).
pub(crate) fn png_size(bytes: &[u8]) -> Option<(usize, usize)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    bytes.starts_with(b"\x89PNG\r\n\x1a\n").then_some(())?;
    Some((number(16)?, number(20)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(wide: u32, high: u32) -> Vec<u8> {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        [head, wide.to_be_bytes().to_vec(), high.to_be_bytes().to_vec()].concat()
    }

    #[test]
    fn a_picture_fits_and_keeps_its_shape() {
        let table = [
            ((100, 100), 80, (10, 5)),
            ((6_000, 3_000), 80, (60, 15)),
            ((100, 4_000), 80, (1, 20)),
            ((6_000, 3_000), 24, (20, 5)),
        ];
        for ((wide, high), columns, expected) in table {
            assert_eq!(cells(&png(wide, high), columns), expected, "{wide}x{high} in {columns}");
        }
        assert_eq!(cells(b"GIF89a", 80), (40, 12));
    }

    #[test]
    fn each_terminal_gets_its_own_sequence() {
        let image = Image {
            mime: "image/png".into(),
            data: STANDARD.encode([png(100, 100), vec![0; 6_000]].concat()),
        };
        let kitty = Pictures::Kitty.sequence(&image, 80).unwrap();
        assert!(kitty.starts_with("\x1b_Gf=100,a=T,q=2,c=10,r=5,m=1;") && kitty.contains("\x1b\\\x1b_Gm=0;"));
        let iterm = Pictures::Iterm.sequence(&image, 80).unwrap();
        assert!(iterm.starts_with("\x1b]1337;File=inline=1;size=6024;width=10;height=5;"));
        assert_eq!(Pictures::None.sequence(&image, 80), None);
        let broken = Image { data: "\x1b".into(), ..image };
        assert_eq!(Pictures::Iterm.sequence(&broken, 80), None);
        let table = [
            (Some("xterm-kitty"), None, Pictures::Kitty),
            (Some("xterm-256color"), Some("WezTerm"), Pictures::Iterm),
            (Some("tmux-256color"), Some("iTerm.app"), Pictures::Asked),
            (Some("xterm-256color"), None, Pictures::Asked),
            (Some("dumb"), None, Pictures::None),
            (None, None, Pictures::None),
        ];
        for (term, program, expected) in table {
            assert_eq!(Pictures::of(term, program), expected, "{term:?} {program:?}");
        }
        let table = [("62;4;22", true), ("64;1;2;4", true), ("4", false), ("1;2", false), ("62;44", false)];
        for (answer, expected) in table {
            assert_eq!(Pictures::of_attributes(answer, None) != Pictures::None, expected, "{answer}");
        }
    }
}
