//! What a call staged and could not make real was not done: for an undo, for the evidence, for whoever reads the result.
mod kit;

use haft_core::{Change, Changed, Effect, Fact, Hash, How, Stage, View, changed::paths, undo};
use haft_engine::Engine;
use haft_stage::Declared;
use kit::{Place, calls, content, prompt, says, scripted, tell};
use serde_json::json;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A disk that takes no file that is called `full.txt`.
struct Full(Declared);

impl Stage for Full {
    fn how(&self, effects: &[Effect]) -> How {
        self.0.how(effects)
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
        setup.stages = Arc::new(|blobs: &Path| Arc::new(Full(Declared::new(blobs.to_owned()))) as _);
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
