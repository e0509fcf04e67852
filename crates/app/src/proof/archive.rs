//! [`read`] and [`write`]: a zip file in the only form that a bundle may have, so that no byte can change unnoticed.
//!
//! Members are stored as they are, without compression, times, links, folders or comments. Any zip program can unpack
//! them. A general zip reader would skip what it does not need, so a changed byte there would go unnoticed.
use super::Flaw;
use flate2::Crc;

/// Maximum size of a bundle, in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// Maximum number of members: the format counts them in two bytes.
pub(super) const MAX_MEMBERS: usize = 60_000;

/// Name and content of a file in the archive.
pub(super) type Member = (String, Vec<u8>);

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";

/// Length of the part of a member's header that is before its name.
const HEADER: usize = 30;

/// Version 1.0, no flags, no compression, and the earliest date of the format, 1980-01-01.
const FORM: [u8; 10] = [10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];

/// A regular file with the permissions 0644, made on Unix.
const MADE_BY: [u8; 2] = [10, 3];
const ATTRIBUTES: [u8; 4] = (0o100_644_u32 << 16).to_le_bytes();

/// The archive of these members, in their order. Their sizes together must be below [`MAX_BYTES`].
pub(super) fn write(members: &[Member]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let place = small(archive.len());
        let mut about = FORM.to_vec();
        about.extend(crc(content));
        about.extend([small(content.len()), small(content.len())].concat());
        about.extend([&small(name.len())[..2], &[0; 2][..]].concat());
        archive.extend([&LOCAL[..], about.as_slice(), name.as_bytes(), content].concat());
        // No comment, the first disk, no attributes of the content.
        let rest = [&[0; 6][..], &ATTRIBUTES[..], &place, name.as_bytes()].concat();
        directory.extend([&CENTRAL[..], &MADE_BY, about.as_slice(), &rest].concat());
    }
    let count = small(members.len());
    let end = [small(directory.len()), small(archive.len())].concat();
    archive.extend(directory);
    archive.extend([&END[..], &[0; 4], &count[..2], &count[..2], &end, &[0; 2]].concat());
    archive
}

/// Sizes and counts were checked before, so they fit.
fn small(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn crc(content: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum().to_le_bytes()
}

/// The members of an archive that [`write`] made.
pub(super) fn read(archive: &[u8]) -> Result<Vec<Member>, Flaw> {
    let mut members: Vec<Member> = Vec::new();
    let mut rest = archive;
    while rest.starts_with(&LOCAL) {
        if members.len() == MAX_MEMBERS {
            return Err(Flaw::TooMany);
        }
        let (member, behind) = one(rest)?;
        if members.iter().any(|(name, _)| *name == member.0) {
            return Err(Flaw::Twice(member.0));
        }
        members.push(member);
        rest = behind;
    }
    if members.is_empty() {
        return Err(Flaw::NoBundle);
    }
    let again = write(&members);
    if again == archive {
        return Ok(members);
    }
    let same = again.iter().zip(archive).take_while(|(one, other)| one == other).count();
    Err(if same == archive.len() { Flaw::CutOff } else { Flaw::Form(same) })
}

/// The first member, and the bytes after it.
fn one(archive: &[u8]) -> Result<(Member, &[u8]), Flaw> {
    let (header, rest) = archive.split_at_checked(HEADER).ok_or(Flaw::CutOff)?;
    let number = |from: usize| usize::from(header[from]) | usize::from(header[from + 1]) << 8;
    let size = number(22) | number(24) << 16;
    let (name, rest) = rest.split_at_checked(number(26)).ok_or(Flaw::CutOff)?;
    let name = str::from_utf8(name).ok().filter(|name| is_plain(name));
    let name =
        name.ok_or_else(|| Flaw::Outside(String::from_utf8_lossy(&archive[HEADER..][..number(26)]).into()))?;
    if header[8..10] != [0, 0] {
        return Err(Flaw::Compressed(name.to_owned()));
    }
    let (content, rest) = rest.split_at_checked(size).ok_or(Flaw::CutOff)?;
    if header[14..18] != crc(content) {
        return Err(Flaw::Checksum(name.to_owned()));
    }
    Ok(((name.to_owned(), content.to_vec()), rest))
}

/// Whether a name stays inside the folder into which it is unpacked, on any system.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.len() <= 128 && name.bytes().all(is_letter) && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<Member> {
        vec![("bundle.json".into(), b"{}\n".to_vec()), ("contents/a".into(), Vec::new())]
    }

    #[test]
    fn members_come_back_as_they_were_and_every_changed_byte_is_found() {
        let archive = write(&members());
        assert_eq!(read(&archive).unwrap(), members());
        for place in 0..archive.len() {
            for bit in [1, 0x20, 0x80] {
                let mut changed = archive.clone();
                changed[place] ^= bit;
                let found = read(&changed);
                assert!(found.is_err() || found.unwrap() != members(), "byte {place}, bit {bit}");
            }
            assert!(read(&archive[..place]).is_err(), "{place} bytes");
        }
    }

    #[test]
    fn names_that_lead_out_are_refused() {
        for name in ["../a", "/a", "a/../b", "a//b", "a\\b", ".git/config", "", "a b", "ä"] {
            let archive = write(&[(name.to_owned(), Vec::new())]);
            assert!(matches!(read(&archive), Err(Flaw::Outside(_))), "{name}");
        }
    }
}
