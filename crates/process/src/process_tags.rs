//! [`VARIABLE`] and [`numbered`]: tag processes, so that this process finds all its descendants, by a variable in their
//! environment and a number in their resource limits.
//!
//! `HAFT_CALL` holds words: the sessions that a process belongs to, if the caller named them, and its *start*,
//! `PID-RANDOM-NUMBER`. The first two parts of a start name this process, and are its *instance*. A command inherits
//! the words of its parent, so that a `haft` below a `haft` belongs to both.
//!
//! A process can be started with an empty environment (`env -i`). The number alone finds it then, once the process that
//! started it has ended. No process loses by accident the soft limit
//! `RLIMIT_RTTIME`, which only applies to processes of the real-time scheduler, and which Haft sets to a number that
//! none of them ever reaches.
use rustix::process::{Resource, Rlimit, getrlimit};
use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The variable by which processes are found: the caller may put words of its own into it, separated by spaces.
pub const VARIABLE: &str = "HAFT_CALL";

/// The name of this process in the tags of the processes that it starts: `PID-RANDOM`.
pub(crate) fn instance() -> &'static str {
    static INSTANCE: OnceLock<String> = OnceLock::new();
    INSTANCE
        .get_or_init(|| format!("{}-{:016x}", std::process::id(), RandomState::new().build_hasher().finish()))
}

/// Returns a word that no other process was started with.
pub(crate) fn new_start() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", instance(), NEXT.fetch_add(1, Relaxed))
}

/// Whether a process with this word was started by `instance`.
pub(crate) fn is_of(word: &str, instance: &str) -> bool {
    word.strip_prefix(instance).is_some_and(|rest| rest.starts_with('-'))
}

/// The limits that carry the number of this instance.
pub(crate) fn numbered() -> Option<Rlimit> {
    let maximum = getrlimit(Resource::Rttime).maximum;
    let number = number_of(instance())?;
    maximum.is_none_or(|most| number <= most).then_some(Rlimit { current: Some(number), maximum })
}

/// The number for an instance: 2^62 microseconds or more, so that no other program sets it by chance.
fn number_of(instance: &str) -> Option<u64> {
    let (_, random) = instance.split_once('-')?;
    Some(u64::from_str_radix(random, 16).ok()? >> 2 | 1 << 62)
}

/// Whether the limits of the process carry the number of `instance`. A process that has ended still has limits.
pub(crate) fn has_number(process: &Path, instance: &str) -> bool {
    let Some(number) = number_of(instance) else { return false };
    let limits = fs::read_to_string(process.join("limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next());
    soft == Some(&number.to_string())
}

/// The words of an environment, as `/proc/PID/environ` has it.
pub(crate) fn words(environment: &[u8]) -> Option<Vec<&str>> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value =
        variables.find_map(|variable| variable.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    Some(std::str::from_utf8(value).ok()?.split_ascii_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_and_belong_to_their_instance() {
        let environment = b"PATH=/bin\0XHAFT_CALL=no\0HAFT_CALL=session 12-ab-3\0HOME=/\0";
        assert_eq!(words(environment), Some(vec!["session", "12-ab-3"]));
        assert_eq!((words(b""), words(b"HAFT_CALL=")), (None, Some(vec![])));
        let table = [("12-ab-3", true), ("12-ab", false), ("12-abc-3", false), ("112-ab-3", false)];
        for (word, expected) in table {
            assert_eq!(is_of(word, "12-ab"), expected, "{word}");
        }
        assert!(is_of(&new_start(), instance()) && new_start() != new_start());
    }

    #[test]
    fn a_number_stands_for_an_instance_and_looks_like_no_other_limit() {
        let number = number_of(instance()).unwrap();
        assert!((1 << 62..1 << 63).contains(&number));
        assert_ne!(number_of("1-00000000000000a0"), number_of("1-00000000000000b0"));
        assert_eq!((number_of("1"), number_of("1-x")), (None, None));
    }
}
