//! [`is_in_a_pipeline`]: finds out which process writes to standard input.
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Whether another command of a pipeline has the other end of standard input open, and so may still write: `make | haft
/// "…"`. A program that started this one and gave it a pipe does not count. Without `/proc`, the result is false.
pub(super) fn is_in_a_pipeline() -> bool {
    let is_pipe = |file: &PathBuf| file.to_str().is_some_and(|name| name.starts_with("pipe:"));
    let Some(pipe) = fs::read_link("/proc/self/fd/0").ok().filter(is_pipe) else { return false };
    let above = ancestors(std::process::id());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut others = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    others.any(|id: u32| !above.contains(&id) && writes(id, &pipe))
}

/// The process itself and those that started it.
fn ancestors(id: u32) -> Vec<u32> {
    let parent = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok().filter(|parent| *parent != 0)
    };
    std::iter::successors(Some(id), parent).collect()
}

fn writes(id: u32, pipe: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut ends = files.filter(|file| fs::read_link(file.path()).is_ok_and(|target| target == pipe));
    ends.any(|file| {
        let info = fs::read_to_string(format!("/proc/{id}/fdinfo/{}", file.file_name().display()));
        // Octal flags as in open(2): the last two bits mean reading, writing or both.
        let flags = info.ok().and_then(|info| {
            let line = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        });
        flags.is_some_and(|flags| flags & 0b11 != 0)
    })
}
