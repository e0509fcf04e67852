//! Help, configuration, verdicts and lists: what a person reads before a model is asked. The real binary.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

fn configured(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("person/.config/haft/config.toml")).unwrap_or_default()
}

/// Names of topics, as `haft help topics` lists them.
fn topics(place: &Place) -> Vec<String> {
    let list = place.run(&["help", "topics"]).out;
    list.lines().skip(1).filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn help_has_a_page_for_each_topic_and_each_command() {
    let place = Place::new();
    let all = place.run(&["help"]);
    assert_eq!(all.code, 0, "{all:?}");
    assert!(place.run(&["help", "topics"]).out.lines().all(|line| line.len() < 80));
    let topics = topics(&place);
    let synonyms = ["sandbox", "hooks", "keys", "undo", "memory", "bash", "Hooks", "timeouts"];
    for topic in topics.iter().map(String::as_str).chain(synonyms) {
        let page = place.run(&["help", topic]);
        assert!(page.code == 0 && page.err.is_empty() && !page.out.contains('\x1b'), "{topic}: {page:?}");
        assert!(page.out.lines().all(|line| line.chars().count() <= 80), "{}", page.out);
        // The page of memory shows comments.
        let text = page.out.replace("<!-- haft: ", "");
        assert!(!text.contains(".md)") && !text.contains("<!--"), "{text}");
    }
    for topic in ["permissions", "sessions", "models", "configuration"] {
        assert!(
            topics.contains(&topic.to_owned()) && all.out.contains(&format!("  {topic} ")),
            "{}",
            all.out
        );
        assert!(place.run(&["help", topic]).out.to_lowercase().starts_with(topic));
    }
    assert!(place.run(&["--help"]).out.lines().count() <= 40);
    let bare = place.run(&[]);
    assert!(bare.code == 2 && bare.out.contains("Talk and work:"), "{bare:?}");
    assert!(bare.err.starts_with("error: there is no prompt, and no terminal to type one"), "{bare:?}");
    for (words, text) in [
        (&["help", "run"][..], "Usage: haft run"),
        (&["help", "jobs", "add"], "Usage: haft jobs add"),
        (&["help", "config", "set"], "Usage: haft config set"),
        // A page or a section, and how the command of this name is called.
        (&["help", "jobs"], "Options: `haft jobs --help`"),
        (&["help", "undo"], "Options: `haft undo --help`"),
        (&["help", "hooks"], "event = \"before_tool\""),
        (&["help", "hooks"], "The whole page: `haft help agents`"),
        (&["help", "demo", "model"], "What the demo model can and cannot do"),
        (&["help", "permissions"], "secrets (haft help secrets)"),
    ] {
        let page = place.run(words);
        assert!(page.code == 0 && page.out.contains(text), "{words:?}: {page:?}");
    }
    for (words, near) in [
        (&["help", "permisions"][..], "did you mean `permissions`?"),
        (&["help", "hoks"], "did you mean `hooks`?"),
        (&["help", "rum"], "did you mean `run`?"),
        (&["help", "jobs", "lst"], "did you mean `list`?"),
        (&["help", "no such words"], "hint: `haft help` lists commands and topics"),
    ] {
        let ran = place.run(words);
        assert!(ran.code == 2 && ran.err.contains(near), "{words:?}: {ran:?}");
    }
}

/// Every command that stands in an example on a page of help is one.
#[test]
fn the_pages_of_help_name_commands_that_there_are() {
    let place = Place::new();
    let mut count = 0;
    for topic in topics(&place) {
        let page = place.run(&["help", &topic]).out;
        for line in page.lines().filter_map(|line| line.strip_prefix("  haft ")) {
            let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
            let words: Vec<&str> = line.split_whitespace().take_while(is_word).collect();
            let ran = place.run(&[&words[..], &["--help"]].concat());
            assert!(ran.code == 0 && ran.out.contains("Usage: haft"), "{topic}: {line}: {ran:?}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_doctor_fits_80_columns_and_says_what_to_do() {
    let place = Place::new();
    let doctor = |path: &str| {
        let mut command = place.haft(&["doctor"]);
        for name in ["OLLAMA", "LLAMACPP", "VLLM", "LMSTUDIO"] {
            command.env(format!("{name}_BASE_URL"), "http://127.0.0.1:1/v1");
        }
        Ran::from(command.env("PATH", path).output().unwrap())
    };
    let path = std::env::var("PATH").unwrap();
    for ran in [doctor(&path), doctor("/nowhere")] {
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
        for line in [
            "missing  model: no model configured and no API key found\n           ",
            "\n           save a key: `haft login PROVIDER`",
        ] {
            assert!(ran.out.contains(line), "{}", ran.out);
        }
    }
    let nothing = doctor("/nowhere").out;
    assert!(nothing.contains("missing  git: not on the PATH\n           install Git: "), "{nothing}");
    let summary = nothing.lines().next_back().unwrap();
    assert!(summary.ends_with(" optional, 3 missing: model, shell, git"), "{nothing}");
    let objects = place.run(&["doctor", "--json"]).events();
    let of = |what: &str| objects.iter().find(|object| object["what"] == what).unwrap();
    assert_eq!(of("model")["state"], "missing");
    assert!(of("model")["advice"].as_array().is_some_and(|advice| !advice.is_empty()), "{objects:?}");
    let model = place.script("m", &[json!({"say": "done"})]);
    place.configure(&format!("model = {model:?}\n"));
    let ran = doctor(&path);
    assert!(ran.code == 0 && ran.out.ends_with(" optional, 0 missing\n"), "{ran:?}");
}

#[test]
fn a_value_is_set_and_comments_stay() {
    let place = Place::new();
    place.configure("# mine\nmodel = \"openai/gpt-5\" # good\n\n[timeouts]\nidle = 60 # long enough\n");
    let set = |key: &str, value: &str| place.run(&["config", "set", key, value]);
    for (key, value) in [
        ("model", "ollama/qwen3:8b"),
        ("timeouts.idle", "90"),
        ("max_cost", "0.50"),
        ("evidence", "true"),
        ("effort", "high"),
        ("rules.allow", "[\"execute:ls\"]"),
        ("models.\"ollama/x\".window", "32768"),
        ("vendors.ollama.base_url", "http://127.0.0.1:1/v1"),
    ] {
        let ran = set(key, value);
        assert!(ran.code == 0 && ran.out.is_empty() && ran.err.contains("is set in"), "{key}: {ran:?}");
    }
    let text = configured(&place);
    assert!(text.starts_with("# mine\nmodel = \"ollama/qwen3:8b\" # good\n"), "{text}");
    for line in [
        "idle = 90 # long enough",
        "max_cost = 0.5",
        "evidence = true",
        "effort = \"high\"",
        "allow = [\"execute:ls\"]",
        "[models.\"ollama/x\"]\nwindow = 32768",
        "[vendors.ollama]\nbase_url = \"http://127.0.0.1:1/v1\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(place.run(&["config", "show"]).out.contains("model = \"ollama/qwen3:8b\""));
}

#[test]
fn a_wrong_key_or_value_changes_nothing() {
    let place = Place::new();
    let table = [
        ("model", "nosuch/x", "there is no provider `nosuch`"),
        ("model", "qwen3", "`qwen3`: it is not of the form PROVIDER/MODEL"),
        ("fallback", "openai/gpt-5,nosuch/x", "there is no provider `nosuch`"),
        ("models.\"ollama/b\".fallback", "[\"x\"]", "`x`: it is not of the form"),
        ("modle", "x", "there is no setting `modle`; did you mean `model`?"),
        ("timeouts.idel", "5", "there is no setting `idel`; did you mean `idle`?"),
        ("max_cost", "much", "`much` is not an amount above 0"),
        ("permission", "all", "`all` is invalid: expected one of `read-only`"),
        ("timeouts.idle", "0", "expected seconds from 1 to 86400"),
        ("rules.allow", "[\"ls\"]", "cannot read the rule `ls`"),
        ("model.x", "1", "`model` is not a table"),
        ("vendors.openai.key", "sk-x", "save it with `haft login PROVIDER`"),
        ("a..b", "1", "not the name of a setting"),
        ("theme", "nix", "nix"),
        ("status_line", "{x", "a `{` has no `}`"),
        ("account", "nix", "nix"),
    ];
    place.configure("model = \"ollama/b\"\n");
    for (key, value, expected) in table {
        let ran = place.run(&["config", "set", key, value]);
        assert!(ran.code == 2 && ran.err.contains(expected), "{key}: {ran:?}");
        assert_eq!(configured(&place), "model = \"ollama/b\"\n", "{key}");
    }
}

/// Each of several processes at the same time reads the file, changes it and writes it.
#[test]
fn nothing_that_is_saved_at_the_same_time_is_lost() {
    let place = Place::new();
    let vendors = ["openai", "anthropic", "openrouter", "mistral", "groq", "deepseek"];
    let set = vendors.map(|name| place.haft(&["mcp", "add", name, "--", "true"]).spawn().unwrap());
    for mut child in set {
        assert!(child.wait().unwrap().success());
    }
    let login = vendors.map(|name| {
        let mut command = place.haft(&["login", "--no-check", name]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("sk-{name}-0123456789\n").as_bytes()).unwrap();
        child
    });
    for mut child in login {
        assert!(child.wait().unwrap().success());
    }
    let (servers, keys) = (place.run(&["mcp", "list"]).out, place.run(&["login", "status"]).out);
    for name in vendors {
        assert!(servers.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {servers}");
        let columns = |line: &str| line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>();
        assert!(keys.lines().any(|line| columns(line) == [name, "yes"]), "{name}: {keys}");
    }
}

#[test]
fn the_value_of_a_setting_is_printed_alone() {
    let place = Place::new();
    place.configure(
        "model = \"ollama/b\"\n[timeouts]\nidle = 60\n[vendors.openai]\nkey = \"sk-1\"\nbase_url = \"http://x\"\n",
    );
    place.write(".haft/config.toml", "permission = \"read-only\"\n");
    for (key, code, out, err) in [
        ("model", 0, "ollama/b\n", ""),
        ("timeouts.idle", 0, "60\n", ""),
        ("vendors.openai", 0, "base_url = \"http://x\"\n", ""),
        // As it is in effect, by the project's file.
        ("permission", 0, "read-only\n", ""),
        ("vendors.openai.key", 1, "", "`vendors.openai.key` is not set"),
        ("theme", 1, "", "`theme` is not set: "),
        ("timeouts.none", 1, "", "`timeouts.none` is not set"),
        ("a..b", 2, "", "not the name of a setting"),
    ] {
        let ran = place.run(&["config", "get", key]);
        assert!(ran.code == code && ran.out == out && ran.err.contains(err), "{key}: {ran:?}");
    }
}

#[test]
fn a_value_is_removed_and_the_rest_stays() {
    let place = Place::new();
    place.configure(
        "# mine\nmodel = \"ollama/b\" # good\n\n[accounts.work]\n\n[timeouts]\n# patience\nidle = 60\nreply = 90\n",
    );
    for (key, code, said) in [
        ("timeouts.idle", 0, "`timeouts.idle` is removed from"),
        ("timeouts.idle", 0, "`timeouts.idle` is not set in"),
        ("no.such", 0, "`no.such` is not set in"),
        ("model", 0, "`model` is removed from"),
        ("a..b", 2, "not the name of a setting"),
    ] {
        let ran = place.run(&["config", "unset", key]);
        assert!(ran.code == code && ran.err.contains(said), "{key}: {ran:?}");
    }
    let left = configured(&place);
    assert!(left.contains("[timeouts]\nreply = 90\n") && !left.contains("idle"), "{left}");
    assert!(!left.contains("model"), "{left}");
}

#[test]
fn a_verdict_is_explained_with_the_rule_or_the_mode_that_decides() {
    let place = Place::new();
    place.configure(
        "sandbox = \"off\"\n[rules]\ndeny = [\"read:**/.env\"]\nallow = [\"execute:cargo test *\"]",
    );
    place.write(".haft/config.toml", "[rules]\nask = [\"write:docs/**\"]");
    let check = |words: &[&str]| -> Value {
        let ran = place.run(&[&["policy", "check", "--json"], words].concat());
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.events().remove(0)
    };
    let table = [
        (&["git push"][..], "ask", "the mode `ask` (default)"),
        (&["git push", "--permission", "full"], "allow", "the mode `full`"),
        (&["git push", "--permission", "read-only"], "deny", "the mode `read-only`"),
        (&["cargo test -q"], "allow", "the rule `allow = \"execute:cargo test *\"` ("),
        (&["read:.env"], "deny", "config.toml`: line 3)"),
        (&["read:a.txt"], "allow", "the mode `ask`"),
        (&["write:docs/x.md", "--permission", "full"], "ask", ".haft/config.toml`)"),
        (&["write:.git/config", "--permission", "full"], "ask", "(built in)"),
        (&["curl x", "--profile", "pedro"], "deny", "(the profile `pedro`)"),
        (&["mkfs.ext4 /dev/sda1", "--permission", "full"], "deny", "the guard"),
        (&["network:example.org"], "ask", "the mode `ask`"),
        (&["execute:mcp:demo echo"], "ask", "the mode `ask`"),
    ];
    for (words, verdict, by) in table {
        let told = check(words);
        assert_eq!(told["verdict"], verdict, "{words:?}: {told}");
        assert!(told["decided_by"].as_str().is_some_and(|told| told.contains(by)), "{words:?}: {told}");
    }
    let told = check(&["git push"]);
    let hint = "`allow = [\"execute:git push\"]` under `[rules]` in your configuration allows it, `--permission full` allows everything";
    assert_eq!(told["hint"], hint);
    // No mode is named that a rule is stricter than.
    let hint_of = |effect: &str| check(&[effect])["hint"].as_str().unwrap_or_default().to_owned();
    let by_rule = hint_of("write:.claude/x");
    assert!(
        by_rule.starts_with("`allow = [") && by_rule.ends_with("in your configuration allows it"),
        "{by_rule}"
    );
    assert_eq!(hint_of("write:docs/x.md"), "`haft policy check EFFECT` shows the rule that decides");
    // Where commands can be confined, what they change is asked for afterwards.
    let confines = place.run(&["doctor"]).out.contains("can be confined here");
    place.configure("sandbox = \"auto\"");
    assert_eq!(check(&["ls"])["verdict"], if confines { "allow" } else { "ask" });
    place.configure("sandbox = \"off\"");
    let ran = place.run(&["policy", "check", "git", "push"]);
    let expected =
        format!("ask    `execute:git push` needs approval\nby     the mode `ask` (default)\nhint   {hint}\n");
    assert_eq!((ran.code, ran.out), (0, expected));
}

#[test]
fn every_list_has_a_heading_a_form_for_programs_and_a_word_when_empty() {
    let place = Place::new();
    let table = [
        (&["agents", "list"][..], "AGENT ", "builder"),
        (&["profiles", "list"], "PROFILE ", "pedro"),
        (&["tools", "list"], "TOOL ", "read"),
        (&["models", "list"], "MODEL ", "openai/…"),
    ];
    for (words, heading, row) in table {
        let listed = place.run(words);
        assert!(listed.out.starts_with(heading) && listed.out.contains(&format!("\n{row}")), "{listed:?}");
        let objects = place.run(&[words, &["--json"]].concat()).events();
        assert_eq!(objects.len(), listed.out.lines().count() - 1, "{words:?}");
        assert!(objects.iter().any(|object| object.to_string().contains(&format!("\"{row}\""))), "{words:?}");
    }
    for (words, nothing) in [
        (["jobs", "list"], "There are no jobs yet: `haft build \"TEXT\"` starts one.\n"),
        (["skills", "list"], "There are no skills yet: create one as `.haft/skills/NAME/SKILL.md`.\n"),
        (["commands", "list"], "There are no saved prompts yet: create one as `.haft/commands/NAME.md`.\n"),
        (["sessions", "list"], "There are no sessions yet: `haft` starts one.\n"),
    ] {
        let ran: Ran = place.run(&words);
        assert_eq!((ran.code, ran.out.as_str()), (0, nothing), "{words:?}");
        assert_eq!(place.run(&[&words[..], &["--json"]].concat()).out, "");
    }
    place.write(".haft/commands/fix.md", "---\ndescription: Fix it\n---\nFix $ARGUMENTS\n");
    let model = place.script("m", &[json!({"say": "It is a question."})]);
    place.run(&["triage", "the parser fails", "--model", &model]);
    let commands = place.run(&["commands", "list"]).out;
    assert_eq!(
        commands,
        "COMMAND  SOURCE                 DESCRIPTION\n/fix     .haft/commands/fix.md  Fix it\n"
    );
    let jobs = place.run(&["jobs", "list"]).out;
    assert!(jobs.starts_with("JOB ") && jobs.contains("  triager  "), "{jobs}");
}

/// Those of MCP servers as well, as models are told of them; a server that does not start is told beside the list.
#[test]
fn tools_are_listed_with_those_of_servers() {
    let place = Place::new();
    place.script("work/x", &[json!({"say": "unheard"})]);
    let own = env!("CARGO_BIN_EXE_haft");
    let arguments = r#"["mcp", "--no-agents", "--expose", "read", "--model", "script/x"]"#;
    place.configure(&format!(
        "[mcp.own]\ncommand = \"{own}\"\narguments = {arguments}\n[mcp.gone]\ncommand = \"no-such-program\"\n"
    ));
    for words in
        [&["tools", "list"][..], &["tools", "list", "--json"], &["tools", "schema", "mcp__own__read"]]
    {
        let told = place.run(words);
        assert!(told.code == 0 && told.out.contains("mcp__own__read"), "{words:?}: {told:?}");
        assert!(told.err.contains("gone: cannot start the MCP server"), "{words:?}: {told:?}");
    }
}

#[test]
fn a_value_that_nothing_can_use_is_told_with_its_line_and_what_was_expected() {
    for (text, expected) in [
        ("[commands]\nprocesses = 10\n", "line 2: `commands.processes` is 10; it must be at least 301"),
        ("[commands]\nmemory = 0\n", "line 2: `commands.memory` is 0; it must be at least 1"),
        (
            "[commands]\nwritable = [\"a\"]\n",
            "line 2: `commands.writable` has `a`; it must be an absolute path",
        ),
        (
            "[mcp.y]\nurl = \"bar\"\n",
            "line 2: `mcp.y.url` is `bar`; it must begin with `http://` or `https://`",
        ),
        ("\n[mcp.y]\nargs = [\"a\"]\n", "line 2: `[mcp.y]` has neither `command` nor `url`"),
        ("[mcp.y]\ncommand = \"a\"\nurl = \"http://b\"\n", "line 1: `[mcp.y]` has both `command` and `url`"),
        ("[mcp.y]\ncommand = \"\"\n", "line 1: `[mcp.y]` has an empty `command`"),
        (
            "[vendors.openai]\nbase_url = \"x\"\n",
            "`vendors.openai.base_url` is `x`; it must begin with `http://`",
        ),
        (
            "[tools.web_search]\nengine = \"foo\"\n",
            "line 2: there is no search engine `foo`; there are `searxng`",
        ),
        (
            "[vendors.openrouterr]\nkey = \"k\"\n",
            "line 1: there is no provider `openrouterr`; did you mean `openrouter`?",
        ),
        ("[vendors.claude]\nkey = \"k\"\n", "line 1: `vendors.claude` is named `vendors.anthropic`"),
        (
            "[tools.bash]\ntimeout_default = 0\n",
            "line 2: `tools.bash.timeout_default` is 0; it must be at least 1",
        ),
    ] {
        let place = Place::new();
        place.configure(text);
        let checked = place.run(&["config", "check"]);
        assert_eq!(checked.code, 2, "{text}: {checked:?}");
        assert!(format!("{}{}", checked.out, checked.err).contains(expected), "{text}: {checked:?}");
    }
    let place = Place::new();
    let set = place.run(&["config", "set", "commands.processes", "10"]);
    assert_eq!((set.code, configured(&place).as_str()), (2, ""), "{set:?}");
}

/// As a shell does for `haft agents show builder > FILE`.
#[test]
fn a_built_in_agent_is_shown_while_the_file_for_a_new_one_is_empty() {
    let place = Place::new();
    let folder = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.md"), "").unwrap();
    let shown = place.run(&["agents", "show", "builder"]);
    assert!(shown.code == 0 && shown.out.starts_with("---\nname: builder\n"), "{shown:?}");
    let other = place.run(&["agents", "show", "mine"]);
    assert!(other.code == 2 && other.err.contains("it does not begin with a header"), "{other:?}");
}
