//! Servers that a project's files name: they are offered once, start never by themselves, and are taken by name.
use crate::kit::{Place, terminal::Terminal};
use serde_json::{Value, json};

/// Names a program that leaves a file where it starts.
fn offering(place: &Place, names: &[&str]) {
    let server = |name: &&str| (name.to_string(), json!({"command": "sh", "args": ["-c", "touch started"]}));
    let servers: serde_json::Map<String, Value> = names.iter().map(server).collect();
    place.write(".mcp.json", json!({"mcpServers": servers}).to_string());
}

/// Opens a session on the screen or line by line, says something, and returns what stood there.
fn session(place: &Place, options: &str) -> Option<String> {
    let terminal = Terminal::open(place, (160, 40))?;
    terminal.haft(place, &format!("{options} --model script/../model.jsonl"));
    terminal.see(if options.is_empty() { "what to do?" } else { "Type `/help`" });
    terminal.say("hi");
    let seen = terminal.see("Hello from the model");
    terminal.say(if options.is_empty() { "/quit" } else { "exit" });
    terminal.see("left 0");
    Some(seen)
}

#[test]
fn servers_of_a_project_are_offered_once_and_never_start() {
    for options in ["", "chat"] {
        let place = Place::new();
        place.script("model.jsonl", &[json!({"say": "Hello from the model"})]);
        let offer = |names: &str| {
            format!("`.mcp.json` of this project: MCP server{names}, not started; `haft mcp import`")
        };
        let (one, two) = (offer(" `docs`"), offer("s `docs`, `more`"));
        let seen = |expected: &str, shown: &str| shown.replace("\n", " ").contains(expected);
        offering(&place, &["docs"]);
        let Some(first) = session(&place, options) else { return };
        assert!(seen(&one, &first), "{options}: {first}");
        let again = session(&place, options).unwrap();
        assert!(!again.contains(".mcp.json"), "{options}: {again}");
        offering(&place, &["docs", "more"]);
        let changed = session(&place, options).unwrap();
        assert!(seen(&two, &changed), "{options}: {changed}");
        for name in ["docs", "more"] {
            assert_eq!(place.run(&["mcp", "import", name]).code, 0);
        }
        std::fs::remove_file(place.path().join("home/mcp-offers")).unwrap();
        assert!(place.read("started").is_none(), "a server was started without consent");
    }
}

#[test]
fn a_server_of_a_project_is_shown_and_taken() {
    let place = Place::new();
    let server = json!({"command": "npx", "args": ["-y", "docs"], "env": {"KEY": "${DOCS_KEY}"}});
    place.write(
        ".mcp.json",
        json!({"mcpServers": {
            "docs": server, "bad name": server, "empty": {},
            "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
            "asks": {"command": "npx", "env": {"KEY": "${input:key}"}},
            "placed": {"command": "${HOME}/bin/docs"},
        }})
        .to_string(),
    );
    place.write(
        ".cursor/mcp.json",
        json!({"mcpServers": {"docs": {"url": "http://127.0.0.1:9/x"}}}).to_string(),
    );
    place.write(
        ".vscode/mcp.json",
        json!({"servers": {"web": {"url": "http://127.0.0.1:9/mcp"}}}).to_string(),
    );
    let shown = place.run(&["mcp", "import", "--json"]);
    for fault in [
        "`bad name` in `.mcp.json` was ignored: its name has",
        "`empty` in `.mcp.json` was ignored: it needs",
        "`old` in `.mcp.json` was ignored: it speaks SSE",
        "`asks` in `.mcp.json` was ignored: it has `${input:…}`",
        "`placed` in `.mcp.json` was ignored: it has a variable outside of `env` and `headers`",
    ] {
        assert!(shown.err.contains(fault), "{shown:?}");
    }
    let expected = [
        json!({"name": "docs", "target": "npx -y docs", "environment": {"KEY": "${DOCS_KEY}"}, "headers": {}, "file": ".mcp.json"}),
        json!({"name": "web", "target": "http://127.0.0.1:9/mcp", "environment": {}, "headers": {}, "file": ".vscode/mcp.json"}),
    ];
    assert_eq!(shown.events(), expected);
    let missing = place.run(&["mcp", "import", "nothing"]);
    assert!(
        missing.code == 2 && missing.err.contains("names an MCP server `nothing`\nhint: they name docs, web"),
        "{missing:?}"
    );
    let taken = place.run(&["mcp", "import", "docs"]);
    assert!(taken.code == 0 && taken.err.starts_with("Added `docs` of `"), "{taken:?}");
    let written = std::fs::read_to_string(place.path().join("person/.config/haft/config.toml")).unwrap();
    let expected = "[mcp.docs]\ncommand = \"npx\"\narguments = [\"-y\", \"docs\"]\nenvironment = { KEY = \"${DOCS_KEY}\" }\n";
    assert!(written.contains(expected), "{written}");
    let again = place.run(&["mcp", "import", "docs"]);
    assert!(again.code == 2 && again.err.contains("has an MCP server `docs` already"), "{again:?}");
    let left = place.run(&["mcp", "import", "--json"]).events();
    assert_eq!(left.iter().map(|server| &server["name"]).collect::<Vec<_>>(), ["web"]);
}

// H-148
#[test]
fn servers_of_the_persons_other_systems_are_shown_without_their_keys_and_taken() {
    let place = Place::new();
    let own = |name: &str, text: String| {
        let file = place.path().join("person").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let docs = json!({"command": "npx", "args": ["docs"], "env": {"KEY": "sk-hidden"}});
    let here = place.work().canonicalize().unwrap().display().to_string();
    let projects =
        json!({here: {"mcpServers": {"here": {"command": "here"}}}, "/other": {"mcpServers": {"not": docs}}});
    own(".claude.json", json!({"mcpServers": {"docs": docs}, "projects": projects}).to_string());
    let codex = "model = \"x\"\n[mcp_servers.linear]\nurl = \"http://127.0.0.1:9/mcp\"\nbearer_token_env_var = \"LINEAR\"\n\
                 http_headers = { A = \"b\" }\n[mcp_servers.off]\ncommand = \"off\"\nenabled = false\n";
    own(".codex/config.toml", codex.to_owned());
    let gemini =
        json!({"new": {"httpUrl": "http://127.0.0.1:9/new"}, "old": {"url": "http://127.0.0.1:9/old"}});
    own(".gemini/settings.json", json!({"mcpServers": gemini}).to_string());
    let opencode = json!({
        "local": {"type": "local", "command": ["uvx", "a b"], "environment": {"X": "1"}},
        "docs": {"type": "remote", "url": "http://127.0.0.1:9/x"},
    });
    own(".config/opencode/opencode.json", json!({"mcp": opencode}).to_string());
    own(".cursor/mcp.json", "{".to_owned());
    let shown = place.run(&["mcp", "import", "--json"]);
    assert!(shown.err.contains("/old` was") || shown.err.contains("`old` in `"), "{shown:?}");
    assert!(shown.err.contains(".cursor/mcp.json` was ignored: EOF"), "{shown:?}");
    let all = shown.events();
    let told: Vec<(&str, &str)> =
        all.iter().map(|each| (each["name"].as_str().unwrap(), each["target"].as_str().unwrap())).collect();
    let expected = [
        ("here", "here"),
        ("docs", "npx docs"),
        ("linear", "http://127.0.0.1:9/mcp"),
        ("new", "http://127.0.0.1:9/new"),
        ("local", "uvx a b"),
    ];
    assert_eq!(told, expected);
    assert!(all[1]["environment"] == json!({"KEY": "…"}) && !shown.out.contains("hidden"), "{shown:?}");
    assert!(!place.run(&["mcp", "import"]).out.contains("hidden"));
    for name in ["docs", "linear", "local"] {
        assert_eq!(place.run(&["mcp", "import", name]).code, 0, "{name}");
    }
    let written = std::fs::read_to_string(place.path().join("person/.config/haft/config.toml")).unwrap();
    for expected in [
        "[mcp.docs]\ncommand = \"npx\"\narguments = [\"docs\"]\nenvironment = { KEY = \"sk-hidden\" }\n",
        "headers = { A = \"b\", Authorization = \"Bearer ${LINEAR}\" }\n",
        "[mcp.local]\ncommand = \"uvx\"\narguments = [\"a b\"]\nenvironment = { X = \"1\" }\n",
    ] {
        assert!(written.contains(expected), "{expected}: {written}");
    }
    let old = place.run(&["mcp", "import", "old"]);
    assert!(old.code == 2 && old.err.contains("settings.json`: it speaks SSE"), "{old:?}");
}

#[test]
fn a_file_of_servers_that_is_none_is_a_note() {
    let place = Place::new();
    for (written, why) in [
        ("[]", ".mcp.json` was ignored: invalid type: sequence"),
        ("5", ".mcp.json` was ignored: invalid type: integer `5`"),
        ("{\"mcpServers\": 5}", "`mcpServers` in `"),
        ("{}", ""),
    ] {
        place.write(".mcp.json", written);
        let ran = place.run(&["mcp", "import"]);
        assert!(ran.code == 0 && ran.err.contains(why), "{written}: {ran:?}");
    }
}

#[test]
fn an_address_that_is_none_of_http_is_not_taken_for_a_program() {
    let place = Place::new();
    for target in ["ftp://host/x", "http://", "https:///"] {
        let ran = place.run(&["mcp", "add", "one", target]);
        assert!(ran.code == 2 && ran.err.contains("`http://HOST…` or `https://HOST…`"), "{target}: {ran:?}");
    }
    assert!(place.run(&["mcp", "list"]).out.starts_with("There are no MCP servers"));
}
