//! Programs of two versions on the same tables: this one, and a next one, which is played by statements.
use crate::kit::fleet::{Fleet, TABLES, count, end, publish, say};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a next version would add: a column that this one does not know, and a way to claim of its own.
const NEXT: &str = "ALTER TABLE jobs ADD COLUMN label text NOT NULL DEFAULT ''; \
     CREATE INDEX jobs_labels ON jobs (label); \
     CREATE FUNCTION claim_labelled(instance text, seconds double precision) RETURNS SETOF jobs LANGUAGE plpgsql AS $next$ \
     DECLARE claimed text := (SELECT id FROM claim_job(instance, seconds, '{}')); \
     BEGIN \
       RETURN QUERY UPDATE jobs SET label = 'next' WHERE id = claimed RETURNING jobs.*; \
     END $next$";

/// Says that there are tables of a later version, which programs from `oldest` on can use.
fn put_version(fleet: &Fleet, version: i32, oldest: i32) {
    fleet.server.sql(&format!(
        "INSERT INTO migrations (version, name, oldest) VALUES ({version}, 'later', {oldest})"
    ));
}

/// Claims a job as the next version does, and settles it under its token. Gives whether there was one.
fn work_as_next(fleet: &Fleet) -> bool {
    let claimed = fleet.server.sql("SELECT id, token FROM claim_labelled('next', 30)");
    let Some((id, token)) = claimed.split_once('|') else { return false };
    let settled = fleet.server.sql(&format!(
        "UPDATE jobs SET status = 'completed', ended = clock_timestamp(), leased_until = NULL \
         WHERE id = '{id}' AND token = {token} AND status = 'running' RETURNING 1"
    ));
    assert_eq!(settled, "1", "{id}");
    true
}

// H-96
#[test]
fn old_and_new_programs_work_side_by_side_and_each_job_ends_once() {
    const JOBS: usize = 24;
    let Some(fleet) = Fleet::new() else { return };
    fleet.add_many(JOBS);
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &["--lease", "2"]);
    fleet.wait_for("some are over", || (fleet.over() > 1).then_some(()));
    // In the middle of its work.
    fleet.server.sql(NEXT);
    put_version(&fleet, TABLES + 1, TABLES);
    let mut later = fleet.worker(&script, &["--lease", "2", "--workers", "1"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                work_as_next(&fleet);
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
        });
        let left = || fleet.number("SELECT count(*) FROM jobs WHERE ended IS NULL");
        fleet.wait_for("all are over", || (left() == 0).then_some(()));
        is_over.store(true, Ordering::Relaxed);
    });
    let table = [
        ("all are completed", "SELECT count(*) FROM jobs WHERE status = 'completed'", JOBS),
        ("each was claimed once", "SELECT count(*) FROM jobs WHERE token = 1 AND attempts = 1", JOBS),
        (
            "none was written by both",
            "SELECT count(*) FROM entries e JOIN jobs j ON j.id = e.job WHERE label = 'next' AND seq > 0",
            0,
        ),
        (
            "none has two ends",
            "SELECT count(*) FROM (SELECT FROM entries WHERE line LIKE '%\"type\":\"concluded\"%' GROUP BY job HAVING count(*) > 1) twice",
            0,
        ),
    ];
    for (what, statement, expected) in table {
        assert_eq!(fleet.number(statement), expected, "{what}: {}", fleet.log());
    }
    let next = fleet.number("SELECT count(*) FROM jobs WHERE label = 'next'");
    let ended = fleet.number("SELECT count(*) FROM entries WHERE line LIKE '%\"type\":\"concluded\"%'");
    assert!(next > 0 && ended > 0 && next + ended == JOBS, "{next} {ended}: {}", fleet.log());
    // An old program leaves newer tables as they are, and commands work.
    assert_eq!(
        fleet.run(&["fleet", "migrate"]).out,
        format!("the tables already have version {}\n", TABLES + 1)
    );
    let id = fleet.add();
    fleet.wait_until_completed(&id);

    // Once the next version takes away what this one needs, workers of this one finish and end, and none begins.
    put_version(&fleet, TABLES + 2, TABLES + 1);
    for worker in [&mut worker, &mut later] {
        assert!(worker.wait().unwrap().success(), "{}", fleet.log());
    }
    let told =
        format!("version {}, and this haft supports at most version {TABLES}; upgrade haft", TABLES + 2);
    assert!(
        fleet.log().contains(&format!("takes no more jobs: the fleet's tables have {told}")),
        "{}",
        fleet.log()
    );
    for words in [&["worker", "--model", &script][..], &["fleet", "status"], &["fleet", "migrate"]] {
        let ran = fleet.run(words);
        assert!(ran.code == 2 && ran.err.contains(&told), "{words:?}: {ran:?}");
    }
    fleet.server.sql(&format!("DELETE FROM migrations WHERE version = {}", TABLES + 2));
    let mut again = fleet.worker(&script, &[]);
    let id = fleet.add();
    fleet.wait_until_completed(&id);
    end(&mut again);
}
