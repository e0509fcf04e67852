//! [`read_header`]: what the file of a model says of itself, and what is wrong with a bad one.
use haft_local::{Header, read_header};
use std::path::Path;

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// A file with one field of each sort and one Q8_0 tensor of 64 numbers.
fn small_file() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend([1_u64.to_le_bytes(), 3_u64.to_le_bytes()].concat());
    bytes.extend([text("general.architecture"), 8_u32.to_le_bytes().into(), text("llama")].concat());
    let length = [4_u32.to_le_bytes(), 2048_u32.to_le_bytes()].concat();
    bytes.extend([text("llama.context_length"), length].concat());
    bytes.extend([text("tokens"), 9_u32.to_le_bytes().into(), 8_u32.to_le_bytes().into()].concat());
    bytes.extend([2_u64.to_le_bytes().into(), text("a"), text("bc")].concat());
    bytes.extend([text("weights"), 1_u32.to_le_bytes().into(), 64_u64.to_le_bytes().into()].concat());
    bytes.extend([8_u32.to_le_bytes().to_vec(), 0_u64.to_le_bytes().into()].concat());
    bytes.resize(bytes.len().next_multiple_of(32) + 68, 0);
    bytes
}

fn read(bytes: &[u8]) -> Result<Header, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, bytes).unwrap();
    let shown = folder.path().display().to_string();
    read_header(&path).map_err(|error| error.to_string().replace(&shown, "DIR"))
}

#[test]
fn a_header_says_what_the_model_is_and_how_long_its_file_is() {
    let whole = small_file();
    let expected = Header {
        architecture: "llama".into(),
        context_tokens: Some(2048),
        parameters: 64,
        file_bytes: Some(whole.len() as u64),
        ..Header::default()
    };
    assert_eq!(read(&whole), Ok(expected));
}

#[test]
fn a_bad_file_is_named_with_what_is_wrong() {
    let whole = small_file();
    let (length, mut version) = (whole.len(), whole.clone());
    version[4] = 9;
    let mut endless = whole.clone();
    endless[8..16].fill(0xff);
    let table: [(&[u8], String); 6] = [
        (b"", "`DIR/m.gguf` is not a GGUF file: it begins with \"\\0\\0\\0\\0\", not with \"GGUF\"".into()),
        (
            b"PK\x03\x04 a zip",
            "`DIR/m.gguf` is not a GGUF file: it begins with \"PK\\u{3}\\u{4}\", not with \"GGUF\"".into(),
        ),
        (
            &whole[..length - 1],
            format!("`DIR/m.gguf` is cut off: it has {} bytes, its header asks for {length}", length - 1),
        ),
        (&whole[..40], "`DIR/m.gguf` is cut off: it has 40 bytes, its header asks for 41".into()),
        (
            &version,
            "the header of `DIR/m.gguf` cannot be read: version 9 is not known here, only 2 and 3 are".into(),
        ),
        (
            &endless,
            "the header of `DIR/m.gguf` cannot be read: it claims to have 18446744073709551615 tensors"
                .into(),
        ),
    ];
    for (bytes, expected) in table {
        assert_eq!(read(bytes), Err(expected));
    }
    let missing = read_header(Path::new("/nowhere/m.gguf")).map_err(|error| error.to_string());
    assert!(missing.unwrap_err().starts_with("cannot read the model file `/nowhere/m.gguf`: "));
}
