//! [`Sender`] and [`Receiver`]: pass a listening socket from the network of a confined process to this process.
//!
//! The new process makes the socket before its program begins, and sends it here. So the command reaches this process
//! at an address of the command's own loopback, and no other process does.
use rustix::{
    io::IoSlice,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, ipproto, listen, recvmsg, sendmsg,
        socket_with, socketpair,
    },
};
use std::{
    io,
    mem::MaybeUninit,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::{AsFd, OwnedFd},
};

/// The address of the socket. No system assigns this port automatically, and no known server uses it.
pub(crate) const ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 61_080);

/// Maximum connections that wait to be accepted.
const MAX_PENDING: i32 = 128;

/// The end that the new process holds.
#[derive(Debug)]
pub(super) struct Sender(OwnedFd);

/// The end that this process holds.
#[derive(Debug)]
pub struct Receiver(OwnedFd);

pub(super) fn pair() -> io::Result<(Sender, Receiver)> {
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Ok((Sender(one), Receiver(other)))
}

impl Sender {
    /// Makes the socket and sends it. Allocates nothing.
    pub(super) fn send_listener(&self) -> io::Result<()> {
        let listener =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
        bind(&listener, &ADDRESS)?;
        listen(&listener, MAX_PENDING)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let listener = [listener.as_fd()];
        if !message.push(SendAncillaryMessage::ScmRights(&listener)) {
            return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        }
        sendmsg(&self.0, &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
        Ok(())
    }
}

impl Receiver {
    /// Receives the socket, once the process has begun its program.
    pub(crate) fn listener(self) -> io::Result<TcpListener> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        recvmsg(&self.0, &mut [io::IoSliceMut::new(&mut byte)], &mut message, flags)?;
        let mut sent = message.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        let listener = sent.next().ok_or_else(|| io::Error::other("no socket was sent"))?;
        Ok(TcpListener::from(listener))
    }
}
