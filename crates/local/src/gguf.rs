//! [`Header`]: the header of a GGUF file, which describes the model and determines the minimum length of the file.
//!
//! GGUF is llama.cpp's file format: metadata (names and values), the shapes of the tensors, then the tensors.
//! Source: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3.
use crate::LocalError;
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

/// The properties of a model that are known without loading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The model family, as llama.cpp calls it: `llama`, `qwen3`, …
    pub architecture: String,
    /// The name that its makers gave it; may be empty.
    pub name: String,
    /// Maximum number of tokens in a conversation for which the model was trained.
    pub context_tokens: Option<u64>,
    /// The chat template, in Jinja.
    pub template: Option<String>,
    /// Number of parameters; only those of the first file if the model consists of several.
    pub parameters: u64,
    /// Whether the model consists of several files.
    pub split: bool,
    /// Minimum size of the file in bytes; `None` if the type of a tensor is unknown.
    pub file_bytes: Option<u64>,
}

/// Maximum bytes of a name or a text in a header (a chat template has some 10 kB).
const MAX_TEXT_BYTES: u64 = 16 << 20;
/// Maximum number of entries of any kind. A header with more is damaged.
const MAX_ENTRIES: u64 = 1 << 24;

/// Reads the header, and checks that the file has the length that follows from it.
pub fn read_header(path: &Path) -> Result<Header, LocalError> {
    let unreadable = |source| LocalError::Unreadable { path: path.into(), source };
    let file = File::open(path).map_err(unreadable)?;
    let actual = file.metadata().map_err(unreadable)?.len();
    let mut reader = Reader { file: BufReader::with_capacity(1 << 16, file), at: 0 };
    let mut magic = [0; 4];
    let complete = reader.fill(&mut magic).is_ok();
    if !complete || &magic != b"GGUF" {
        let found = String::from_utf8_lossy(&magic).into_owned();
        return Err(LocalError::NotGguf { path: path.into(), found });
    }
    let header = reader.header().map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            LocalError::Truncated { path: path.into(), expected: actual + 1, actual }
        }
        _ => LocalError::Header { path: path.into(), problem: error.to_string() },
    })?;
    match header.file_bytes {
        Some(expected) if expected > actual => {
            Err(LocalError::Truncated { path: path.into(), expected, actual })
        }
        _ => Ok(header),
    }
}

struct Reader {
    file: BufReader<File>,
    at: u64,
}

/// A metadata value of a type that is used here.
enum Field {
    Text(String),
    Number(u64),
    Other,
}

impl Reader {
    fn header(&mut self) -> io::Result<Header> {
        let version = self.number(4)?;
        if !(2..=3).contains(&version) {
            return Err(broken(format!("version {version} is not known here, only 2 and 3 are")));
        }
        let (tensors, fields) = (self.count("tensors")?, self.count("fields")?);
        let (mut header, mut alignment) = (Header::default(), 32);
        for _ in 0..fields {
            let (name, kind) = (self.text()?, self.number(4)?);
            let field = self.field(kind)?;
            match (name.as_str(), field) {
                ("general.architecture", Field::Text(text)) => header.architecture = text,
                ("general.name", Field::Text(text)) => header.name = text,
                ("tokenizer.chat_template", Field::Text(text)) => header.template = Some(text),
                ("general.alignment", Field::Number(bytes)) => alignment = bytes.max(1),
                ("split.count", Field::Number(parts)) => header.split = parts > 1,
                (name, Field::Number(tokens)) if name.ends_with(".context_length") => {
                    header.context_tokens = Some(tokens);
                }
                _ => {}
            }
        }
        self.tensors(tensors, alignment, &mut header)?;
        Ok(header)
    }

    fn tensors(&mut self, count: u64, alignment: u64, header: &mut Header) -> io::Result<()> {
        let mut end = Some(0);
        for _ in 0..count {
            self.text()?;
            let mut elements = 1_u64;
            for _ in 0..self.number(4)? {
                elements = elements.saturating_mul(self.number(8)?);
            }
            let (kind, offset) = (self.number(4)?, self.number(8)?);
            header.parameters = header.parameters.saturating_add(elements);
            let bytes = tensor_bytes(kind, elements);
            end = end.zip(bytes).map(|(end, bytes)| u64::max(end, offset.saturating_add(bytes)));
        }
        let start = self.at.next_multiple_of(alignment);
        header.file_bytes = end.map(|end| start.saturating_add(end));
        Ok(())
    }

    /// Reads a value of the type with this number in the format's table.
    fn field(&mut self, kind: u64) -> io::Result<Field> {
        Ok(match kind {
            8 => Field::Text(self.text()?),
            9 => {
                self.array()?;
                Field::Other
            }
            4 | 10 => Field::Number(self.number(width(kind)?)?),
            _ => {
                self.skip(width(kind)? as u64)?;
                Field::Other
            }
        })
    }

    fn array(&mut self) -> io::Result<()> {
        let (kind, count) = (self.number(4)?, self.count("items")?);
        match kind {
            8 => (0..count).try_for_each(|_| {
                let length = self.number(8)?;
                self.skip(length)
            }),
            _ => self.skip(count * width(kind)? as u64),
        }
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.number(8)?;
        if length > MAX_TEXT_BYTES {
            return Err(broken(format!("a text of {length} bytes at byte {}", self.at)));
        }
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn count(&mut self, what: &str) -> io::Result<u64> {
        let count = self.number(8)?;
        if count > MAX_ENTRIES {
            return Err(broken(format!("it claims to have {count} {what}")));
        }
        Ok(count)
    }

    /// A little-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes[..width])?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.file.read_exact(bytes)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.at += bytes;
        self.file.seek_relative(bytes.try_into().map_err(|_| broken("an array without end".into()))?)
    }
}

fn broken(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Number of bytes of a metadata value of this type.
fn width(kind: u64) -> io::Result<usize> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(broken(format!("a value of the unknown kind {kind}"))),
    }
}

/// Number of bytes for `elements` numbers of a tensor type, by (numbers per block, bytes per block) from ggml's type
/// table (`ggml.h` and `ggml-common.h` of llama-cpp-sys-2 0.1.161).
fn tensor_bytes(kind: u64, elements: u64) -> Option<u64> {
    let (numbers, bytes) = match kind {
        0 => (1, 4),      // F32
        1 | 30 => (1, 2), // F16, BF16
        2 => (32, 18),    // Q4_0
        3 => (32, 20),    // Q4_1
        6 => (32, 22),    // Q5_0
        7 => (32, 24),    // Q5_1
        8 => (32, 34),    // Q8_0
        10 => (256, 84),  // Q2_K
        11 => (256, 110), // Q3_K
        12 => (256, 144), // Q4_K
        13 => (256, 176), // Q5_K
        14 => (256, 210), // Q6_K
        20 => (32, 18),   // IQ4_NL
        23 => (256, 136), // IQ4_XS
        39 => (32, 17),   // MXFP4
        _ => return None,
    };
    Some((elements / numbers).saturating_mul(bytes))
}
