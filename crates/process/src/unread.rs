//! [`is_read`]: tells whether the other end has read what was written.
use rustix::{
    fs::{FileType, fstat},
    io::ioctl_fionread,
};
use std::{io, os::fd::AsFd};

/// Returns whether the other end of a pipe or a socket has read all that was written to `output`; true if unknown.
pub fn is_read(output: impl AsFd) -> bool {
    let kind = fstat(&output).map(|found| FileType::from_raw_mode(found.st_mode));
    let unread = match kind {
        Ok(FileType::Fifo) => ioctl_fionread(&output).map_err(io::Error::from),
        Ok(FileType::Socket) => in_socket(&output),
        _ => Ok(0),
    };
    unread.unwrap_or_default() == 0
}

/// How many bytes, with what the system adds, wait for the other end of a local socket: `SIOCOUTQ`, which is the number
/// of `TIOCOUTQ` in `asm-generic/ioctls.h`.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#[expect(unsafe_code, reason = "rustix has no name for this request")]
fn in_socket(output: impl AsFd) -> io::Result<u64> {
    use rustix::ioctl::{Getter, ioctl};
    // SAFETY: the request takes nothing and gives one `int`.
    let unread: i32 = unsafe { ioctl(output, Getter::<0x5411, i32>::new()) }?;
    Ok(u64::try_from(unread).unwrap_or_default())
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
fn in_socket(_: impl AsFd) -> io::Result<u64> {
    Ok(0)
}
