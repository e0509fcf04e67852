//! [`try_confinement`]: checks whether a confinement works, and which system setting prevents it.
use crate::confine::{Plan, exit};
use haft_core::Confinement;
use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

/// Checks whether processes can be confined by `confinement` on this system; the error says why not. Starts a process
/// that ends at once.
pub fn try_confinement(confinement: &Confinement) -> io::Result<()> {
    let (plan, _) = Plan::new(confinement, &confinement.workspace)?;
    // The program never begins: the process ends just before.
    let mut command = Command::new("true");
    command.current_dir(&confinement.workspace);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    enter_and_end(&mut command, plan);
    let ended = command.spawn().map_err(explained)?.wait()?;
    match ended.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("it ended with {ended}"))),
    }
}

#[expect(unsafe_code, reason = "what runs between fork(2) and execve(2) must do system calls only")]
fn enter_and_end(command: &mut Command, plan: Plan) {
    // SAFETY: entering makes one system call after the other, allocates nothing and takes no lock.
    unsafe { command.pre_exec(move || plan.enter().map(|()| exit(0))) };
}

/// A setting below `/proc/sys`, the value with which it refuses, and what to tell the user.
struct Setting {
    path: &'static str,
    refusing: &'static str,
    told: &'static str,
}

const SETTINGS: [Setting; 3] = [
    // Ubuntu since 23.10.
    Setting {
        path: "kernel/apparmor_restrict_unprivileged_userns",
        refusing: "1",
        told: "AppArmor restricts user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows them to all programs, a profile to `haft` alone",
    },
    // Debian and its derivatives.
    Setting {
        path: "kernel/unprivileged_userns_clone",
        refusing: "0",
        told: "user namespaces are for root alone here: `sudo sysctl kernel.unprivileged_userns_clone=1` allows them to everybody",
    },
    Setting {
        path: "user/max_user_namespaces",
        refusing: "0",
        told: "no user namespaces are allowed here: `sudo sysctl user.max_user_namespaces=15000` allows them",
    },
];

/// Files by which container engines mark a container.
const CONTAINER_FILES: [&str; 2] = [".dockerenv", "run/.containerenv"];

/// Adds an explanation from the settings of this system to the error.
fn explained(error: io::Error) -> io::Error {
    match reason(Path::new("/")) {
        Some(reason) => io::Error::new(error.kind(), format!("{reason} ({error})")),
        None => error,
    }
}

fn reason(root: &Path) -> Option<&'static str> {
    let refuses = |setting: &&Setting| {
        let value = fs::read_to_string(root.join("proc/sys").join(setting.path));
        value.is_ok_and(|value| value.trim() == setting.refusing)
    };
    let is_container = || CONTAINER_FILES.iter().any(|file| root.join(file).exists());
    let container = "this container may not make namespaces (Docker and Podman let it with `--security-opt seccomp=unconfined`)";
    SETTINGS.iter().find(refuses).map(|setting| setting.told).or_else(|| is_container().then_some(container))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_refuses_is_named() {
        let table = [
            (&[][..], None),
            (&[("proc/sys/user/max_user_namespaces", "96365\n")], None),
            (&[("proc/sys/user/max_user_namespaces", "0\n")], Some("user.max_user_namespaces=15000")),
            (&[("proc/sys/kernel/unprivileged_userns_clone", "0\n")], Some("unprivileged_userns_clone=1")),
            (
                &[
                    ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
                    ("proc/sys/kernel/unprivileged_userns_clone", "1\n"),
                ],
                Some("apparmor_restrict_unprivileged_userns=0"),
            ),
            (&[(".dockerenv", "")], Some("seccomp=unconfined")),
        ];
        for (files, expected) in table {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let file = root.path().join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let told = reason(root.path());
            assert!(told.is_some() == expected.is_some(), "{files:?}: {told:?}");
            assert!(expected.is_none_or(|part| told.unwrap().contains(part)), "{files:?}: {told:?}");
        }
    }
}
