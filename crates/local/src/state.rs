//! [`save`] and [`load`]: the state of a model after a static beginning, stored in files. Reading a file takes 0.01 s,
//! computing the state several seconds.
use llama_cpp_2::{context::LlamaContext, token::LlamaToken};
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The name of the file for these tokens of this model.
pub(crate) fn name(fingerprint: &str, tokens: &[LlamaToken]) -> String {
    let mut hash = Sha256::new();
    hash.update(fingerprint);
    tokens.iter().for_each(|token| hash.update(token.0.to_le_bytes()));
    format!("{}.state", &hex::encode(hash.finalize())[..32])
}

/// Whether the file exists and is unchanged since it was written. llama.cpp checks little of what it loads, and a
/// damaged state would make the model write nonsense.
pub(crate) fn is_sound(file: &Path) -> bool {
    let (Ok(bytes), Ok(expected)) = (fs::read(file), fs::read_to_string(sum_file(file))) else {
        return false;
    };
    hex::encode(Sha256::digest(bytes)) == expected
}

/// Loads a state of exactly these tokens. If this fails, the context is in an unknown state.
pub(crate) fn load(
    context: &mut LlamaContext<'_>,
    sequence: i32,
    file: &Path,
    tokens: &[LlamaToken],
) -> bool {
    let loaded = context.state_seq_load_file(file, sequence, tokens.len());
    loaded.is_ok_and(|(held, _)| held == tokens)
}

/// Saves the state after `tokens`. Returns false if that failed; the only effect is that the next session takes longer.
pub(crate) fn save(context: &LlamaContext<'_>, sequence: i32, file: &Path, tokens: &[LlamaToken]) -> bool {
    let part = file.with_extension(format!("{}.part", std::process::id()));
    let done = try_save(context, sequence, file, &part, tokens).is_some();
    if !done {
        let _may_be_missing = fs::remove_file(&part);
    }
    done
}

fn try_save(
    context: &LlamaContext<'_>,
    sequence: i32,
    file: &Path,
    part: &Path,
    tokens: &[LlamaToken],
) -> Option<()> {
    fs::create_dir_all(file.parent()?).ok()?;
    context.state_seq_save_file(part, sequence, tokens).ok()?;
    let sum = hex::encode(Sha256::digest(fs::read(part).ok()?));
    fs::rename(part, file).ok()?;
    fs::write(sum_file(file), sum).ok()
}

fn sum_file(file: &Path) -> PathBuf {
    file.with_extension("state.sha256")
}
