//! `haft bundle`: a session as one file that verifies elsewhere, and forged ones that do not.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use super::{
    replays::with_subagents,
    verify::{difference, recorded, verify},
};
use crate::kit::{Place, project::git};
use fastrand::Rng;
use flate2::Crc;
use haft_core::chain::rechained;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

fn bundle(place: &Place, id: &str) -> PathBuf {
    let file = place.path().join("session.zip");
    let ran = place.run(&["bundle", id, "--out", &file.display().to_string(), "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let object = &ran.events()[0];
    let sha256 = hex::encode(Sha256::digest(fs::read(&file).unwrap()));
    assert_eq!(*object, json!({"file": file, "sha256": sha256}));
    file
}

#[test]
fn a_bundle_is_verified_on_another_machine_with_a_clone() {
    let place = Place::new();
    let id = recorded(&place);
    let file = bundle(&place, &id);
    let first = fs::read(&file).unwrap();
    assert_eq!(fs::read(bundle(&place, &id)).unwrap(), first, "the same session is the same file");
    let other = Place::new();
    let (work, file) = (other.work().display().to_string(), file.display().to_string());
    git(&other.path(), &["clone", "--quiet", &place.work().display().to_string(), &work]);
    let ran = verify(&other, &[&file]);
    assert!(ran.code == 0 && ran.out.contains("3 calls made again"), "{ran:?}");
    let away = Place::new();
    let ran = verify(&away, &[&file]);
    assert!(ran.code == 2 && ran.err.contains("--chain-only"), "{ran:?}");
    assert_eq!(verify(&away, &[&file, "--chain-only"]).code, 0);
    assert_eq!(verify(&away, &[&file, "--cwd", &work]).code, 0);
    // A general program unpacks it.
    let list = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), *z.namelist()[:3])";
    let output = Command::new("python3").args(["-c", list, &file]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "None bundle.json index.html journal.jsonl\n");
    let head = verify(&away, &[&file, "--chain-only", "--json"]).events()[0]["head"].clone();
    let trailer = place.run(&["bundle", &id, "--trailer"]).out;
    assert_eq!(trailer, format!("Haft-Session: {id} sha256:{}\n", head.as_str().unwrap()));
}

#[test]
fn a_bundle_goes_through_a_link_and_into_a_pipe() {
    let place = Place::new();
    let id = recorded(&place);
    let whole = fs::read(bundle(&place, &id)).unwrap();
    let [target, link, pipe] = ["target.zip", "link.zip", "pipe"].map(|name| place.path().join(name));
    fs::write(&target, "older").unwrap();
    std::os::unix::fs::symlink("target.zip", &link).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reading = Command::new("cat").arg(&pipe).stdout(std::process::Stdio::piped()).spawn().unwrap();
    for out in [&link, &pipe] {
        let ran = place.run(&["bundle", &id, "--out", &out.display().to_string()]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert!(link.is_symlink() && fs::read(&target).unwrap() == whole);
    assert_eq!(reading.wait_with_output().unwrap().stdout, whole);
}

#[test]
fn secrets_are_cut_out_and_the_chain_still_holds() {
    let place = Place::new();
    let secret = "sk-haft-0123456789abcdef";
    place.write("notes.txt", format!("{secret}\n"));
    let steps = [
        crate::kit::call("write", json!({"path": "a.txt", "content": "plain\n"})),
        crate::kit::bash("sed -i s/haft/HAFT/ notes.txt"),
        json!({"say": "Done."}),
    ];
    let model = place.script("m", &steps);
    let prompt = format!("use {secret}");
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, &prompt]);
    let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
    let file = place.path().join("session.zip").display().to_string();
    let mut haft = place.haft(&["bundle", &id, "--out", &file]);
    assert!(haft.env("OPENAI_API_KEY", secret).status().unwrap().success());
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    let object = &verify(&place, &[&file, "--chain-only", "--json"]).events()[0];
    assert_eq!((&object["verified"], &object["cut"]), (&json!(true), &json!(1)), "{object}");
    let head = &verify(&place, &[&id, "--chain-only", "--json"]).events()[0]["head"];
    assert_eq!(&object["head"], head, "the bundle has the chain of the session");
}

#[test]
fn a_changed_byte_anywhere_in_a_bundle_is_found() {
    let place = Place::new();
    let id = recorded(&place);
    let file = bundle(&place, &id);
    let whole = fs::read(&file).unwrap();
    let mut random = Rng::with_seed(11);
    let rounds = std::env::var("HAFT_SOAK").map_or(24, |rounds| rounds.parse().unwrap());
    for _ in 0..rounds {
        let at = random.usize(..whole.len());
        let mut changed = whole.clone();
        changed[at] ^= 1 << random.u32(..8);
        fs::write(&file, &changed).unwrap();
        let ran = verify(&place, &[&file.display().to_string(), "--chain-only"]);
        assert_eq!(ran.code, 5, "byte {at}: {ran:?}");
    }
    eprintln!("{rounds} changed bytes of {} were found", whole.len());
}

/// Name and content of a member.
type Member = (String, Vec<u8>);

/// The members of a bundle, read by the lengths in their headers.
fn members(bundle: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut rest = bundle;
    while rest.starts_with(b"PK\x03\x04") {
        let size = u32::from_le_bytes(rest[22..26].try_into().unwrap()) as usize;
        let name = u16::from_le_bytes(rest[26..28].try_into().unwrap()) as usize;
        members.push((
            String::from_utf8(rest[30..30 + name].to_vec()).unwrap(),
            rest[30 + name..][..size].to_vec(),
        ));
        rest = &rest[30 + name + size..];
    }
    members
}

/// A zip file of these members, in the form of a bundle.
fn zip(members: &[Member]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut crc = Crc::new();
        crc.update(content);
        let size = (content.len() as u32).to_le_bytes();
        let mut about = vec![10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        about.extend([crc.sum().to_le_bytes(), size, size].concat());
        about.extend([(name.len() as u16).to_le_bytes(), [0, 0]].concat());
        let place = (archive.len() as u32).to_le_bytes();
        archive.extend([b"PK\x03\x04", about.as_slice(), name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02".as_slice(), &[10, 3], &about, &[0; 6], &[0, 0, 0xa4, 0x81], &place].concat(),
        );
        directory.extend(name.as_bytes());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (size, place) = ((directory.len() as u32).to_le_bytes(), (archive.len() as u32).to_le_bytes());
    archive.extend(directory);
    archive.extend([b"PK\x05\x06".as_slice(), &[0; 4], &count, &count, &size, &place, &[0; 2]].concat());
    archive
}

/// A bundle that is forged step by step, as by a person who knows the format.
#[derive(Clone)]
struct Forgery {
    members: Vec<Member>,
}

impl Forgery {
    fn content(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.members.iter_mut().find(|(member, _)| member.starts_with(name)).unwrap().1
    }

    fn text(&mut self, name: &str) -> String {
        String::from_utf8(self.content(name).clone()).unwrap()
    }

    fn journal(mut self, change: impl FnOnce(&str) -> String) -> Self {
        let journal = change(&self.text("journal.jsonl"));
        *self.content("journal.jsonl") = journal.into_bytes();
        self
    }

    fn manifest(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut manifest: Value = serde_json::from_str(&self.text("bundle.json")).unwrap();
        change(&mut manifest);
        // In the order of the format, whatever a map of JSON sorts by.
        let mut text = "{\n".to_owned();
        let names =
            ["format", "version", "session", "entries", "head", "commit", "subagents", "left_out", "members"];
        for name in names.into_iter().filter(|name| manifest.get(name).is_some()) {
            let value = serde_json::to_string_pretty(&manifest[name]).unwrap().replace('\n', "\n  ");
            text += &format!("  \"{name}\": {value},\n");
        }
        *self.content("bundle.json") = (text.trim_end_matches(",\n").to_owned() + "\n}\n").into_bytes();
        self
    }

    /// With hashes, count and head that fit what it holds.
    fn recomputed(self) -> Self {
        let members = self.members.clone();
        let journal = String::from_utf8(self.clone().content("journal.jsonl").clone()).unwrap();
        self.manifest(|manifest| {
            let hashes = members.iter().filter(|(name, _)| name != "bundle.json");
            let hashes =
                hashes.map(|(name, content)| (name.clone(), json!(hex::encode(Sha256::digest(content)))));
            let sorted: BTreeMap<String, Value> = hashes.collect();
            manifest["members"] = json!(sorted);
            manifest["entries"] = json!(journal.lines().count());
            let last = journal.lines().last().unwrap_or_default();
            manifest["head"] = json!(&last[last.len() - 66..last.len() - 2]);
        })
    }

    fn with(mut self, name: &str, content: &[u8]) -> Self {
        self.members.push((name.to_owned(), content.to_vec()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        let at = self.members.iter().position(|(member, _)| member.starts_with(name)).unwrap();
        self.members.remove(at);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        zip(&self.members)
    }
}

#[test]
fn a_bundle_brings_the_sessions_of_subagents() {
    let place = Place::new();
    let id = with_subagents(&place);
    let file = bundle(&place, &id);
    let honest = Forgery { members: members(&fs::read(&file).unwrap()) };
    let other = Place::new();
    let (work, path) = (other.work().display().to_string(), file.display().to_string());
    git(&other.path(), &["clone", "--quiet", &place.work().display().to_string(), &work]);
    let ran = verify(&other, &[&path]);
    assert!(ran.code == 0 && ran.out.contains("6 calls made again"), "{ran:?}");
    let changed = |(name, content): &&Member| {
        name.starts_with("subagents/") && String::from_utf8_lossy(content).contains("\"new_text\":\"1\"")
    };
    let name = honest.members.iter().find(changed).unwrap().0.clone();
    let below = name["subagents/".len()..].trim_end_matches(".jsonl").to_owned();
    let forge = || honest.clone();
    let changed = |from: &str, to: &str| {
        let mut forged = forge();
        let text = forged.text(&name);
        assert!(text.contains(from), "{text}");
        *forged.content(&name) = rechained(&text.replacen(from, to, 1)).into_bytes();
        let last = forged.text(&name);
        let head = last[last.len() - 67..last.len() - 3].to_owned();
        forged.recomputed().manifest(|of| of["subagents"][&below]["head"] = json!(head))
    };
    let flipped = {
        let mut forged = forge();
        forged.content(&name)[100] ^= 1;
        forged.recomputed()
    };
    let stranger = other_id(&below);
    let table = [
        ("a changed byte", flipped, "of a subagent: line"),
        ("a journal left out", forge().without("subagents/"), "the member `subagents/"),
        (
            "another parent",
            changed(&format!("\"delegated_by\":\"{id}\""), "\"delegated_by\":\"x\""),
            "of no subagent",
        ),
        ("another session", changed(&below, &stranger), "the journal is that of the session"),
        (
            "another count",
            forge().manifest(|of| of["subagents"][&below]["entries"] = json!(1)),
            "of a subagent: the journal has",
        ),
        (
            "one that nothing names",
            forge().with("subagents/x.jsonl", b"x").recomputed(),
            "is not one of a bundle",
        ),
        // Nothing but making the calls again shows these.
        (
            "another call",
            changed("\"new_text\":\"1\"", "\"new_text\":\"7\""),
            &format!("session `{below}` of a subagent, entry"),
        ),
    ];
    for (what, forged, expected) in table {
        fs::write(&file, forged.bytes()).unwrap();
        let found = difference(&other, &[&path]);
        assert!(found.contains(expected), "{what}: {found}");
    }
}

fn other_id(id: &str) -> String {
    let last = if id.ends_with('a') { 'b' } else { 'a' };
    format!("{}{last}", &id[..id.len() - 1])
}

fn swapped(journal: &str, one: usize, other: usize) -> String {
    let mut lines: Vec<&str> = journal.split_inclusive('\n').collect();
    lines.swap(one, other);
    lines.concat()
}

#[test]
fn forged_bundles_are_refused_each_by_its_own_sentence() {
    let (place, other) = (Place::new(), Place::new());
    let id = recorded(&place);
    let file = bundle(&place, &id);
    let whole = fs::read(&file).unwrap();
    let honest = Forgery { members: members(&whole) };
    assert!(honest.clone().recomputed().bytes() == whole, "the forger writes what Haft writes");
    let stranger = Forgery { members: members(&fs::read(bundle(&other, &recorded(&other))).unwrap()) };
    let strange = stranger.clone().text("journal.jsonl");
    let forge = || honest.clone();
    let rechain =
        |change: &dyn Fn(&str) -> String| forge().journal(|journal| rechained(&change(journal))).recomputed();
    let cut = |text: &str| {
        let line = text.lines().nth(1).unwrap();
        let (bare, chain) = line.split_at(line.rfind(",\"chain\"").unwrap());
        let hash = hex::encode(Sha256::digest(bare.to_owned() + "}"));
        let changed = format!("{},\"cut\":\"{hash}\"{chain}", bare.replacen("\"go\"", "\"no\"", 1));
        text.replacen(line, &changed, 1)
    };
    let mut compressed = whole.clone();
    compressed[8] = 8;
    let mut dated = whole.clone();
    dated[12] = 0x22;
    let flipped = |name: &str| {
        let mut forged = forge();
        forged.content(name)[0] ^= 1;
        forged
    };
    let mut summed = whole.clone();
    summed[14] ^= 1;
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("no bundle", b"PK nothing".to_vec(), "it is no bundle"),
        ("cut off in a member", whole[..40].to_vec(), "the bundle is cut off"),
        ("cut off in the directory", whole[..whole.len() - 9].to_vec(), "the bundle is cut off"),
        ("a tail", [&whole[..], b"more"].concat(), "of the bundle is not what its members make of it"),
        ("another date", dated, "byte 12 of the bundle is not what"),
        ("a compressed member", compressed, "is compressed"),
        ("another checksum", summed, "has another checksum"),
        ("a member twice", forge().with("index.html", b"x").bytes(), "holds `index.html` twice"),
        (
            "a member outside",
            forge().with("../outside", b"x").bytes(),
            "`../outside`, which is not a name of a member",
        ),
        ("an absolute member", forge().with("/outside", b"x").bytes(), "`/outside`, which is not a name"),
        (
            "an unknown member",
            forge().with("run.sh", b"x").recomputed().bytes(),
            "`run.sh` is not one of a bundle",
        ),
        ("no manifest", forge().without("bundle.json").bytes(), "it is not the first member"),
        (
            "a newer version",
            forge().manifest(|of| of["version"] = json!(2)).bytes(),
            "the format `haft-bundle` 2",
        ),
        ("another format", forge().manifest(|of| of["format"] = json!("x")).bytes(), "the format `x` 1"),
        ("a missing member", forge().without("index.html").bytes(), "the member `index.html` is missing"),
        ("no journal", forge().without("journal.jsonl").bytes(), "the member `journal.jsonl` is missing"),
        (
            "an unlisted content",
            forge().with(&content("x"), b"x").bytes(),
            "does not name the member `contents/",
        ),
        (
            "a content of no entry",
            forge().with(&content("x"), b"x").recomputed().bytes(),
            "no entry names the content",
        ),
        ("a content replaced", flipped("contents/").recomputed().bytes(), "its SHA-256 is not its name"),
        ("a content left out", forge().without("contents/").recomputed().bytes(), "which entry "),
        ("a page replaced", flipped("index.html").bytes(), "`index.html` was changed"),
        (
            "a changed prompt",
            forge().journal(|text| text.replacen("\"go\"", "\"no\"", 1)).bytes(),
            "`journal.jsonl` was changed",
        ),
        (
            "its hash as well",
            forge().journal(|text| text.replacen("\"go\"", "\"no\"", 1)).recomputed().bytes(),
            "line 2: it, or a line before it",
        ),
        (
            "another head",
            rechain(&|text| text.replacen("\"go\"", "\"no\"", 1))
                .manifest(|of| of["head"] = json!("0".repeat(64)))
                .bytes(),
            "the chain ends with",
        ),
        ("another count", forge().manifest(|of| of["entries"] = json!(3)).bytes(), "entries, not 3"),
        ("reordered entries", rechain(&|text| swapped(text, 2, 3)).bytes(), "stands behind a later one"),
        (
            "half a journal",
            forge().journal(|text| text[..text.len() - 9].to_owned()).recomputed_hash().bytes(),
            "are half an entry",
        ),
        ("no chain", forge().journal(bare).recomputed_hash().bytes(), "no entry has a chain value"),
        (
            "two sessions",
            rechain(&|text| text.to_owned() + strange.lines().next().unwrap() + "\n").bytes(),
            "stands behind a later one",
        ),
        (
            "a second beginning",
            rechain(&|text| {
                text.to_owned()
                    + &strange.lines().next().unwrap().replacen("\"seq\":0", "\"seq\":9999", 1)
                    + "\n"
            })
            .bytes(),
            "begins a second session",
        ),
        (
            "another session's journal",
            forge().journal(|_| strange.clone()).recomputed().bytes(),
            "the journal is that of the session",
        ),
        (
            "no beginning",
            rechain(&|text| text.split_once('\n').unwrap().1.to_owned()).bytes(),
            "line 1 does not begin a session",
        ),
        (
            "a line of junk",
            rechain(&|text| text.to_owned() + "{\"seq\":9999}\n").bytes(),
            "cannot be read as an entry",
        ),
        (
            "another commit",
            forge().manifest(|of| of["commit"] = json!("0".repeat(40))).bytes(),
            "not at the commit `000",
        ),
        (
            "a redaction of nothing",
            forge().journal(cut).recomputed().bytes(),
            "line 2 is said to have secrets cut out",
        ),
        ("other spaces", forge().spaced().bytes(), "not in the form in which Haft writes it"),
    ];
    for (what, bytes, expected) in table {
        fs::write(&file, bytes).unwrap();
        let found = difference(&place, &[&file.display().to_string(), "--chain-only"]);
        assert!(found.contains(expected), "{what}: {found}");
    }
    let forged = rechain(&|text| text.replace("\"new_text\":\"two\"", "\"new_text\":\"six\""));
    fs::write(&file, forged.bytes()).unwrap();
    assert_eq!(verify(&place, &[&file.display().to_string(), "--chain-only"]).code, 0);
    let found = difference(&place, &[&file.display().to_string()]);
    assert!(found.contains("`edit`"), "calls that give other changes: {found}");
}

impl Forgery {
    /// With hashes that fit what it holds, and the head as it was.
    fn recomputed_hash(mut self) -> Self {
        let hash = json!(hex::encode(Sha256::digest(self.content("journal.jsonl").clone())));
        self.manifest(|manifest| manifest["members"]["journal.jsonl"] = hash)
    }

    fn spaced(mut self) -> Self {
        self.content("bundle.json").push(b'\n');
        self
    }
}

/// The name of a member with this content.
fn content(text: &str) -> String {
    format!("contents/{}", hex::encode(Sha256::digest(text)))
}

fn bare(journal: &str) -> String {
    journal.lines().map(|line| line[..line.rfind(",\"chain\"").unwrap()].to_owned() + "}\n").collect()
}

/// A new SSH key, and the file of signers that names it; both by their paths.
fn key(place: &Place, name: &str) -> (String, String) {
    let key = place.path().join(name);
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&key);
    assert!(make.status().unwrap().success());
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let signers = place.path().join(format!("{name}.signers"));
    fs::write(&signers, format!("{name}@example.org {public}")).unwrap();
    (key.display().to_string(), signers.display().to_string())
}

#[test]
fn a_signed_bundle_is_verified_by_who_knows_the_key() {
    let place = Place::new();
    let id = recorded(&place);
    let file = place.path().join("signed.zip").display().to_string();
    let ((ann, known), (_, others)) = (key(&place, "ann"), key(&place, "bob"));
    let ran = place.run(&["bundle", &id, "--out", &file, "--sign", &ann]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = verify(&place, &[&file, "--signers", &known]);
    assert!(
        ran.code == 0 && ran.out.contains("signed by ann@example.org, with ED25519 key SHA256:"),
        "{ran:?}"
    );
    let ran = verify(&place, &[&file, "--chain-only", "--json"]);
    let signed_by = &ran.events()[0]["signed_by"];
    assert!(signed_by.as_str().unwrap().starts_with("ED25519 key SHA256:"), "{ran:?}");
    let found = difference(&place, &[&file, "--signers", &others, "--chain-only"]);
    assert!(found.contains("which `") && found.contains("does not name"), "{found}");
    let plain = bundle(&place, &id).display().to_string();
    assert_eq!(
        difference(&place, &[&plain, "--signers", &known, "--chain-only"]),
        "the bundle is not signed"
    );
    let ran = verify(&place, &[&id, "--signers", &known]);
    assert!(ran.code == 2 && ran.err.contains("--sign KEY"), "{ran:?}");
    let ran = place.run(&["bundle", &id, "--out", &file, "--sign", "no-such-key"]);
    assert!(ran.code == 1 && ran.err.contains("cannot sign with `no-such-key`"), "{ran:?}");
}

#[test]
fn a_signature_covers_all_of_a_bundle_and_nothing_else() {
    let (place, other) = (Place::new(), Place::new());
    let (id, strange) = (recorded(&place), recorded(&other));
    let (ann, known) = key(&place, "ann");
    let signed = |place: &Place, id: &str| {
        let file = place.path().join("signed.zip");
        let ran = place.run(&["bundle", id, "--out", &file.display().to_string(), "--sign", &ann]);
        assert_eq!(ran.code, 0, "{ran:?}");
        Forgery { members: members(&fs::read(file).unwrap()) }
    };
    let (honest, mut stranger) = (signed(&place, &id), signed(&other, &strange));
    let tail = |journal: &str| {
        let shorter = journal.lines().count() - 1;
        rechained(&journal.lines().take(shorter).map(|line| format!("{line}\n")).collect::<String>())
    };
    let resigned = |forgery: Forgery| {
        let signature = forgery.clone().text("bundle.json.sig");
        let mut forgery = forgery.without("bundle.json.sig").recomputed();
        forgery.members.insert(1, ("bundle.json.sig".to_owned(), signature.into_bytes()));
        forgery
    };
    let of_stranger = stranger.content("bundle.json.sig").clone();
    let mut swapped = honest.clone();
    *swapped.content("bundle.json.sig") = of_stranger;
    let mut empty = honest.clone();
    empty.content("bundle.json.sig").clear();
    let not_of_it = "the signature is not one of this bundle";
    let table = [
        (
            "an unsigned tail",
            resigned(honest.clone().journal(|all| {
                rechained(&format!("{all}{{\"seq\":999,\"at\":1,\"type\":\"continued\"}}\n"))
            })),
            not_of_it,
        ),
        ("a recomputed chain under a signature", resigned(honest.clone().journal(tail)), not_of_it),
        ("the signature of another session", swapped, not_of_it),
        ("an empty signature", empty, not_of_it),
        ("the signature cut off", honest.clone().without("bundle.json.sig"), "the bundle is not signed"),
    ];
    for (forged, forgery, expected) in table {
        let file = place.path().join("forged.zip");
        fs::write(&file, forgery.bytes()).unwrap();
        let found = difference(&place, &[&file.display().to_string(), "--signers", &known, "--chain-only"]);
        assert!(found.contains(expected), "{forged}: {found}");
    }
}
