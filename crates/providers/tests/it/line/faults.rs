//! What goes wrong on the line, with real servers on loopback (ids: `faults.md`).
use super::server::{Act, Server, answer, events};
use futures::{StreamExt, future::join_all};
use haft_core::{Delta, Message, Part, Provider, ProviderError, Request};
use haft_providers::{Connection, Key, Retry, Timeouts, Wire, connect};
use std::{sync::Arc, time::Duration};

const KEY: &str = "sk-very-secret";

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Much shorter than what is usual, for servers that say nothing.
const SHORT: Timeouts = Timeouts {
    first_byte: Duration::from_millis(400),
    thinking: Duration::from_millis(400),
    idle: Duration::from_millis(300),
    repeating: Duration::from_secs(30),
    reply: Duration::from_secs(30),
    whole: Duration::from_millis(400),
};

fn provider(wire: Wire, url: &str, timeouts: Timeouts) -> Arc<dyn Provider> {
    let connection = Connection {
        base_url: Some(url.to_owned()),
        key: Some(Key::new(KEY)),
        timeouts: Some(timeouts),
        ..Connection::default()
    };
    connect(wire.speaker().unwrap(), connection)
}

fn request() -> Request {
    let messages = vec![Arc::new(Message::User { parts: vec![Part::text("hello")] })];
    Request { model: "m".into(), messages, ..Request::default() }
}

/// What is seen of a reply: text joined, everything else in short.
async fn told(provider: &dyn Provider) -> String {
    let mut told = String::new();
    let mut deltas = provider.stream(request());
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(Delta::Text(text)) => told.push_str(&text),
            Ok(Delta::Stop(stop)) => told.push_str(&format!(" [{stop:?}]")),
            Ok(Delta::CallStart { name, .. }) => told.push_str(&format!("<{name}>")),
            Ok(Delta::CallArguments { json, .. }) => told.push_str(&json),
            Ok(Delta::Retrying { .. }) => told.push_str(" [again] "),
            Ok(Delta::CallProblem { problem, .. }) => told.push_str(&problem),
            Ok(Delta::Thinking(_) | Delta::Signature(_) | Delta::Usage(_)) => {}
            Err(error) => told.push_str(&format!(" [{}: {error}]", kind(&error))),
        }
    }
    told
}

fn kind(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Auth { .. } => "auth",
        ProviderError::SignIn { .. } => "sign-in",
        ProviderError::Denied { .. } => "denied",
        ProviderError::Busy { .. } => "busy",
        ProviderError::Internal { .. } => "internal",
        ProviderError::NotRunning { .. } => "not running",
        ProviderError::Untrusted { .. } => "untrusted",
        ProviderError::ContextTooLong { .. } => "context",
        ProviderError::NoAnswer { .. } => "no answer",
        ProviderError::Rejected { .. } => "rejected",
        ProviderError::Refused { .. } => "refused",
        ProviderError::Exhausted { .. } => "exhausted",
        ProviderError::Connection { .. } => "connection",
    }
}

fn text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn piece(piece: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{piece}]}}}}]}}\n\n")
}

const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn good() -> Vec<Act> {
    vec![events(&(text("fine") + END))]
}

async fn check(timeouts: Timeouts, table: Vec<(&str, Vec<Act>, &str)>) {
    for (what, scene, expected) in table {
        let server = Server::start(vec![scene]).await;
        let told = told(&*provider(Wire::OpenaiChat, &server.url, timeouts)).await;
        let told = told.replace(&server.url, "URL");
        assert!(told.contains(expected), "{what}: {told}");
        assert!(!told.contains(KEY), "{what}: {told}");
    }
}

// A45 to A48, A54
#[tokio::test]
async fn answers_are_sorted_by_who_can_act() {
    let table = [
        (401, r#"{"error":{"message":"Incorrect API key provided: sk-very-secret"}}"#, "auth"),
        (403, "", "denied"),
        (403, r#"{"message":"You don't have access to the model with the specified model ID."}"#, "denied"),
        (403, r#"{"message":"The security token included in the request is expired"}"#, "auth"),
        (403, r#"{"error":{"message":"Your API key was reported as leaked."}}"#, "auth"),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]"#,
            "auth",
        ),
        (429, r#"{"error":{"message":"slow down"}}"#, "busy"),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "busy"),
        (500, "<html>oops</html>", "internal"),
        (502, "", "internal"),
        (500, r#"{"error":{"message":"The model is overloaded"}}"#, "busy"),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, "busy"),
        (408, "", "busy"),
        (424, r#"{"message":"The model failed."}"#, "internal"),
        (504, "", "connection"),
        (524, "", "connection"),
        (409, "", "busy"),
        (400, r#"{"error":{"message":"bad","type":"invalid_request_error"}}"#, "rejected"),
        (404, r#"{"error":{"message":"no such model"}}"#, "rejected"),
        (
            400,
            r#"{"error":{"message":"The prompt was filtered","code":"content_filter","status":400}}"#,
            "refused",
        ),
        (422, r#"{"detail":[{"msg":"Extra inputs are not permitted"}]}"#, "rejected"),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, "exhausted"),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            "exhausted",
        ),
        (429, r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":90}}"#, "exhausted"),
        (400, r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#, "context"),
        (
            400,
            r#"{"type":"error","error":{"message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
            "context",
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
            "context",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"…","type":"exceed_context_size_error","n_ctx":4096}}"#,
            "context",
        ),
        (413, r#"{"error":{"type":"request_too_large","message":"…"}}"#, "context"),
        (500, r#"{"error":"context size has been exceeded"}"#, "context"),
        (400, r#"{"error":"prompt too long; exceeded max context length by 514 tokens"}"#, "context"),
        (400, r#"{"error":{"message":"litellm.ContextWindowExceededError: …"}}"#, "context"),
        (400, r#"{"detail":"Prompt length 5000 is greater than max_seq_len 4096"}"#, "context"),
        (422, r#"{"error":"`inputs` tokens + `max_new_tokens` must be <= 4096"}"#, "context"),
        (500, r#"{"error":"tools param requires --jinja flag"}"#, "rejected"),
        (500, r#"{"error":"model requires more system memory (18 GiB) than is available"}"#, "rejected"),
    ];
    for (status, body, expected) in table {
        let scene = vec![answer(status, "content-type: application/json", body)];
        check(Timeouts::default(), vec![(body, scene, &format!("[{expected}: "))]).await;
    }
}

// A40, A45, A46, A47, A49, A50, A57
#[tokio::test]
async fn answers_that_are_no_reply_are_sorted_and_do_not_tell_the_key() {
    let json = "content-type: application/json";
    let echo = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
    let long = r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#;
    check(
        Timeouts::default(),
        vec![
            (
                "A46",
                vec![answer(401, json, &echo)],
                "[auth: OpenAI refused the key: wrong key [key] (HTTP 401)]",
            ),
            ("A45", vec![answer(400, json, r#"{"error":{"message":"bad"}}"#)], "[rejected: OpenAI rejected"),
            ("A47", vec![answer(400, json, long)], "[context: "),
            ("A40", vec![answer(500, json, "{}")], "[internal: OpenAI had an internal error: {} (HTTP 500)]"),
            (
                "A49",
                vec![answer(200, "content-type: text/html", "<html>log in</html>")],
                "answered with text/html",
            ),
            ("A49 without a type", vec![answer(200, "x-a: b", "<html>log in</html>")], "[connection: "),
            ("A50", vec![events("")], "the server sent an empty response (URL)"),
            (
                "A57",
                vec![answer(307, "location: http://127.0.0.1:1/v1", "")],
                "redirects to http://127.0.0.1:1/v1",
            ),
            (
                "whole",
                vec![answer(
                    200,
                    json,
                    r#"{"choices":[{"message":{"content":"all"},"finish_reason":"stop"}]}"#,
                )],
                "all [EndTurn]",
            ),
            (
                "an error as a success",
                vec![answer(200, json, &echo)],
                "[internal: OpenAI had an internal error: wrong key [key]",
            ),
        ],
    )
    .await;
}

// A23, A24, A25, A27, A43, A53, A54
#[tokio::test]
async fn replies_that_break_off_are_no_replies() {
    let half = text("half");
    let call = piece(r#"{"index":0,"id":"a","function":{"name":"rm","arguments":"{\"path\":"}}"#);
    let error = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let broken = "data: {oops\n\n";
    check(
        Timeouts::default(),
        vec![
            (
                "A23",
                vec![events(&half), Act::Reset],
                "half [connection: the connection to OpenAI failed: the server closed",
            ),
            ("A24", vec![events(&call), Act::Reset], "[connection: "),
            (
                "A25",
                vec![events(&call)],
                "{\"path\": [connection: the connection to OpenAI failed: the reply was cut off (URL)]",
            ),
            ("A27", vec![events(&half)], "half [connection: "),
            (
                "A43",
                vec![Act::Reset],
                "[connection: the connection to OpenAI failed: the server closed the connection",
            ),
            ("A53", vec![events(&(half.clone() + broken + &text("way") + END))], "halfway [EndTurn]"),
            ("A53 in a call", vec![events(&(call + broken + END))], "is not JSON"),
            (
                "A53 alone",
                vec![events(&(broken.to_owned() + END.split_once("\n\n").unwrap().1.trim()))],
                "[connection",
            ),
            ("A54", vec![events(&(half.clone() + error))], "half [busy: OpenAI is busy: Overloaded]"),
            ("only [DONE]", vec![events("data: [DONE]\n\n")], "[EndTurn]"),
            ("no [DONE]", vec![events(&(half + END.split_once("\n\n").unwrap().0))], "half [EndTurn]"),
        ],
    )
    .await;
}

// A30, A31, A32, A33, A34
#[tokio::test]
async fn a_silent_server_is_given_up() {
    let ping = Act::Send(b": ping\n\n".to_vec());
    let pings = (0..40).flat_map(|_| [ping.clone(), Act::Pause(milliseconds(20))]);
    let call = piece(r#"{"index":0,"id":"a","function":{"name":"rm","arguments":"{"}}"#);
    let finished = END.split_once("\n\n").unwrap().0.to_owned() + "\n\n";
    check(
        SHORT,
        vec![
            ("A30", vec![events(""), Act::Hold], "the server sent nothing for 0.4 s (URL)"),
            ("A31", vec![Act::Hold], "the server sent nothing for 0.4 s"),
            (
                "A32",
                vec![Act::Send(b"HTTP/1.1 200 OK\r\ncont".to_vec()), Act::Hold],
                "sent nothing for 0.4 s",
            ),
            ("A33", [events(": ping\n\n")].into_iter().chain(pings).collect(), "sent nothing for 0.4 s"),
            (
                "A34",
                vec![events(&call), Act::Hold],
                "<rm>{ [connection: the connection to OpenAI failed: the server sent nothing for 0.3 s",
            ),
            ("all said", vec![events(&(text("all") + &finished)), Act::Hold], "all [EndTurn]"),
        ],
    )
    .await;
}

// A35
#[tokio::test]
async fn a_slow_server_is_waited_for() {
    let slow = (0..8).flat_map(|_| [Act::Send(text("x").into_bytes()), Act::Pause(milliseconds(500))]);
    let timeouts = Timeouts { idle: Duration::from_secs(3), ..Timeouts::default() };
    let scene = [events("")].into_iter().chain(slow).chain([Act::Send(END.into())]).collect();
    check(timeouts, vec![("A35", scene, "xxxxxxxx [EndTurn]")]).await;
}

/// Pieces of a reply, one each 20 ms, for much longer than anybody listens.
fn dripping(of: impl Fn(usize) -> String) -> Vec<Act> {
    let drip = |number| [Act::Send(of(number).into_bytes()), Act::Pause(milliseconds(20))];
    [events("")].into_iter().chain((0..2_000).flat_map(drip)).collect()
}

fn thought(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"reasoning_content\":\"{text}\"}}}}]}}\n\n")
}

// A29
#[tokio::test]
async fn a_reply_that_says_nothing_new_is_ended() {
    let arguments = |number| match number {
        0 => piece(r#"{"index":0,"id":"a","function":{"name":"write","arguments":"{\"content\":\""}}"#),
        _ => piece(r#"{"index":0,"function":{"arguments":"x"}}"#),
    };
    let calls = |number| {
        piece(&format!(
            r#"{{"index":{number},"id":"c{number}","function":{{"name":"bash","arguments":"{{}}"}}}}"#
        ))
    };
    let timeouts = Timeouts { repeating: Duration::from_secs(1), ..Timeouts::default() };
    let table = vec![
        ("a token", dripping(|_| text("tok ")), "tok tok "),
        ("a counter", dripping(|number| text(&format!("step {number}. "))), "step 0. step 1. "),
        ("white space", dripping(|_| text("\\n")), "\n\n"),
        ("thoughts", dripping(|_| thought("so ")), " [Repeating]"),
        ("arguments", dripping(arguments), "<write>{\"content\":\"xxxx"),
        ("calls", dripping(calls), "<bash>{}<bash>{}"),
        (
            "all in turn",
            dripping(|number| if number % 2 == 0 { thought("so ") } else { text("well ") }),
            "well well ",
        ),
    ];
    let cases = table.into_iter().map(async |(what, scene, begins)| {
        let server = Server::start(vec![scene]).await;
        let told = told(&*provider(Wire::OpenaiChat, &server.url, timeouts)).await;
        assert!(told.starts_with(begins) && told.ends_with(" [Repeating]"), "{what}: {told}");
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_reply_that_says_something_new_goes_on_to_a_limit_of_its_own() {
    let timeouts = Timeouts {
        repeating: Duration::from_millis(500),
        reply: Duration::from_secs(3),
        ..Timeouts::default()
    };
    let word = |number: usize| {
        let letters = [number / 676, number / 26, number].map(|n| char::from(b'a' + (n % 26) as u8));
        letters.into_iter().collect::<String>()
    };
    for (what, scene) in [
        ("text", dripping(|number| text(&format!("{} ", word(number))))),
        ("thoughts", dripping(|number| thought(&format!("{} ", word(number))))),
    ] {
        let server = Server::start(vec![scene]).await;
        let told = told(&*provider(Wire::OpenaiChat, &server.url, timeouts)).await;
        assert!(told.ends_with(" [Endless]"), "{what}: {told}");
    }
}

#[tokio::test]
async fn empty_pieces_are_nothing() {
    let empty = [text(""), "data: {\"choices\":[{\"delta\":{}}]}\n\n".to_owned()];
    for piece in empty {
        let server = Server::start(vec![dripping(|_| piece.clone())]).await;
        let told = told(&*provider(Wire::OpenaiChat, &server.url, SHORT)).await;
        assert!(told.contains("the server sent nothing for 0.4 s"), "{told}");
    }
}

// A model may think in silence: it is given up once, and then waited for.
#[tokio::test]
async fn a_server_that_was_given_up_for_its_silence_is_waited_for_longer() {
    let timeouts = Timeouts { thinking: Duration::from_secs(30), ..SHORT };
    let slow = || vec![Act::Pause(milliseconds(1_500)), events(&(text("fine") + END))];
    let server = Server::start(vec![slow()]).await;
    let model = Retry::new(provider(Wire::OpenaiChat, &server.url, timeouts));
    assert_eq!(told(&model).await, " [again] fine [EndTurn]");
    assert_eq!(told(&model).await, "fine [EndTurn]", "it is known by now");
    assert_eq!(server.requests().await.len(), 3);
}

#[tokio::test]
async fn a_server_that_says_that_it_thinks_is_waited_for_longer() {
    let timeouts = Timeouts { thinking: Duration::from_secs(30), ..SHORT };
    let responses = [
        "data: {\"type\":\"response.created\",\"response\":{}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"fine\"}]}]}}\n\n",
    ];
    let anthropic = [
        "data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"fine\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    ];
    for (wire, [begins, ends]) in [(Wire::OpenaiResponses, responses), (Wire::Anthropic, anthropic)] {
        let scene = vec![events(begins), Act::Pause(milliseconds(1_500)), Act::Send(ends.into())];
        let server = Server::start(vec![scene]).await;
        let told = told(&*provider(wire, &server.url, timeouts)).await;
        assert_eq!(told, "fine [EndTurn]", "{wire:?}");
    }
}

#[tokio::test]
async fn a_request_that_may_have_been_paid_for_is_repeated_twice() {
    let gateway = answer(504, "content-type: text/html", "<html>Gateway Timeout</html>");
    for (what, scene) in [("silence", Act::Hold), ("a gateway's time limit", gateway)] {
        let server = Server::start(vec![vec![scene]]).await;
        let told = told(&Retry::new(provider(Wire::OpenaiChat, &server.url, SHORT))).await;
        assert!(told.contains("; gave up after 3 requests"), "{what}: {told}");
        assert_eq!(server.requests().await.len(), 3, "{what}");
    }
}

// A51, A55, A56
#[tokio::test]
async fn nothing_is_read_without_a_bound() {
    let bomb = {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for _ in 0..100 {
            std::io::Write::write_all(&mut gzip, &[b'x'; 1 << 20]).unwrap();
        }
        gzip.finish().unwrap()
    };
    let gzip = answer(200, "content-type: text/event-stream\r\ncontent-encoding: gzip", "");
    let error = answer(500, "content-type: application/json", "{\"error\":{\"message\":\"");
    check(
        Timeouts::default(),
        vec![
            (
                "A55",
                vec![events("data: "), Act::Repeat(vec![b'x'; 1 << 20], 100)],
                "an event of more than 16 MB",
            ),
            ("A56", vec![gzip, Act::Send(bomb)], "an event of more than 16 MB"),
            (
                "comments",
                vec![events(""), Act::Repeat(format!(": {}\n\n", "x".repeat(1 << 20)).into_bytes(), 100)],
                "more than 32 MB without content",
            ),
            ("A51", vec![error, Act::Repeat(vec![b'x'; 1 << 20], 50)], "(HTTP 500)"),
            (
                "whole",
                vec![
                    answer(200, "content-type: application/json", "{"),
                    Act::Repeat(vec![b' '; 1 << 20], 50),
                ],
                "a reply of more than 16 MB",
            ),
        ],
    )
    .await;
}

// A36
#[tokio::test]
async fn events_may_be_split_anywhere() {
    let stream = text("Grüße, 世界 😀").replace('\n', "\r\n") + END;
    let split = stream
        .as_bytes()
        .chunks(7)
        .flat_map(|chunk| [Act::Send(chunk.to_vec()), Act::Pause(milliseconds(1))]);
    check(
        Timeouts::default(),
        vec![("A36", [events("")].into_iter().chain(split).collect(), "Grüße, 世界 😀 [EndTurn]")],
    )
    .await;
}

// A44
#[tokio::test]
async fn an_address_where_nothing_listens_is_named() {
    let url = format!("http://127.0.0.1:{}/v1", haft_testing::free_port());
    let told = told(&*provider(Wire::OpenaiChat, &url, SHORT)).await;
    assert_eq!(told, format!(" [not running: OpenAI cannot be reached: nothing listens at {url}]"));
}

// A23, A38, A39, A40, A46
#[tokio::test]
async fn faults_that_pass_are_retried_and_the_text_is_not_doubled() {
    let reset = vec![events(&text("half")), Act::Reset];
    let five_hundred = vec![answer(500, "x-a: b", "")];
    let wait = vec![answer(429, "retry-after-ms: 300", "")];
    let day = vec![answer(429, "retry-after: 86400", "{\"error\":\"slow down\"}")];
    let refused = vec![answer(401, "x-a: b", "")];
    let table: Vec<(&str, Vec<Vec<Act>>, &str, usize)> = vec![
        ("A23", vec![reset, good()], "half [again] fine [EndTurn]", 2),
        ("A40", vec![five_hundred.clone(), five_hundred, good()], " [again]  [again] fine [EndTurn]", 3),
        ("A38", vec![wait, good()], " [again] fine [EndTurn]", 2),
        (
            "A39",
            vec![day, good()],
            " [busy: OpenAI is busy: slow down (HTTP 429); the server asks to wait 86400 s, which is too long to wait for]",
            1,
        ),
        (
            "A39 for good",
            vec![vec![answer(429, "x-should-retry: false", "{\"error\":\"slow down\"}")], good()],
            " [exhausted: OpenAI rejected the request: slow down (HTTP 429)]",
            1,
        ),
        ("A46", vec![refused, good()], " [auth: OpenAI refused the key: Unauthorized (HTTP 401)]", 1),
    ];
    for (what, scenes, expected, requests) in table {
        let server = Server::start(scenes).await;
        let retry = Retry::new(provider(Wire::OpenaiChat, &server.url, Timeouts::default()));
        assert_eq!(told(&retry).await, expected, "{what}");
        assert_eq!(server.requests().await.len(), requests, "{what}");
    }
}

// A54, A23 and A27 on the other wire
#[tokio::test]
async fn anthropic_faults_are_sorted_too() {
    let half = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"half\"}}\n\n";
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let ping = Act::Send(b"event: ping\ndata: {\"type\":\"ping\"}\n\n".to_vec());
    let pings = (0..40).flat_map(|_| [ping.clone(), Act::Pause(milliseconds(20))]);
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let table = [
        (
            "overloaded",
            vec![events(&format!("{half}{overloaded}"))],
            "half [busy: Anthropic is busy: Overloaded]",
        ),
        (
            "cut off",
            vec![events(half)],
            "half [connection: the connection to Anthropic failed: the reply was cut off",
        ),
        ("reset", vec![events(half), Act::Reset], "half [connection: "),
        ("pings", [events(half)].into_iter().chain(pings).collect(), "sent nothing for 0.3 s"),
        ("529", vec![answer(529, "x-a: b", "")], "[busy: "),
        ("too long", vec![answer(400, "content-type: application/json", too_long)], "[context: "),
    ];
    for (what, scene, expected) in table {
        let server = Server::start(vec![scene]).await;
        let told = told(&*provider(Wire::Anthropic, &server.url, SHORT)).await;
        assert!(told.contains(expected), "{what}: {told}");
    }
}
