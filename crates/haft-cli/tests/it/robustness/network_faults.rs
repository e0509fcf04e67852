//! What goes wrong on the line to a model, row by row (faults of group A). The real binary, and a server that sends byte
//! by byte what it is told to.
use crate::kit::{
    Place, Ran,
    wire::{Act, WireServer, answer, events},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
    thread,
    time::Duration,
};

const KEY: &str = "sk-0123456789abcdef";
const JSON: &str = "content-type: application/json";
const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn chunk(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
}

fn text(text: &str) -> String {
    chunk(&json!({"content": text}))
}

fn thought(text: &str) -> String {
    chunk(&json!({"reasoning_content": text}))
}

/// A call that makes a file, with the first `length` letters of its arguments.
fn call(length: usize) -> String {
    let arguments = &r#"{"command":"touch made"}"#[..length];
    let function = json!({"name": "bash", "arguments": arguments});
    chunk(&json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))
}

/// The beginning of the call, which names a command that would do harm.
const HALF: usize = 22;

fn good() -> Vec<Act> {
    vec![events(&(text("fine") + END))]
}

/// One turn with the model behind `server`.
fn turn(place: &Place, server: &WireServer, options: &[&str]) -> Ran {
    let mut command = place.haft(&["run", "--permission", "full", "--model", "openai/m"]);
    command.args(options).arg("go").env("OPENAI_BASE_URL", &server.url).env("OPENAI_API_KEY", KEY);
    Ran::from(command.output().unwrap())
}

/// Why the model was asked again, each time.
fn reasons(ran: &Ran) -> Vec<String> {
    let again = ran.events().into_iter().filter(|event| event["type"] == "retrying");
    again.map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
}

/// After each of these the model is asked again, once; no call of it runs, and what it said is no part of the reply.
fn check_asked_again(place: &Place, table: Vec<(&str, Vec<Act>, &str)>) {
    for (what, scene, expected) in table {
        let server = WireServer::start(vec![scene, good()]);
        let ran = turn(place, &server, &["--json"]);
        assert_eq!((ran.code, server.requests().len()), (0, 2), "{what}: {ran:?}");
        let reasons = reasons(&ran);
        assert!(reasons.len() == 1 && reasons[0].contains(expected), "{what}: {reasons:?}");
        let events = ran.events();
        let replied: Vec<&Value> = events.iter().filter(|event| event["type"] == "replied").collect();
        assert!(
            matches!(&replied[..], [reply] if reply["parts"] == json!([{"type": "text", "text": "fine"}])),
            "{what}: {ran:?}"
        );
        let calls = events.iter().any(|event| event["type"] == "tool_started");
        assert!(!calls && place.read("made").is_none(), "{what}: {ran:?}");
        assert!(!format!("{ran:?}").contains(KEY), "{what}: {ran:?}");
    }
}

// A24, A25, A27, A43, A49, A53, A54, A60: what breaks off, and what is no reply
#[test]
fn what_is_no_whole_reply_is_asked_for_again_and_no_call_of_it_runs() {
    let overloaded = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let broken = "data: {oops\n\n";
    let page = "<html>log in</html>";
    check_asked_again(
        &Place::new(),
        vec![
            ("A24", vec![events(&call(HALF)), Act::Reset], "the server closed the connection"),
            ("A25", vec![events(&call(HALF))], "the reply was cut off"),
            ("A27", vec![events(&text("half"))], "the reply was cut off"),
            ("A43", vec![Act::Reset], "the server closed the connection"),
            ("A49", vec![answer(200, "content-type: text/html", page)], "answered with text/html"),
            ("A53", vec![events(&format!("{broken}data: [DONE]"))], "the connection to OpenAI failed"),
            ("A54", vec![events(&(text("half") + overloaded))], "OpenAI is busy: Overloaded"),
            ("A60", vec![events(END)], "the model answered nothing"),
            ("A60", vec![events(&(thought("hm") + END))], "the model answered nothing"),
        ],
    );
}

// A39, A49: what asking again does not change
#[test]
fn what_is_the_same_each_time_is_not_asked_for_often() {
    let page = answer(200, "content-type: text/html", "<html>log in</html>");
    let limit =
        answer(429, &format!("{JSON}\r\nx-should-retry: false"), r#"{"error":{"message":"over the limit"}}"#);
    let malformed = r#"{"error":{"code":"tool_use_failed","message":"no such call"}}"#;
    let malformed = answer(400, JSON, malformed);
    for (scene, count, expected) in [
        (page, 3, "answered with text/html"),
        (limit, 1, "over the limit (HTTP 429)"),
        (malformed, 3, "no such call (HTTP 400)"),
    ] {
        let place = Place::new();
        let server = WireServer::start(vec![vec![scene]]);
        let ran = turn(&place, &server, &[]);
        assert_eq!((ran.code, server.requests().len()), (1, count), "{ran:?}");
        assert!(ran.err.contains(expected), "{ran:?}");
    }
}

// A53: in the middle of a reply
#[test]
fn an_event_that_is_no_json_is_left_out() {
    let place = Place::new();
    let server =
        WireServer::start(vec![vec![events(&(text("half") + "data: {oops\n\n" + &text("way") + END))]]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, ran.out.as_str(), server.requests().len()), (0, "halfway\n", 1), "{ran:?}");
}

// A23
#[test]
fn a_text_that_broke_off_is_shown_once() {
    for end in [Act::Reset, Act::Pause(Duration::ZERO)] {
        let place = Place::new();
        let half = vec![events(&text("One. Two")), end];
        let whole = vec![events(&(text("One. Two. Three.") + END))];
        let server = WireServer::start(vec![half, whole]);
        let ran = turn(&place, &server, &[]);
        assert_eq!(
            (ran.code, ran.out.as_str(), server.requests().len()),
            (0, "One. Two. Three.\n", 2),
            "{ran:?}"
        );
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        assert_eq!(journal.matches("\"replied\"").count(), 1, "{journal}");
    }
}

// A30, A31, A32, A33, A34
#[test]
fn a_server_that_falls_silent_is_given_up_and_asked_again() {
    let place = Place::new();
    place.configure("[timeouts]\nfirst_byte = 1\nthinking = 20\nidle = 1");
    let ping = [Act::Send(b": ping\n\n".to_vec()), Act::Pause(Duration::from_millis(100))];
    let pings = std::iter::repeat_n(ping, 200).flatten();
    let silent = "the server sent nothing for 1 s";
    check_asked_again(
        &place,
        vec![
            ("A30", vec![events(&text("half")), Act::Hold], silent),
            ("A31", vec![Act::Hold], silent),
            ("A32", vec![Act::Send(b"HTTP/1.1 200 OK\r\ncont".to_vec()), Act::Hold], silent),
            ("A33", [events(": ping\n\n")].into_iter().chain(pings).collect(), silent),
            ("A34", vec![events(&call(HALF)), Act::Hold], silent),
        ],
    );
}

// A35: each piece in time, all of them together not
#[test]
fn a_slow_server_that_goes_on_is_waited_for() {
    let place = Place::new();
    place.configure("[timeouts]\nfirst_byte = 2\nidle = 2");
    let slow = ["s", "l", "o", "w"]
        .map(|piece| [Act::Pause(Duration::from_millis(800)), Act::Send(text(piece).into())]);
    let scene = [events("")].into_iter().chain(slow.into_iter().flatten()).chain([Act::Send(END.into())]);
    let server = WireServer::start(vec![scene.collect()]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, ran.out.as_str(), server.requests().len()), (0, "slow\n", 1), "{ran:?}");
}

// A36: in letters of several bytes, in line ends, in arguments
#[test]
fn a_stream_is_read_alike_wherever_it_is_cut() {
    let called = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let stream = (text("Grüße, 世界 😀") + &call(24) + called).replace('\n', "\r\n");
    for size in [1, 2, 3, 5, 7, 1_000] {
        let place = Place::new();
        let pieces = stream.as_bytes().chunks(size);
        let pieces =
            pieces.flat_map(|piece| [Act::Send(piece.to_vec()), Act::Pause(Duration::from_micros(200))]);
        let scene = [events("")].into_iter().chain(pieces).collect();
        let server = WireServer::start(vec![scene, good()]);
        let ran = turn(&place, &server, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Grüße, 世界 😀\nfine\n"), "{size}: {ran:?}");
        assert!(place.read("made").is_some(), "{size}: {ran:?}");
    }
}

/// A moment from now, as HTTP writes it and as `date` is told it.
fn date(from_now: &str) -> String {
    let mut date = Command::new("date");
    date.args(["-u", "-d", from_now, "+%a, %d %b %Y %H:%M:%S GMT"]).env("LC_ALL", "C");
    String::from_utf8(date.output().unwrap().stdout).unwrap().trim().to_owned()
}

// A38, A39
#[test]
fn what_a_server_asks_to_wait_is_waited_unless_it_is_too_long() {
    let place = Place::new();
    let full = |after: &str| vec![answer(429, &format!("retry-after: {after}"), "{\"error\":\"slow down\"}")];
    let server = WireServer::start(vec![full(&date("+1 second")), good()]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, ran.out.as_str(), server.requests().len()), (0, "fine\n", 2), "{ran:?}");
    for (after, expected) in [("86400", "86400"), (&date("+1 day"), "86")] {
        let server = WireServer::start(vec![full(after), good()]);
        let ran = turn(&place, &server, &[]);
        assert_eq!((ran.code, server.requests().len()), (1, 1), "{after}: {ran:?}");
        let told = format!("the server asks to wait {expected}");
        assert!(ran.err.contains(&told) && ran.err.contains(" s, which is too long to wait for"), "{ran:?}");
    }
}

// A57
#[test]
fn an_answer_that_leads_elsewhere_is_not_followed() {
    let place = Place::new();
    let elsewhere = WireServer::start(vec![good()]);
    for status in [301, 302, 303, 307, 308] {
        let to = format!("location: {}/chat/completions", elsewhere.url);
        let server = WireServer::start(vec![vec![answer(status, &to, "")]]);
        let ran = turn(&place, &server, &[]);
        assert_eq!((ran.code, server.requests().len()), (1, 1), "{status}: {ran:?}");
        assert!(ran.err.contains("redirects to"), "{status}: {ran:?}");
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
}

// A59, A60: for ever
#[test]
fn a_model_that_answers_nothing_is_asked_so_often_and_no_more() {
    let announced =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    for (what, said) in [("A59", announced), ("A60", END)] {
        let place = Place::new();
        let server = WireServer::start(vec![vec![events(said)]]);
        let ran = turn(&place, &server, &[]);
        assert_eq!((ran.code, server.requests().len()), (1, 3), "{what}: {ran:?}");
        assert!(ran.err.contains("it answered nothing, 3 times"), "{what}: {ran:?}");
    }
}

#[test]
fn a_model_that_thinks_until_its_limit_is_asked_once_and_its_user_told_where_to_raise_that() {
    let place = Place::new();
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":8191}}\n\ndata: [DONE]";
    let cut_off = END.replace("stop", "length").replace("data: [DONE]", usage);
    let server = WireServer::start(vec![vec![events(&cut_off)]]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, server.requests().len()), (1, 1), "{ran:?}");
    let expected = "error: the model used its 8191 output tokens for thinking, and answered nothing\n\
        hint: raise `max_output` in a profile of your own (`haft help profiles`), or lower `--effort`\n";
    assert!(ran.err.contains(expected), "{ran:?}");
}

// H-122
#[test]
fn a_reply_that_the_vendor_does_not_let_through_says_so() {
    let filtered = END.replace("stop", "content_filter");
    let place = Place::new();
    let server = WireServer::start(vec![vec![events(&filtered)]]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, server.requests().len()), (1, 1), "{ran:?}");
    assert!(
        ran.err.starts_with(
            "error: the model refused to answer: its vendor's content policy\nhint: say it in other words"
        ),
        "{ran:?}"
    );
    let server = WireServer::start(vec![vec![events(&(text("I can") + &filtered))]]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I can\n"), "{ran:?}");
    assert!(ran.err.contains("(the vendor's content policy ended the reply)"), "{ran:?}");
}

// H-121: what a server without a reader of its own leaves in the text
#[test]
fn thoughts_at_the_beginning_of_a_reply_are_no_part_of_it() {
    let place = Place::new();
    let pieces = ["<th", "ink>one or two</thi", "nk>\n", "\n{\"a\": 1}"].map(text).concat();
    let server = WireServer::start(vec![vec![events(&(pieces + END))]]);
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
    let ran = turn(&place, &server, &["--schema", schema]);
    assert_eq!((ran.code, ran.out.as_str(), server.requests().len()), (0, "{\"a\":1}\n", 1), "{ran:?}");
    let server = WireServer::start(vec![vec![events(&(text("Write <think>…</think>.") + END))]]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Write <think>…</think>.\n"), "{ran:?}");
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let place = Place::new();
    let mut command = place.haft(&[
        "run",
        "--model",
        "openai/m",
        "--base-url",
        "https://models.example/v1",
        "--max-time",
        "1",
        "go",
    ]);
    command
        .env("OPENAI_API_KEY", KEY)
        .env("HTTPS_PROXY", "http://me:secret@127.0.0.1:1")
        .env_remove("NO_PROXY");
    let ran = Ran::from(command.output().unwrap());
    assert!(
        ran.err.contains(
            "no way through the proxy `http://127.0.0.1:1`: nothing listens there (https://models.example/v1)"
        ),
        "{ran:?}"
    );
}

/// So much may be under way between a server and a client that reads no more.
const UNDER_WAY: usize = 16 << 20;

// A51, A55, A56
#[test]
fn nothing_is_read_without_a_bound() {
    let large = vec![b'x'; 1 << 20];
    let error =
        |status| vec![answer(status, JSON, "{\"error\":{\"message\":\""), Act::Repeat(large.clone(), 50)];
    let zip = "head -c 256M /dev/zero | tr '\\0' x | gzip -1";
    let bomb = Command::new("sh").args(["-c", zip]).output().unwrap().stdout;
    assert!(!bomb.is_empty());
    let zipped = answer(200, "content-type: text/event-stream\r\ncontent-encoding: gzip", "");
    let line = vec![events("data: "), Act::Repeat(large.clone(), 100)];
    let table = [
        ("A51", error(500), "(HTTP 500)", UNDER_WAY),
        ("A55", line, "an event of more than 16 MB", (16 << 20) + UNDER_WAY),
        ("A56", vec![zipped, Act::Send(bomb)], "an event of more than 16 MB", usize::MAX),
    ];
    for (what, scene, expected, most) in table {
        let place = Place::new();
        let server = WireServer::start(vec![scene, good()]);
        let ran = turn(&place, &server, &["--json"]);
        assert_eq!((ran.code, server.requests().len()), (0, 2), "{what}: {}", ran.err);
        let reasons = reasons(&ran);
        assert!(reasons[0].contains(expected) && reasons[0].len() < 2_000, "{what}: {reasons:?}");
        assert!(server.sent() < most, "{what}: {}", server.sent());
    }
    let place = Place::new();
    let server = WireServer::start(vec![error(400)]);
    let ran = turn(&place, &server, &[]);
    assert_eq!((ran.code, server.requests().len()), (1, 1), "{}", ran.err.len());
    assert!(ran.err.len() < 2_000 && server.sent() < UNDER_WAY, "{}, {}", ran.err.len(), server.sent());
}

/// Its password is blanked in the memory of the process, which must not lose the proxy over it.
#[test]
fn a_proxy_that_wants_a_password_is_used() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let head: Vec<String> = BufReader::new(&stream)
            .lines()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        (&stream).write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").unwrap();
        head
    });
    let mut command = place.haft(&["models", "list", "openai"]);
    let ran = Ran::from(command.env("OPENAI_API_KEY", KEY).env("https_proxy", proxy).output().unwrap());
    let head = asked.join().unwrap();
    assert_eq!(head[0], "CONNECT api.openai.com:443 HTTP/1.1");
    // `me:secret`
    let has = head.iter().any(|line| line.eq_ignore_ascii_case("proxy-authorization: Basic bWU6c2VjcmV0"));
    assert!(has, "{head:?}");
    assert!(ran.code != 0 && !ran.err.contains("secret"), "{ran:?}");
}
