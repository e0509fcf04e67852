//! `haft verify` of an address: a bundle on a server, or a pull request with the bundle that its description names.
use super::verify::{commit_for, difference, recorded, verify};
use crate::kit::{
    Place,
    project::git,
    releases::{Releases, Served},
};
use serde_json::{Value, json};
use std::fs;

/// A pull request with one commit, described by a server as GitHub and as GitLab do it, and another person's clone.
struct Proposed {
    server: Releases,
    author: Place,
    reviewer: Place,
    base: String,
    head: String,
}

const GITHUB_API: &str = "/api/v3/repos/ann/tool/pulls/7";
const GITLAB_API: &str = "/api/v4/projects/team%2Fann%2Ftool/merge_requests/7";

impl Proposed {
    fn new() -> Self {
        let (author, reviewer) = (Place::new(), Place::new());
        let id = recorded(&author);
        let base = git(&author.work(), &["rev-parse", "HEAD"]).trim().to_owned();
        let head = commit_for(&author, &id, "Two");
        let from = author.work().display().to_string();
        git(&reviewer.path(), &["clone", "--quiet", &from, &reviewer.work().display().to_string()]);
        let proposed = Self { server: Releases::start(), author, reviewer, base, head };
        proposed.attach("/files/1/session.zip", &proposed.bundle());
        proposed.attach("/team/ann/tool/uploads/ab12/session.zip", &proposed.bundle());
        proposed.describe(
            &proposed.head,
            &format!("Greets.\n\n[proof]({}/files/1/session.zip)", proposed.server.address),
        );
        proposed
    }

    fn bundle(&self) -> Vec<u8> {
        fs::read(self.author.path().join("session.zip")).unwrap()
    }

    fn attach(&self, path: &str, bundle: &[u8]) {
        self.server.put(path, Served::Whole(bundle.to_vec()));
    }

    fn describe(&self, head: &str, text: &str) {
        let serve =
            |path: &str, told: Value| self.server.put(path, Served::Whole(told.to_string().into_bytes()));
        serve(
            GITHUB_API,
            json!({"number": 7, "body": text, "base": {"sha": self.base}, "head": {"sha": head}}),
        );
        let text = "Greets.\r\n\r\n[session.zip](/uploads/ab12/session.zip)";
        let refs = json!({"base_sha": self.base, "head_sha": head, "start_sha": self.base});
        serve(GITLAB_API, json!({"iid": 7, "description": text, "diff_refs": refs}));
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.server.address)
    }
}

// H-58
#[test]
fn a_pull_request_is_verified_with_the_bundle_that_it_names() {
    let proposed = Proposed::new();
    for page in ["/ann/tool/pull/7", "/ann/tool/pull/7/files", "/team/ann/tool/-/merge_requests/7"] {
        let ran = verify(&proposed.reviewer, &[&proposed.at(page)]);
        assert_eq!(ran.code, 0, "{page}: {ran:?}");
        assert!(ran.out.contains("1 commit holds what the sessions left that they name"), "{page}: {ran:?}");
        assert!(ran.out.contains("3 calls made again, with the same results"), "{page}: {ran:?}");
    }
    let ran = verify(&proposed.reviewer, &[&proposed.at("/files/1/session.zip")]);
    assert!(ran.code == 0 && ran.out.contains("3 calls made again"), "{ran:?}");
}

// H-59
#[test]
fn a_pull_request_that_is_not_what_its_sessions_did_is_found() {
    let proposed = Proposed::new();
    let page = proposed.at("/ann/tool/pull/7");
    let work = proposed.reviewer.work();
    // Another commit on top, by hand.
    proposed.reviewer.write("stray.txt", "mine\n");
    git(&work, &["add", "--all"]);
    let trailer = git(&work, &["log", "-1", "--format=%(trailers)"]);
    git(&work, &["config", "user.name", "Ann"]);
    git(&work, &["config", "user.email", "ann@example.org"]);
    git(&work, &["commit", "--quiet", "--message", "More", "--message", trailer.trim()]);
    let head = git(&work, &["rev-parse", "HEAD"]).trim().to_owned();
    let text = format!("<{}>", proposed.at("/files/1/session.zip"));
    proposed.describe(&head, &text);
    let found = difference(&proposed.reviewer, &[&page]);
    assert!(found.contains("changes `stray.txt`, which no call of its session changed"), "{found}");
    proposed.describe(&proposed.head, &text);
    let mut changed = proposed.bundle();
    let place = changed.windows(3).rposition(|piece| piece == b"two").unwrap();
    changed[place] = b'T';
    proposed.attach("/files/1/session.zip", &changed);
    assert!(difference(&proposed.reviewer, &[&page]).contains("was changed"));
}

// H-59
#[test]
fn what_is_missing_for_a_pull_request_is_said() {
    let proposed = Proposed::new();
    let page = proposed.at("/ann/tool/pull/7");
    let away = Place::new();
    git(&away.work(), &["init", "--quiet"]);
    let ran = verify(&away, &[&page]);
    assert!(ran.code == 2 && ran.err.contains("git fetch origin pull/7/head"), "{ran:?}");
    proposed.describe(&proposed.head, "No proof.");
    let ran = verify(&proposed.reviewer, &[&page]);
    assert!(ran.code == 2 && ran.err.contains("nor in a bundle that the pull request names"), "{ran:?}");
    let table = [
        (proposed.at("/ann/tool/pull/8"), "/pulls/8` answered with HTTP status 404"),
        (proposed.at("/files/2/session.zip"), "answered with HTTP status 404"),
        ("http://example.com/ann/tool/pull/7".to_owned(), "is not an HTTPS address"),
        (proposed.at("/index.json.minisig"), "it is no bundle"),
    ];
    for (address, expected) in table {
        let ran = verify(&proposed.reviewer, &[&address]);
        assert!(ran.code != 0 && format!("{}{}", ran.out, ran.err).contains(expected), "{address}: {ran:?}");
    }
}
