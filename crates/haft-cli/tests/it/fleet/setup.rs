//! Setup commands and secrets of queues. Real workers, a real PostgreSQL.
use crate::kit::{
    Ran,
    fleet::{Fleet, count, end, publish, say},
    project::git,
    serving::Serving,
};
use serde_json::json;
use std::io::Write;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const SECRET: &str = "tok-4f1b9c7d2e";
/// How its SHA-256 begins.
const SECRET_HASH: &str = "97493780";

/// A fleet whose programs have the key of its secrets.
fn fleet() -> Option<Fleet> {
    let mut fleet = Fleet::new()?;
    fleet.variables.push(("HAFT_FLEET_KEY".to_owned(), KEY.to_owned()));
    Some(fleet)
}

fn add(fleet: &Fleet, more: &[&str]) -> String {
    let remote = fleet.remote().display().to_string();
    let words = ["fleet", "add", "builder", "Count once", "--queue", "web", "--repository", remote.as_str()];
    let ran = fleet.run(&[&words, more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.trim().to_owned()
}

fn given(fleet: &Fleet, words: &[&str], input: &str) -> Ran {
    let mut command = fleet.haft(words);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    let _it_may_not_read = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran::from(child.wait_with_output().unwrap())
}

/// What the first call of a job gave; waits for it.
fn first_result(fleet: &Fleet, id: &str) -> String {
    fleet.wait_for("its first call has ended", || {
        let entries = fleet.run(&["fleet", "logs", id]).events();
        let ended = entries.iter().find(|entry| entry["type"] == "tool_ended")?;
        Some(ended["content"].as_str().unwrap().to_owned())
    })
}

// H-151
#[test]
fn a_prompt_that_comes_while_a_job_is_prepared_is_heard() {
    let Some(fleet) = fleet() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    assert_eq!(given(&fleet, &["fleet", "setup", "--queue", "web", "--file", "-"], "sleep 3").code, 0);
    // A prompt comes before the calls of a reply.
    let script = fleet.place.script("more.jsonl", &[count(), count(), publish(), say()]);
    let id = add(&fleet, &[]);
    let prompt = |text: &str| {
        let body = json!({"text": text}).to_string();
        server.ask(&format!("POST /v1/sessions/{id}/prompt"), &body).status
    };
    assert_eq!(prompt("before it is taken"), 202);
    let mut worker = fleet.worker(&script, &["--lease", "2"]);
    fleet.wait_for("it runs", || (fleet.job(&id, "status") == "running").then_some(()));
    assert_eq!(prompt("while it is prepared"), 202);
    fleet.wait_until_completed(&id);
    end(&mut worker);
    let told = fleet.run(&["fleet", "logs", &id]).out;
    for text in ["before it is taken", "while it is prepared"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(fleet.server.sql("SELECT count(*) FROM commands"), "0");
    // Its attempt has concluded, and one that follows has not.
    let now = |change: &str| fleet.server.sql(&format!("UPDATE jobs SET {change} WHERE id = '{id}'"));
    now("status = 'running', ended = NULL, leased_until = now() + interval '1 hour'");
    assert_eq!(prompt("too late"), 409);
    now("token = token + 1");
    assert_eq!(prompt("in time"), 202);
}

// H-100
#[test]
fn a_queue_is_prepared_once_for_each_commit_and_its_secrets_stay_there() {
    let Some(fleet) = fleet() else { return };
    let ran = given(&fleet, &["fleet", "secret", "--queue", "web", "NPM_TOKEN"], &format!("{SECRET}\n"));
    assert_eq!(ran.out, "setup commands of the queue `web` get the secret as `NPM_TOKEN`\n", "{ran:?}");
    let commands = "mkdir deps\n\
        printf '%s %s' \"$(cat /proc/sys/kernel/random/uuid)\" \"$(printf %s \"$NPM_TOKEN\" | sha256sum | cut -c1-8)\" >deps/stamp
        printf %s \"$NPM_TOKEN\" >deps/token";
    let ran = given(&fleet, &["fleet", "setup", "--queue", "web", "--file", "-"], commands);
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = fleet.run(&["fleet", "setup"]).out;
    assert!(listed.starts_with("queue web\n  mkdir deps\n"), "{listed}");
    let listed = fleet.run(&["fleet", "secret", "--json"]).out;
    assert!(listed.contains(r#""name":"NPM_TOKEN""#) && !listed.contains(SECRET), "{listed}");
    assert_eq!(
        fleet.server.sql("SELECT position('tok-' IN encode(sealed, 'escape')) FROM queue_secrets"),
        "0"
    );
    let look = json!({"calls": [{"name": "bash", "arguments": {
        "command": "cat deps/stamp; echo; env | grep -c 'NPM_TOKEN\\|HAFT_FLEET'; cat deps/token; true"}}]});
    let script = fleet.place.script("looks.jsonl", &[look, count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    let jobs = [add(&fleet, &[]), add(&fleet, &[])];
    jobs.iter().for_each(|id| fleet.wait_until_completed(id));
    // Another commit is another tree.
    fleet.place.write("more.txt", "more\n");
    for words in [
        &["add", "more.txt"][..],
        &["commit", "--quiet", "-m", "More"],
        &["push", "--quiet", "../remote.git", "HEAD"],
    ] {
        git(&fleet.place.work(), words);
    }
    let later = add(&fleet, &[]);
    fleet.wait_until_completed(&later);
    let [first, second, later] = [&jobs[0], &jobs[1], &later].map(|id| first_result(&fleet, id));
    assert!(first.contains(&format!(" {SECRET_HASH}\n0\n[key]")), "{first}");
    assert_eq!(fleet.server.sql(&format!("SELECT count(*) FROM entries WHERE line LIKE '%{SECRET}%'")), "0");
    assert_eq!(first, second);
    assert!(later.contains(&format!(" {SECRET_HASH}\n0")) && later != first, "{later}");
    // Jobs of other queues are not prepared.
    let other = fleet.add();
    fleet.wait_until_completed(&other);
    let other = first_result(&fleet, &other);
    assert!(other.contains("deps/stamp: No such file"), "{other}");
    end(&mut worker);
}

// H-100
#[test]
fn setup_commands_that_fail_say_why_and_show_no_secret() {
    let Some(mut fleet) = fleet() else { return };
    given(&fleet, &["fleet", "secret", "--queue", "web", "NPM_TOKEN"], SECRET);
    let set = fleet.run(&["fleet", "setup", "--queue", "web", "echo \"refused: $NPM_TOKEN\"; exit 3"]);
    assert_eq!(set.code, 0, "{set:?}");
    let script = fleet.place.script("all.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    let id = add(&fleet, &[]);
    let reason = |fleet: &Fleet, text: &str| {
        fleet.wait_for(text, || fleet.job(&id, "reason").contains(text).then_some(()));
    };
    reason(
        &fleet,
        "cannot run the setup commands of the queue `web`: they ended with exit code 3: refused: [key]",
    );
    end(&mut worker);
    // A worker without the key, and one with another.
    let (own, another) = (fleet.variables.clone(), KEY.replace("00", "11"));
    for (key, why) in
        [("", "the worker has no key; set HAFT_FLEET_KEY"), (&another, "it was encrypted with another key")]
    {
        fleet.variables = vec![("HAFT_FLEET_KEY".to_owned(), key.to_owned())];
        fleet.server.sql("UPDATE jobs SET attempts = 0, run_after = now()");
        let mut worker = fleet.worker(&script, &[]);
        reason(&fleet, why);
        end(&mut worker);
    }
    fleet.variables = own;
    assert_eq!(fleet.run(&["fleet", "setup", "--queue", "web", "--remove"]).code, 0);
    assert_eq!(fleet.run(&["fleet", "secret", "--queue", "web", "NPM_TOKEN", "--remove"]).code, 0);
    fleet.server.sql("UPDATE jobs SET attempts = 0, run_after = now()");
    let mut worker = fleet.worker(&script, &[]);
    fleet.wait_until_completed(&id);
    end(&mut worker);
    let listed = [fleet.run(&["fleet", "setup"]).out, fleet.run(&["fleet", "secret"]).out];
    assert_eq!(listed, ["no setup commands\n", "no secrets\n"]);
}

// H-100
#[test]
fn setup_commands_are_confined_like_those_of_an_agent() {
    let Some(fleet) = fleet() else { return };
    let outside = fleet.place.path().join("outside");
    let commands =
        format!("touch {0} 2>/dev/null; touch deps; test -e {0} && echo reached", outside.display());
    assert_eq!(
        fleet.run(&["fleet", "setup", "--queue", "web", &format!("{commands}; test -e deps")]).code,
        0
    );
    let look = json!({"calls": [{"name": "bash", "arguments": {"command": "ls"}}]});
    let script = fleet.place.script("looks.jsonl", &[look, json!({"hang": true})]);
    let mut worker = fleet.start(fleet.haft(&["worker", "--permission", "accept-edits", "--model", &script]));
    let id = add(&fleet, &[]);
    let looked = first_result(&fleet, &id);
    assert!(looked.contains("deps"), "{looked}");
    assert!(!outside.exists());
    end(&mut worker);
}

#[test]
fn what_cannot_be_a_setup_or_a_secret_is_refused() {
    let Some(fleet) = fleet() else { return };
    let table: [(&[&str], &str, &str); 7] = [
        (&["setup", "  "], "", "the setup commands are empty"),
        (&["setup", "--queue", "a b", "npm ci"], "", "cannot be a queue"),
        (&["setup", "--file", "no-such-file"], "", "cannot read setup commands from `no-such-file`"),
        (&["secret", "PATH"], "x", "`PATH` cannot be a secret"),
        (&["secret", "A-B"], "x", "`A-B` cannot be a secret"),
        (&["secret", "TOKEN"], "", "standard input has no secret"),
        (&["secret", "TOKEN", "--remove"], "", "the queue `default` has no secret `TOKEN`"),
    ];
    for (words, input, why) in table {
        let ran = given(&fleet, &[&["fleet"], words].concat(), input);
        assert!(ran.code == 2 && ran.err.contains(why), "{words:?}: {ran:?}");
    }
    for (key, why) in [("", "HAFT_FLEET_KEY is not set"), ("abc", "has 64 hexadecimal digits")] {
        let ran =
            Ran::from(fleet.haft(&["fleet", "secret", "TOKEN"]).env("HAFT_FLEET_KEY", key).output().unwrap());
        assert!(ran.code == 2 && ran.err.contains(why), "{key}: {ran:?}");
    }
}
