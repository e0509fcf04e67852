//! [`is_read`]: checks whether the other end has read everything that was written.
use rustix::{
    fs::{FileType, fstat},
    io::ioctl_fionread,
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

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

/// How many bytes, with what the system adds, wait for the other end of a local socket: `SIOCOUTQ` on Linux, which is the
/// number of `TIOCOUTQ`. Other systems do not know it for sockets.
#[expect(unsafe_code, reason = "rustix has no name for this request")]
fn in_socket(output: impl AsFd) -> io::Result<u64> {
    let mut unread: libc::c_int = 0;
    // SAFETY: the request writes one `int`, which outlives the call.
    match unsafe { libc::ioctl(output.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut unread) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(u64::try_from(unread).unwrap_or_default()),
    }
}
