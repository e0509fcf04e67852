//! What a file has beside its content and its mode, carried over to the one that takes its place.
use rustix::{
    fs::{Gid, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr},
    io::Errno,
};
use std::{fs::File, io, os::unix::fs::MetadataExt};

/// Gives `new` the owner and the extended attributes of `old`, access control lists among them. Set its mode afterwards:
/// a change of owner takes bits away from it.
pub(crate) fn carry_over(old: &File, new: &File) -> io::Result<()> {
    keep_owner(old, new)?;
    for name in names(old)? {
        if SPENT.contains(&name.as_str()) {
            continue;
        }
        let Some(value) = value(old, &name)? else { continue };
        match fsetxattr(new, name.as_str(), &value, XattrFlags::empty()) {
            Err(_) if !is_the_persons(&name) => {}
            set => set?,
        }
    }
    Ok(())
}

/// They speak of the old content: the rights of a program, and its signatures.
const SPENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// Whether it is lost where it cannot be set. Others are the system's: it may set them itself, or let nobody do so.
fn is_the_persons(name: &str) -> bool {
    name.starts_with("user.") || name.starts_with("system.posix_acl_")
}

/// Only root can give a file away; anybody may give it to a group of theirs.
fn keep_owner(old: &File, new: &File) -> io::Result<()> {
    let (old, found) = (old.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) != (found.uid(), found.gid()) {
        let group = Some(Gid::from_raw(old.gid()));
        let _not_ours_to_give =
            fchown(new, Some(Uid::from_raw(old.uid())), group).or_else(|_| fchown(new, None, group));
    }
    Ok(())
}

/// None where the file system has no attributes.
fn names(file: &File) -> io::Result<Vec<String>> {
    let list = grown(|buffer| flistxattr(file, buffer));
    let list = match list {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// `None` where it is gone, or only the system may see it.
fn value(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    match grown(|buffer| fgetxattr(file, name, buffer)) {
        Err(Errno::NODATA) => Ok(None),
        Err(_) if !is_the_persons(name) => Ok(None),
        value => Ok(Some(value?)),
    }
}

/// Asks again with more room while there is too little.
fn grown(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    loop {
        match read(&mut buffer) {
            // Linux has no longer ones.
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            Err(error) => return Err(error),
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
        }
    }
}
