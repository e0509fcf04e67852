//! The units of systemd are well formed, and take away what Haft does not need.
use super::text;
use std::{fs, process::Command};

const UNITS: [&str; 2] = ["haft-serve.service", "haft-worker@.service"];
/// Ten times the exposure that `systemd-analyze security` may find; a service without any restriction has 96.
const MAX_EXPOSURE: &str = "20";

/// What `systemd-analyze` says of a unit; `None` if it is not installed.
fn analyze(words: &[&str]) -> Option<(bool, String)> {
    let ran = Command::new("systemd-analyze").args(words).env("SYSTEMD_COLORS", "0").output();
    let Ok(ran) = ran else {
        haft_testing::left_out("the units: there is no `systemd-analyze`; `scripts/setup.sh test`");
        return None;
    };
    let said = [ran.stdout, ran.stderr].concat();
    Some((ran.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn units_take_away_what_haft_does_not_need() {
    let folder = tempfile::tempdir().unwrap();
    for name in UNITS {
        // Where the program lies on this machine.
        let unit =
            text(&format!("systemd/{name}")).replace("/usr/local/bin/haft", env!("CARGO_BIN_EXE_haft"));
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, unit).unwrap();
        let Some((is_verified, said)) = analyze(&["verify", "--man=no", &path]) else { return };
        assert!(is_verified && said.is_empty(), "{name}: {said}");
        let threshold = format!("--threshold={MAX_EXPOSURE}");
        let (is_below, said) = analyze(&["security", "--offline=true", &threshold, &path]).unwrap();
        assert!(is_below, "{name}: {said}");
    }
}

#[test]
fn both_units_have_the_same_restrictions() {
    let restrictions = UNITS.map(|name| {
        let unit = text(&format!("systemd/{name}"));
        unit.split_once("NoNewPrivileges=yes\n").unwrap().1.to_owned()
    });
    assert_eq!(restrictions[0], restrictions[1]);
}
