//! Files that are not what their names promise, and pipes that are read or not.
use haft_process::{is_read, read_regular};
use rustix::fs::{CWD, FileType, mknodat};
use std::{
    fs::{self, File},
    io::{Read, Write, pipe},
    os::{
        fd::AsFd,
        unix::{fs::symlink, net::UnixStream},
    },
};

#[test]
fn what_is_no_file_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "text").unwrap();
    symlink(at("file"), at("link")).unwrap();
    symlink("/dev/zero", at("zero")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, 0o600.into(), 0).unwrap();
    let told = |name: &str, most| {
        read_regular(&at(name), most).map(|content| content.len()).map_err(|error| error.to_string())
    };
    let not_regular = || Err("it is not a regular file".to_owned());
    assert_eq!((told("file", 4), told("link", 4)), (Ok(4), Ok(4)));
    assert_eq!(told("file", 3), Err("it has more than 3 bytes".into()));
    assert_eq!((told("zero", 1 << 20), told("pipe", 1)), (not_regular(), not_regular()));
    assert!(told(".", 1).is_err_and(|error| error.contains("directory")));
}

fn check(mut input: impl Read, mut output: impl Write + AsFd) {
    assert!(is_read(&output));
    output.write_all(b"word").unwrap();
    assert!(!is_read(&output));
    input.read_exact(&mut [0; 4]).unwrap();
    assert!(is_read(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn what_waits_in_a_pipe_or_a_socket_is_not_read() {
    let (input, output) = pipe().unwrap();
    check(input, output);
    let (input, output) = UnixStream::pair().unwrap();
    check(input, output);
    assert!(is_read(File::open("/dev/null").unwrap()));
}
