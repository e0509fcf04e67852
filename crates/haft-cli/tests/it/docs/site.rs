//! The site (`scripts/site.sh`): every page of `docs/` has a place in it, and links between pages lead somewhere.
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().unwrap()
}

/// The addresses of the links of a page, without those to other sites.
fn links(text: &str) -> Vec<&str> {
    // What stands between backticks is no link.
    let prose = text.split("```").step_by(2).flat_map(|part| part.split('`').step_by(2));
    let targets =
        prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://")).collect()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let listed = entries.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    listed.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_page_of_the_docs_is_in_the_contents_of_the_site() {
    let docs = docs();
    let contents = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&contents).into_iter().map(|page| docs.join(page)).collect();
    let there: BTreeSet<PathBuf> =
        pages(&docs).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, there);
}

#[test]
fn links_between_pages_lead_to_files_below_the_docs() {
    let docs = docs();
    for page in pages(&docs) {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or_default();
            let target = page.parent().unwrap().join(file);
            let found =
                file.is_empty() || target.canonicalize().is_ok_and(|target| target.starts_with(&docs));
            assert!(found, "{}: {link}", page.display());
        }
    }
}
