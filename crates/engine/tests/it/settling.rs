//! What a call staged and could not make real was not done: for an undo, for the evidence, for the reader of the result.
use crate::kit::{Place, calls, content, prompt, says, scripted, tell};
use haft_core::{Change, Changed, Effect, Fact, Hash, Stage, Tracking, View, changed::paths, undo};
use haft_engine::Engine;
use haft_stage::LocalStage;
use serde_json::json;
use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// A disk that takes no file that is called `full.txt`.
struct Full(LocalStage);

impl Stage for Full {
    fn how(&self, workspace: &Path, effects: &[Effect]) -> Tracking {
        self.0.how(workspace, effects)
    }

    fn open(&self, workspace: &Path, effects: &[Effect]) -> io::Result<Box<dyn View>> {
        self.0.open(workspace, effects)
    }

    fn settle(&self, workspace: &Path, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let mut conflicts = Vec::new();
        for change in changes {
            if change.path.ends_with("full.txt") && change.before != change.after {
                return Err(io::ErrorKind::StorageFull.into());
            }
            conflicts.extend(self.0.settle(workspace, std::slice::from_ref(change))?);
        }
        Ok(conflicts)
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.0.content(hash)
    }

    fn resolve(&self, workspace: &Path, path: &Path) -> PathBuf {
        self.0.resolve(workspace, path)
    }
}

#[tokio::test]
async fn what_could_not_be_written_was_not_done() {
    let patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: full.txt\n+1\n*** End Patch";
    let write = |path: &str| ("write", json!({"path": path, "content": "1\n"}));
    let table = [
        (write("full.txt"), "nothing was changed", vec![], vec!["full.txt"]),
        (("apply_patch", json!({"patch": patch})), "only a part was changed", vec!["a"], vec!["full.txt"]),
        (write("b"), "", vec!["b"], vec![]),
    ];
    for (call, expected, done, left) in table {
        let place = Place::new();
        let script = calls(std::slice::from_ref(&call))
            + &says("I created full.txt.")
            + &says("I did: I created full.txt.");
        let mut setup = place.setup(scripted(&script));
        setup.stages = Arc::new(|blobs: &Path| Arc::new(Full(LocalStage::new(blobs.to_owned()))) as _);
        setup.profile.limits.evidence = true;
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, None).await;
        let entries = session.entries();
        let heard = content(&session, &format!("{}-0", call.0));
        assert!(heard.contains(expected), "{heard}\n{told}");
        let changed = Changed::of(entries.iter().map(|entry| &entry.fact)).whole();
        assert_eq!(paths(&changed), done.iter().map(PathBuf::from).collect::<Vec<_>>(), "{told}");
        let unsettled = entries.iter().find_map(|entry| match &entry.fact {
            Fact::Unsettled { paths, .. } => Some(paths.clone()),
            _ => None,
        });
        let left: Vec<PathBuf> = left.iter().map(PathBuf::from).collect();
        assert_eq!(unsettled.unwrap_or_default(), left, "{told}");
        assert!(told.ends_with("turn_ended=unproven"), "{told}");
        let to = undo::before_last_turn(&entries).unwrap();
        assert_eq!(undo::back_to(&entries, to).changes.len(), done.len());
        assert_eq!(undo::before_last_calls(&entries, 1).is_some(), !done.is_empty());
    }
}

/// Puts a link to `outside` in the place of `sub` and takes it away again, until it is told to stop.
fn swap(work: &Path, outside: &Path, stop: &AtomicBool) {
    let (sub, parked) = (work.join("sub"), work.join(".parked"));
    while !stop.load(Relaxed) {
        fs::rename(&sub, &parked).unwrap();
        let _made_anew_by_a_call = symlink(outside, &sub);
        std::thread::yield_now();
        loop {
            let _is_no_link = fs::remove_file(&sub);
            match fs::rename(&parked, &sub) {
                Ok(()) => break,
                Err(_) => drop(fs::remove_dir_all(&sub)),
            }
        }
    }
}

// The folder is swapped at every moment of a call: when it is judged, while it runs, while it is settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_folder_that_is_swapped_for_a_link_leads_no_call_outside() {
    let place = Place::new();
    let outside = place.folder.path().canonicalize().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(place.work().join("sub")).unwrap();
    place.write("sub/kept", "mine");
    symlink("sub", place.work().join("link")).unwrap();
    let write = |number: usize| match number % 3 {
        0 => ("write", json!({"path": format!("sub/{number}"), "content": "mine"})),
        1 => ("write", json!({"path": format!("link/{number}"), "content": "mine"})),
        _ => {
            let patch = format!("*** Begin Patch\n*** Add File: sub/{number}\n+mine\n*** End Patch");
            ("apply_patch", json!({"patch": patch}))
        }
    };
    let rounds =
        (0..20).map(|round| calls(&(0..20).map(|call| write(round * 20 + call)).collect::<Vec<_>>()));
    let script = rounds.collect::<String>() + &says("done");
    let mut setup = place.setup(scripted(&script));
    // What lies outside is not allowed, wherever it is named from.
    setup.policy.mode = haft_core::Mode::AcceptEdits;
    let session = Engine::new(setup).create("haft").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (work, outside, stop) = (place.work(), outside.clone(), stop.clone());
        std::thread::spawn(move || swap(&work, &outside, &stop))
    };
    let told = tell(&session, prompt("go"), 1, Some(haft_core::Answer::No)).await;
    stop.store(true, Relaxed);
    swapping.join().unwrap();
    let found: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(told.contains("staged"), "{told}");
}
