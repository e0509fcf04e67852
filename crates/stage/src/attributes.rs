//! [`of`], [`set`] and [`carry_over`]: read and set the owner and the extended attributes of a file, and carry them
//! over to its replacement.
use haft_core::Attributes;
use rustix::{
    fs::{
        Gid, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, lgetxattr, llistxattr,
        lsetxattr,
    },
    io::Errno,
};
use std::{fs::File, io, os::unix::fs::MetadataExt, path::Path};

/// The attributes that a file's owner sets, which are recorded; `None` if they may not be read.
pub(crate) fn of(file: &File) -> Option<Attributes> {
    recorded(names(|list| flistxattr(file, list)), |name, value| fgetxattr(file, name, value))
}

/// Like [`of`], for a path; a link is not followed.
pub(crate) fn at(path: &Path) -> Option<Attributes> {
    recorded(names(|list| llistxattr(path, list)), |name, value| lgetxattr(path, name, value))
}

/// Copies the attributes of `from` to the new file `to`.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for (name, value) in at(from).into_iter().flatten() {
        lsetxattr(to, &*name, &decoded(&name, &value)?, XattrFlags::empty())?;
    }
    Ok(())
}

/// Sets these attributes of `file`, and removes other recorded ones. Set its mode afterwards, because an access list
/// changes the mode.
pub(crate) fn set(file: &File, attributes: &Attributes) -> io::Result<()> {
    for name in names(|list| flistxattr(file, list))? {
        if is_recorded(&name) && !attributes.contains_key(&name) {
            fremovexattr(file, &*name)?;
        }
    }
    for (name, value) in attributes {
        let set = fsetxattr(file, &**name, &decoded(name, value)?, XattrFlags::empty());
        set.map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("its attribute `{name}` cannot be set: {error}"))
        })?;
    }
    Ok(())
}

/// Sets the owner and the extended attributes of `new` to those of `old`, including access control lists. If `recorded`
/// is known, it replaces the attributes that the owner sets. Set the mode afterwards, because a change of the owner
/// clears bits of it.
pub(crate) fn carry_over(old: &File, new: &File, recorded: Option<&Attributes>) -> io::Result<()> {
    keep_owner(old, new)?;
    for name in names(|list| flistxattr(old, list))? {
        if CONTENT_ATTRIBUTES.contains(&&*name) || recorded.is_some() && is_recorded(&name) {
            continue;
        }
        let Some(value) = value(old, &name)? else { continue };
        match fsetxattr(new, &*name, &value, XattrFlags::empty()) {
            Err(_) if !is_recorded(&name) => {}
            set => set?,
        }
    }
    recorded.map_or(Ok(()), |recorded| set(new, recorded))
}

/// Attributes that belong to the old content: capabilities and signatures of a program.
const CONTENT_ATTRIBUTES: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// Whether the attribute is one that the owner of a file sets. Others belong to the system, which may set them itself
/// or forbid that, or to overlayfs.
fn is_recorded(name: &str) -> bool {
    name.starts_with("user.") && !name.starts_with("user.overlay.") || name.starts_with("system.posix_acl_")
}

/// Keeps owner and group as far as permitted: only root can change the owner; other users can set a group that they are
/// in.
fn keep_owner(old: &File, new: &File) -> io::Result<()> {
    let (old, found) = (old.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) != (found.uid(), found.gid()) {
        let group = Some(Gid::from_raw(old.gid()));
        let _not_ours_to_give =
            fchown(new, Some(Uid::from_raw(old.uid())), group).or_else(|_| fchown(new, None, group));
    }
    Ok(())
}

fn recorded(
    names: io::Result<Vec<String>>,
    get: impl Fn(&str, &mut [u8]) -> rustix::io::Result<usize>,
) -> Option<Attributes> {
    let names = names.ok()?.into_iter().filter(|name| is_recorded(name));
    let values = names.map(|name| match grown(|value| get(&name, value)) {
        // Another process has just removed the attribute.
        Err(Errno::NODATA) => Ok(None),
        value => value.map(|value| Some((name, hex::encode(value)))),
    });
    values.filter_map(Result::transpose).collect::<Result<_, _>>().ok()
}

/// Names of attributes; empty if the file system has none. Names that are not UTF-8 are left out.
fn names(list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> io::Result<Vec<String>> {
    let list = match grown(list) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

/// The value of an attribute; `None` if it does not exist, or only the system may read it.
fn value(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    match grown(|buffer| fgetxattr(file, name, buffer)) {
        Err(Errno::NODATA) => Ok(None),
        Err(_) if !is_recorded(name) => Ok(None),
        value => Ok(Some(value?)),
    }
}

/// Decodes an attribute from a journal, which is untrusted.
fn decoded(name: &str, value: &str) -> io::Result<Vec<u8>> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, format!("its attribute `{name}` {why}"));
    match hex::decode(value) {
        _ if !is_recorded(name) => Err(invalid("is none that its owner sets")),
        Err(_) => Err(invalid("is not in hexadecimal")),
        Ok(value) => Ok(value),
    }
}

/// Calls `read` with a growing buffer until it is large enough.
fn grown(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    loop {
        match read(&mut buffer) {
            // Linux has no longer values.
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            Err(error) => return Err(error),
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
        }
    }
}
