//! What others do to folders and files while changes are settled.
use crate::kit::Place;
use haft_core::{Effect, Stage, View};
use haft_process::Shell;
use haft_stage::{CommandAccess, LocalStage};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

const SWAPS: usize = 100_000;

/// Set when it is dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Puts a link to `elsewhere` in the place of `folder` and takes it away again, as fast as can be.
fn swap(
    folder: &Path,
    parked: &Path,
    elsewhere: &Path,
    swaps: &AtomicUsize,
    stop: &AtomicBool,
    pause: Duration,
) {
    while !stop.load(Relaxed) {
        thread::sleep(pause);
        fs::rename(folder, parked).unwrap();
        let _whoever_settles_made_the_folder_anew = symlink(elsewhere, folder);
        swaps.fetch_add(1, Relaxed);
        loop {
            let _is_no_link = fs::remove_file(folder);
            match fs::rename(parked, folder) {
                Ok(()) => break,
                Err(_) => drop(fs::remove_dir_all(folder)),
            }
        }
        swaps.fetch_add(1, Relaxed);
    }
}

/// Every file below `folder` and what it holds.
fn everything(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            found.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Replaces, makes and removes files in the folder that is swapped, until there were so many swaps.
fn work(place: &Place, target: &Path, swaps: &AtomicUsize) {
    for round in 0.. {
        let files = ["kept", "made", "gone", "deep/made"].map(|name| target.join(name));
        // Which it is must be known before anything is opened, as a policy has to know it.
        let effects: Vec<Effect> = files.iter().cloned().map(Effect::Write).collect();
        if let Ok(view) = place.stage.open(&place.workspace, &effects) {
            let [kept, made, gone, deep] = files.map(|file| view.locate(&file));
            let known = fs::read_to_string(&kept).unwrap_or_default();
            assert!(!known.contains("theirs"), "a file from outside was opened");
            fs::write(kept, format!("mine {round}")).unwrap();
            for file in [made, deep] {
                if fs::remove_file(&file).is_err() {
                    fs::write(file, "mine").unwrap();
                }
            }
            if fs::remove_file(&gone).is_err() {
                fs::write(gone, "mine").unwrap();
            }
            if let Ok(changes) = view.changes() {
                let _conflicts_and_errors_are_no_matter_here = place.stage.settle(&place.workspace, &changes);
            }
        }
        if swaps.load(Relaxed) >= SWAPS {
            return;
        }
    }
}

#[test]
fn no_byte_lands_elsewhere_while_folders_are_swapped_for_links() {
    // Where the folder lies meanwhile, and whether the file is named from the workspace or from the root.
    for (parked, is_inside) in [("w/.parked", true), ("parked", true), ("other/.parked", false)] {
        let place = Place::in_memory();
        let root = place.workspace.parent().unwrap().to_owned();
        let outside = root.join("outside");
        for folder in ["outside", "other"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        for name in ["kept", "gone"] {
            fs::write(outside.join(name), "theirs").unwrap();
        }
        let theirs = everything(&outside);
        let folder = if is_inside { place.workspace.join("sub") } else { root.join("other/sub") };
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("kept"), "mine").unwrap();
        let (swaps, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| swap(&folder, &root.join(parked), &outside, &swaps, &stop, Duration::ZERO));
            let _however_this_ends = Stop(&stop);
            work(&place, if is_inside { Path::new("sub") } else { &folder }, &swaps);
        });
        assert_eq!(everything(&outside), theirs, "parked in {parked}");
        let left: Vec<_> = everything(&folder).into_keys().collect();
        assert!(left.iter().all(|path| !path.to_string_lossy().contains(".haft-")), "{left:?}");
        assert!(!root.join(parked).exists());
    }
}

/// What a command changes in an ignored folder is moved there, or copied from another file system.
#[cfg(target_os = "linux")]
#[test]
fn no_moved_byte_lands_elsewhere_while_folders_are_swapped_for_links() {
    const ROUNDS: usize = 25;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for blobs in [None, Some(memory.path().join("blobs"))] {
        let mut place = Place::new(&[(".gitignore", "node_modules\n")]);
        let root = place.workspace.parent().unwrap().to_owned();
        let blobs = blobs.unwrap_or_else(|| root.join("blobs"));
        place.stage = LocalStage::new(blobs).with_command_views(CommandAccess::default());
        place.stage.command_views(&place.workspace).unwrap();
        let outside = root.join("outside");
        fs::create_dir(&outside).unwrap();
        let folder = place.workspace.join("node_modules");
        fs::create_dir_all(folder.join("pkg")).unwrap();
        // A file of theirs has a second name inside.
        for name in ["1", "kept"] {
            fs::write(outside.join(name), "theirs").unwrap();
        }
        fs::hard_link(outside.join("1"), folder.join("pkg/1")).unwrap();
        let theirs = everything(&outside);
        let (swaps, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut tried = 0;
        thread::scope(|scope| {
            let (parked, inside) = (root.join("parked"), folder.join("pkg"));
            let (swaps, stop, outside) = (&swaps, &stop, &outside);
            scope.spawn(move || swap(&inside, &parked, outside, swaps, stop, Duration::from_millis(2)));
            let _however_this_ends = Stop(stop);
            for round in 0..ROUNDS {
                let command = format!(
                    "mkdir -p node_modules/pkg; cd node_modules/pkg && for i in $(seq 520); do echo {round} >$i; done; rm -f kept"
                );
                let Ok(view) = place.stage.open(&place.workspace, &[Effect::execute("anything").confined()])
                else {
                    continue;
                };
                runtime.block_on(run_in(&command, &*view, &place.workspace));
                if view.changes().is_ok() && !view.bulk().folders.is_empty() {
                    tried += 1;
                    let _a_folder_may_be_a_link_at_this_moment = view.apply_bulk();
                }
            }
        });
        assert_eq!(everything(&outside), theirs);
        assert!(tried > ROUNDS / 2 && swaps.load(Relaxed) > ROUNDS, "{tried} of {ROUNDS} were tried");
    }
}

#[cfg(target_os = "linux")]
async fn run_in(command: &str, view: &dyn View, workspace: &Path) {
    let shell = Shell {
        command: command.into(),
        folder: workspace.to_owned(),
        environment: [("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())].into(),
        timeout: Some(Duration::from_secs(20)),
        capture: 10_000,
        spill: None,
        hidden: Default::default(),
        confinement: view.confinement(),
    };
    let _a_folder_may_be_a_link_at_this_moment = shell.run(|_| ()).await;
}

/// Fails where `settle` waits for ever.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(30)).expect("it hangs")
}

#[test]
fn who_has_locked_the_workspace_holds_up_nobody() {
    let place = Place::new(&[("a", "1")]);
    let changes = place.written("a", "2");
    let folder = File::open(&place.workspace).unwrap();
    folder.lock().unwrap();
    let file = File::open(place.workspace.join("a")).unwrap();
    file.lock().unwrap();
    let place = in_time(move || {
        assert!(place.settle(&changes).is_empty());
        place
    });
    assert_eq!(place.get("a").as_deref(), Some("2"));
}

#[test]
fn who_waits_for_another_process_says_so_and_has_done_nothing() {
    let mut place = Place::new(&[("a", "1")]);
    let locks = place.folder.path().join("locks");
    place.stage = haft_stage::LocalStage::new(place.folder.path().join("blobs")).with_locks(locks.clone());
    let changes = [place.written("a", "2"), place.written("new/b", "2")].concat();
    assert!(place.stage.settle(&place.workspace, &[changes[0].clone()]).unwrap().is_empty());
    place.stage.settle(&place.workspace, &[changes[0].inverse()]).unwrap();
    let lock = fs::read_dir(&locks).unwrap().next().unwrap().unwrap().path();
    let held = File::open(lock).unwrap();
    held.lock().unwrap();
    let (place, refused) = in_time(move || {
        let refused = place.stage.settle(&place.workspace, &changes).unwrap_err();
        (place, (refused, changes))
    });
    let (error, changes) = refused;
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert!(error.to_string().starts_with("another `haft` is writing files in `"), "{error}");
    assert_eq!((place.get("a").as_deref(), place.names()), (Some("1"), vec!["a".to_owned()]));
    drop(held);
    assert!(place.settle(&changes).is_empty());
    assert_eq!((place.get("a").as_deref(), place.get("new/b").as_deref()), (Some("2"), Some("2")));
}

/// Another program replaces the file all the time: what we replace is what we had seen, and their last word stands, or we
/// had seen it.
#[test]
fn what_somebody_writes_in_the_same_moment_is_not_lost() {
    let place = Place::in_memory();
    place.put("a", "theirs 0");
    let path = place.workspace.join("a");
    let aside = place.workspace.with_file_name("theirs");
    for _ in 0..20 {
        let (stop, mut replaced) = (AtomicBool::new(false), Vec::new());
        let written = thread::scope(|scope| {
            let others = scope.spawn(|| {
                let mut number = 0;
                while !stop.load(Relaxed) {
                    number += 1;
                    fs::write(&aside, format!("theirs {number}")).unwrap();
                    fs::rename(&aside, &path).unwrap();
                }
                number
            });
            let _however_this_ends = Stop(&stop);
            for round in 0..100 {
                let changes = place.written("a", &format!("mine {round}"));
                if place.settle(&changes).is_empty() {
                    replaced.push(changes[0].before.as_ref().unwrap().hash.clone());
                }
            }
            stop.store(true, Relaxed);
            others.join().unwrap()
        });
        let (last, theirs) = (place.get("a").unwrap(), format!("theirs {written}"));
        let seen = replaced.iter().any(|hash| place.stage.content(hash).unwrap() == theirs.as_bytes());
        assert!(last == theirs || (last.starts_with("mine ") && seen), "{last}, not {theirs}");
        assert_eq!(place.names(), ["a"], "nothing is left over");
    }
}
