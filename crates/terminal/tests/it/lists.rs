//! A person chooses from a list: by arrows, or by typing a part of it.
use crate::kit::{Begin, Person, say};
use haft_core::Mode;
use haft_present::host::SavedPrompt;

async fn idle(size: (u16, u16)) -> Person {
    let files = vec![("src/screen.rs", "x\n".to_owned()), ("readme.md", "x\n".to_owned())];
    Begin { size, files, ..Begin::default() }.with(&[say("I see it.")]).await
}

#[tokio::test]
async fn slash_commands_are_listed_and_the_beginning_of_one_is_enough() {
    let mut person = idle((60, 24)).await;
    person.type_in("/");
    insta::assert_snapshot!("slash_commands", person.screen());
    person.keys("Esc Backspace");
    for (typed, expected) in
        [("/mo", "model:"), ("/mod", "model:"), ("/model", "model:"), ("/mode", "mode:"), ("/th", "theme:")]
    {
        person.say(typed);
        assert!(person.screen().contains(expected), "{typed}: {}", person.screen());
        person.keys("Esc");
        assert!(person.screen().contains("what to do?"), "{typed}: {}", person.screen());
    }
    for (typed, expected) in [
        ("/m", "❯ /model  "),
        ("/mod", "❯ /model  "),
        ("/mode", "❯ /mode  "),
        ("/model", "❯ /model  "),
        ("/co", "❯ /compact  "),
        ("/cop", "❯ /copy  "),
        ("/perm", "❯ /permissions  "),
    ] {
        person.type_in(typed);
        assert!(person.screen().contains(expected), "{typed}: {}", person.screen());
        person.keys("Ctrl+U");
    }
    for (command, said) in [
        ("/tasks", "no background command or subagent is running"),
        ("/rewind", "no earlier prompt to go back to"),
        ("/sessions", "no other session in this directory"),
        ("/undo", "nothing to undo"),
        ("/copy", "no reply to copy yet"),
    ] {
        person.say(command);
        person.see(said).await;
    }
}

#[tokio::test]
async fn saved_prompts_are_slash_commands_too() {
    let saved = |name: &str, description: &str| SavedPrompt {
        name: name.into(),
        description: description.into(),
        file: "prompt.md".into(),
    };
    let prompts = vec![saved("greet", "says hello"), saved("review", "my own review")];
    let mut person = Begin { prompts, ..Begin::default() }.with(&[say("Hello.")]).await;
    person.type_in("/gre");
    assert!(person.screen().contains("❯ /greet  says hello"), "{}", person.screen());
    person.keys("Tab Enter");
    person.see("> Say hello.").await;
    person.see("Hello.").await;
}

#[tokio::test]
async fn a_theme_is_chosen() {
    let mut person = idle((60, 24)).await;
    person.say("/theme");
    insta::assert_snapshot!("themes", person.screen());
    person.keys("↓ Enter");
    person.see("theme: dark").await;
    person.say("/theme nosuch");
    person.see("choose one of: terminal, dark, light, plain").await;
}

/// A model is chosen with its effort; one without effort says so.
#[tokio::test]
async fn a_model_is_chosen_with_its_effort() {
    let mut person = idle((90, 24)).await;
    person.say("/model");
    person.type_in("gpt");
    insta::assert_snapshot!("models", person.screen());
    for (keys, effort) in [
        ("→", "effort: low"),
        ("→ →", "effort: high"),
        ("→ → →", "effort: high"),
        ("←", "effort: medium"),
        ("← ← ←", "effort: default"),
        ("→ →", "effort: medium"),
    ] {
        person.keys(keys);
        assert!(person.screen().contains(effort), "{keys}: {}", person.screen());
    }
    person.keys("Enter");
    person.see("now using openai/gpt-5, effort medium").await;
    person.see("openai/gpt-5 · medium · ask").await;
    person.say("/model");
    person.type_in("4.1");
    assert!(person.screen().contains("no effort setting"), "{}", person.screen());
    person.keys("Backspace Backspace Backspace");
    person.type_in("zzz");
    assert!(person.screen().contains("no matches"), "{}", person.screen());
    person.keys("Esc");
    person.say("/model openai/gpt-5 high");
    person.see("effort high").await;
}

/// Each list begins on what holds now, says so, and Enter leaves all as it is.
#[tokio::test]
async fn a_list_begins_on_what_holds_now() {
    let begin = Begin { size: (100, 30), mode: Mode::AcceptEdits, ..Begin::default() };
    let mut person = begin.with(&[say("unheard")]).await;
    for (command, row) in [
        ("/mode", "❯ accept-edits  current · "),
        ("/permissions", "❯ accept-edits  current · "),
        ("/theme", "❯ terminal  current"),
        ("/model", "❯ script/test     current"),
        ("/agent", "❯ haft    current · the default"),
    ] {
        person.say(command);
        let screen = person.see("❯ ").await;
        assert!(screen.lines().any(|line| line.starts_with(row)), "{command}: {screen}");
        person.keys("Enter");
        let screen = person.see("what to do?").await;
        assert!(!screen.contains("theme:") && screen.contains("script/test · accept-edits"), "{screen}");
    }
    person.say("/mode");
    for (keys, expected) in
        [("r e a d", "❯ read-only"), ("Backspace Backspace Backspace Backspace", "❯ accept-edits")]
    {
        person.keys(keys);
        assert!(person.screen().contains(expected), "{keys}: {}", person.screen());
    }
    person.keys("↑ Enter");
    person.see("script/test · ask").await;
    person.say("/mode");
    assert!(person.screen().contains("❯ ask           current"), "{}", person.screen());
}

#[tokio::test]
async fn another_agent_is_chosen() {
    let mut person = idle((80, 24)).await;
    person.say("/agent");
    person.keys("↓ Enter");
    person.see("agent helper").await;
}

#[tokio::test]
async fn files_are_completed() {
    let mut person = idle((60, 24)).await;
    for (typed, expected) in [("@", "❯ readme.md"), ("@rea", "❯ readme.md"), ("@zzz", "> @zzz\n  script")]
    {
        person.type_in(typed);
        person.see(expected).await;
        person.keys("Ctrl+U");
    }
    person.type_in("look at @scr");
    insta::assert_snapshot!("files", person.see("❯ src/screen.rs").await);
    person.keys("Tab");
    assert!(person.screen().contains("look at @src/screen.rs"), "{}", person.screen());
    person.keys("Enter");
    person.see("I see it.").await;
}

#[tokio::test]
async fn earlier_prompts_are_searched() {
    let mut person = Begin::default().with(&[say("One."), say("Two.")]).await;
    for (prompt, reply) in [("the first prompt", "One."), ("another", "Two.")] {
        person.say(prompt);
        person.see(reply).await;
        person.no_longer_see("Esc to interrupt").await;
    }
    person.keys("Ctrl+R");
    person.type_in("fir");
    insta::assert_snapshot!("history", person.screen());
    person.keys("Enter");
    assert!(person.screen().contains("\n> the first prompt\n  script"), "{}", person.screen());
}

/// A session is found by its title, its model or its ID, and what was said last in it is seen before it is chosen.
#[tokio::test]
async fn a_session_is_found_and_looked_at_before_it_is_chosen() {
    let script = [say("I see it."), say("That, too.")];
    let mut person = Begin { size: (100, 24), ..Begin::default() }.with(&script).await;
    for prompts in [["count the files", "and the lines"], ["draw a fox", "in blue"]] {
        for prompt in prompts {
            person.say(prompt);
            person.see(&format!("> {prompt}")).await;
            person.no_longer_see("Esc to interrupt").await;
        }
        for command in ["/model ollama/qwen", "/new"] {
            person.say(command);
            person.see("opening …").await;
            person.no_longer_see("opening …").await;
        }
    }
    let table = [
        ("", "❯ draw a fox  "),
        ("files", "❯ count the files  "),
        ("cntfls", "❯ count the files  "),
        ("qwen", "❯ draw a fox  "),
        ("FOX qwen", "❯ draw a fox  "),
        // Letters that are spread over what is said about a session are no match.
        ("wtso", "no matches"),
        ("script/test", "❯ count the files  "),
        ("nosuch", "no matches"),
    ];
    for (typed, expected) in table {
        person.say("/sessions");
        person.type_in(typed);
        let screen = person.see(expected).await;
        assert!(typed.is_empty() || screen.matches(" turns · ").count() <= 1, "{typed}: {screen}");
        person.keys("Esc");
    }
    person.say("/sessions");
    let screen = person.see("2 turns · ollama/qwen").await;
    assert!(screen.contains("  > in blue\n"), "{screen}");
    person.keys("↓");
    let screen = person.see("  > and the lines\n").await;
    assert!(!screen.contains("  > in blue"), "{screen}");
    person.keys("Enter");
    person.see("> count the files").await;
}

#[tokio::test]
async fn sessions_are_renamed_and_deleted_in_the_list() {
    let script = [say("I see it."), say("That, too.")];
    let mut person = Begin { size: (80, 24), ..Begin::default() }.with(&script).await;
    for prompt in ["draw a fox", "count the files"] {
        person.say(prompt);
        person.see(&format!("> {prompt}")).await;
        person.no_longer_see("Esc to interrupt").await;
        person.say("/new");
        person.see("opening …").await;
        person.no_longer_see("opening …").await;
    }
    person.say("/sessions");
    person.see("❯ count the files").await;
    person.keys("Ctrl+R");
    assert!(person.screen().contains("Enter confirm · Esc cancel"), "{}", person.screen());
    person.keys("m i n e Esc");
    assert!(person.screen().contains("❯ count the files"), "{}", person.screen());
    person.keys("Ctrl+R m i n x Backspace e Enter");
    person.see("❯ mine").await;
    // However long the key is held, each session takes a key of another kind.
    for (keys, expected) in [("Ctrl+D Ctrl+D x", "delete: for good"), ("Esc", "session: type to search")] {
        person.keys(keys);
        let screen = person.screen();
        assert!(screen.contains(expected) && screen.contains("❯ mine"), "{keys}: {screen}");
    }
    person.keys("Ctrl+D Enter");
    let screen = person.see("❯ draw a fox").await;
    assert!(!screen.contains("mine"), "{screen}");
    person.keys("Ctrl+D Enter");
    person.see("what to do?").await;
    person.say("/sessions");
    person.see("no other session in this directory").await;
}
