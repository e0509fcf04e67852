//! Workers, the database that they share, and the repository on which they work.
use super::{
    Place, Ran,
    project::{begin_repository, git},
};
use haft_testing::postgres::Postgres;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Version of the tables that this program makes.
pub(crate) const TABLES: i32 = 9;

/// A database, a repository, and a home for each worker.
pub(crate) struct Fleet {
    pub(crate) place: Place,
    pub(crate) server: Postgres,
    /// More of the environment of its programs.
    pub(crate) variables: Vec<(String, String)>,
}

impl Fleet {
    /// None where PostgreSQL is not installed.
    pub(crate) fn new() -> Option<Self> {
        Self::with("SELECT 1")
    }

    /// One in whose database `statement` is carried out before Haft makes its tables.
    pub(crate) fn with(statement: &str) -> Option<Self> {
        let fleet = Self::without_tables()?;
        fleet.server.sql(statement);
        let made = fleet.run(&["fleet", "migrate"]);
        assert_eq!(
            (made.code, made.out.clone()),
            (0, format!("the tables have version {TABLES}\n")),
            "{made:?}"
        );
        Some(fleet)
    }

    pub(crate) fn without_tables() -> Option<Self> {
        let (place, server) = (Place::new(), Postgres::start()?);
        place.write("counter.txt", "end\n");
        begin_repository(&place.work());
        let bare = place.path().join("remote.git");
        let (from, to) = (place.work(), bare.clone());
        git(&place.path(), &["clone", "--quiet", "--bare", from.to_str().unwrap(), to.to_str().unwrap()]);
        Some(Self { place, server, variables: Vec::new() })
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.place.path().join("remote.git")
    }

    pub(crate) fn haft(&self, words: &[&str]) -> Command {
        let mut command = self.place.haft(words);
        command.env("HAFT_FLEET", self.server.address()).envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.haft(words).output().unwrap())
    }

    pub(crate) fn add(&self) -> String {
        let remote = self.remote();
        let ran =
            self.run(&["fleet", "add", "builder", "Count once", "--repository", remote.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out.trim().to_owned()
    }

    pub(crate) fn worker(&self, script: &str, more: &[&str]) -> Child {
        self.start(self.worker_command(script, more))
    }

    /// Starts a worker, whose words are those of the log.
    pub(crate) fn start(&self, mut worker: Command) -> Child {
        let log = self.place.path().join("workers.log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        worker.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    pub(crate) fn worker_command(&self, script: &str, more: &[&str]) -> Command {
        self.haft(&[&["worker", "--permission", "full", "--model", script], more].concat())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("workers.log")).unwrap_or_default()
    }

    pub(crate) fn job(&self, id: &str, columns: &str) -> String {
        self.server.sql(&format!("SELECT {columns} FROM jobs WHERE id = '{id}'"))
    }

    /// Until `look` gives something.
    pub(crate) fn wait_for<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}: {}", self.log());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    pub(crate) fn wait_until_completed(&self, id: &str) {
        self.wait_for("the job is completed", || (self.job(id, "status") == "completed").then_some(()));
    }

    /// What the branch of a job says.
    pub(crate) fn counted(&self, id: &str) -> String {
        git(&self.remote(), &["show", &format!("haft/{id}:counter.txt")])
    }
}

pub(crate) fn count() -> Value {
    let arguments = json!({"path": "counter.txt", "old_text": "end", "new_text": "+end"});
    json!({"calls": [{"name": "edit", "arguments": arguments}]})
}

pub(crate) fn publish() -> Value {
    json!({"calls": [{"name": "publish", "arguments": {"title": "Count"}}]})
}

/// Says something that takes its time, and then publishes.
pub(crate) fn publish_slowly() -> Value {
    let mut step = publish();
    step["say"] = json!("I have counted, and soon I publish it.");
    step["pieces"] = json!(6);
    step["delay_ms"] = json!(400);
    step
}

pub(crate) fn say() -> Value {
    json!({"say": "Counted."})
}

pub(crate) fn end(worker: &mut Child) {
    let words = ["-TERM", &worker.id().to_string()].map(str::to_owned);
    Command::new("kill").args(words).status().unwrap();
    assert!(worker.wait().unwrap().success());
}

impl Fleet {
    /// Puts so many jobs down.
    pub(crate) fn add_many(&self, count: usize) {
        use haft_core::JobSpec;
        use haft_engine::new_session_id;
        use haft_fleet::{DEFAULT_QUEUE, Database, NewJob, Owner, add, add_owner};
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let remote = self.remote().display().to_string();
        let base = git(&self.remote(), &["rev-parse", "main"]);
        runtime.block_on(async {
            let database = Database::open(&self.server.address()).await.unwrap();
            let owner = Owner("storm".into());
            add_owner(&database, &owner, None).await.unwrap();
            for _ in 0..count {
                let order = JobSpec {
                    kind: "builder".into(),
                    job_type: "build".into(),
                    description: "Count once".into(),
                    origin: PathBuf::new(),
                    branch: None,
                    start: None,
                    debug: false,
                };
                let job = NewJob {
                    id: new_session_id(),
                    owner: owner.clone(),
                    queue: DEFAULT_QUEUE.into(),
                    order,
                    repository: Some(remote.clone()),
                    base: Some(base.clone()),
                    priority: 0,
                    // A storm is no job's fault.
                    max_attempts: 1000,
                    model: "script/none".into(),
                    profile: "default".into(),
                };
                add(&database, &job).await.unwrap();
            }
        });
    }

    pub(crate) fn number(&self, statement: &str) -> usize {
        self.server.sql(statement).parse().unwrap()
    }

    pub(crate) fn over(&self) -> usize {
        self.number("SELECT count(*) FROM jobs WHERE ended IS NOT NULL AND published = head")
    }

    /// Every job ended once, with one change, and its branch stands where the database says.
    pub(crate) fn assert_each_once(&self, count: usize, seed: u64) {
        let log = || self.log();
        let table = [
            ("all are there", "SELECT count(*) FROM jobs", count),
            ("all are completed", "SELECT count(*) FROM jobs WHERE status = 'completed'", count),
            (
                "each has come to one end",
                "SELECT count(DISTINCT job) FROM entries WHERE line LIKE '%\"type\":\"concluded\"%'",
                count,
            ),
            (
                "no entry is missing",
                "SELECT count(*) FROM (SELECT job FROM entries GROUP BY job, session HAVING count(*) <> max(seq) + 1) lost",
                0,
            ),
            (
                "a worker wrote with a token that was taken from it",
                "SELECT count(*) FROM (SELECT token < lag(token) OVER (PARTITION BY job, session ORDER BY seq) AS is_late \
                 FROM entries) written WHERE is_late",
                0,
            ),
        ];
        for (what, statement, expected) in table {
            assert_eq!(self.number(statement), expected, "{what}, seed {seed}: {}", log());
        }
        let heads = self.server.sql("SELECT 'refs/heads/haft/' || id || ' ' || head FROM jobs ORDER BY id");
        let stand =
            git(&self.remote(), &["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/haft"]);
        assert_eq!(stand, heads, "seed {seed}: {}", log());
        let main = git(&self.remote(), &["rev-parse", "main"]);
        for line in heads.lines() {
            let head = line.split_once(' ').unwrap().1;
            let shown = git(&self.remote(), &["show", "--format=%P", "--unified=0", head]);
            assert!(
                shown.starts_with(&main) && shown.ends_with("-end\n++end"),
                "seed {seed}: {line}: {shown}"
            );
        }
    }
}
