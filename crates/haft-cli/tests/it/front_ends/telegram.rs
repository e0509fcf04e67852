//! `haft telegram`: why it does not start, told in a line, and the exit code.

use crate::kit::{Place, Ran};
use axum::{Json, Router, http::StatusCode};
use serde_json::json;

/// A Bot API that refuses everything in this way.
fn refusing(code: u16, description: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = json!({"ok": false, "error_code": code, "description": description});
    let app =
        Router::new().fallback(move || async move { (StatusCode::from_u16(code).unwrap(), Json(answer)) });
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await.unwrap();
        });
    });
    url
}

#[test]
fn why_a_bot_does_not_start_is_told_in_a_line() {
    let place = Place::new();
    let model = place.script("s", &[json!({"say": "x"})]);
    let (unknown, webhook) = (
        refusing(401, "Unauthorized"),
        refusing(409, "Conflict: can't use getUpdates method while webhook is active"),
    );
    let table = [
        (
            None,
            None,
            2,
            "error: there is no token for Telegram: TELEGRAM_BOT_TOKEN is not set\nhint: create a bot with @BotFather",
        ),
        (Some("two words"), None, 2, "error: TELEGRAM_BOT_TOKEN is not a valid token: "),
        (
            Some("1:secret"),
            Some("ftp://x"),
            2,
            "error: cannot use the address of the Bot API: it begins with neither",
        ),
        (
            Some("1:secret"),
            Some(unknown.as_str()),
            2,
            "error: Telegram refuses the token: Unauthorized\nhint: ",
        ),
        (
            Some("1:secret"),
            Some(webhook.as_str()),
            1,
            "error: cannot ask for updates: Conflict: can't use getUpdates",
        ),
    ];
    for (token, url, code, expected) in table {
        let mut command = place.haft(&["telegram", "--model", &model, "--allow", "7"]);
        command.envs(token.map(|token| ("TELEGRAM_BOT_TOKEN", token)));
        command.envs(url.map(|url| ("TELEGRAM_BASE_URL", url)));
        let ran = Ran::from(command.output().unwrap());
        assert!(ran.err.starts_with(expected), "{}", ran.err);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{expected}");
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}

#[test]
fn a_bot_does_not_start_where_no_session_can_work() {
    let place = Place::new();
    let model = place.script("s", &[json!({"say": "x"})]);
    let above = place.path().display().to_string();
    let mut command = place.haft(&["telegram", "--model", &model, "--allow", "7", "--cwd", &above]);
    let ran = Ran::from(command.env("TELEGRAM_BOT_TOKEN", "1:secret").output().unwrap());
    assert!(ran.code == 2 && ran.err.contains("is inside the workspace"), "{ran:?}");
}

#[test]
fn the_variable_with_the_token_has_the_name_that_the_person_gives_it() {
    let place = Place::new();
    let model = place.script("s", &[json!({"say": "x"})]);
    let folder = place.path().join("person/.config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[telegram]\nusers = [7]\ntoken_env = \"MY_BOT\"\n").unwrap();
    let ran = place.run(&["telegram", "--model", &model]);
    assert!(ran.err.starts_with("error: there is no token for Telegram: MY_BOT is not set"), "{}", ran.err);
    assert_eq!(ran.code, 2);
    // No command of a model gets to see it.
    let mut command = place.haft(&["tools", "call", "bash", r#"{"command": "env"}"#, "--permission", "full"]);
    let ran = Ran::from(command.env("MY_BOT", "hush").env("SEEN", "yes").output().unwrap());
    assert!(ran.out.contains("SEEN=yes") && !ran.out.contains("hush"), "{}", ran.out);
}
