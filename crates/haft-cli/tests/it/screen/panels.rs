//! Commands of a conversation that show or write something about it: panels, prompts for the model, files, pictures.

use crate::kit::{Place, Server, bare_terminal::BareTerminal, openai_text, terminal::Terminal};
use serde_json::{Value, json};

fn opened(place: &Place, size: (u16, u16), script: &[Value], more: &str) -> Option<Terminal> {
    place.script("model.jsonl", script);
    let terminal = Terminal::open(place, size)?;
    terminal.haft(place, &format!("--model script/../model.jsonl {more}"));
    terminal.see("what to do?");
    Some(terminal)
}

/// Each panel is left with Esc, and what was being typed is still there.
#[test]
fn panels_are_left_with_escape() {
    let place = Place::new();
    place.configure("[rules]\nallow = [\"execute:make *\"]\n");
    place.write("AGENTS.md", "Be brief. ".repeat(40));
    let usage = json!({"input": 4_000, "output": 100});
    let script = [
        json!({"calls": [{"name": "list", "arguments": {"path": "."}}], "usage": usage}),
        json!({"say": "Listed.", "usage": usage}),
    ];
    let Some(terminal) = opened(&place, (120, 30), &script, "") else { return };
    terminal.say("list it");
    terminal.see("Listed.");
    let panels: [(&str, &[&str]); 4] = [
        ("/help", &["/model [SPEC]", "keys", "Shift+Tab", "Esc or q to close"]),
        ("/context", &["4.1k tokens", "system prompt", "tools", "notes", "messages", "results", "█"]),
        ("/permissions", &["allow execute:make *", "mode: ask", "❯ ask"]),
        ("/mcp", &["no MCP server is configured"]),
    ];
    for (command, expected) in panels {
        terminal.say(command);
        let screen = terminal.see(expected[expected.len() - 1]);
        assert!(expected.iter().all(|part| screen.contains(part)), "{command}: {screen}");
        terminal.keys(&["Escape"]);
        let screen = terminal.see("what to do?");
        assert!(screen.contains("Listed."), "{command}: {screen}");
    }
    terminal.say("/help");
    // Commands and keys stand beside each other.
    let screen = terminal.see("Esc or q to close");
    assert!(screen.lines().any(|line| line.starts_with("commands") && line.contains("keys")), "{screen}");
    terminal.keys(&["Escape"]);
    terminal.see("what to do?");
    terminal.say("/permissions");
    terminal.see("❯ ask");
    terminal.keys(&["Down", "Enter"]);
    terminal.see("· accept-edits");
    terminal.say("/theme nosuch");
    terminal.see("choose one of: terminal, dark, light, plain");
}

/// All models of a vendor whose key is there, as its server lists them, with window and price; found by typing.
#[test]
fn models_are_listed_by_their_servers() {
    let place = Place::new();
    let server = Server::start(vec![openai_text("From the house.")]);
    place.configure(&format!("[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"k\"\n", server.address));
    let Some(terminal) = opened(&place, (120, 30), &[json!({"say": "unheard"})], "") else { return };
    terminal.say("/model");
    let screen = terminal.see("house-model");
    assert!(screen.find("house-model") < screen.find("/…"), "{screen}");
    terminal.keys(&["-l", "gpt"]);
    let screen = terminal.see("❯ openai/gpt-5");
    assert!(screen.contains("272k window · $1.25 in, $10 out per million"), "{screen}");
    terminal.keys(&["BSpace", "BSpace", "BSpace"]);
    terminal.keys(&["-l", "house"]);
    terminal.see("❯ openai/house-model");
    terminal.keys(&["Enter"]);
    terminal.see("now using openai/house-model");
    terminal.say("hello");
    terminal.see("From the house.");
}

/// Servers with their state and their tools.
#[test]
fn mcp_servers_are_listed_with_their_tools() {
    let place = Place::new();
    let own = env!("CARGO_BIN_EXE_haft");
    let arguments = "[\"mcp\", \"--no-agents\", \"--expose\", \"read\", \"--model\", \"script/x\"]";
    place.script("work/x", &[json!({"say": "unheard"})]);
    place.configure(&format!(
        "[mcp.own]\ncommand = \"{own}\"\narguments = {arguments}\n[mcp.gone]\ncommand = \"no-such-program\"\n"
    ));
    let Some(terminal) = opened(&place, (120, 30), &[json!({"say": "unheard"})], "") else { return };
    terminal.say("/mcp");
    let screen = terminal.see("Esc or q to close");
    assert!(screen.contains("✓ own  1 tool\n    mcp__own__read"), "{screen}");
    assert!(screen.contains("✗ gone  ") && screen.contains("no-such-program"), "{screen}");
}

/// The model is told what to do, and a prompt of the person's own goes before ours.
#[test]
fn review_and_init_are_prompts_and_export_writes_a_file() {
    for how in ["", "chat"] {
        let place = Place::new();
        let server = Server::start(vec![openai_text("Understood.")]);
        let Some(terminal) = Terminal::open(&place, (120, 40)) else { return };
        terminal.haft(&place, &format!("{how} --model llamacpp/any --base-url {}/v1", server.address));
        terminal.see(if how.is_empty() { "what to do?" } else { "to leave." });
        let said = || server.asked().pop().unwrap_or_default()["messages"].to_string();
        for (round, (say, told)) in [
            ("/init", "Write an `AGENTS.md`"),
            ("/review the last commit", "What to review: the last commit"),
        ]
        .into_iter()
        .enumerate()
        {
            terminal.say(say);
            crate::kit::terminal::poll(|| server.asked().len() > round, || say.to_owned());
            terminal.see("Understood.");
            assert!(said().contains(told), "{say}: {}", said());
            terminal.no_longer_see("Esc to interrupt");
        }
        terminal.say("/export talk.md");
        terminal.see("written to");
        let exported = place.read("talk.md").unwrap_or_default();
        assert!(exported.contains("## Prompt") && exported.contains("Understood."), "{exported}");
        terminal.say("/export talk.md");
        terminal.see("cannot export to");
        assert_eq!(place.read("talk.md").as_deref(), Some(exported.as_str()));
    }
}

#[test]
fn panels_have_their_lines_in_chat_too() {
    let place = Place::new();
    place.configure("[rules]\nallow = [\"execute:make *\"]\n");
    place.script("model.jsonl", &[json!({"say": "unheard"})]);
    let ran = place.run_with_input(
        &["chat", "--model", "script/../model.jsonl"],
        b"/context\n/permissions\n/mcp\n/status\n/diff\n/config\n/login\nexit\n",
    );
    let lines = [
        "  system prompt  ",
        "allow execute:make *",
        "mode ask",
        "no MCP server is configured",
        "  model        script/",
        "  MCP servers  none",
        "no file was changed in this session",
        "/haft/config.toml\n",
        "there is no terminal to type a key at",
    ];
    for line in lines {
        assert!(ran.err.contains(line), "{line} in {}", ran.err);
    }
}

/// What is said in a copy is not said in the session that it was made of.
#[test]
fn a_fork_goes_on_in_a_copy() {
    for how in ["", "chat"] {
        let place = Place::new();
        place.script("model.jsonl", &[json!({"say": "The first."}), json!({"say": "Only in the copy."})]);
        let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
        terminal.haft(&place, &format!("{how} --model script/../model.jsonl"));
        terminal.see(if how.is_empty() { "what to do?" } else { "to leave." });
        terminal.say("one");
        terminal.see("The first.");
        terminal.no_longer_see("Esc to interrupt");
        let first = place.journal();
        terminal.say("/fork");
        let sessions = place.path().join("home/sessions");
        let count = || std::fs::read_dir(&sessions).map_or(0, Iterator::count);
        crate::kit::terminal::poll(|| count() == 2, || format!("{} sessions", count()));
        terminal.say("two");
        terminal.see("Only in the copy.");
        let journal = std::fs::read_to_string(first).unwrap();
        assert!(journal.contains("The first.") && !journal.contains("Only in the copy."), "{how}: {journal}");
    }
}

/// One red pixel.
const RED: [u8; 69] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144,
    119, 83, 222, 0, 0, 0, 12, 73, 68, 65, 84, 8, 215, 99, 248, 207, 192, 0, 0, 3, 1, 1, 0, 24, 221, 141,
    176, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

/// A picture is drawn where the terminal can, and told of in a line elsewhere.
#[test]
fn a_picture_is_drawn_where_the_terminal_can() {
    let table = [
        ("xterm-kitty", "", Some("\u{1b}_Gf=100")),
        ("xterm", "WezTerm", Some("\u{1b}]1337;File=inline=1")),
        ("xterm", "", None),
    ];
    for (term, program, sequence) in table {
        let place = Place::new();
        place.write("red.png", RED);
        place.script("model.jsonl", &[json!({"say": "It is red."})]);
        let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
        terminal.say(&format!("export TERM={term} TERM_PROGRAM={program}"));
        terminal.haft(&place, "--model script/../model.jsonl");
        terminal.see("what to do?");
        let written = place.path().join("written");
        terminal.record(&written);
        terminal.keys(&["-l", "what is @red"]);
        terminal.see("❯ red.png");
        terminal.keys(&["Tab"]);
        terminal.see("[picture 1]");
        terminal.keys(&["Enter"]);
        terminal.see("(with 1 picture)");
        terminal.see("It is red.");
        let written = String::from_utf8_lossy(&std::fs::read(written).unwrap()).into_owned();
        let drawn = ["\u{1b}_G", "\u{1b}]1337;"].into_iter().any(|begin| written.contains(begin));
        assert_eq!(drawn, sequence.is_some(), "{term} {program}");
        assert!(sequence.is_none_or(|sequence| written.contains(sequence)), "{term} {program}");
    }
}

#[test]
fn a_picture_that_is_named_without_the_list_goes_along() {
    let place = Place::new();
    place.write("red.png", RED);
    place.write("red too.png", RED);
    let Some(terminal) = opened(&place, (80, 24), &[json!({"say": "It is red."})], "") else { return };
    std::fs::write(place.path().join("other.png"), RED).unwrap();
    std::os::unix::fs::symlink("../other.png", place.work().join("link.png")).unwrap();
    terminal.say("see @red.png, @gone.png, @../other.png @link.png @\"red too.png\" and a@red.png");
    let screen = terminal.see("It is red.");
    assert!(screen.contains("see @red.png, @gone.png") && screen.contains("(with 2 pictures)"), "{screen}");
}

#[test]
fn files_that_are_hidden_or_have_spaces_are_found() {
    let place = Place::new();
    let files = [".gitignore", ".github/checks.yml", "checks.md", ".env", "my notes.md"];
    for name in files {
        place.write(name, ".env\n");
    }
    let Some(terminal) = opened(&place, (80, 24), &[], "") else { return };
    for (typed, found, named) in [
        ("@checks", "❯ checks.md", "@checks.md "),
        ("@.chec", "❯ .github/checks.yml", "@.github/checks.yml "),
        ("@mynotes", "❯ my notes.md", "@\"my notes.md\" "),
    ] {
        terminal.keys(&["-l", typed]);
        terminal.see(found);
        terminal.keys(&["Tab"]);
        terminal.see(named.trim());
    }
    terminal.keys(&["-l", "@.env"]);
    let screen = terminal.see("@.env");
    assert!(!screen.contains("❯ .env"), "{screen}");
}

/// A terminal that says it can is sent sixels, one that cannot is not; it is asked once.
#[test]
fn a_picture_is_drawn_in_sixels_where_the_terminal_says_so() {
    const QUESTION: &str = "\u{1b}[c";
    for (answer, is_drawn) in [("62;4;22", true), ("62;22", false)] {
        let place = Place::new();
        place.write("red.png", RED);
        let replies = ["It is red.", "Still red."].map(|say| json!({"say": say}));
        place.script("model.jsonl", &replies);
        let Some(mut terminal) = BareTerminal::open(&place, "--model script/../model.jsonl") else { return };
        terminal.see("what to do?");
        for (round, reply) in ["It is red.", "Still red."].into_iter().enumerate() {
            terminal.send(&format!("\u{1b}[200~{}\u{1b}[201~", place.work().join("red.png").display()));
            terminal.see("[picture 1]");
            terminal.send("\r");
            if round == 0 {
                terminal.see(QUESTION);
                terminal.send(&format!("\u{1b}[?{answer}c"));
            }
            terminal.see(reply);
        }
        let written = terminal.written();
        assert_eq!(written.matches(QUESTION).count(), 1, "{answer}");
        let sixels = "\u{1b}P0;1q\"1;1;10;20#180;2;100;0;0#180!10~$-#180!10~$";
        assert_eq!(written.matches(sixels).count(), if is_drawn { 2 } else { 0 }, "{answer}: {written:?}");
    }
}
