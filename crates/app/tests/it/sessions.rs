//! Sessions with what the user and the project set up.
use crate::{Person, warnings_of};
use haft_app::{Existing, Exit, SessionSpec, export::ExportFormat};
use haft_core::Mode;
use serde_json::json;

#[tokio::test]
async fn a_session_has_what_the_user_and_the_project_set_up() {
    let person = Person::new(&[json!({"say": "Hello!"})]);
    person.write("config/haft/AGENTS.md", "Mine.");
    person.write("work/AGENTS.md", "Theirs.");
    person.write("work/.haft/skills/mend/SKILL.md", "---\nname: mend\ndescription: Mends\n---\nMend it.");
    person.write("work/.haft/skills/odd/SKILL.md", "no header");
    person.write("work/.haft/commands/fix.md", "Fix $1.");
    person.write("work/.haft/config.toml", "permission = \"read-only\"\n");
    let (app, warnings) = warnings_of(person.app());
    let opened = app.open(&person.spec(Some(Mode::Full))).await.unwrap();
    let setup = opened.engine.setup();
    let notes: Vec<&str> = setup.knowledge.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(notes, ["Mine.", "Theirs."]);
    assert_eq!(setup.knowledge.skills.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), ["mend"]);
    assert_eq!(opened.session.mode(), Mode::ReadOnly, "a project's file narrows what is asked for");
    let prompts: Vec<String> = app.prompts(&person.work()).into_iter().map(|prompt| prompt.name).collect();
    assert_eq!(prompts, ["fix", "mend"]);
    assert!(warnings.lock().iter().any(|warning| warning.contains("odd")), "{warnings:?}");
    assert_eq!(opened.session.prompt("Hi").await.unwrap().text, "Hello!");
    opened.engine.shut_down().await;
}

#[tokio::test]
async fn a_session_is_continued_by_its_name_and_as_the_newest_and_exported() {
    let person = Person::new(&[json!({"say": "One."}), json!({"say": "Two."}), json!({"say": "Three."})]);
    let app = person.app();
    let opened = app.open(&person.spec(None)).await.unwrap();
    let id = opened.session.id().0.clone();
    opened.session.prompt("first").await.unwrap();
    opened.engine.shut_down().await;
    for (prompt, session) in [("second", Existing::Named(id.clone())), ("third", Existing::Newest)] {
        let spec = SessionSpec { session: Some(session), ..person.spec(None) };
        let opened = app.open(&spec).await.unwrap();
        assert_eq!(opened.session.id().0, id);
        opened.session.prompt(prompt).await.unwrap();
        opened.engine.shut_down().await;
    }
    let page = app.export(&id, ExportFormat::Markdown).unwrap();
    let places: Vec<usize> = ["first", "second", "third"].map(|text| page.find(text).unwrap()).to_vec();
    assert!(places.is_sorted(), "{page}");
    let lines = app.export(&id, ExportFormat::Json).unwrap();
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{lines}");
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_with_what_to_do() {
    let person = Person::new(&[]);
    let named = |id: &str| SessionSpec { session: Some(Existing::Named(id.into())), ..person.spec(None) };
    let tools = SessionSpec { tools: Some(vec!["raed".into()]), ..person.spec(None) };
    let nowhere = SessionSpec { workspace: Some(person.path("nowhere")), ..SessionSpec::default() };
    let table = [
        (named("none"), "none"),
        (SessionSpec { session: Some(Existing::Newest), ..person.spec(None) }, "there is no session in"),
        (tools, "there is no tool `raed`"),
        (nowhere, "cannot work in"),
    ];
    for (spec, expected) in table {
        let Err(failure) = person.app().open(&spec).await else { panic!("{expected}: it was opened") };
        assert!(failure.message.contains(expected) && failure.exit == Exit::Usage, "{failure:?}");
    }
    person.configure("permision = \"full\"\n");
    let Err(failure) = person.app().open(&person.spec(None)).await else { panic!("it was opened") };
    assert!(failure.message.contains("line 2") && failure.hint.is_some(), "{failure:?}");
}
