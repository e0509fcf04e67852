//! [`First`]: keeps the results that come first by path, for a search whose threads find results in any order.
//!
//! The results of a tree are the same whatever the number of threads, and only the wanted results are kept in memory.
use std::{
    cmp::Ordering,
    collections::BTreeMap,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Results by path, in order, until their weights add up to the wanted number.
pub(crate) struct First<T> {
    wanted: usize,
    weight: usize,
    kept: BTreeMap<ByPath, (usize, T)>,
}

impl<T> First<T> {
    pub(crate) fn new(wanted: usize) -> Self {
        Self { wanted, weight: 0, kept: BTreeMap::new() }
    }

    /// `weight`: the number of results that this counts as.
    pub(crate) fn push(&mut self, path: &Path, weight: usize, thing: T) {
        let last = self.kept.last_key_value();
        let is_late = last.is_some_and(|(last, _)| compare(path, &last.0).is_gt());
        if self.weight >= self.wanted && (is_late || self.kept.is_empty()) {
            return;
        }
        self.weight += weight;
        self.kept.insert(ByPath(path.to_owned()), (weight, thing));
        while let Some(last) = self.kept.last_entry()
            && self.weight - last.get().0 >= self.wanted
        {
            self.weight -= last.get().0;
            last.remove();
        }
    }

    /// Adds the results of another thread.
    pub(crate) fn append(&mut self, other: Self) {
        for (path, (weight, thing)) in other.kept {
            self.push(&path.0, weight, thing);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &T)> {
        self.kept.iter().map(|(path, (_, thing))| (path.0.as_path(), thing))
    }
}

struct ByPath(PathBuf);

impl Ord for ByPath {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}
impl PartialOrd for ByPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for ByPath {}

/// Orders paths as `Path` does, but without splitting them: a folder comes before names that only begin with its name,
/// so that its files stay together.
fn compare(a: &Path, b: &Path) -> Ordering {
    let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    match a.iter().zip(b).position(|(a, b)| a != b) {
        Some(at) => rank(&a[at]).cmp(&rank(&b[at])),
        None => a.len().cmp(&b.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_whatever_the_order_in_which_they_come() {
        let found = [("b", 2), ("a/z", 1), ("a-b", 3), ("a/b/c", 1), ("c", 1), ("a", 1)];
        let table = [
            (0, vec![]),
            (1, vec!["a"]),
            (3, vec!["a", "a/b/c", "a/z"]),
            (4, vec!["a", "a/b/c", "a/z", "a-b"]),
            (6, vec!["a", "a/b/c", "a/z", "a-b"]),
            (99, vec!["a", "a/b/c", "a/z", "a-b", "b", "c"]),
        ];
        for (wanted, expected) in table {
            for turn in 0..found.len() {
                let mut all = First::new(wanted);
                let mut other = First::new(wanted);
                for (number, (path, weight)) in found.iter().cycle().skip(turn).take(found.len()).enumerate()
                {
                    let first = if number % 2 == 0 { &mut all } else { &mut other };
                    first.push(Path::new(path), *weight, ());
                }
                all.append(other);
                let paths: Vec<_> = all.iter().map(|(path, ())| path.to_str().unwrap()).collect();
                assert_eq!(paths, expected, "{wanted} from {turn}");
            }
        }
    }
}
