//! Jobs: begun, queued, cancelled, resumed, and on a schedule.
use crate::{Person, git};
use haft_app::jobs::{JobRequest, Task, schedule::Recurrence};
use haft_core::{JobStatus, Mode};
use serde_json::json;

fn request(person: &Person, kind: &str) -> JobRequest {
    let (kind, description) = (kind.to_owned(), "Write down what it does".to_owned());
    JobRequest { kind, description, origin: person.work(), keeps_files: false, user: None }
}

#[tokio::test]
async fn a_job_works_on_a_branch_and_leaves_the_files_of_the_user_alone() {
    let write =
        json!({"calls": [{"name": "write", "arguments": {"path": "README.md", "content": "It adds.\n"}}]});
    let commit =
        json!({"calls": [{"name": "git", "arguments": {"command": "commit", "message": "Explain it"}}]});
    let person = Person::new(&[write, commit, json!({"say": "I wrote it down."}), json!({"say": "Done."})]);
    person.write("work/add.py", "def add(a, b):\n    return a + b\n");
    git(&person.work(), &["init", "--quiet"]);
    git(&person.work(), &["add", "--all"]);
    git(&person.work(), &["commit", "--quiet", "--message", "Begin"]);
    let job = person.app().jobs().begin(request(&person, "builder"), &person.spec(Some(Mode::Full))).await;
    let job = job.unwrap_or_else(|failure| panic!("{failure:?}"));
    let branch = job.order.branch.clone().unwrap();
    assert_ne!(job.engine.setup().workspace, person.work());
    let conclusion = job.work().await;
    assert_eq!(person.read("README.md"), None, "{conclusion:?}");
    git(&person.work(), &["rev-parse", "--verify", &branch]);
}

#[tokio::test]
async fn a_queued_job_is_found_by_a_worker_and_can_be_cancelled() {
    let person = Person::new(&[json!({"say": "Nothing."}), json!({"say": "Nothing."})]);
    let jobs = person.app().jobs();
    let (first, _) = jobs.queue(None, request(&person, "triager"), None).await.unwrap();
    let (second, _) = jobs.queue(None, request(&person, "triager"), None).await.unwrap();
    assert_eq!(jobs.cancel(&second.0).await.unwrap(), second);
    assert_eq!(jobs.find(&second.0).unwrap().1.status, JobStatus::Cancelled);
    assert!(jobs.cancel(&second.0).await.unwrap_err().message.contains("already cancelled"));
    let mut queue = jobs.worker_queue();
    let Some(Task::Resume(id)) = queue.next_task().unwrap() else { panic!("no job waits") };
    assert_eq!(id, first);
    let conclusion = jobs.resume(&id.0, &person.spec(None)).await.unwrap().work().await;
    assert_eq!(conclusion.status, JobStatus::Failed, "a triager has to say what it found");
    assert!(queue.next_task().unwrap().is_none());
}

#[tokio::test]
async fn a_schedule_that_is_not_due_begins_nothing() {
    let person = Person::new(&[]);
    let jobs = person.app().jobs();
    let name = jobs.schedule(request(&person, "triager"), Recurrence::every("10m").unwrap()).unwrap();
    assert!(jobs.worker_queue().next_task().unwrap().is_none());
    let failure = jobs.find(&name).unwrap_err();
    assert!(failure.message.contains("is a schedule"), "{failure:?}");
    let unknown = jobs.schedule(request(&person, "nobody"), Recurrence::every("10m").unwrap()).unwrap_err();
    assert!(unknown.message.contains("there is no agent `nobody`"), "{unknown:?}");
}
