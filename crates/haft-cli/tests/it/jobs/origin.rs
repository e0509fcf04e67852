//! What holds for a job of the directory in which it was asked for, and what of it the job does not get.
use crate::kit::{
    Place, Ran, bash, call, openai_text,
    project::{Project, begin_repository, git},
    vendor::VendorServer,
};
use serde_json::json;

const KEY_OF_ACCOUNT: &str = "sk-work-0123456789";

// H-10
#[test]
fn a_job_uses_the_account_of_the_folder_in_which_it_was_asked_for() {
    let (place, server) = (Place::new(), VendorServer::start(|_| openai_text("There is nothing to do.")));
    place.write("a.txt", "a\n");
    begin_repository(&place.work());
    place.configure(&format!(
        "[accounts.work]\nfolders = [\"{}\"]\nkeys = {{ openai = \"{KEY_OF_ACCOUNT}\" }}\n",
        place.work().display()
    ));
    let run = |words: &[&str]| {
        let before = server.asked().len();
        let mut command = place.haft(words);
        command.env("OPENAI_BASE_URL", &server.base_url).env("OPENAI_API_KEY", "sk-private-012345");
        let ran = Ran::from(command.output().unwrap());
        assert!(server.asked().len() > before, "{words:?}: {ran:?}");
    };
    let model = ["--model", "openai/gpt-5"];
    run(&[&["build", "x"][..], &model].concat());
    run(&[&["debug", "x"][..], &model].concat());
    let job = place.run(&["jobs", "list", "--json"]).events()[0]["job"].as_str().unwrap().to_owned();
    run(&[&["jobs", "retry", &job][..], &model].concat());
    let queued = place.run(&["jobs", "add", "--description", "x"]);
    assert_eq!(queued.code, 0, "{queued:?}");
    run(&[&["jobs", "serve", "--once"][..], &model].concat());
    place.write("evals/one/task.md", "Say it.\n");
    place.write("evals/one/check.sh", "#!/bin/sh\n");
    run(&["eval", "--tasks", "evals", "--models", "openai/gpt-5"]);
    let keys: Vec<_> = server.asked().into_iter().map(|asked| asked.key).collect();
    assert!(keys.iter().all(|key| key.as_deref() == Some(KEY_OF_ACCOUNT)), "{keys:?}");
}

#[test]
fn restrictions_of_a_project_hold_for_its_jobs_though_they_are_not_committed() {
    let project = Project::new();
    let place = &project.place;
    place.write(".git/info/exclude", ".haft\n");
    place.write(".haft/config.toml", "[rules]\ndeny = [\"write:secret.txt\"]\n");
    let write = |path: &str| call("write", json!({"path": path, "content": "x\n"}));
    let script = place.script("steps", &[write("secret.txt"), write("open.txt"), json!({"say": "Done."})]);
    let built = project.build(&script);
    assert_eq!(built.code, 0, "{built:?}");
    let evidence = &project.jobs()[0]["output"]["evidence"][0];
    assert_eq!(evidence["files"], json!(["open.txt"]));
}

#[test]
fn what_a_job_writes_into_a_submodule_is_told_and_kept() {
    let project = Project::new();
    let (work, module) = (project.place.work(), project.place.path().join("module"));
    std::fs::create_dir(&module).unwrap();
    std::fs::write(module.join("m.txt"), "m\n").unwrap();
    begin_repository(&module);
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module.to_str().unwrap(), "lib"];
    git(&work, &add);
    git(&work, &["commit", "--quiet", "-m", "Add a submodule"]);
    let write = call("write", json!({"path": "lib/in.txt", "content": "x\n"}));
    let script = project.place.script("steps", &[write, bash("echo top >top.txt"), json!({"say": "Done."})]);
    let built = project.build(&script);
    assert!(
        built.err.contains("submodules are empty for the job, which can change nothing in them: `lib`"),
        "{built:?}"
    );
    let trees = project.place.path().join("home/worktrees");
    let kept = std::fs::read_dir(trees).unwrap().next().expect("the tree is kept").unwrap().path();
    assert_eq!(std::fs::read_to_string(kept.join("lib/in.txt")).unwrap(), "x\n");
}

/// Git links the objects of a clone, and copies them where it cannot: `/dev/shm` is a file system of its own.
#[test]
fn a_job_begins_where_its_folder_is_on_another_file_system() {
    let place = Place::new();
    place.write("a.txt", "a\n");
    begin_repository(&place.work());
    let home = tempfile::tempdir_in("/dev/shm").unwrap();
    let model = place.script("job", &[json!({"say": "There is nothing to do."})]);
    let mut command = place.haft(&["build", "look around", "--permission", "full", "--model", &model]);
    let ran = Ran::from(command.env("HAFT_HOME", home.path()).output().unwrap());
    assert!(
        ran.err.contains("There is nothing to do.") || ran.out.contains("There is nothing to do."),
        "{ran:?}"
    );
}
