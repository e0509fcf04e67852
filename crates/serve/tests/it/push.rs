//! Devices that are notified: added, changed, removed, and refused with the reason.
use crate::kit::Server;
use axum::http::StatusCode;
use haft_core::Mode;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

/// The public key of RFC 8291, appendix A.
const PUBLIC: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";

fn device(endpoint: &str, wishes: &Value) -> String {
    let keys = json!({"p256dh": PUBLIC, "auth": "BTBZMqHH6r4Tts7J_aSIgg"});
    let subscription = json!({"endpoint": endpoint, "expirationTime": null, "keys": keys});
    json!({"subscription": subscription, "wishes": wishes}).to_string()
}

// H-97, H-98
#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_added_changed_and_removed() {
    let server = Server::start(Mode::Ask, &[]).await;
    let none = server.ask("GET /v1/push", "").await.json();
    assert_eq!((none["key"].as_str().unwrap().len(), &none["devices"]), (87, &json!([])));
    let (one, other) = ("https://push.example.org/1", "https://push.example.org/2");
    let added = server.ask("PUT /v1/push", &device(one, &json!({}))).await.json();
    assert_eq!(added["key"], none["key"]);
    let usual = json!({"questions": true, "jobs": true, "turns": false, "quiet": null});
    assert_eq!(added["devices"][0]["wishes"], usual);
    server.ask("PUT /v1/push", &device(other, &json!({}))).await;
    let quiet = json!({"from": "22:00", "to": "07:00", "zone": "UTC"});
    let wishes = json!({"questions": true, "jobs": false, "turns": true, "quiet": quiet});
    let changed = server.ask("PUT /v1/push", &device(one, &wishes)).await.json();
    let rows: Vec<_> = changed["devices"].as_array().unwrap().iter().collect();
    assert_eq!((rows.len(), &rows[1]["endpoint"], &rows[1]["wishes"]), (2, &json!(one), &wishes));
    for file in ["serve-push.json", "serve-push-key"] {
        let mode = fs::metadata(server.home().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let id = rows[1]["id"].as_str().unwrap();
    let left = server.ask(&format!("DELETE /v1/push?id={id}"), "").await.json();
    assert_eq!(left["devices"].as_array().unwrap().len(), 1);
    assert_eq!(left["devices"][0]["endpoint"], other);
}

// H-97, H-98
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_notified_is_refused_with_the_reason() {
    let server = Server::start(Mode::Ask, &[]).await;
    let quiet = |from: &str, zone: &str| json!({"quiet": {"from": from, "to": "07:00", "zone": zone}});
    let apple = "https://web.push.apple.com/x";
    let own = "https://push.example.org/1";
    let point = device(own, &json!({})).replace("BCVx", "BCVy");
    for (body, status, reason) in [
        (device("http://push.example.org/1", &json!({})), 400, "is not an HTTPS address of a push service"),
        (device(own, &quiet("24:30", "UTC")), 400, "`24:30` is not a time such as `22:00`"),
        (device(own, &quiet("22:00", "Nowhere")), 400, "does not know the time zone `Nowhere`"),
        (device(own, &json!({"all": true})), 400, "all"),
        (point, 400, "`p256dh` is not a point of P-256"),
        (device(apple, &json!({})), 409, "it names no contact"),
    ] {
        let answer = server.ask("PUT /v1/push", &body).await;
        assert_eq!(answer.status, StatusCode::from_u16(status).unwrap(), "{body}: {}", answer.text);
        assert!(answer.text.contains(reason), "{reason}: {}", answer.text);
    }
    for place in 0..21 {
        let answer = server.ask("PUT /v1/push", &device(&format!("{own}{place}"), &json!({}))).await;
        assert_eq!(answer.status.is_success(), place < 20, "{place}: {}", answer.text);
    }
    fs::write(server.home().join("serve-push.json"), "{").unwrap();
    let broken = server.ask("GET /v1/push", "").await;
    assert_eq!(broken.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", broken.text);
}
