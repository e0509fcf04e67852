//! Azure OpenAI: keys, applications of Entra ID, managed identities, and the login of `az`.
use super::{SECRET, TOKENS, bearers, program, run, said};
use crate::kit::{
    Place,
    cloud::{Cloud, Said},
    openai_call, openai_text,
};
use serde_json::json;

const CHAT: &str = "/openai/v1/chat/completions";

/// Gives out one token after the other, and takes those that `is_taken` names.
fn azure(is_taken: fn(&str) -> bool) -> Cloud {
    Cloud::start(move |heard, before| {
        if heard.is_at("/tenant-1/oauth2/v2.0/token") {
            let token = TOKENS[before.min(TOKENS.len() - 1)];
            return Said::json(
                200,
                &json!({"token_type": "Bearer", "access_token": token, "expires_in": 3600}),
            );
        }
        let token = heard.header("authorization").trim_start_matches("Bearer ");
        if heard.header("api-key").is_empty() && !is_taken(token) {
            let error = json!({"error": {"code": "401", "message": format!("expired: {token}")}});
            return Said::json(401, &error);
        }
        let calls_so_far = heard.text().matches("\"role\":\"tool\"").count();
        match calls_so_far {
            0 => openai_call("bash", &json!({"command": "env | cut -d= -f1 | sort"})).into(),
            _ => openai_text("Done in Azure.").into(),
        }
    })
}

fn application(cloud: &Cloud) -> Vec<(&'static str, String)> {
    vec![
        ("AZURE_OPENAI_ENDPOINT", cloud.url.clone()),
        ("AZURE_AUTHORITY_HOST", cloud.url.clone()),
        ("AZURE_TENANT_ID", "tenant-1".into()),
        ("AZURE_CLIENT_ID", "client-1".into()),
        ("AZURE_CLIENT_SECRET", SECRET.into()),
    ]
}

fn borrowed<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

// H-11
#[test]
fn a_key_goes_into_a_header_of_its_own() {
    let (place, cloud) = (Place::new(), azure(|_| false));
    let endpoint = format!("{}/", cloud.url);
    let key = "key-of-azure-0123456789";
    let variables = [("AZURE_OPENAI_ENDPOINT", endpoint.as_str()), ("AZURE_OPENAI_API_KEY", key)];
    let ran = run(&place, "azure/my-deployment", &variables);
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Azure."), "{ran:?}");
    let asked = cloud.heard_at(CHAT);
    assert_eq!((asked.len(), asked[0].json()["model"].as_str()), (2, Some("my-deployment")));
    assert_eq!((asked[0].header("api-key"), asked[0].header("authorization")), (key, ""));
}

// H-14
#[test]
fn an_application_fetches_one_token_for_all_rounds_and_commands_do_not_get_its_secret() {
    let (place, cloud) = (Place::new(), azure(|_| true));
    let variables = application(&cloud);
    let ran = run(&place, "azure/gpt", &borrowed(&variables));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Azure."), "{ran:?}");
    assert_eq!(bearers(&cloud, CHAT), [TOKENS[0], TOKENS[0]]);
    let asked = cloud.heard_at("/tenant-1");
    let mut form: Vec<&str> = asked[0].text().split('&').collect();
    form.sort_unstable();
    let secret = format!("client_secret={SECRET}");
    assert_eq!(asked.len(), 1);
    assert_eq!(
        form,
        [
            "client_id=client-1",
            &secret,
            "grant_type=client_credentials",
            "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"
        ]
    );
    let printed = cloud.heard_at(CHAT)[1].text().to_owned();
    assert!(printed.contains("AZURE_TENANT_ID") && !printed.contains("AZURE_CLIENT_SECRET"), "{printed}");
}

// H-14
#[test]
fn a_token_that_is_refused_is_fetched_anew_and_the_round_goes_on() {
    let (place, cloud) = (Place::new(), azure(|token| token == TOKENS[1]));
    let variables = application(&cloud);
    let ran = run(&place, "azure/gpt", &borrowed(&variables));
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Azure."), "{ran:?}");
    assert_eq!(bearers(&cloud, CHAT), [TOKENS[0], TOKENS[1], TOKENS[1]]);
    assert_eq!(cloud.heard_at("/tenant-1").len(), 2);
}

#[test]
fn where_no_token_is_taken_the_error_says_who_was_signed_in() {
    let (place, cloud) = (Place::new(), azure(|_| false));
    let variables = application(&cloud);
    let ran = run(&place, "azure/gpt", &borrowed(&variables));
    assert!(ran.code == 1 && ran.err.contains("expired: [key]"), "{ran:?}");
    assert!(ran.err.contains("Haft used the application `client-1` (AZURE_CLIENT_ID)"), "{ran:?}");
    assert!(ran.err.contains("check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"), "{ran:?}");
    assert_eq!(bearers(&cloud, CHAT), TOKENS);
}

#[test]
fn a_refused_application_is_told_with_the_clock_that_is_wrong() {
    let place = Place::new();
    let cloud = Cloud::start(|heard, _| {
        let error = json!({"error": "invalid_client", "error_description": format!("AADSTS7000215: {}", heard.text())});
        let mut said = Said::json(401, &error);
        said.1.push(("date", "Thu, 01 Jan 2004 00:00:00 GMT".into()));
        said
    });
    let variables = application(&cloud);
    let ran = run(&place, "azure/gpt", &borrowed(&variables));
    assert!(ran.code == 1 && ran.err.contains("cannot sign in to Azure OpenAI: the application"), "{ran:?}");
    assert!(
        ran.err.contains("AADSTS7000215") && ran.err.contains("minutes ahead of the server's"),
        "{ran:?}"
    );
}

// H-11
#[test]
fn the_login_of_az_serves_as_well() {
    let (place, cloud) = (Place::new(), azure(|token| token == TOKENS[0]));
    let token = json!({"accessToken": TOKENS[0], "expires_on": 4_102_444_800_u64});
    let path =
        program(&place, "az", &format!("echo \"$@\" >>'{}/az'\necho '{token}'", place.path().display()));
    let variables = [("AZURE_OPENAI_ENDPOINT", cloud.url.as_str()), ("PATH", path.as_str())];
    let ran = run(&place, "azure/gpt", &variables);
    assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Azure."), "{ran:?}");
    let asked = std::fs::read_to_string(place.path().join("az")).unwrap();
    let expected = "account get-access-token --resource https://cognitiveservices.azure.com --output json\n";
    assert_eq!(asked, expected);
    let script = "echo 'trace' >&2; echo 'ERROR: Please run `az login`.' >&2; exit 1";
    let path = program(&place, "az", script);
    let ran = run(&place, "azure/gpt", &[("AZURE_OPENAI_ENDPOINT", &cloud.url), ("PATH", &path)]);
    assert!(ran.code == 1 && ran.err.contains("`az` ended with exit code 1: ERROR: Please run"), "{ran:?}");
    assert!(ran.err.contains("\"hint\":\"run `az login`\""), "{ran:?}");
}

/// Gives out tokens as App Service and as a machine do, each as it is documented; the header is wrong where a test wants it.
fn identities() -> Cloud {
    Cloud::start(move |heard, before| {
        let token = json!({"access_token": TOKENS[before.min(1)], "expires_on": "4102444800", "token_type": "Bearer"});
        let is_app = heard
            .is_at("/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com");
        let is_machine =
            heard.is_at("/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fcogn");
        match (is_app, is_machine) {
            (true, _) if heard.header("x-identity-header") == SECRET => Said::json(200, &token),
            (_, true) if heard.line.contains("client_id=unknown") => {
                let error = json!({"error": "invalid_request", "error_description": "Identity not found"});
                Said::json(400, &error)
            }
            (_, true) if heard.header("metadata") == "true" => Said::json(200, &token),
            _ if !heard.is_at(CHAT) => Said::json(400, &json!({"error": "bad_request"})),
            _ if heard.text().contains("\"role\":\"tool\"") => openai_text("Done in Azure.").into(),
            _ => openai_call("bash", &json!({"command": "env | cut -d= -f1 | sort"})).into(),
        }
    })
}

// H-11
#[test]
fn a_managed_identity_of_an_app_or_a_machine_is_used() {
    let cloud = identities();
    let app = format!("{}/msi/token", cloud.url);
    let endpoint = ("AZURE_OPENAI_ENDPOINT", cloud.url.as_str());
    let machine = ("AZURE_POD_IDENTITY_AUTHORITY_HOST", cloud.url.as_str());
    let in_app = [endpoint, ("IDENTITY_ENDPOINT", &app), ("IDENTITY_HEADER", SECRET)];
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let table: [Row<'_>; 3] = [
        ("an app", &in_app, "/msi/token"),
        ("a machine", &[endpoint, machine], "/metadata"),
        ("one of several", &[endpoint, machine, ("AZURE_CLIENT_ID", "mine")], "/metadata"),
    ];
    for (what, variables, at) in table {
        let (place, before) = (Place::new(), (cloud.heard_at(at).len(), cloud.heard_at(CHAT).len()));
        let ran = run(&place, "azure/gpt", variables);
        assert_eq!((ran.code, said(&ran).as_str()), (0, "Done in Azure."), "{what}: {ran:?}");
        let asked = &cloud.heard_at(at)[before.0..];
        assert_eq!(asked.len(), 1, "{what}");
        assert_eq!(asked[0].line.contains("client_id=mine"), what == "one of several", "{asked:?}");
        let bearers = &bearers(&cloud, CHAT)[before.1..];
        assert!(
            bearers.len() == 2 && bearers[0] == bearers[1] && TOKENS.contains(&&*bearers[0]),
            "{bearers:?}"
        );
        let printed = cloud.heard_at(CHAT)[before.1 + 1].text().to_owned();
        assert!(!printed.contains("IDENTITY_HEADER"), "{printed}");
    }
}

#[test]
fn why_a_managed_identity_cannot_be_used_is_told() {
    let (place, cloud) = (Place::new(), identities());
    let nothing = place.path().display().to_string();
    let endpoint = ("AZURE_OPENAI_ENDPOINT", cloud.url.as_str());
    let machine = ("AZURE_POD_IDENTITY_AUTHORITY_HOST", cloud.url.as_str());
    let far = ("IDENTITY_ENDPOINT", "http://tokens.example/msi");
    type Row<'a> = (&'a [(&'a str, &'a str)], i32, &'a [&'a str]);
    let table: [Row<'_>; 3] = [
        (
            &[endpoint, machine, ("AZURE_CLIENT_ID", "unknown")],
            1,
            &[
                "the managed identity `unknown` of this machine",
                "HTTP 400: Identity not found",
                "AZURE_TOKEN_CREDENTIALS",
            ],
        ),
        (&[endpoint, far, ("IDENTITY_HEADER", SECRET)], 2, &["neither encrypted nor on this machine"]),
        (
            &[endpoint, machine, ("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential"), ("PATH", &nothing)],
            2,
            &["`az` is not on the PATH"],
        ),
    ];
    for (variables, code, expected) in table {
        let ran = run(&place, "azure/gpt", variables);
        let is_told = expected.iter().all(|words| ran.err.contains(words));
        assert!(ran.code == code && is_told, "{expected:?}: {ran:?}");
    }
}

#[test]
fn what_is_missing_is_told_before_anything_is_asked() {
    let (place, cloud) = (Place::new(), azure(|_| true));
    let endpoint = ("AZURE_OPENAI_ENDPOINT", cloud.url.as_str());
    let nothing = place.path().display().to_string();
    let no_az = ("PATH", nothing.as_str());
    let secret = ("AZURE_CLIENT_SECRET", SECRET);
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let rows: [Row<'_>; 4] = [
        ("azure/gpt", &[no_az], "set AZURE_OPENAI_ENDPOINT to it"),
        (
            "azure/gpt",
            &[endpoint, no_az],
            "there is no sign-in to Azure OpenAI: AZURE_OPENAI_API_KEY and AZURE_CLIENT_SECRET are",
        ),
        ("azure/gpt", &[endpoint, secret], "is not complete: AZURE_TENANT_ID and AZURE_CLIENT_ID is not set"),
        ("azure", &[endpoint, secret], "Azure OpenAI has no default model"),
    ];
    for (model, variables, expected) in rows {
        let ran = run(&place, model, variables);
        assert!(ran.code == 2 && ran.err.contains(expected), "{expected}: {ran:?}");
    }
    let mut doctor = place.haft(&["doctor"]);
    let variables = application(&cloud);
    let doctor = doctor.envs(borrowed(&variables)).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("the application `client-1`"), "{doctor}");
    let mut status = place.haft(&["login", "status"]);
    let status = status.envs(borrowed(&variables)).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    let line = status.lines().find(|line| line.starts_with("azure ")).unwrap();
    assert!(line.contains("the application `client-1`"), "{status}");
    assert!(cloud.heard_at("/").is_empty());
}
