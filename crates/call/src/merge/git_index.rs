//! [`is_same`]: compares indexes of a repository (gitformat-index(5), versions 2 and 3 with SHA-1).

/// The entry of a file in an index, without the cached `stat` data of the file.
#[derive(PartialEq)]
struct Entry<'a> {
    mode: &'a [u8],
    hash: &'a [u8],
    flags: &'a [u8],
    path: &'a [u8],
}

/// Whether both are indexes with the same entries: `git status` rewrites an index without changing its entries.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    entries(one).is_some_and(|entries_of_one| Some(entries_of_one) == entries(other))
}

fn entries(index: &[u8]) -> Option<Vec<Entry<'_>>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let (mut entries, mut at) = (Vec::new(), 12);
    for _ in 0..number(8)? {
        let is_extended = index.get(at + 60)? & 0x40 != 0;
        let name = at + if is_extended { 64 } else { 62 };
        let length = index.get(name..)?.iter().position(|byte| *byte == 0)?;
        entries.push(Entry {
            mode: index.get(at + 24..at + 28)?,
            hash: index.get(at + 40..at + 60)?,
            flags: index.get(at + 60..name)?,
            path: index.get(name..name + length)?,
        });
        // The entry ends with at least one zero byte, up to a multiple of eight bytes.
        at += (name + length - at) / 8 * 8 + 8;
    }
    Some(entries)
}
