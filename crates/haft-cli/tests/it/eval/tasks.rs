//! Tasks in a folder: what a run works in, and what is said of a task that cannot be used.
use super::{add_hurdle, add_task, checks, copies, files, model_of, tasks};
use crate::kit::{
    Place, bash, call,
    project::{begin_repository, git},
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

// H-45
#[test]
fn each_model_works_on_each_task_in_a_copy_and_the_check_decides() {
    let place = Place::new();
    if !checks(&place, "an evaluation") {
        return;
    }
    place.write("notes.txt", "one\n");
    begin_repository(&place.work());
    place.write("notes.txt", "not committed\n");
    let before = files(&place.work());
    add_hurdle(&place, "easy", 10);
    add_hurdle(&place, "hard", 90);
    // It begins at the commit, with its past and nothing else.
    let at_commit = add_task(
        &place,
        "in-the-repository",
        "test \"$(cat notes.txt)\" = one && git log --oneline | grep Begin",
    );
    fs::write(at_commit.join("ref"), "main\n").unwrap();
    let with_files =
        add_task(&place, "with-files", "test \"$(cat a/b.txt)\" = b && test -x a/run && git status");
    fs::create_dir_all(with_files.join("files/a")).unwrap();
    fs::write(with_files.join("files/a/b.txt"), "b\n").unwrap();
    fs::write(with_files.join("files/a/run"), "").unwrap();
    fs::set_permissions(with_files.join("files/a/run"), PermissionsExt::from_mode(0o755)).unwrap();
    let header = "---\nref: repository\n---\nShow it.\n";
    let with_header = add_task(&place, "with-a-header", "test -f notes.txt");
    fs::write(with_header.join("task.md"), header).unwrap();
    // A copy of the check runs, so that it need not be executable.
    fs::set_permissions(with_header.join("check.sh"), PermissionsExt::from_mode(0o644)).unwrap();
    let (good, weak) = (model_of(&place, "good", 95, 0), model_of(&place, "weak", 50, 0));
    let models = format!("{weak},{good}");
    let ran = place.run(&["eval", "--tasks", &tasks(&place), "--models", &models, "--jobs", "2", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = ran.events();
    let row = |place: usize| {
        (rows[place]["model"].clone(), rows[place]["solved"].clone(), rows[place]["of"].clone())
    };
    assert_eq!(row(0), (json!(good), json!(5), json!(5)), "{ran:?}");
    assert_eq!(row(1), (json!(weak), json!(4), json!(5)), "{ran:?}");
    assert!(rows[0]["low"].as_f64().unwrap() < rows[1]["high"].as_f64().unwrap());
    assert!(rows[0].as_object().unwrap().contains_key("cost_usd") && rows[0]["rounds"] == 2.0, "{ran:?}");
    assert!(ran.err.contains("hard with script/") && ran.err.contains("not solved"), "{ran:?}");
    assert_eq!(files(&place.work()), before, "the repository is as it was, to the byte");
    assert_eq!(git(&place.work(), &["branch", "--list"]), "* main");
    assert_eq!(copies(&place), [] as [std::path::PathBuf; 0]);
    // What was run is read without a model.
    let shown = place.run(&["eval", "show"]);
    assert!(
        shown.code == 0 && shown.out.contains("4 of 5") && shown.out.contains("not distinguishable"),
        "{shown:?}"
    );
    let session =
        shown.out.lines().find(|line| line.contains("hard")).unwrap().split_whitespace().nth(2).unwrap();
    assert!(place.run(&["sessions", "show", session]).out.contains("Show how good you are."), "{shown:?}");
    assert_eq!(place.run(&["eval", "list", "--json"]).events()[0]["done"], true);
}

#[test]
fn a_model_cannot_reach_out_of_its_copy_nor_change_the_check() {
    let place = Place::new();
    if !checks(&place, "the reach of a run") {
        return;
    }
    place.configure("[rules]\nallow = [\"write:/**\", \"execute:touch *\", \"network:*\"]");
    let outside = place.path().join("outside");
    add_task(&place, "task", "test -f solved");
    let model = place.script(
        "m",
        &[
            call("write", json!({"path": outside.display().to_string(), "content": "x"})),
            bash("ln -s /etc .haft-check; echo cheated >solved.txt"),
            json!({"say": "Done."}),
        ],
    );
    let ran = place.run(&["eval", "--tasks", &tasks(&place), "--models", &model, "--json"]);
    assert_eq!((ran.code, &ran.events()[0]["solved"]), (0, &json!(0)), "{ran:?}");
    assert!(!outside.exists(), "{ran:?}");
}

/// What is wrong, how it is made, and what is said of it.
type Mistake = (&'static str, fn(&Place), &'static str);

#[test]
fn what_is_wrong_is_said_before_anything_is_run() {
    let place = Place::new();
    begin_repository_in(&place);
    let good = model_of(&place, "good", 95, 0);
    let table: &[Mistake] = &[
        ("an empty folder", |_| {}, "there is no task in `"),
        (
            "no prompt",
            |place| drop(fs::remove_file(add_task(place, "one", "true").join("task.md"))),
            "cannot use the task `one`: it has no `task.md`",
        ),
        (
            "an empty prompt",
            |place| fs::write(add_task(place, "one", "true").join("task.md"), " \n").unwrap(),
            "its `task.md` has no prompt",
        ),
        (
            "no check",
            |place| drop(fs::remove_file(add_task(place, "one", "true").join("check.sh"))),
            "cannot use the task `one`: it has no `check.sh`",
        ),
        (
            "a check that is no program",
            |place| {
                let check = add_task(place, "one", "true").join("check.sh");
                fs::remove_file(&check).unwrap();
                fs::create_dir(check).unwrap();
            },
            "its `check.sh` is not a file",
        ),
        (
            "a check whose program is not there",
            |place| {
                let check = add_task(place, "one", "true").join("check.sh");
                fs::write(check, "#!/no/such/program -x\ntrue\n").unwrap();
            },
            "its `check.sh` is run by `/no/such/program`, which is not there",
        ),
        (
            "a commit that is not there",
            |place| fs::write(add_task(place, "one", "true").join("ref"), "v9\n").unwrap(),
            "has no commit `v9`",
        ),
        (
            "two beginnings",
            |place| {
                let task = add_task(place, "one", "true");
                fs::create_dir(task.join("files")).unwrap();
                fs::write(task.join("ref"), "main\n").unwrap();
            },
            "it has both a `ref` and `files`",
        ),
        (
            "the folder of one task",
            |place| {
                let check = add_task(place, "..", "true").join("check.sh");
                assert!(place.path().join("task.md").is_file() && check.is_file());
                fs::rename(place.path().join("task.md"), place.path().join("tasks/task.md")).unwrap();
            },
            "the directory is itself a task",
        ),
    ];
    for (what, make, expected) in table {
        fs::remove_dir_all(place.path().join("tasks")).ok();
        fs::create_dir(place.path().join("tasks")).unwrap();
        make(&place);
        let ran = place.run(&["eval", "--tasks", &tasks(&place), "--models", &good]);
        assert!(ran.code == 2 && ran.err.contains(expected), "{what}: {ran:?}");
    }
    fs::remove_dir_all(place.path().join("tasks")).unwrap();
    add_task(&place, "one", "true");
    let (folder, good) = (tasks(&place), good.as_str());
    let folder = folder.as_str();
    let table: &[(&[&str], &str)] = &[
        (&["--tasks", folder, "--models", good, "--html", "/no/x.html"], "there is no directory `/no`"),
        (&["--tasks", folder, "--models", "nobody/else"], "nobody"),
        (&["--tasks", folder, "--models", "script/missing.jsonl"], "missing.jsonl"),
        (&["--tasks", folder, "--models", good, "--max-cost", "1"], "the price of `script/"),
        (&["--tasks", folder], "--models"),
        (&["--tasks", "nowhere", "--models", good], "cannot read the tasks in `nowhere`"),
        (&["--last", "3", "--models", good], "no session of `"),
        (&["--resume", "2020", "--max-cost", "1"], "there is no evaluation `2020`"),
        (&["show"], "there is no evaluation yet"),
    ];
    for (arguments, expected) in table {
        let ran = place.run(&[&["eval"], *arguments].concat());
        assert!(ran.code == 2 && ran.err.contains(expected), "{arguments:?}: {ran:?}");
    }
    assert!(!place.path().join("home/sessions").exists() && !place.path().join("home/evals").exists());
}

fn begin_repository_in(place: &Place) {
    place.write("a.txt", "a\n");
    begin_repository(&place.work());
}

#[test]
fn a_check_that_does_not_end_is_ended_and_a_model_that_cannot_be_asked_does_not_count() {
    let place = Place::new();
    if !checks(&place, "a check that does not end") {
        return;
    }
    add_task(&place, "hangs", "sleep 1000");
    add_task(&place, "says-why", "echo 'two is missing'; exit 3");
    let good = model_of(&place, "good", 95, 0);
    let down = place.script("down", &[json!({"fail": "no such key", "kind": "rejected"})]);
    let models = format!("{good},{down}");
    let ran =
        place.run(&["eval", "--tasks", &tasks(&place), "--models", &models, "--check-time", "1", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for expected in [
        "its check did not end within 1 s",
        "its check ended with exit code 3: two is missing",
        "the model could not be asked: ",
    ] {
        assert!(ran.err.contains(expected), "{expected}: {ran:?}");
    }
    let rows = ran.events();
    let of = |model: &str| rows.iter().find(|row| row["model"] == model).unwrap();
    assert_eq!((&of(&good)["of"], &of(&good)["not_run"]), (&json!(2), &json!(0)), "{ran:?}");
    assert_eq!((&of(&down)["of"], &of(&down)["not_run"]), (&json!(0), &json!(2)), "{ran:?}");
    assert_eq!((&of(&down)["low"], &of(&down)["high"]), (&json!(0.0), &json!(1.0)), "{ran:?}");
}
