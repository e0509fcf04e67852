//! What confined commands reach over the network: what people see of it through the binary. Servers are on loopback.
#![cfg(target_os = "linux")]
use crate::kit::{Place, Ran, terminal::poll};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    thread,
};

/// A server of the files in a folder, over plain HTTP; gives its port.
fn files(root: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let root = root.clone();
            thread::spawn(move || answer(client, &root));
        }
    });
    port
}

fn answer(mut client: TcpStream, root: &std::path::Path) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let file = root.join(path.split('?').next().unwrap());
    let (status, body) = match fs::read(file) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _client_is_gone = client.write_all(&[head.as_bytes(), &body].concat());
}

/// A place, and the port of a server that has the file `word`.
fn served() -> (Place, u16) {
    let place = Place::new();
    let served = place.path().join("served");
    fs::create_dir(&served).unwrap();
    fs::write(served.join("word"), "from the server\n").unwrap();
    let port = files(served);
    (place, port)
}

fn call(place: &Place, options: &[&str], arguments: Value) -> Ran {
    let call = json!({"calls": [{"name": "bash", "arguments": arguments}]});
    let model = place.script("model.jsonl", &[call, json!({"say": "done"})]);
    place.run(&[&["run", "--sandbox", "require", "--json", "--model", &model], options, &["go"]].concat())
}

fn told(ran: &Ran) -> String {
    let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended");
    ended.unwrap_or_else(|| panic!("{ran:?}"))["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_listed_host_is_reached_without_a_question_and_no_other_one() {
    let (place, port) = served();
    let other = files(place.path().join("served"));
    let listed = format!("127.0.0.1:{port},example.org");
    let run = |command: &str| {
        let options = ["--permission", "accept-edits", "--network", &listed];
        told(&call(&place, &options, json!({"command": command})))
    };
    for through in ["", "--proxytunnel "] {
        let got = run(&format!("curl -sS {through}http://127.0.0.1:{port}/word >got; cat got"));
        assert_eq!(got, "from the server", "{through}");
        assert_eq!(place.read("got").as_deref(), Some("from the server\n"));
        let refused = run(&format!("curl -sSf {through}http://127.0.0.1:{other}/word"));
        assert!(refused.contains("403") && !refused.contains("from the server"), "{refused}");
        assert!(refused.contains("[commands reach only these hosts here: 127.0.0.1:"), "{refused}");
        // Not by another name for it either.
        for name in ["localhost", "127.0.0.1.example.org"] {
            let refused = run(&format!("curl -sSf {through}--noproxy '' http://{name}:{port}/word"));
            assert!(!refused.contains("from the server"), "{name}: {refused}");
        }
    }
    let direct = run(&format!(
        "curl -sS --noproxy '*' http://127.0.0.1:{port}/word; exec 3<>/dev/tcp/127.0.0.1/{port}"
    ));
    assert!(direct.matches("refused").count() >= 1 && !direct.contains("from the server"), "{direct}");
}

// D64
#[test]
fn what_a_proxy_could_read_in_two_ways_is_refused() {
    let (place, port) = served();
    let listed = format!("127.0.0.1:{port}");
    let lines = [
        format!("CONNECT 127.0.0.1:{port}\\0.example.org HTTP/1.1"),
        format!("CONNECT x@127.0.0.1:{port} HTTP/1.1"),
        format!("CONNECT 127.0.0.1:{port}:{port} HTTP/1.1"),
        format!("CONNECT  127.0.0.1:{port} HTTP/1.1"),
        "CONNECT example.org:443 HTTP/1.1".to_owned(),
        "CONNECT [::1]:80 HTTP/1.1".to_owned(),
        "CONNECT \\xc3\\xa4.example:443 HTTP/1.1".to_owned(),
        "GET /word HTTP/1.1".to_owned(),
        format!("GET ftp://127.0.0.1:{port}/word HTTP/1.1"),
        "X".repeat(100_000),
    ];
    let asked = lines.map(|line| {
        format!("exec 3<>/dev/tcp/127.0.0.1/61080; printf '{line}\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; timeout 5 head -c 400 <&3; exec 3<&-")
    });
    let options = ["--permission", "accept-edits", "--network", &listed];
    let said = told(&call(&place, &options, json!({"command": asked.join("\n")})));
    assert!(!said.contains("200 ") && !said.contains("from the server"), "{said}");
    assert_eq!(said.matches("HTTP/1.1 40").count(), 9, "{said}");
    let nothing = told(&call(
        &place,
        &["--permission", "full", "--network", ""],
        json!({"command": format!("curl -sS http://127.0.0.1:{port}/word")}),
    ));
    assert!(nothing.contains("curl: (7)"), "{nothing}");
}

#[test]
fn git_clones_through_the_proxy() {
    let (place, port) = served();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").args(arguments).current_dir(place.path()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-C", "made"];
    git(&["init", "-q", "made"]);
    git(&[&author[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
    git(&["clone", "-q", "--bare", "made", "served/made.git"]);
    git(&["-C", "served/made.git", "update-server-info"]);
    let address = format!("http://127.0.0.1:{port}/made.git");
    let host = format!("127.0.0.1:{port}");
    let options = ["--permission", "accept-edits", "--network", &host];
    // The clone is not of the workspace: what git would run in there is asked about.
    let cloned = call(
        &place,
        &options,
        json!({"command": format!("git clone -q {address} /tmp/c && git -C /tmp/c log --format=%s")}),
    );
    assert_eq!(told(&cloned), "first", "{cloned:?}");
}

#[test]
fn what_a_command_lacks_is_told_and_given_when_somebody_allows_it() {
    let (place, port) = served();
    let fetch = format!("curl -sSf http://127.0.0.1:{port}/word -o got");
    let host = format!("network:127.0.0.1:{port}");
    let lost = told(&call(&place, &["--permission", "accept-edits"], json!({"command": fetch})));
    assert!(lost.contains(&format!("`needs: [\"{host}\"]`")), "{lost}");
    let needs = json!({"command": fetch, "needs": [host]});
    let asked = call(&place, &["--permission", "accept-edits"], needs.clone());
    assert_eq!((asked.code, place.read("got")), (4, None), "{asked:?}");
    assert!(told(&asked).contains(&format!("`{host}` needs approval")), "{asked:?}");
    place.configure(&format!("[rules]\nallow = [\"{host}\"]\n"));
    let given = call(&place, &["--permission", "accept-edits"], needs.clone());
    assert_eq!((given.code, place.read("got").as_deref()), (0, Some("from the server\n")), "{given:?}");
    // What was recorded of files is undone; that a person was asked is not.
    let started = given.events().into_iter().find(|event| event["type"] == "tool_started").unwrap();
    assert_eq!((&started["how"], &started["outside"]), (&json!("staged"), &json!(true)));
    assert_eq!((place.run(&["undo"]).code, place.read("got")), (0, None));
    place.write(".haft/config.toml", "network = \"off\"\n");
    let narrowed = call(&place, &["--permission", "full", "--network", "on"], needs);
    assert!(told(&narrowed).contains("commands have no network here"), "{narrowed:?}");
    let bad = told(&call(&place, &[], json!({"command": "true", "needs": ["network:user@host"]})));
    assert!(bad.contains("it holds a user name"), "{bad}");
}

#[test]
fn a_command_with_the_whole_network_works_in_a_view_and_is_asked_about() {
    let (place, port) = served();
    let fetch = json!({"command": format!("curl -sS http://127.0.0.1:{port}/word >got; id >/etc/haft-x")});
    let asked = call(&place, &["--permission", "accept-edits", "--network", "on"], fetch.clone());
    assert_eq!((asked.code, place.read("got")), (4, None), "{asked:?}");
    let ran = call(&place, &["--permission", "full", "--network", "on"], fetch);
    assert_eq!(place.read("got").as_deref(), Some("from the server\n"), "{ran:?}");
    assert!(told(&ran).contains("/etc/haft-x") && !PathBuf::from("/etc/haft-x").exists(), "{ran:?}");
    let off = json!({"command": "true", "needs": ["network"]});
    let off = call(&place, &["--permission", "full", "--network", "off"], off);
    assert!(told(&off).contains("commands have no network here"), "{off:?}");
    let wrong = place.run(&["run", "--network", "https://example.org", "--model", "script/x", "go"]);
    assert!(wrong.code == 2 && wrong.err.contains("name the host alone"), "{wrong:?}");
}

#[test]
fn a_command_that_reached_somebody_is_not_made_again_after_a_crash() {
    let place = Place::new();
    let line = json!({"command": "echo once >>log; touch /tmp/begun; sleep 60"});
    let model = place.script(
        "model.jsonl",
        &[json!({"calls": [{"name": "bash", "arguments": line}]}), json!({"say": "done"})],
    );
    let options = [
        "--sandbox",
        "require",
        "--permission",
        "accept-edits",
        "--network",
        "example.org",
        "--model",
        &model,
    ];
    let mut child = place.haft(&[&["run"], &options[..], &["go"]].concat()).spawn().unwrap();
    poll(|| place.has_made("begun"), || "the beginning of the command".into());
    child.kill().unwrap();
    child.wait().unwrap();
    let session = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let resumed = place.run(&[&["sessions", "resume", &session], &options[..]].concat());
    let journal = fs::read_to_string(place.journal()).unwrap();
    assert!(journal.contains("what it did is unknown") && place.read("log").is_none(), "{resumed:?}");
}
