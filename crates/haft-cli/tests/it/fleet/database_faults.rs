//! What goes wrong around the database of a fleet: each has a clear answer, nothing is lost, and nothing happens twice.
use crate::kit::{
    Ran,
    fleet::{Fleet, TABLES, count, end, publish, publish_slowly, say},
    serving::{Answered, Serving},
};
use serde_json::{Value, json};
use std::{
    fs,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What a model says, with enough behind it for one that is told again and again that it is unknown what its call did:
/// on a machine that is busy, a short lease is lost in the middle of any of them.
fn steps(first: &[Value]) -> Vec<Value> {
    let again = (0..40).map(|number| if number % 2 == 0 { publish() } else { say() });
    first.iter().cloned().chain(again).collect()
}

/// Until the job has counted, and is about to publish.
fn wait_until_counted(fleet: &Fleet, id: &str) {
    let ended =
        format!("SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%\"type\":\"tool_ended\"%'");
    fleet.wait_for("it has counted", || (fleet.number(&ended) == 1).then_some(()));
}

fn wait_until_published(fleet: &Fleet, id: &str) {
    fleet.wait_until_completed(id);
    fleet.wait_for("its branch stands", || (fleet.job(id, "published = head") == "t").then_some(()));
}

/// What the worker has written of the job on its own disk.
fn own_journal(fleet: &Fleet, id: &str) -> String {
    let place = format!("home/fleet/attempts/{id}-1/home/sessions/{id}/journal.jsonl");
    fs::read_to_string(fleet.place.path().join(place)).unwrap_or_default()
}

#[test]
fn while_postgresql_is_away_workers_wait_and_jobs_end_once() {
    for lease in ["2", "60"] {
        let Some(fleet) = Fleet::new() else { return };
        let id = fleet.add();
        let script = fleet.place.script("steps.jsonl", &steps(&[count(), publish_slowly()]));
        let mut workers =
            ["one", "two"].map(|name| fleet.worker(&script, &["--lease", lease, "--name", name]));
        wait_until_counted(&fleet, &id);
        fleet.server.stop();
        // One that has nothing to do says so by itself, and each says so once.
        fleet.wait_for("a worker says so", || {
            fleet.log().contains("cannot reach PostgreSQL at ").then_some(())
        });
        if lease == "2" {
            let left = format!("stopped working on the job `{id}`: lost the lease of the job `{id}`");
            fleet.wait_for("the worker leaves the job", || fleet.log().contains(&left).then_some(()));
        } else {
            let is_heard = || own_journal(&fleet, &id).contains("\"name\":\"publish\"");
            fleet.wait_for("the worker has more to record", || is_heard().then_some(()));
        }
        fleet.server.begin();
        wait_until_published(&fleet, &id);
        fleet.wait_for("they go on", || fleet.log().contains(" answers again").then_some(()));
        let log = fleet.log();
        let told = log.matches("cannot reach PostgreSQL at ").count();
        assert!(told <= 2, "{log}");
        let claims: u32 = fleet.job(&id, "token").parse().unwrap();
        assert!(if lease == "2" { claims > 1 } else { claims == 1 }, "{claims}: {log}");
        fleet.assert_each_once(1, 0);
        workers.iter_mut().for_each(end);
    }
}

#[test]
fn an_outage_of_postgresql_is_no_failed_attempt_of_jobs_that_wait_for_a_person() {
    let Some(fleet) = Fleet::new() else { return };
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
    let jobs = [(); 3].map(|()| fleet.add());
    let mut workers = ["one", "two"].map(|name| {
        let words = ["worker", "--model", &script, "--permission", "ask", "--lease", "6", "--name", name];
        fleet.start(fleet.haft(&words))
    });
    let wait_until_asking = |token: usize| {
        let asking = format!("SELECT count(*) FROM standing WHERE stands = 'waiting' AND token >= {token}");
        fleet.wait_for("all jobs wait", || (fleet.number(&asking) == jobs.len()).then_some(()));
    };
    wait_until_asking(1);
    for outage in 1..=2 {
        fleet.server.stop();
        let is_left = |id: &String| {
            fleet.log().matches(&format!("stopped working on the job `{id}`: lost the lease")).count()
                >= outage
        };
        fleet.wait_for("their leases run out", || jobs.iter().all(is_left).then_some(()));
        fleet.server.begin();
        // One number for giving the job back, one for the next claim.
        wait_until_asking(2 * outage + 1);
    }
    for id in &jobs {
        let why = "its worker could not renew its lease in time";
        assert_eq!(fleet.job(id, "attempts, reason"), format!("1|{why}"), "{}", fleet.log());
        assert_eq!(fleet.run(&["fleet", "cancel", id]).code, 0);
    }
    workers.iter_mut().for_each(end);
}

#[test]
fn a_server_says_that_its_database_is_away_and_goes_on_after_it() {
    let Some(fleet) = Fleet::new() else { return };
    let ann = fleet.run(&["fleet", "owner", "ann"]).out.trim().to_owned();
    let id = fleet.add();
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let admin = server.token.clone();
    let mut followed = server.follow(&id, "");
    assert_eq!(followed.next().unwrap()["type"], "session_opened");
    let ask = |token: &str, line: &str, body: &str| {
        let token = format!("Bearer {token}");
        let head = [
            ("host", server.address.as_str()),
            ("authorization", &token),
            ("content-type", "application/json"),
        ];
        server.with(line, &head, body)
    };
    let is_away = |answered: &Answered| {
        let message = answered.json()["error"]["message"].as_str().unwrap().to_owned();
        answered.status == 503 && message.starts_with("cannot reach PostgreSQL at ")
    };
    let away = |what: &str| {
        std::thread::scope(|scope| {
            // Several at once wait for one and the same connection.
            let tokens = [&admin, &admin, &admin, &ann, &ann];
            let lists = tokens.map(|token| scope.spawn(|| ask(token, "GET /v1/jobs", "")));
            let add = scope.spawn(|| ask(&admin, "POST /v1/jobs", r#"{"description":"Count once"}"#));
            assert_eq!(ask(&admin, "GET /healthz", "").status, 200, "{what}");
            let lists = lists.map(|list| list.join().unwrap());
            assert!(lists.iter().all(is_away), "{what}: {lists:?}");
            // The audit log comes first.
            let added = add.join().unwrap();
            assert!(is_away(&added) && added.body.contains("nothing was done"), "{what}: {added:?}");
        });
    };
    fleet.server.freeze();
    away("it says nothing");
    fleet.server.stop();
    away("it is gone");
    fleet.server.begin();
    fleet.server.sql(&format!("DELETE FROM jobs WHERE id <> '{id}'"));
    for (token, jobs) in [(&ann, 0), (&admin, 1)] {
        assert_eq!(ask(token, "GET /v1/jobs", "").json()["jobs"].as_array().map(Vec::len), Some(jobs));
    }
    let script = fleet.place.script("steps.jsonl", &steps(&[count()]));
    let mut worker = fleet.worker(&script, &[]);
    let seen = followed.until("concluded");
    let places: Vec<u64> = seen.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    wait_until_published(&fleet, &id);
    fleet.assert_each_once(1, 0);
    end(&mut worker);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_wrong_password_is_told_and_costs_no_job() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.server.sql("CREATE ROLE helper LOGIN SUPERUSER PASSWORD 'the-right-one'");
    fleet.server.stop();
    fleet.server.keep("pg_hba.conf", "local all haft trust\nlocal all all scram-sha-256\n");
    fleet.server.begin();
    let script = fleet.place.script("steps.jsonl", &steps(&[count(), publish_slowly()]));
    let address = |password: &str| fleet.server.address().replace("haft@", &format!("helper{password}@"));
    let worker = ["worker", "--permission", "full", "--lease", "2", "--model", &script];
    let started = |password: &str, words: &[&str]| {
        let mut command = fleet.place.haft(words);
        command.env("HAFT_FLEET", address(password));
        command
    };
    for (password, expected) in [
        (":a-wrong-one", "refuses the connection: password authentication failed for user \"helper\""),
        ("", "refuses the connection: "),
    ] {
        for words in [&worker[..], &["fleet", "status"], &["fleet", "migrate"]] {
            let ran = Ran::from(started(password, words).output().unwrap());
            assert!(ran.code == 2 && ran.err.contains(expected), "{words:?}: {ran:?}");
            assert!(ran.err.contains("check the user, the password and the database"), "{ran:?}");
            assert!(!ran.err.contains("a-wrong-one"), "{ran:?}");
        }
    }
    // It is changed while a worker has a job.
    let id = fleet.add();
    let log = fs::File::create(fleet.place.path().join("changed.log")).unwrap();
    let mut first = started(":the-right-one", &worker).stderr(log).spawn().unwrap();
    wait_until_counted(&fleet, &id);
    fleet.server.sql("ALTER ROLE helper PASSWORD 'another-one'");
    fleet.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'helper'");
    let ended = first.wait().unwrap().code();
    let told = fs::read_to_string(fleet.place.path().join("changed.log")).unwrap();
    assert!(ended == Some(2) && told.contains("password authentication failed"), "{ended:?} {told}");
    let mut second = started(":another-one", &worker).spawn().unwrap();
    wait_until_published(&fleet, &id);
    fleet.assert_each_once(1, 0);
    end(&mut second);
}

/// Certificates of an authority that no system knows.
struct Authority(PathBuf);

impl Authority {
    fn new(folder: &Path) -> Self {
        let own = Self(folder.join("authority"));
        fs::create_dir(&own.0).unwrap();
        let names = "subjectAltName=IP:127.0.0.1";
        own.run(&["-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=An authority", "-addext", names]);
        own
    }

    /// The key and the certificate of a server with these names; with none, those of the authority itself, as a server has
    /// them whose certificate no other key signs.
    fn sign(&self, names: &str) -> (Vec<u8>, Vec<u8>) {
        let read = |name: &str| fs::read(self.0.join(name)).unwrap();
        if names.is_empty() {
            return (read("ca.key"), read("ca.crt"));
        }
        let (names, end) = (format!("subjectAltName={names}"), "basicConstraints=critical,CA:FALSE");
        let signed = [
            "-keyout",
            "s.key",
            "-out",
            "s.crt",
            "-subj",
            "/CN=A server",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
        ];
        self.run(&[&signed[..], &["-addext", &names, "-addext", end]].concat());
        (read("s.key"), read("s.crt"))
    }

    fn run(&self, words: &[&str]) {
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048"]).args(words);
        let made = openssl.current_dir(&self.0).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
}

#[test]
fn a_server_that_cannot_prove_its_name_is_not_talked_to() {
    let Some(fleet) = Fleet::new() else { return };
    let authority = Authority::new(&fleet.place.path());
    let script = fleet.place.script("steps.jsonl", &[say()]);
    let known = authority.0.join("ca.crt");
    fleet.server.stop();
    fleet.server.keep("pg_hba.conf", "local all all trust\nhost all all 127.0.0.1/32 trust\n");
    let ran = |address: &str, trusts: bool, words: &[&str]| {
        let mut command = fleet.place.haft(words);
        command.env("HAFT_FLEET", address);
        trusts.then(|| command.env("SSL_CERT_FILE", &known));
        Ran::from(command.output().unwrap())
    };
    let address = format!("postgres://haft@127.0.0.1:{}/postgres?sslmode=require", fleet.server.port());
    let table = [
        ("off", "IP:127.0.0.1", true, Some("server does not support TLS")),
        ("on", "IP:127.0.0.1", false, Some("UnknownIssuer")),
        ("on", "", false, Some("certificate")),
        ("on", "", true, Some("certificate")),
        ("on", "DNS:db.example.org", true, Some("not valid for name")),
        ("on", "IP:127.0.0.1", true, None),
    ];
    for (tls, names, trusts, refused) in table {
        let (key, certificate) = authority.sign(names);
        fleet.server.keep("server.key", key);
        fleet.server.keep("server.crt", certificate);
        let tls = format!("ssl={tls}");
        fleet.server.begin_with(&["listen_addresses=127.0.0.1", &tls]);
        for words in [&["fleet", "status"][..], &["fleet", "migrate"], &["worker", "--model", &script]] {
            if refused.is_none() && words[0] == "worker" {
                continue;
            }
            let ran = ran(&address, trusts, words);
            match refused {
                Some(why) => assert!(
                    ran.code == 2
                        && ran.err.contains("cannot connect to PostgreSQL at 127.0.0.1:")
                        && ran.err.contains(why)
                        && ran.err.contains("SSL_CERT_FILE"),
                    "{tls} {names} {words:?}: {ran:?}"
                ),
                None => assert_eq!(ran.code, 0, "{tls} {names} {words:?}: {ran:?}"),
            }
        }
        fleet.server.stop();
    }
}

/// PostgreSQL's clock, and what it says in place of it.
const CLOCKS: &str = "CREATE SCHEMA shifted;
    CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT pg_catalog.clock_timestamp() + interval 'HOURS hours' $$;
    CREATE FUNCTION shifted.now() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT pg_catalog.now() + interval 'HOURS hours' $$;
    ALTER ROLE haft SET search_path = shifted, pg_catalog, public";

#[test]
fn a_worker_whose_clock_is_an_hour_off_works_as_any_other() {
    for hours in ["1", "-1"] {
        let Some(fleet) = Fleet::with(&CLOCKS.replace("HOURS", hours)) else { return };
        let off = "SELECT round(extract(epoch FROM now() - pg_catalog.now()) / 3600)";
        assert_eq!(fleet.server.sql(off), hours);
        let id = fleet.add();
        let script = fleet.place.script("hangs.jsonl", &[count(), json!({"hang": true})]);
        let mut first = fleet.worker(&script, &["--lease", "2"]);
        wait_until_counted(&fleet, &id);
        // It is renewed, and does not count as late.
        let until = fleet.job(&id, "leased_until");
        fleet.wait_for("it is renewed", || (fleet.job(&id, "leased_until") > until).then_some(()));
        assert_eq!(fleet.job(&id, "status, attempts"), "running|1", "{hours}");
        first.kill().unwrap();
        first.wait().unwrap();
        let script = fleet.place.script("steps.jsonl", &steps(&[count()]));
        let mut second = fleet.worker(&script, &["--lease", "2"]);
        wait_until_published(&fleet, &id);
        fleet.assert_each_once(1, 0);
        let status: Value = serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).out).unwrap();
        let seen: Vec<f64> = status["workers"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|worker| worker["seen_seconds_ago"].as_f64())
            .collect();
        assert!(seen.len() == 2 && seen.iter().all(|seen| (0.0..1800.0).contains(seen)), "{hours}: {status}");
        end(&mut second);
    }
}

#[test]
fn two_workers_with_one_name_are_two() {
    let Some(fleet) = Fleet::new() else { return };
    const JOBS: usize = 6;
    fleet.add_many(JOBS);
    let script = fleet.place.script("steps.jsonl", &steps(&[count(), publish_slowly()]));
    let twins = ["twin", "twin"].map(|name| fleet.worker(&script, &["--name", name]));
    let working = || fleet.number("SELECT count(DISTINCT worker) FROM jobs WHERE status = 'running'");
    fleet.wait_for("both work", || (working() == 2).then_some(()));
    let status: Value = serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).out).unwrap();
    let of = |field: &str| -> Vec<&str> {
        status["workers"].as_array().unwrap().iter().filter_map(|worker| worker[field].as_str()).collect()
    };
    assert_eq!(of("name"), ["twin", "twin"], "{status}");
    assert_ne!(of("instance")[0], of("instance")[1], "{status}");
    let one = of("instance")[0];
    let drained = fleet.run(&["fleet", "drain", one]);
    assert_eq!((drained.code, drained.out.as_str()), (0, "draining 1 worker\n"), "{drained:?}");
    fleet.wait_for("all jobs are over", || (fleet.over() == JOBS).then_some(()));
    fleet.assert_each_once(JOBS, 0);
    let registered = || fleet.number("SELECT count(*) FROM workers WHERE seen > 'epoch'");
    fleet.wait_for("one has ended", || (registered() == 1).then_some(()));
    let drained = fleet.run(&["fleet", "drain", "twin"]);
    assert_eq!((drained.code, drained.out.as_str()), (0, "draining 1 worker\n"), "{drained:?}");
    for mut twin in twins {
        assert!(twin.wait().unwrap().success(), "{}", fleet.log());
    }
}

#[test]
fn a_migration_that_was_killed_is_made_by_the_next_one() {
    for is_cut_off in [false, true] {
        let Some(fleet) = Fleet::without_tables() else { return };
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND wait_event = 'PgSleep'";
        let migrating = "FROM pg_stat_activity WHERE application_name = 'haft' AND wait_event_type = 'Lock'";
        let migrates = || {
            let mut haft = fleet.haft(&["fleet", "migrate"]);
            haft.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        std::thread::scope(|scope| {
            // A transaction that makes the same table, and is not committed yet, blocks it in the middle.
            let hold = "BEGIN; CREATE TABLE jobs (id text); SELECT pg_sleep(600)";
            let held = scope.spawn(|| std::panic::catch_unwind(AssertUnwindSafe(|| fleet.server.sql(hold))));
            fleet.wait_for("it is held up", || (fleet.server.sql(waits) == "1").then_some(()));
            let mut killed = migrates();
            let waiting = || fleet.number(&format!("SELECT count(*) {migrating}"));
            fleet.wait_for("it is in the middle", || (waiting() == 1).then_some(()));
            killed.kill().unwrap();
            killed.wait().unwrap();
            if is_cut_off {
                fleet.server.sql(&format!("SELECT pg_terminate_backend(pid) {migrating}"));
            }
            let again = [migrates(), migrates()];
            let expected = if is_cut_off { 2 } else { 3 };
            fleet.wait_for("the next ones wait", || (waiting() == expected).then_some(()));
            fleet.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND pid <> pg_backend_pid()");
            for ended in again.map(|haft| Ran::from(haft.wait_with_output().unwrap())) {
                let told = format!("the tables have version {TABLES}");
                assert!(ended.code == 0 && ended.out.starts_with(&told), "{ended:?}");
            }
            let _it_was_ended = held.join();
        });
        assert_eq!(
            fleet.server.sql("SELECT string_agg(version || name, ' ') FROM migrations"),
            "1begin 2requests 3waiting 4pauses 5limits, storage, logins 6audit 7push 8turns 9roles"
        );
        let id = fleet.add();
        assert_eq!(fleet.job(&id, "status"), "pending");
    }
}

#[test]
fn tables_of_another_program_are_left_as_they_are() {
    let Some(fleet) = Fleet::without_tables() else { return };
    fleet.server.sql("CREATE TABLE workers (name text)");
    let ran = fleet.run(&["fleet", "migrate"]);
    assert!(ran.code == 2 && ran.err.contains("has tables of another program"), "{ran:?}");
    let tables =
        "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(fleet.server.sql(tables), "migrations workers");
    fleet.server.sql("DROP TABLE workers");
    assert_eq!(fleet.run(&["fleet", "migrate"]).out, format!("the tables have version {TABLES}\n"));
}

#[test]
fn a_worker_whose_disk_is_full_gives_its_job_back() {
    let Some(fleet) = Fleet::new() else { return };
    let bash = |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let full = bash("head -c 16M /dev/zero >$HOME/filler 2>/dev/null; true");
    let script = fleet.place.script("full.jsonl", &steps(&[count(), full]));
    let id = fleet.add();
    let mount = r#"mount -t tmpfs -o size=8m none "$HOME" && mkdir "$HAFT_HOME" || exit 9; exec "$@""#;
    let worker = fleet.worker_command(&script, &["--sandbox", "off"]);
    // Root in a namespace of its own sees nothing of what is PostgreSQL's.
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let mut small = Command::new("unshare");
    small.args([namespace, "sh", "-c", mount, "sh"]).arg(worker.get_program()).args(worker.get_args());
    small.env_clear().envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
    fs::create_dir(fleet.place.path().join("person")).unwrap();
    small.env("HAFT_HOME", fleet.place.path().join("person/home")).current_dir(fleet.place.work());
    let log = fs::File::create(fleet.place.path().join("small.log")).unwrap();
    let mut small = small.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let said = || fs::read_to_string(fleet.place.path().join("small.log")).unwrap();
    let given_back = fleet.wait_for("it is given back", || {
        let reason = fleet.job(&id, "reason");
        let cannot = said().contains("unshare:") || said().contains("mount:");
        (cannot || (!reason.is_empty() && fleet.job(&id, "attempts") == "2")).then_some((cannot, reason))
    });
    if given_back.0 {
        let _it_has_ended = small.wait();
        return haft_testing::left_out(&format!(
            "a worker's full disk: nothing can be mounted here: {}",
            said()
        ));
    }
    assert!(given_back.1.contains("No space left on device"), "{given_back:?} {}", said());
    assert!(!said().contains("panicked"), "{}", said());
    end(&mut small);
    let script = fleet.place.script("roomy.jsonl", &steps(&[count(), bash("true")]));
    let mut roomy = fleet.worker(&script, &["--sandbox", "off"]);
    wait_until_published(&fleet, &id);
    fleet.assert_each_once(1, 0);
    end(&mut roomy);
}

#[test]
fn what_an_agent_configures_has_no_say_in_what_its_worker_pushes() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    let remote = fleet.remote().display().to_string();
    let command = format!(
        "git config url./nowhere/.insteadOf '{remote}' && git config core.sshCommand false && git pack-refs --all"
    );
    let configure = json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let script = fleet.place.script("steps.jsonl", &steps(&[count(), configure]));
    let mut worker = fleet.worker(&script, &["--sandbox", "off"]);
    wait_until_published(&fleet, &id);
    let told = fleet.server.sql("SELECT string_agg(line, ' ') FROM entries WHERE line LIKE '%tool_ended%'");
    assert!(!told.contains("\"ok\":false"), "{told}");
    fleet.assert_each_once(1, 0);
    end(&mut worker);
}
