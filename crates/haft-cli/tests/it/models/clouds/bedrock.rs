//! Amazon Bedrock: the wire Converse, its signatures, and where keys come from.
use super::{SECRET, TOKENS, program, run, said};
use crate::kit::{
    Place,
    cloud::{Cloud, Heard, Said},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;

const MODEL: &str = "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const LINE: &str = "POST /model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream";
const KEY: &str = "ABSK-bedrock-key-0123456789";

/// A message of the event stream, checked against botocore's reader when it was written.
fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut named = Vec::new();
    for (name, value) in headers {
        named.push(name.len() as u8);
        named.extend(name.bytes());
        named.push(7);
        named.extend((value.len() as u16).to_be_bytes());
        named.extend(value.bytes());
    }
    let payload = payload.to_string();
    let total = (12 + named.len() + payload.len() + 4) as u32;
    let mut message = [total.to_be_bytes(), (named.len() as u32).to_be_bytes()].concat();
    message.extend(crc32(&message).to_be_bytes());
    message.extend(named);
    message.extend(payload.bytes());
    message.extend(crc32(&message).to_be_bytes());
    message
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let kind = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    frame(&kind, payload)
}

/// What a model says in one reply: deltas of one block, and why it stopped.
fn reply(start: &Value, deltas: &[Value], stop: &str) -> Said {
    let mut stream = event("messageStart", &json!({"role": "assistant"}));
    stream.extend(event("contentBlockStart", &json!({"contentBlockIndex": 0, "start": start})));
    for delta in deltas {
        stream
            .extend(event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": delta, "p": "abc"})));
    }
    stream.extend(event("contentBlockStop", &json!({"contentBlockIndex": 0})));
    stream.extend(event("messageStop", &json!({"stopReason": stop})));
    let usage = json!({"usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}, "metrics": {"latencyMs": 1}});
    stream.extend(event("metadata", &usage));
    streamed(stream)
}

fn streamed(stream: Vec<u8>) -> Said {
    Said(200, vec![("content-type", "application/vnd.amazon.eventstream".into())], stream)
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let padded = |pad: u8| block.map(|byte| byte ^ pad).to_vec();
    let inner = Sha256::digest([padded(0x36), text.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the request was signed with `secret`: computed anew from what arrived, by the rules of Signature Version 4.
fn is_signed(heard: &Heard, secret: &str) -> bool {
    let authorization = heard.header("authorization");
    let field = |name: &str| {
        let rest = authorization.split(&format!("{name}=")).nth(1)?;
        Some(rest.split(',').next()?.trim())
    };
    let (Some(credential), Some(names), Some(signature)) =
        (field("Credential"), field("SignedHeaders"), field("Signature"))
    else {
        return false;
    };
    let scope = credential.split_once('/').unwrap().1;
    let headers: String = names.split(';').map(|name| format!("{name}:{}\n", heard.header(name))).collect();
    let (method, path) = heard.line.split_once(' ').unwrap();
    let body = hex(&Sha256::digest(&heard.body));
    // The path is encoded a second time.
    let canonical = format!("{method}\n{}\n\n{headers}\n{names}\n{body}", path.replace('%', "%25"));
    let canonical = hex(&Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{canonical}", heard.header("x-amz-date"));
    let key =
        scope.split('/').fold(format!("AWS4{secret}").into_bytes(), |key, part| mac(&key, part.as_bytes()));
    hex(&mac(&key, text.as_bytes())) == signature
}

/// Takes requests that are signed with `secret` for this session, or that carry the key; the others are refused.
fn bedrock(secret: &'static str, session: &'static str) -> Cloud {
    bedrock_calling(secret, session, "echo 7421")
}

/// The same, and its model runs `command`.
fn bedrock_calling(secret: &'static str, session: &'static str, command: &'static str) -> Cloud {
    Cloud::start(move |heard, before| {
        if heard.is_at("/credentials") || heard.is_at("/latest/meta-data/iam/security-credentials/my-role") {
            let (secret, session) = (TOKENS[1], if before == 0 { "ended" } else { session });
            return Said::json(
                200,
                &json!({"Code": "Success", "AccessKeyId": "ASIA1", "SecretAccessKey": secret,
                "Token": session, "Expiration": "2099-01-01T00:00:00Z"}),
            );
        }
        if heard.is_at("/latest/meta-data") {
            return Said(200, vec![], b"my-role".to_vec());
        }
        if heard.is_at("/latest/api/token") {
            return Said(200, vec![], b"session-of-the-machine".to_vec());
        }
        let has_key = heard.header("authorization") == format!("Bearer {KEY}");
        if !has_key && (!is_signed(heard, secret) || heard.header("x-amz-security-token") != session) {
            let message = "The security token included in the request is expired";
            let mut said = Said::json(403, &json!({ "message": message }));
            said.1.push(("x-amzn-errortype", "ExpiredTokenException".into()));
            return said;
        }
        match heard.text().contains("\"toolResult\"") {
            true => {
                reply(&json!({}), &[json!({"text": "Done in "}), json!({"text": "Bedrock."})], "end_turn")
            }
            false => {
                let start = json!({"toolUse": {"toolUseId": "tooluse_1", "name": "bash"}});
                let command = format!("{}}}", json!(command));
                let deltas = ["{\"command\":", &command].map(|part| json!({"toolUse": {"input": part}}));
                reply(&start, &deltas, "tool_use")
            }
        }
    })
}

fn at<'a>(cloud: &'a Cloud, others: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let own = [("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", cloud.url.as_str()), ("AWS_REGION", "eu-central-1")];
    [&own[..], others].concat()
}

/// The files of AWS in the home of `place`.
fn files(place: &Place, credentials: &str, config: &str) {
    let folder = place.path().join("person/.aws");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("credentials"), credentials).unwrap();
    fs::write(folder.join("config"), config).unwrap();
}

fn works(place: &Place, variables: &[(&str, &str)]) {
    let ran = run(place, MODEL, variables);
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Bedrock."), "{ran:?}");
}

#[test]
fn a_tool_round_over_converse_with_signed_requests() {
    let (place, cloud) = (Place::new(), bedrock(SECRET, TOKENS[0]));
    let keys =
        [("AWS_ACCESS_KEY_ID", "AKIA1"), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", TOKENS[0])];
    works(&place, &at(&cloud, &keys));
    let asked = cloud.heard_at("/model");
    assert_eq!((asked.len(), asked[0].line.as_str()), (2, LINE));
    assert!(asked[0].header("authorization").contains("Credential=AKIA1/20"));
    assert!(asked[0].header("authorization").contains("/eu-central-1/bedrock/aws4_request"));
    let (first, second) = (asked[0].json(), asked[1].json());
    assert_eq!(first["messages"][0]["content"][0]["text"].as_str().unwrap().trim(), "go");
    assert_eq!(first["system"][1], json!({"cachePoint": {"type": "default"}}));
    let tools = first["toolConfig"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(
        |tool| tool["toolSpec"]["name"] == "bash" && tool["toolSpec"]["inputSchema"]["json"].is_object()
    ));
    let call = json!({"toolUseId": "tooluse_1", "name": "bash", "input": {"command": "echo 7421"}});
    assert_eq!(second["messages"][1]["content"][0]["toolUse"], call);
    let result = &second["messages"][2]["content"][0]["toolResult"];
    assert_eq!((&result["toolUseId"], &result["status"]), (&json!("tooluse_1"), &json!("success")));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("7421"));
}

// H-13
#[test]
fn keys_come_from_where_the_tools_of_aws_find_them() {
    let profile = format!(
        "[dev]\n  aws_access_key_id = AKIA2\n  aws_secret_access_key = {SECRET}\n  aws_session_token = {}\n",
        TOKENS[0]
    );
    let cloud = bedrock(SECRET, TOKENS[0]);
    let place = Place::new();
    files(&place, &profile, "[profile dev]\n  s3 =\n    region = no\n  region = eu-central-1\n");
    works(&place, &[("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &cloud.url), ("AWS_PROFILE", "dev")]);
    // The configuration names the profile.
    place.configure("[vendors.bedrock]\nprofile = \"dev\"\n");
    works(&place, &[("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &cloud.url)]);
    let printed =
        json!({"Version": 1, "AccessKeyId": "AKIA3", "SecretAccessKey": SECRET, "SessionToken": TOKENS[0]});
    let script = format!("[ \"$*\" = '{{}}' ] || echo '{printed}'");
    for (name, config) in [
        ("get-keys", "[default]\ncredential_process = get-keys --for \"my account\"\n"),
        ("aws", "[default]\nsso_session = me\nsso_account_id = 1\n"),
    ] {
        let place = Place::new();
        let path = program(&place, name, &script);
        files(&place, "", config);
        works(&place, &at(&cloud, &[("PATH", &path)]));
    }
    let key = Place::new();
    works(&key, &at(&cloud, &[("AWS_BEARER_TOKEN_BEDROCK", KEY)]));
}

#[test]
fn the_keys_of_a_profile_are_hidden() {
    let (place, cloud) = (Place::new(), bedrock_calling(SECRET, TOKENS[0], "cat keys.ini"));
    let keys = format!(
        "[default]\naws_access_key_id = AKIA2\naws_secret_access_key = {SECRET}\naws_session_token = {}\n",
        TOKENS[0]
    );
    let file = place.write("keys.ini", keys).display().to_string();
    works(&place, &at(&cloud, &[("AWS_SHARED_CREDENTIALS_FILE", &file)]));
    let asked = cloud.heard_at("/model").pop().unwrap();
    assert!(asked.text().contains("aws_secret_access_key = [key]"), "{asked:?}");
    assert!(!asked.text().contains(SECRET) && !asked.text().contains(TOKENS[0]), "{asked:?}");
}

// H-13
#[test]
fn roles_of_containers_and_machines_are_fetched_anew_when_they_have_ended() {
    let cloud = bedrock(TOKENS[1], TOKENS[0]);
    let place = Place::new();
    let token = place.path().join("token");
    fs::write(&token, "token-of-the-container\n").unwrap();
    let (address, token) = (format!("{}/credentials", cloud.url), token.display().to_string());
    let container = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*address),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &*token),
    ];
    works(&place, &at(&cloud, &container));
    let asked = cloud.heard_at("/credentials");
    assert_eq!((asked.len(), asked[0].header("authorization")), (2, "token-of-the-container"));
    assert_eq!(cloud.heard_at("/model").len(), 3);
    works(&Place::new(), &at(&cloud, &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &cloud.url)]));
    let role = cloud.heard_at("/latest/meta-data/iam/security-credentials/my-role");
    assert_eq!((role.len(), role[0].header("x-aws-ec2-metadata-token")), (2, "session-of-the-machine"));
}

/// As the Security Token Service answers, in XML.
fn assumed(session: &str) -> Said {
    let xml = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n  \
         <AssumeRoleWithWebIdentityResult>\n    <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>\n    \
         <Credentials>\n      <SessionToken>{session}</SessionToken>\n      <SecretAccessKey>{}</SecretAccessKey>\n      \
         <Expiration>2099-01-01T00:00:00Z</Expiration>\n      <AccessKeyId>ASIA1</AccessKeyId>\n    </Credentials>\n  \
         </AssumeRoleWithWebIdentityResult>\n</AssumeRoleWithWebIdentityResponse>",
        TOKENS[1]
    );
    Said(200, vec![("content-type", "text/xml".into())], xml.into_bytes())
}

// H-13
#[test]
fn a_web_identity_stands_for_a_role() {
    let cloud = bedrock(TOKENS[1], TOKENS[0]);
    let service = Cloud::start(|heard, _| match heard.text().contains("WebIdentityToken=token-of-the-pod") {
        true => assumed(TOKENS[0]),
        false => {
            let message = format!("Couldn't verify {}", heard.text());
            let xml = format!(
                "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>{message}</Message></Error></ErrorResponse>"
            );
            Said(400, vec![("content-type", "text/xml".into())], xml.into_bytes())
        }
    });
    let place = Place::new();
    let token = place.path().join("token");
    fs::write(&token, "token-of-the-pod\n").unwrap();
    let token = token.display().to_string();
    let role = "arn:aws:iam::1:role/agent";
    files(
        &place,
        "",
        &format!(
            "[profile pod]\nrole_arn = {role}\nweb_identity_token_file = {token}\nrole_session_name = mine\n"
        ),
    );
    let variables = [("AWS_ROLE_ARN", role), ("AWS_WEB_IDENTITY_TOKEN_FILE", &*token)];
    let by_profile = [("AWS_PROFILE", "pod")];
    let sts = ("AWS_ENDPOINT_URL_STS", service.url.as_str());
    for (given, session) in [(&variables[..], "haft"), (&by_profile[..], "mine")] {
        works(&place, &at(&cloud, &[given, &[sts]].concat()));
        let asked = service.heard_at("/").pop().unwrap();
        let mut form: Vec<&str> = asked.text().split('&').collect();
        form.sort_unstable();
        let named = format!("RoleSessionName={session}");
        let expected = [
            "Action=AssumeRoleWithWebIdentity",
            "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fagent",
            &named,
            "Version=2011-06-15",
            "WebIdentityToken=token-of-the-pod",
        ];
        assert_eq!(form, expected);
    }
    // A token that is refused is in no error.
    let place = Place::new();
    fs::write(&token, SECRET).unwrap();
    let ran = run(&place, MODEL, &at(&cloud, &[&variables[..], &[sts]].concat()));
    for expected in [
        &format!("the role `{role}` (AWS_ROLE_ARN)"),
        "HTTP 400: Couldn't verify",
        "[key]",
        "check that the trust policy of",
    ] {
        assert!(ran.code == 1 && ran.err.contains(expected), "{expected}: {ran:?}");
    }
    // Nothing is asked without a region.
    let ran = run(&place, MODEL, &[&variables[..], &[("PATH", "/nowhere")]].concat());
    assert!(ran.code == 2 && ran.err.contains("the region for Amazon Bedrock is not known"), "{ran:?}");
}

#[test]
fn what_is_missing_or_refused_is_told() {
    let (place, cloud) = (Place::new(), bedrock("another secret", ""));
    files(&place, "", "[profile sso]\nsso_session = me\n");
    let nothing = place.path().display().to_string();
    let path = ("PATH", nothing.as_str());
    let far = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys.example/x");
    let keys = [("AWS_ACCESS_KEY_ID", "AKIA1"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    type Row<'a> = (Vec<(&'a str, &'a str)>, i32, &'a [&'a str]);
    let rows: [Row<'_>; 7] = [
        (vec![path], 2, &["the region for Amazon Bedrock is not known", "set AWS_REGION"]),
        (vec![path, ("AWS_PROFILE", "nope")], 2, &["has the profile `nope`", "aws configure list-profiles"]),
        (at(&cloud, &[path]), 2, &["there is no sign-in to Amazon Bedrock", "`haft login bedrock`"]),
        (
            at(&cloud, &[path, ("AWS_PROFILE", "nope")]),
            2,
            &["the profile `nope`", "aws configure list-profiles"],
        ),
        (at(&cloud, &[path, ("AWS_PROFILE", "sso")]), 2, &["it needs `aws`, which is not on the PATH"]),
        (at(&cloud, &[path, far]), 2, &["neither encrypted nor on this machine"]),
        (at(&cloud, &keys), 1, &["is expired", "Haft used AWS_ACCESS_KEY_ID"]),
    ];
    for (variables, code, expected) in rows {
        let ran = run(&place, MODEL, &variables);
        assert!(
            ran.code == code && expected.iter().all(|words| ran.err.contains(words)),
            "{expected:?}: {ran:?}"
        );
    }
    assert_eq!(cloud.heard_at("/").len(), 1);
}

#[test]
fn a_fault_in_the_middle_of_a_stream_begins_the_reply_anew() {
    let place = Place::new();
    let cloud = Cloud::start(|_, before| {
        let text = event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"text": "half"}}));
        let fault = |kind: &str, message: &str| {
            let kind = [(":exception-type", kind), (":message-type", "exception")];
            frame(&kind, &json!({ "message": message }))
        };
        let mut broken = [text.clone(), text.clone()].concat();
        let last = broken.len() - 6;
        broken[last] ^= 1;
        match before {
            0 => streamed([text, fault("serviceUnavailableException", "try again")].concat()),
            1 => streamed(broken),
            2 => streamed([text, fault("modelStreamErrorException", "the model failed")].concat()),
            _ => reply(&json!({}), &[json!({"text": "Whole."})], "end_turn"),
        }
    });
    let ran = run(&place, MODEL, &at(&cloud, &[("AWS_BEARER_TOKEN_BEDROCK", KEY)]));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Whole."), "{ran:?}");
    assert!(ran.err.contains("try again") || ran.out.contains("try again"), "{ran:?}");
    let told = format!("{ran:?}");
    assert!(told.contains("checksum is wrong") && told.contains("the model failed"), "{ran:?}");
}
