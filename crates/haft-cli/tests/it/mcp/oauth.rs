//! `haft mcp login` and `logout`: OAuth for servers behind HTTP.
use super::{
    authorization_server::{AuthorizationServer, Trick},
    peer::Peer,
};
use crate::kit::{self, Place, Ran};
use serde_json::json;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Stdio,
};

/// A browser that follows all redirects and shows nothing.
const BROWSER: &str = "#!/usr/bin/env python3
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).status)
";

fn logins(place: &Place) -> PathBuf {
    place.path().join("person/.config/haft/mcp-logins.json")
}

/// Runs `haft mcp …` with that browser.
fn mcp(place: &Place, words: &[&str]) -> Ran {
    let browser = place.write("browser.py", BROWSER);
    let mut command = place.haft(&[&["mcp"], words].concat());
    Ran::from(command.env("BROWSER", format!("python3 {}", browser.display())).output().unwrap())
}

fn configure(place: &Place, address: &str, more: &str) {
    place.configure(&format!("[mcp.peer]\nurl = \"{address}\"\n{more}\n"));
}

fn call(place: &Place, tool: &str, arguments: &str) -> Ran {
    place.run(&["tools", "call", &format!("mcp__peer__{tool}"), arguments, "--permission", "full"])
}

/// What Haft wrote below the home of the person, but for the file of logins.
fn is_written_elsewhere(place: &Place, text: &str) -> bool {
    let mut grep = std::process::Command::new("grep");
    let found =
        grep.args(["-rlF", text, "--exclude=mcp-logins.json"]).arg(place.path().join("home")).output();
    !found.unwrap().stdout.is_empty()
}

#[test]
fn a_login_in_a_browser_is_kept_refreshed_and_revoked() {
    let place = Place::new();
    let log = place.write("log", "");
    // Tokens that work for so short a time are refreshed before each call.
    let Some(peer) = Peer::start(&place, &["oauth", "20", log.to_str().unwrap()]) else { return };
    assert_eq!(mcp(&place, &["add", "peer", &peer.address]).code, 0);
    let refused = mcp(&place, &["test", "peer"]);
    assert!(refused.code == 1 && refused.err.contains("`haft mcp login peer`"), "{refused:?}");
    // A session goes on without the server.
    let model = place.script("m", &[json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    assert!(
        ran.err
            .contains("note: peer: the MCP server wants to know who asks (401): run `haft mcp login peer`"),
        "{ran:?}"
    );

    let done = mcp(&place, &["login", "peer"]);
    assert!(done.code == 0 && done.err.contains("Logged in to `peer`"), "{done:?}");
    assert_eq!(fs::metadata(logins(&place)).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(mcp(&place, &["list", "--json"]).events()[0]["state"], "logged in");
    for _ in 0..2 {
        let called = call(&place, "add", "{\"a\":2,\"b\":40}");
        assert!(called.code == 0 && called.out.contains("42"), "{called:?}");
        assert!(!format!("{called:?}{done:?}").contains("secret-"), "{called:?} {done:?}");
    }
    assert!(!is_written_elsewhere(&place, "secret-"));
    let asked = fs::read_to_string(&log).unwrap();
    let expected = format!("register Haft\nauthorize {}\nexchange\nrefresh\n", peer.address);
    assert!(asked.starts_with(&expected) && asked.matches("refresh\n").count() >= 2, "{asked}");

    let left = mcp(&place, &["logout", "peer"]);
    assert!(left.code == 0 && left.err.contains("is forgotten, and its tokens are revoked"), "{left:?}");
    assert!(fs::read_to_string(&log).unwrap().ends_with("revoke\n"));
    assert!(!fs::read_to_string(logins(&place)).unwrap().contains("secret-"));
    assert!(mcp(&place, &["test", "peer"]).err.contains("`haft mcp login peer`"));
    let again = mcp(&place, &["logout", "peer"]);
    assert!(again.code == 2 && again.err.contains("there is no login for `peer`"), "{again:?}");
}

#[test]
fn the_typescript_sdk_lets_haft_in() {
    let place = Place::new();
    let Some(peer) = Peer::of_typescript(&place) else { return };
    configure(&place, &peer.address, "");
    assert!(call(&place, "ping", "{}").err.contains("`haft mcp login peer`"));
    let done = mcp(&place, &["login", "peer"]);
    assert_eq!(done.code, 0, "{done:?}");
    let called = call(&place, "ping", "{}");
    assert!(called.code == 0 && called.out.contains("pong"), "{called:?}");
    let left = mcp(&place, &["remove", "peer"]);
    assert!(left.code == 0 && left.err.contains("The login for `peer` is forgotten"), "{left:?}");
}

/// The person opens the address somewhere else, and pastes where that browser ended; at first from another login.
#[test]
fn the_address_that_a_browser_ends_at_is_pasted() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::None);
    configure(&place, &format!("{}/mcp", server.address), "");
    let mut command = place.haft(&["mcp", "login", "--no-browser", "peer"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut until = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "no line has `{text}`");
        }
        line
    };
    let address = until("/authorize?").trim().to_owned();
    let value = |name: &str| {
        let query = address.split_once('?').unwrap().1;
        let mut fields = url::form_urlencoded::parse(query.as_bytes());
        fields.find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    assert_eq!((value("code_challenge_method").as_str(), value("response_type").as_str()), ("S256", "code"));
    let (redirect, state, issuer) = (value("redirect_uri"), value("state"), &server.address);
    // What another program on this machine could send.
    let port = redirect.split(':').nth(2).unwrap().split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET /callback?code=evil&state=guess HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    for (pasted, expected) in [
        (format!("{redirect}?code=the-code&state=another"), "its `state` is another one"),
        (format!("https://evil.example.com/?code=the-code&state={state}"), "it begins with another one"),
        (format!("{redirect}?code=the-code&state={state}&iss={issuer}"), "Logged in to `peer`"),
    ] {
        writeln!(input, "{pasted}").unwrap();
        until(expected);
    }
    assert!(child.wait().unwrap().success());
    assert!(call(&place, "ping", "{}").out.contains("pong"));
}

#[test]
fn a_code_is_entered_on_another_device() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::Devices);
    configure(&place, &format!("{}/mcp", server.address), "");
    // There is no browser here.
    let done = place.run(&["mcp", "login", "peer"]);
    assert!(done.code == 0 && done.err.contains("and enter this code: WDJB-MJHT"), "{done:?}");
    assert!(done.err.contains(&format!("{}/enter", server.address)), "{done:?}");
    assert!(call(&place, "ping", "{}").out.contains("pong"));
    let registered = server.heard().into_iter().find(|heard| heard.starts_with("POST /register")).unwrap();
    assert!(registered.contains("urn:ietf:params:oauth:grant-type:device_code"), "{registered}");
}

#[test]
fn a_client_is_known_before_or_has_a_document() {
    let document = "https://haft.example.com/client.json";
    let table = [
        (Trick::NoRegistration, "oauth = { client_id = \"known\", client_secret = \"${SECRET}\" }", "known"),
        (Trick::Documents, &format!("oauth = {{ client_id = \"{document}\" }}"), document),
        // One that takes no documents registers Haft instead.
        (Trick::None, &format!("oauth = {{ client_id = \"{document}\" }}"), "registered"),
    ];
    for (trick, settings, id) in table {
        let place = Place::new();
        let server = AuthorizationServer::start(trick);
        configure(&place, &format!("{}/mcp", server.address), settings);
        let browser = place.write("browser.py", BROWSER);
        let mut command = place.haft(&["mcp", "login", "peer"]);
        command.env("BROWSER", format!("python3 {}", browser.display())).env("SECRET", "s3cret");
        let done = Ran::from(command.output().unwrap());
        assert_eq!(done.code, 0, "{trick:?}: {done:?}");
        let asked = server.heard().into_iter().find(|heard| heard.contains("/authorize?")).unwrap();
        let query = asked.split_once('?').unwrap().1;
        let mut fields = url::form_urlencoded::parse(query.as_bytes());
        assert_eq!(fields.find(|(key, _)| key == "client_id").unwrap().1, id, "{trick:?}");
        // `known:s3cret`
        let with_secret = server.heard().iter().any(|heard| heard.ends_with("Basic a25vd246czNjcmV0"));
        assert_eq!(with_secret, trick == Trick::NoRegistration, "{:?}", server.heard());
    }
}

/// Where the metadata are, and what to ask for, may stand in the refusal of a greeting alone.
#[test]
fn the_refusal_of_a_greeting_says_where_to_log_in() {
    let table = [
        (Trick::InChallenge, &[][..], "notes more"),
        (Trick::InChallenge, &["--scopes", "a,b"], "a b"),
        (Trick::None, &[], "notes"),
    ];
    for (trick, options, scopes) in table {
        let place = Place::new();
        let server = AuthorizationServer::start(trick);
        configure(&place, &format!("{}/mcp", server.address), "");
        let done = mcp(&place, &[&["login", "peer"], options].concat());
        assert_eq!(done.code, 0, "{trick:?}: {done:?}");
        let asked = server.heard().into_iter().find(|heard| heard.contains("/authorize?")).unwrap();
        let query = asked.split_once('?').unwrap().1;
        let mut fields = url::form_urlencoded::parse(query.as_bytes());
        assert_eq!(fields.find(|(key, _)| key == "scope").unwrap().1, scopes, "{trick:?}");
    }
}

#[test]
fn a_login_that_is_not_what_it_seems_is_refused() {
    let table = [
        (Trick::WrongIssuer, "calls itself `https://evil.example.com`"),
        (Trick::WrongIssuerInRedirect, "calls itself `https://evil.example.com`"),
        (Trick::OtherResource, "resource mismatch"),
        (Trick::PlainServer, "`http://auth.example.com` is not encrypted, or private"),
        (Trick::PlainTokens, "not encrypted or is private: `http://auth.example.com/token`"),
        (Trick::DiscoveryElsewhere, "redirect to non-same-origin URL rejected"),
        (Trick::TokensElsewhere, "the authorization server gave no token"),
        (Trick::MacTokens, "gave a token of the type `mac`, and MCP uses `Bearer` tokens"),
        (Trick::Denied, "gave no token: access_denied: not today"),
        (Trick::NoPkce, "does not know PKCE with S256"),
        (Trick::NoOAuth, "it names no authorization server, so it has no OAuth"),
        (Trick::NoRegistration, "set `oauth.client_id` of `[mcp.peer]`"),
        (Trick::Slow, "no answer within 1 seconds"),
    ];
    for (trick, expected) in table {
        let place = Place::new();
        let server = AuthorizationServer::start(trick);
        configure(&place, &format!("{}/mcp", server.address), "start_timeout = 1");
        let done = mcp(&place, &["login", "peer"]);
        assert!(
            done.code == 1 && done.err.contains("error: cannot log in to `peer`: "),
            "{trick:?}: {done:?}"
        );
        assert!(done.err.contains(expected) && done.err.contains("\nhint: "), "{trick:?}: {done:?}");
        assert!(!logins(&place).exists(), "{trick:?}");
        assert!(!server.heard().iter().any(|heard| heard.contains("/stolen")), "{:?}", server.heard());
    }
}

#[test]
fn a_token_is_sent_to_its_server_only() {
    let place = Place::new();
    let (server, other) = (AuthorizationServer::start(Trick::None), AuthorizationServer::start(Trick::None));
    configure(&place, &format!("{}/mcp", server.address), "");
    assert_eq!(mcp(&place, &["login", "peer"]).code, 0);
    configure(&place, &format!("{}/mcp", other.address), "");
    assert_eq!(mcp(&place, &["list", "--json"]).events()[0]["state"], "ready");
    assert!(call(&place, "ping", "{}").err.contains("`haft mcp login peer`"));
    assert!(mcp(&place, &["logout", "peer"]).err.contains("is forgotten"));
    let heard = other.heard();
    assert!(!heard.is_empty() && !heard.iter().any(|heard| heard.contains("secret-")), "{heard:?}");
}

#[test]
fn the_token_of_a_login_is_hidden_in_results() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::None);
    configure(&place, &format!("{}/mcp", server.address), "");
    assert_eq!(mcp(&place, &["login", "peer"]).code, 0);
    let model = place.script("m", &[kit::call("mcp__peer__ping", json!({})), json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    assert!(ran.code == 0 && ran.out.contains("pong to Bearer [key]"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("secret-token"), "{ran:?}");
    assert!(!is_written_elsewhere(&place, "secret-token"));
}

#[test]
fn a_key_in_the_entry_of_a_server_is_hidden_in_results() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::None);
    let code = "import os\ntools = lambda: [{'name': 'ping', 'inputSchema': {'type': 'object'}}]\n\
                called = lambda id: answer(id, os.environ['PEER_KEY'] + ' ' + os.environ['STAGE'])";
    let program = place.write("server.py", kit::mcp_server::mcp_server(code));
    place.configure(&format!(
        "[mcp.peer]\nurl = \"{}/mcp\"\nheaders = {{ Authorization = \"Bearer secret-token\" }}\n\
         [mcp.local]\ncommand = \"python3\"\narguments = [\"{}\"]\n\
         environment = {{ PEER_KEY = \"secret-0123456789abcdef\", STAGE = \"staging-environment-2\" }}\n",
        server.address,
        program.display()
    ));
    let calls = ["peer", "local"].map(|server| kit::call(&format!("mcp__{server}__ping"), json!({})));
    let model = place.script("m", &[&calls[..], &[json!({"say": "done"})]].concat());
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    assert!(
        ran.out.contains("pong to Bearer [key]") && ran.out.contains("[key] staging-environment-2"),
        "{ran:?}"
    );
    assert!(!format!("{ran:?}").contains("secret-"), "{ran:?}");
    assert!(!is_written_elsewhere(&place, "secret-"));
}

#[test]
fn a_refresh_that_is_refused_asks_for_a_login() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::NoRefresh);
    configure(&place, &format!("{}/mcp", server.address), "");
    assert_eq!(mcp(&place, &["login", "peer"]).code, 0);
    let called = call(&place, "ping", "{}");
    assert!(called.err.contains("wants to know who asks (401): run `haft mcp login peer`"), "{called:?}");
}

#[test]
fn no_tool_reads_the_file_of_logins() {
    let place = Place::new();
    let server = AuthorizationServer::start(Trick::None);
    configure(&place, &format!("{}/mcp", server.address), "");
    assert_eq!(mcp(&place, &["login", "peer"]).code, 0);
    let arguments = json!({"path": logins(&place)}).to_string();
    let read = place.run(&["tools", "call", "read", &arguments, "--permission", "full"]);
    assert!(read.code != 0 && !read.out.contains("secret-token"), "{read:?}");
}
