//! [`hide_keys`]: hides this process's keys from other processes.
use haft_core::secret::is_secret;
use std::{
    fs::{File, read_to_string},
    io,
    os::unix::fs::FileExt,
};

/// Linux shows the initial environment of a process to every process of the same user (`/proc/PID/environ`), and so to
/// the commands that a model runs. This overwrites the keys there; Haft has read them before. If that is not possible,
/// nothing changes.
pub fn hide_keys() -> io::Result<()> {
    let (start, end) = block(&read_to_string("/proc/self/stat")?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no place of the variables"))?;
    let memory = File::options().read(true).write(true).open("/proc/self/mem")?;
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
    memory.read_exact_at(&mut bytes, start)?;
    for (place, length) in values_of_keys(&bytes) {
        memory.write_all_at(&vec![0; length], start + place as u64)?;
    }
    Ok(())
}

/// The address range of the environment: fields 50 and 51 of `/proc/PID/stat` (proc_pid_stat(5)). The name in the
/// second field may contain any characters, but ends at the last parenthesis.
fn block(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(47);
    let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (0 < start && start < end).then_some((start, end))
}

/// Position and length of each key's value.
fn values_of_keys(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut place, mut found) = (0, Vec::new());
    for variable in bytes.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(variable);
        if let Some((name, value)) = text.split_once('=')
            && is_secret(name, value)
        {
            let begins = variable.iter().position(|byte| *byte == b'=').map_or(0, |sign| sign + 1);
            found.push((place + begins, variable.len() - begins));
        }
        place += variable.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_keys_are_found_in_what_the_system_keeps() {
        let bytes = b"PATH=/bin\0OPENAI_API_KEY=sk-1\0EMPTY_TOKEN=\0HAFT_HOME=/h\0";
        let found = values_of_keys(bytes);
        let values: Vec<&[u8]> = found.iter().map(|(place, length)| &bytes[*place..place + length]).collect();
        assert_eq!(values, [&b"sk-1"[..], b""]);
        let fields: String = (3..=52).map(|field| format!(" {field}")).collect();
        assert_eq!(block(&format!("1 (a) b){fields}")), Some((50, 51)));
        assert_eq!(block("1 (cut) R 3"), None);
    }
}
