//! What a file has beside its content stays with it: extended attributes, access control lists, owner and mode.
use crate::kit::Place;
use haft_core::{Change, FileState, Stage};
use rustix::fs::{Gid, Uid, XattrFlags, chown, getxattr, listxattr, setxattr, stat};
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

const ACL: &str = "system.posix_acl_access";

/// For the user 12345 to read, besides the owner (acl(5), `posix_acl_xattr.h` of Linux).
fn acl() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 6, u32::MAX),
        (0x02, 4, 12_345),
        (0x04, 4, u32::MAX),
        (0x10, 4, u32::MAX),
        (0x20, 0, u32::MAX),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permission, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permission.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// All attributes of a file; none where the file system has none.
fn attributes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut names = vec![0; 65_536];
    let length = listxattr(path, &mut names[..]).unwrap_or_default();
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &str| {
        let mut value = vec![0; 65_536];
        let length = getxattr(path, name, &mut value[..]).unwrap();
        value[..length].to_vec()
    };
    names.map(|name| std::str::from_utf8(name).unwrap()).map(|name| (name.to_owned(), value(name))).collect()
}

/// Gives the file what the file system takes, and says what it has then.
fn given(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let long = vec![b'x'; 1_100];
    let wanted: [(&str, &[u8]); 4] =
        [("user.note", b"keep me"), ("user.empty", b""), ("user.long", &long), (ACL, &acl())];
    for (name, value) in wanted {
        let _not_on_this_file_system = setxattr(path, name, value, XattrFlags::empty());
    }
    attributes(path)
}

/// What is left of the file's own: owner, group, mode, attributes.
fn seen(path: &Path) -> (u32, u32, u32, BTreeMap<String, Vec<u8>>) {
    let found = stat(path).unwrap();
    (found.st_uid, found.st_gid, found.st_mode, attributes(path))
}

#[test]
fn an_edit_keeps_attributes_access_lists_owner_and_mode() {
    let place = Place::new(&[("a", "1")]);
    let path = place.workspace.join("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can; another user keeps their own.
    let _not_root = chown(&path, Some(Uid::from_raw(12_345)), Some(Gid::from_raw(54_321)));
    let has = given(&path);
    let before = seen(&path);
    // Where `make test` runs, the temporary folder has them; else this proves no more than that nothing breaks.
    assert!(
        cfg!(not(target_os = "linux")) || has.contains_key("user.note"),
        "no attributes in {}",
        path.display()
    );
    let changes = place.written("a", "2");
    assert!(place.settle(&changes).is_empty());
    assert_eq!((place.get("a").as_deref(), seen(&path)), (Some("2"), before.clone()));
    let back: Vec<Change> = changes.iter().map(Change::inverse).collect();
    assert!(place.settle(&back).is_empty());
    assert_eq!((place.get("a").as_deref(), seen(&path)), (Some("1"), before));
}

#[test]
fn a_mode_that_a_call_changes_is_changed_in_the_access_list_too() {
    let place = Place::new(&[("a", "1")]);
    let path = place.workspace.join("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    given(&path);
    let view = place.open_to_write("a");
    fs::set_permissions(view.locate(Path::new("a")), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(place.settle(&view.changes().unwrap()).is_empty());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    if let Some(list) = attributes(&path).get(ACL) {
        assert_eq!(list[28 + 2], 0, "the mask takes from everybody what the mode took from the group");
    }
}

// As after a process that was killed in the middle.
#[test]
fn a_folder_that_has_a_part_of_its_attributes_gets_the_rest() {
    let place = Place::new(&[]);
    let path = place.workspace.join("d");
    fs::create_dir(&path).unwrap();
    let known = |names: &[&str], mode| {
        let attributes = names.iter().map(|name| (format!("user.{name}"), "6f6e65".into()));
        Some(FileState::folder(mode).with_attributes(Some(attributes.collect())))
    };
    let change = |before, after| Change { path: "d".into(), before, after, new_folders: 0 };
    let (none, all) = (known(&[], 0o755), known(&["one", "two"], 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let set = |name: &str, value: &str| setxattr(&path, name, value.as_bytes(), XattrFlags::empty()).unwrap();
    set("user.one", "one");
    let names = || attributes(&path).into_keys().filter(|name| name.starts_with("user.")).collect::<Vec<_>>();
    assert!(place.settle(&[change(none.clone(), all.clone())]).is_empty());
    assert_eq!((names(), seen(&path).2 & 0o777), (vec!["user.one".into(), "user.two".into()], 0o700));
    // What is neither belongs to others.
    set("user.one", "another");
    assert_eq!(place.settle(&[change(all.clone(), none.clone())]), [Path::new("d")]);
    set("user.one", "one");
    assert!(place.settle(&[change(all, none)]).is_empty());
    assert_eq!((names(), seen(&path).2 & 0o777), (vec![], 0o755));
}

#[test]
fn a_folder_that_nobody_may_look_into_gets_its_mode_and_gives_it_back() {
    for mode in [0o300, 0o500, 0o100] {
        let place = Place::new(&[]);
        let path = place.workspace.join("d");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = |mode| Some(FileState::folder(mode));
        let change = Change { path: "d".into(), before: folder(0o755), after: folder(mode), new_folders: 0 };
        for (change, expected) in [(change.clone(), mode), (change.clone(), mode), (change.inverse(), 0o755)]
        {
            assert_eq!(place.settle(&[change]), [""; 0].map(Path::new), "{mode:o}");
            assert_eq!(seen(&path).2 & 0o777, expected);
        }
    }
}

#[test]
fn no_journal_sets_what_only_the_system_may() {
    let place = Place::new(&[("a", "1")]);
    for (name, value) in
        [("trusted.x", "31"), ("security.capability", "31"), ("user.overlay.x", "31"), ("user.x", "x")]
    {
        let after = FileState::folder(0o755).with_attributes(Some([(name.into(), value.into())].into()));
        let change = Change { path: "d".into(), before: None, after: Some(after), new_folders: 0 };
        let refused = place.stage.settle(&place.workspace, &[change]).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput, "{refused}");
        assert!(refused.to_string().contains(name), "{refused}");
    }
}

// The rights of a program speak of its content.
#[test]
fn the_rights_of_a_program_do_not_pass_to_another_content() {
    let place = Place::new(&[("a", "1")]);
    let path = place.workspace.join("a");
    // `cap_net_raw=ep` (capabilities(7), `vfs_cap_data`); only root can set it.
    let rights = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let _not_root = setxattr(&path, "security.capability", &rights, XattrFlags::empty());
    place.settle(&place.written("a", "2"));
    assert!(!attributes(&path).contains_key("security.capability"));
}
