//! Accounts: several keys for one vendor, chosen by name or by folder. The real binary, a vendor's server on loopback.
use crate::kit::{Place, Ran, Reply, openai_text, vendor::VendorServer};
use serde_json::{Value, json};
use std::{fs, io::Write, process::Stdio};

const PRIVATE: &str = "sk-private-0123456789";
const WORK: &str = "sk-work-0123456789";

/// Takes every key, and says which one it got.
fn openai() -> VendorServer {
    VendorServer::start(|asked| match asked.line.as_str() {
        "GET /v1/models" => Reply(200, "application/json", json!({"data": [{"id": "gpt-5"}]}).to_string()),
        _ if asked.key.as_deref() == Some(WORK) => openai_text("for work"),
        _ => openai_text("in private"),
    })
}

fn run(place: &Place, server: &VendorServer, arguments: &[&str], input: &str) -> Ran {
    let mut command = place.haft(arguments);
    command.env("OPENAI_BASE_URL", &server.base_url).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _it_may_not_read = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(
        ![PRIVATE, WORK].iter().any(|key| format!("{ran:?}").contains(key)),
        "a key was printed: {ran:?}"
    );
    ran
}

/// Who is billed for a prompt.
fn billed(place: &Place, server: &VendorServer, options: &[&str]) -> String {
    let ran = run(place, server, &[&["run", "--model", "openai/gpt-5"], options, &["hello"]].concat(), "");
    if ran.code == 0 { ran.out.trim().to_owned() } else { format!("{}: {}", ran.code, ran.err) }
}

fn log_in(place: &Place, server: &VendorServer) {
    for (options, key) in [(&[][..], PRIVATE), (&["--account", "work"], WORK)] {
        let kept = run(place, server, &[&["login", "openai"], options].concat(), key);
        assert_eq!(kept.code, 0, "{kept:?}");
    }
}

// H-10
#[test]
fn an_account_is_chosen_by_name_or_by_folder_and_only_its_keys_are_used() {
    let (place, server) = (Place::new(), openai());
    log_in(&place, &server);
    assert_eq!(billed(&place, &server, &[]), "in private");
    assert_eq!(billed(&place, &server, &["--account", "work"]), "for work");
    place.configure("account = \"work\"\n");
    assert_eq!(billed(&place, &server, &[]), "for work");
    let work = place.work();
    place.configure(&format!("[accounts.work]\nfolders = [\"{}\"]\n", work.display()));
    assert_eq!(billed(&place, &server, &[]), "for work");
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(billed(&place, &server, &["--cwd", elsewhere.to_str().unwrap()]), "in private");
    // The folder that is nearest counts.
    place.configure(&format!(
        "[accounts.outer]\nfolders = [\"{}\"]\nkeys = {{ openai = \"{PRIVATE}\" }}\n[accounts.work]\nfolders = [\"{}\"]\n",
        place.path().display(),
        work.display()
    ));
    assert_eq!(billed(&place, &server, &[]), "for work");
    assert_eq!(billed(&place, &server, &["--account", "outer"]), "in private");
}

// H-10
#[test]
fn an_account_without_a_key_borrows_none() {
    let (place, server) = (Place::new(), openai());
    log_in(&place, &server);
    place.configure(&format!("[accounts.empty]\nfolders = [\"{}\"]\n", place.work().display()));
    let mut command = place.haft(&["run", "--model", "openai/gpt-5", "hello"]);
    let ran = Ran::from(command.env("OPENAI_API_KEY", PRIVATE).output().unwrap());
    assert!(ran.code == 2 && ran.err.contains("the account `empty` has no API key for OpenAI"), "{ran:?}");
    assert!(ran.err.contains("`haft login openai --account empty`"), "{ran:?}");
    let unknown = billed(&place, &server, &["--account", "wrok"]);
    assert!(
        unknown.contains("--account: there is no account `wrok`; there are `empty`, `work`"),
        "{unknown}"
    );
}

#[test]
fn each_key_of_an_account_is_listed_and_removed_by_itself() {
    let (place, server) = (Place::new(), openai());
    log_in(&place, &server);
    let listed = || {
        let ran = run(&place, &server, &["login", "status", "--json"], "");
        let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let with_key = rows.filter(|row| row["key"] == true && row["vendor"] == "openai");
        with_key.map(|row| row["account"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(), [Value::Null, json!("work")]);
    let removed = run(&place, &server, &["logout", "openai", "--account", "work"], "");
    assert!(removed.code == 0 && removed.err.contains("for the account `work`"), "{removed:?}");
    assert_eq!(listed(), [Value::Null]);
    let again = run(&place, &server, &["logout", "openai", "--account", "work"], "");
    assert!(
        again.code == 2 && again.err.contains("no key of OpenAI is saved for the account `work`"),
        "{again:?}"
    );
    let wrong = run(&place, &server, &["login", "openai", "--account", "a@b"], WORK);
    assert!(wrong.code == 2 && wrong.err.contains("cannot be the name of an account"), "{wrong:?}");
}
