//! Files as the editor has them: what is not saved yet counts.
use super::kit::{Ide, Person, Place, Saves, call, edit, scripted};
use agent_client_protocol::v1::schema::StopReason;
use futures::StreamExt;
use haft_core::{Command, Event, Fact, Mode, Seq};
use serde_json::{Value, json};

fn edited() -> Value {
    call("edit", json!({"path": "a.txt", "old_text": "typed", "new_text": "mended"}))
}

fn prompt_once(place: &Place, ide: Ide, script: &[Value]) -> impl Future<Output = Ide> {
    edit(place, scripted(script), ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.prompt(&session, "Go").await.unwrap(), StopReason::EndTurn);
    })
}

fn output(ide: &Ide, tool: &str) -> String {
    ide.call(tool)["rawOutput"].to_string()
}

// C-73: what a person typed and did not save is read, edited, and put back
#[tokio::test]
async fn an_unsaved_text_is_read_edited_written_and_put_back() {
    let place = Place::with(Mode::Full);
    let file = place.write("a.txt", "saved\n");
    let ide = Ide::new(&place, Person::Waits, Saves::Exactly);
    ide.buffers.lock().unwrap().insert(file.clone(), "saved\ntyped\n".into());
    let script = [
        call("read", json!({"path": "a.txt"})),
        json!({"expect": "typed", "calls": edited()["calls"]}),
        json!({"say": "Mended."}),
    ];
    let ide = edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        assert_eq!(ide.prompt(&session, "Mend it").await.unwrap(), StopReason::EndTurn);
        assert_eq!(place.read("a.txt").as_deref(), Some("saved\nmended\n"));
        assert!(ide.buffers.lock().unwrap().is_empty(), "the editor has saved it");
        let diff =
            json!({"type": "diff", "path": file, "oldText": "saved\ntyped\n", "newText": "saved\nmended\n"});
        assert_eq!(ide.call("edit")["content"][0], diff);
        // Undo comes from outside: here through the engine's own handle.
        let engine = place.engines.lock().unwrap()[0].clone();
        let open = engine.sessions().remove(0);
        let from = Seq(open.entries().last().unwrap().seq.0 + 1);
        let mut events = Box::pin(open.events(from));
        open.send(Command::Rewind { to: Seq(0) }).unwrap();
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            let Fact::Rewound { changes, conflicts, .. } = &entry.fact else { continue };
            assert_eq!((changes.len(), conflicts.len()), (1, 0));
            break;
        }
        assert_eq!(place.read("a.txt").as_deref(), Some("saved\ntyped\n"));
    })
    .await;
    let files = ide.files.lock().unwrap();
    assert_eq!(files.iter().filter(|one| *one == "write a.txt").count(), 2, "{files:?}");
    let left = std::fs::read_dir(place.home().0.join("sessions")).unwrap().flatten().next().unwrap();
    let views = std::fs::read_dir(left.path().join("blobs")).unwrap().flatten();
    let views = views.filter(|one| one.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(views.count(), 0, "private copies go with their views");
}

#[tokio::test]
async fn whatever_an_editor_does_with_a_text_the_disk_holds_what_was_recorded() {
    // How it saves; what is typed and not saved; what then lies on disk; what the call says; the notes.
    let typed = Some("saved\ntyped\n");
    let table = [
        (Saves::Exactly, None, "typed\n", "mended\n", "", 0),
        (Saves::Exactly, typed, "saved\n", "saved\nmended\n", "", 0),
        (Saves::Formatted, None, "typed\n", "mended\n", "", 1),
        (Saves::Formatted, typed, "saved\n", "saved\nmended\n", "", 1),
        (Saves::InBufferOnly, None, "typed\n", "mended\n", "", 1),
        (Saves::Fails, None, "typed\n", "mended\n", "", 1),
        (Saves::Fails, typed, "saved\n", "saved\n", "save it, then try again", 0),
        (Saves::Nothing, None, "typed\n", "mended\n", "", 0),
        (Saves::Exactly, Some("typed\nmore\n"), "typed\r\n", "mended\r\nmore\r\n", "", 0),
        (Saves::Exactly, Some("typed\n"), "typed\r\n", "mended\r\n", "", 0),
    ];
    for (row, (saves, buffer, disk, expected, said, notes)) in table.into_iter().enumerate() {
        let place = Place::with(Mode::Full);
        let file = place.write("a.txt", disk);
        let ide = Ide::new(&place, Person::Waits, saves);
        ide.buffers.lock().unwrap().extend(buffer.map(|text| (file, text.to_owned())));
        let ide = prompt_once(&place, ide, &[edited(), json!({"say": "Done."})]).await;
        assert_eq!(place.read("a.txt").as_deref(), Some(expected), "row {row}");
        let call = ide.call("edit");
        let status = if said.is_empty() { "completed" } else { "failed" };
        assert!(call["status"] == status && call.to_string().contains(said), "row {row}: {call}");
        assert_eq!(place.notes.lock().unwrap().len(), notes, "row {row}: {:?}", place.notes.lock().unwrap());
    }
}

// C-17, C-73: whether a text that the editor does not show is saved is unknown
#[tokio::test]
async fn what_the_editor_does_not_show_it_does_not_write() {
    const BUSY: i32 = -32603;
    const NOT_FOUND: i32 = -32002;
    let whole = call("write", json!({"path": "a.txt", "content": "typed\n"}));
    // The error; what is on disk, before and after; what the editor wrote; the call's end.
    let table = [
        (BUSY, Some("typed\n"), Some("typed\n"), 0, "which may not be saved"),
        (NOT_FOUND, Some("typed\n"), Some("mended\n"), 0, "completed"),
        (BUSY, None, Some("typed\n"), 0, "completed"),
        (NOT_FOUND, None, Some("typed\n"), 1, "completed"),
    ];
    for (row, (code, disk, expected, writes, said)) in table.into_iter().enumerate() {
        let place = Place::with(Mode::Full);
        let file = place.work().join("a.txt");
        disk.map(|text| place.write("a.txt", text));
        let ide = Ide::new(&place, Person::Waits, Saves::Blind(code));
        ide.buffers.lock().unwrap().insert(file.clone(), "typed\nand not saved\n".into());
        let (tool, made) = if disk.is_some() { ("edit", edited()) } else { ("write", whole.clone()) };
        let read = call("read", json!({"path": "a.txt"}));
        let ide = prompt_once(&place, ide, &[read, made, json!({"say": "Done."})]).await;
        assert_eq!(place.read("a.txt").as_deref(), expected, "row {row}");
        let told = ide.call(tool).to_string();
        assert!(told.contains(said), "row {row}: {told}");
        let written = ide.files.lock().unwrap().iter().filter(|one| one.starts_with("write")).count();
        assert_eq!(written, writes, "row {row}");
    }
}

// C-17
#[tokio::test]
async fn what_a_person_typed_is_not_replaced_unread() {
    let place = Place::with(Mode::Full);
    let file = place.write("a.txt", "saved\n");
    let ide = Ide::new(&place, Person::Waits, Saves::Exactly);
    ide.buffers.lock().unwrap().insert(file, "typed\n".into());
    let whole = call("write", json!({"path": "a.txt", "content": "whole\n"}));
    let script = [
        call("read", json!({"path": "b.txt"})),
        whole.clone(),
        call("read", json!({"path": "a.txt"})),
        json!({"expect": "typed", "calls": whole["calls"]}),
        json!({"say": "Done."}),
    ];
    let ide = prompt_once(&place, ide, &script).await;
    let ended: Vec<Value> =
        ide.updates.lock().unwrap().iter().filter(|one| one["status"] == "failed").cloned().collect();
    assert_eq!(ended.len(), 2, "the file that is not there, and the one that was not read: {ended:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("whole\n"));
}

#[tokio::test]
async fn what_is_typed_while_a_call_asks_is_not_lost() {
    for buffer in [None, Some("typed\nbefore\n")] {
        let place = Place::new();
        let file = place.write("a.txt", "typed\n");
        let ide = Ide::new(&place, Person::TypesFirst, Saves::Exactly);
        ide.buffers.lock().unwrap().extend(buffer.map(|text| (file.clone(), text.to_owned())));
        let ide = prompt_once(&place, ide, &[edited(), json!({"say": "Done."})]).await;
        assert_eq!(place.read("a.txt").as_deref(), Some("typed\n"), "{buffer:?}");
        assert_eq!(ide.buffers.lock().unwrap()[&file], "typed meanwhile\n", "{buffer:?}");
        let call = ide.call("edit");
        assert!(call["status"] == "failed" && call.to_string().contains("changed"), "{call}");
    }
}

#[tokio::test]
async fn a_file_may_be_in_the_editor_alone() {
    let place = Place::with(Mode::Full);
    let ide = Ide::new(&place, Person::Waits, Saves::Exactly);
    ide.buffers.lock().unwrap().insert(place.work().join("a.txt"), "typed\n".into());
    let ide = prompt_once(&place, ide, &[edited(), json!({"say": "Done."})]).await;
    assert_eq!(
        (place.read("a.txt").as_deref(), ide.call("edit")["status"].as_str()),
        (Some("mended\n"), Some("completed"))
    );
}

#[tokio::test]
async fn an_editor_may_know_the_folder_by_another_path() {
    let place = Place::with(Mode::Full);
    place.write("a.txt", "saved\n");
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink(place.work(), &link).unwrap();
    let ide = Ide { work: link.clone(), ..Ide::new(&place, Person::Waits, Saves::Exactly) };
    ide.buffers.lock().unwrap().insert(link.join("a.txt"), "typed\n".into());
    let ide = prompt_once(&place, ide, &[edited(), json!({"say": "Done."})]).await;
    assert_eq!(place.read("a.txt").as_deref(), Some("mended\n"));
    let call = ide.call("edit");
    assert_eq!(call["content"][0]["path"], json!(link.join("a.txt")));
    assert_eq!(call["locations"][0]["path"], json!(link.join("a.txt")));
}

// What stands in the manual: folders and commands see the disk
#[tokio::test]
async fn folders_and_commands_see_the_disk() {
    let place = Place::with(Mode::Full);
    let file = place.write("a.txt", "saved\n");
    let ide = Ide::new(&place, Person::Waits, Saves::Exactly);
    ide.buffers.lock().unwrap().insert(file, "typed\n".into());
    let script = [
        call("grep", json!({"pattern": "saved|typed"})),
        call("bash", json!({"command": "cat a.txt"})),
        json!({"say": "Done."}),
    ];
    let ide = prompt_once(&place, ide, &script).await;
    assert!(output(&ide, "grep").contains("saved") && !output(&ide, "grep").contains("typed"));
    assert!(output(&ide, "bash").contains("saved"));
}
