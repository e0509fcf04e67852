//! Vertex AI: service accounts, external accounts, the login of `gcloud`, and the machine's own account, on the wires of Gemini
//! and Anthropic.
use super::{SECRET, TOKENS, bearers, program, run, said};
use crate::kit::{
    Place, anthropic,
    cloud::{Cloud, Said},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// The token of another identity provider.
const SUBJECT: &str = "subject-token-0123456789";
const MODELS: &str = "/v1/projects/my-project/locations/";

/// Gives out one token after the other, and takes those that `is_taken` names.
fn vertex(is_taken: fn(&str) -> bool) -> Cloud {
    Cloud::start(move |heard, before| {
        if heard.is_at("/v1/token") && !heard.text().contains(&format!("subject_token={SUBJECT}")) {
            let error = json!({"error": "invalid_grant", "error_description": format!("not taken: {}", heard.text())});
            return Said::json(400, &error);
        }
        if heard.is_at(
            "/v1/projects/-/serviceAccounts/agent@my-project.iam.gserviceaccount.com:generateAccessToken",
        ) {
            let expected = format!("Bearer {}", TOKENS[0]);
            assert_eq!(heard.header("authorization"), expected);
            return Said::json(200, &json!({"accessToken": TOKENS[1], "expireTime": "2099-01-01T00:00:00Z"}));
        }
        if heard.is_at("/subject") {
            let answer = json!({"value": if heard.header("x-key") == "k" { SUBJECT } else { "" }});
            return Said::json(200, &answer);
        }
        if heard.is_at("/v1/token")
            || heard.is_at("/token")
            || heard.is_at("/computeMetadata/v1/instance/service-accounts/default/token")
        {
            let token = TOKENS[before.min(TOKENS.len() - 1)];
            return Said::json(
                200,
                &json!({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}),
            );
        }
        if !is_taken(heard.header("authorization").trim_start_matches("Bearer ")) {
            let error = json!({"error": {"code": 401, "message": "invalid credentials", "status": "UNAUTHENTICATED"}});
            return Said::json(401, &error);
        }
        if heard.line.contains("/publishers/anthropic/") {
            let text = json!({"type": "text", "text": ""});
            let delta = json!({"type": "text_delta", "text": "Done by Claude."});
            return anthropic(text, &[delta], "end_turn").into();
        }
        let is_answered = heard.text().contains("functionResponse");
        let part = match is_answered {
            true => json!({"text": "Done in Vertex."}),
            false => json!({"functionCall": {"name": "bash", "args": {"command": "echo 7421"}}}),
        };
        let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}});
        Said(
            200,
            vec![("content-type", "text/event-stream".into())],
            format!("data: {chunk}\n\n").into_bytes(),
        )
    })
}

fn variables<'a>(cloud: &'a Cloud, file: &'a str) -> [(&'static str, &'a str); 3] {
    [
        ("GOOGLE_VERTEX_BASE_URL", &cloud.url),
        ("ANTHROPIC_VERTEX_BASE_URL", &cloud.url),
        ("GOOGLE_APPLICATION_CREDENTIALS", file),
    ]
}

/// A key of RSA in PKCS #8, and whether `signature` of `text` was made with it, by OpenSSL.
struct Rsa(std::path::PathBuf);

impl Rsa {
    fn new(place: &Place) -> Option<Self> {
        let rsa = Self(place.path());
        let made = rsa.openssl(&[
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-out",
            "key.pem",
        ]);
        if made.is_none() {
            haft_testing::left_out("openssl makes no key");
            return None;
        }
        rsa.openssl(&["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"])?;
        Some(rsa)
    }

    fn openssl(&self, words: &[&str]) -> Option<()> {
        let ran = Command::new("openssl").args(words).current_dir(&self.0).output().ok()?;
        ran.status.success().then_some(())
    }

    fn has_signed(&self, text: &str, signature: &[u8]) -> bool {
        fs::write(self.0.join("text"), text).unwrap();
        fs::write(self.0.join("signature"), signature).unwrap();
        self.openssl(&["dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "text"])
            .is_some()
    }

    fn key(&self) -> String {
        fs::read_to_string(self.0.join("key.pem")).unwrap()
    }
}

fn decoded(part: &str) -> Vec<u8> {
    BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()
}

// H-12
#[test]
fn a_service_account_proves_itself_with_its_key_and_gets_one_token_for_all_rounds() {
    let (place, cloud) = (Place::new(), vertex(|token| token == TOKENS[0]));
    let Some(rsa) = Rsa::new(&place) else { return };
    let tokens = format!("{}/token", cloud.url);
    let account = json!({
        "type": "service_account", "project_id": "my-project", "private_key_id": "key-1", "private_key": rsa.key(),
        "client_email": "agent@my-project.iam.gserviceaccount.com", "token_uri": tokens,
    });
    let file = place.path().join("account.json");
    fs::write(&file, account.to_string()).unwrap();
    let file = file.display().to_string();
    place.configure("[vendors.vertex]\nregion = \"europe-west4\"\n");
    let ran = run(&place, "vertex/gemini-2.5-pro", &variables(&cloud, &file));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Vertex."), "{ran:?}");
    assert_eq!(bearers(&cloud, MODELS), [TOKENS[0], TOKENS[0]]);
    let asked = cloud.heard_at(MODELS);
    let expected = "POST /v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    assert_eq!(asked[0].line, expected);
    let [token] = &cloud.heard_at("/token")[..] else { panic!("one token is fetched") };
    let form = token.text();
    assert!(form.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"), "{form}");
    let assertion = form.split("assertion=").nth(1).unwrap();
    let parts: Vec<&str> = assertion.split('.').collect();
    let header: Value = serde_json::from_slice(&decoded(parts[0])).unwrap();
    let claims: Value = serde_json::from_slice(&decoded(parts[1])).unwrap();
    assert_eq!(header, json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
    assert_eq!((&claims["iss"], &claims["aud"]), (&account["client_email"], &json!(tokens)));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3_600);
    assert!(rsa.has_signed(&format!("{}.{}", parts[0], parts[1]), &decoded(parts[2])));
    assert!(!rsa.has_signed(&format!("{}.x", parts[0]), &decoded(parts[2])));
}

/// The model prints the file of the service account, and then says the token with which it is asked.
#[test]
fn the_key_of_a_service_account_and_its_token_are_hidden() {
    let place = Place::new();
    let Some(rsa) = Rsa::new(&place) else { return };
    let cloud = Cloud::start(|heard, _| {
        if heard.is_at("/token") {
            return Said::json(200, &json!({"access_token": TOKENS[0], "expires_in": 3599}));
        }
        let part = match heard.text().contains("functionResponse") {
            true => json!({"text": format!("It is {}.", TOKENS[0])}),
            false => {
                json!({"functionCall": {"name": "bash", "args": {"command": "cat account.json key.pem"}}})
            }
        };
        let chunk =
            json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]});
        let media = vec![("content-type", "text/event-stream".into())];
        Said(200, media, format!("data: {chunk}\n\n").into_bytes())
    });
    let account = json!({
        "type": "service_account", "project_id": "my-project", "private_key": rsa.key(),
        "client_email": "agent@example.com", "token_uri": format!("{}/token", cloud.url),
    });
    place.write("key.pem", rsa.key());
    let file = place.write("account.json", account.to_string()).display().to_string();
    let ran = run(&place, "vertex/gemini-2.5-pro", &variables(&cloud, &file));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "It is [key]."), "{ran:?}");
    let asked = cloud.heard_at(MODELS).pop().unwrap();
    assert!(asked.text().contains("agent@example.com") && asked.text().contains("[key]"), "{asked:?}");
    for line in rsa.key().lines().filter(|line| line.len() == 64) {
        assert!(!asked.text().contains(line) && !format!("{ran:?}").contains(line), "{line}: {ran:?}");
    }
}

/// What the server of tokens repeats of the request is longer than what is shown of its words.
#[test]
fn the_signature_of_a_service_account_is_in_no_error() {
    let place = Place::new();
    let Some(rsa) = Rsa::new(&place) else { return };
    let cloud = Cloud::start(|heard, _| {
        let assertion = heard.text().split("assertion=").nth(1).unwrap();
        Said::json(400, &json!({"error": "invalid_grant", "error_description": format!("not {assertion}")}))
    });
    let account = json!({
        "type": "service_account", "project_id": "my-project", "private_key": rsa.key(),
        "client_email": "agent@example.com", "token_uri": format!("{}/token", cloud.url),
    });
    let file = place.write("account.json", account.to_string()).display().to_string();
    let ran = run(&place, "vertex/gemini-2.5-pro", &variables(&cloud, &file));
    assert!(ran.code == 1 && ran.err.contains("HTTP 400: not [key]"), "{ran:?}");
    let asked = cloud.heard_at("/token").pop().unwrap();
    let assertion = asked.text().split("assertion=").nth(1).unwrap();
    assert!(!ran.err.contains(assertion.split('.').next().unwrap()), "{ran:?}");
}

#[test]
fn the_login_of_gcloud_is_found_in_the_home_and_fetched_anew_when_it_is_refused() {
    let (place, cloud) = (Place::new(), vertex(|token| token == TOKENS[1]));
    let folder = place.path().join("person/.config/gcloud");
    fs::create_dir_all(&folder).unwrap();
    let login = json!({
        "type": "authorized_user", "client_id": "client-1", "client_secret": SECRET, "refresh_token": SECRET,
        "quota_project_id": "my-project", "token_uri": format!("{}/token", cloud.url),
    });
    fs::write(folder.join("application_default_credentials.json"), login.to_string()).unwrap();
    let ran = run(&place, "vertex-anthropic/claude-sonnet-4-5", &variables(&cloud, ""));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done by Claude."), "{ran:?}");
    assert_eq!(bearers(&cloud, MODELS), TOKENS);
    let asked = cloud.heard_at(MODELS).pop().unwrap();
    let expected = "POST /v1/projects/my-project/locations/global/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict";
    assert_eq!(asked.line, expected);
    assert_eq!(asked.header("x-goog-user-project"), "my-project");
    assert_eq!(
        (&asked.json()["anthropic_version"], &asked.json()["model"]),
        (&json!("vertex-2023-10-16"), &Value::Null)
    );
    // The conversation is kept in the cache from its first request on.
    let end = &asked.json()["messages"][0]["content"][0]["cache_control"];
    assert_eq!((end, &asked.json()["cache_control"]), (&json!({"type": "ephemeral"}), &Value::Null));
}

// H-12
#[test]
fn a_machine_on_google_cloud_has_an_account_of_its_own() {
    let (place, cloud) = (Place::new(), vertex(|token| token == TOKENS[0]));
    let host = cloud.url.trim_start_matches("http://");
    let base = [("GOOGLE_VERTEX_BASE_URL", cloud.url.as_str()), ("GCE_METADATA_HOST", host)];
    let with_project = [&base[..], &[("GOOGLE_CLOUD_PROJECT", "my-project")]].concat();
    let ran = run(&place, "vertex/gemini-2.5-pro", &with_project);
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Vertex."), "{ran:?}");
    assert_eq!(cloud.heard_at("/computeMetadata")[0].header("metadata-flavor"), "Google");
    let ran = run(&place, "vertex/gemini-2.5-pro", &base);
    assert!(ran.code == 2 && ran.err.contains("set GOOGLE_CLOUD_PROJECT"), "{ran:?}");
}

// H-12
#[test]
fn an_external_account_exchanges_its_token_for_one_of_google() {
    let impersonated =
        "/v1/projects/-/serviceAccounts/agent@my-project.iam.gserviceaccount.com:generateAccessToken";
    let table = [
        ("a file", json!({"file": "FILE"}), false),
        (
            "JSON in a file",
            json!({"file": "FILE", "format": {"type": "json", "subject_token_field_name": "value"}}),
            true,
        ),
        (
            "a server",
            json!({"url": "URL/subject", "headers": {"x-key": "k"}, "format": {"type": "json", "subject_token_field_name": "value"}}),
            false,
        ),
        ("a program", json!({"executable": {"command": "token-of 'my account'"}}), true),
    ];
    for (what, source, is_impersonated) in table {
        let place = Place::new();
        let cloud = vertex(|token| TOKENS.contains(&token));
        let token = place.path().join("token");
        let held = if what == "JSON in a file" {
            json!({"value": SUBJECT}).to_string()
        } else {
            format!("{SUBJECT}\n")
        };
        fs::write(&token, held).unwrap();
        let source =
            source.to_string().replace("FILE", &token.display().to_string()).replace("URL", &cloud.url);
        let mut account = json!({
            "type": "external_account", "token_url": format!("{}/v1/token", cloud.url),
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "credential_source": serde_json::from_str::<Value>(&source).unwrap(),
        });
        if is_impersonated {
            account["service_account_impersonation_url"] = json!(format!("{}{impersonated}", cloud.url));
        }
        let file = place.path().join("account.json");
        fs::write(&file, account.to_string()).unwrap();
        let said_by_program =
            json!({"version": 1, "success": true, "token_type": "jwt", "id_token": SUBJECT});
        let script = format!(
            "[ \"$1\" = 'my account' ] && [ -n \"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE\" ] && echo '{said_by_program}'"
        );
        let (file, path) = (file.display().to_string(), program(&place, "token-of", &script));
        let mut all = variables(&cloud, &file).to_vec();
        all.extend([("GOOGLE_CLOUD_PROJECT", "my-project"), ("PATH", &path)]);
        all.push(("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"));
        let ran = run(&place, "vertex/gemini-2.5-pro", &all);
        assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Vertex."), "{what}: {ran:?}");
        let own = TOKENS[usize::from(is_impersonated)];
        assert_eq!(bearers(&cloud, MODELS), [own, own], "{what}");
        let [exchange] = &cloud.heard_at("/v1/token")[..] else { panic!("{what}: one token is fetched") };
        for part in [
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange",
            "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
            "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt",
            "scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform",
            "audience=%2F%2Fiam.googleapis.com%2Fprojects%2F1%2F",
        ] {
            assert!(exchange.text().contains(part), "{what}: {part}: {}", exchange.text());
        }
    }
}

// H-14
#[test]
fn a_token_that_google_does_not_take_is_in_no_error() {
    let (place, cloud) = (Place::new(), vertex(|_| true));
    let token = place.path().join("token");
    fs::write(&token, SECRET).unwrap();
    let account = json!({
        "type": "external_account", "token_url": format!("{}/v1/token", cloud.url), "audience": "a",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": token},
    });
    let file = place.path().join("account.json");
    fs::write(&file, account.to_string()).unwrap();
    let file = file.display().to_string();
    let mut all = variables(&cloud, &file).to_vec();
    all.push(("GOOGLE_CLOUD_PROJECT", "my-project"));
    let ran = run(&place, "vertex/gemini-2.5-pro", &all);
    assert!(
        ran.code == 1 && ran.err.contains("HTTP 400: not taken: ") && ran.err.contains("[key]"),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("the external account in `") && ran.err.contains("check that the pool in"),
        "{ran:?}"
    );
}

#[test]
fn what_is_wrong_with_a_file_is_told_before_anything_is_asked() {
    let (place, cloud) = (Place::new(), vertex(|_| true));
    let external = |source: &str| {
        format!(
            r#"{{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"u","credential_source":{source}}}"#
        )
    };
    let rows: [(Option<&str>, &str); 8] = [
        (None, "No such file"),
        (Some("{"), "it is not JSON"),
        (Some(r#"{"type":"gdch_service_account"}"#), "its type is `gdch_service_account`"),
        (Some(r#"{"type":"external_account","audience":"a"}"#), "it has no `subject_token_type`"),
        (
            Some(&external(r#"{"environment_id":"aws1"}"#)),
            "its `environment_id` is `aws1`, which Haft cannot use",
        ),
        (
            Some(&external(r#"{"executable":{"command":"token-of x"}}"#)),
            "it starts `token-of`, which GOOGLE_EXTERNAL",
        ),
        (Some(&external("{}")), "its `credential_source` names no file, no address and no program"),
        (Some(r#"{"type":"service_account","client_email":"a@b"}"#), "it has no `private_key`"),
    ];
    for (content, expected) in rows {
        let file = place.path().join("account.json");
        let _there_is_none = fs::remove_file(&file);
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let file = file.display().to_string();
        let mut all = variables(&cloud, &file).to_vec();
        all.push(("GOOGLE_CLOUD_PROJECT", "my-project"));
        let ran = run(&place, "vertex/gemini-2.5-pro", &all);
        assert!(ran.code == 2 && ran.err.contains(expected), "{expected}: {ran:?}");
        assert!(ran.err.contains("gcloud auth application-default login"), "{ran:?}");
    }
    assert!(cloud.heard_at("/").is_empty());
}
