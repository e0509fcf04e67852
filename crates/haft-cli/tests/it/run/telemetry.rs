//! Telemetry: a collector of OpenTelemetry that the environment names is sent each turn, request and call, and no text.
use crate::kit::{
    Place, Ran, Server, bash,
    collector::{Collector, attributes},
    openai_call, openai_text,
};
use axum::http::StatusCode;
use opentelemetry_proto::tonic::{metrics::v1::metric::Data, trace::v1::Span};
use serde_json::json;
use std::collections::BTreeMap;

/// A turn with a call that goes well and one that fails, in which `variables` are set.
fn run(place: &Place, variables: &[(&str, &str)]) -> Ran {
    let model =
        place.script("m", &[bash("echo SECRET-OUTPUT"), bash("exit 3"), json!({"say": "SECRET-REPLY"})]);
    let mut command = place.haft(&["run", "--permission", "full", "--model", &model, "SECRET-PROMPT"]);
    Ran::from(command.envs(variables.iter().copied()).output().unwrap())
}

/// Each span's name below the name of the one above it, in the order of their beginnings.
fn tree(spans: &[Span]) -> Vec<(String, String)> {
    let names: BTreeMap<&[u8], &str> = spans.iter().map(|span| (&*span.span_id, &*span.name)).collect();
    let above = |span: &Span| names.get(&*span.parent_span_id).copied().unwrap_or_default().to_owned();
    let mut tree: Vec<_> = spans.iter().map(|span| (above(span), span.name.clone())).collect();
    tree.sort();
    tree
}

// H-36
#[test]
fn a_turn_its_requests_and_its_calls_are_spans_of_one_trace() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    let ran = run(&place, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "SECRET-REPLY\n"), "{ran:?}");
    let spans = collector.spans();
    let model = spans.iter().find_map(|span| span.name.strip_prefix("chat ")).unwrap();
    let turn = "invoke_agent haft";
    let below = |name: &str| (turn.to_owned(), name.to_owned());
    let chat = format!("chat {model}");
    let expected = [
        (String::new(), turn.to_owned()),
        below(&chat),
        below(&chat),
        below(&chat),
        below("execute_tool bash"),
        below("execute_tool bash"),
    ];
    assert_eq!(tree(&spans), expected);
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id));
    assert!(spans.iter().all(|span| 0 < span.start_time_unix_nano && span.start_time_unix_nano <= span.end_time_unix_nano));
    assert_eq!(collector.resource()["service.name"], "haft");
    assert_eq!(collector.resource()["service.version"], env!("CARGO_PKG_VERSION"));

    let sent: Vec<u8> = collector.requests().iter().flat_map(|(.., body)| body.to_vec()).collect();
    let sent = String::from_utf8_lossy(&sent);
    assert!(!sent.contains("SECRET"), "the text of a prompt, a reply or a result was sent: {sent}");
}

// H-36
#[test]
fn spans_say_what_the_conventions_want() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    let replies = vec![openai_call("bash", &json!({"command": "exit 3"})), openai_text("done")];
    let server = Server::start(replies);
    let mut command = place.haft(&["run", "--permission", "full", "--model", "openai/gpt-5", "go"]);
    command
        .env("OPENAI_API_KEY", "sk-0123456789abcdef")
        .env("OPENAI_BASE_URL", format!("{}/v1", server.address));
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let spans = collector.spans();
    let named = |name: &str| attributes(&spans.iter().find(|span| span.name == name).unwrap().attributes);
    let session = named("invoke_agent haft")["gen_ai.conversation.id"].clone();
    let table = [
        ("invoke_agent haft", "gen_ai.operation.name", "invoke_agent"),
        ("invoke_agent haft", "gen_ai.agent.name", "haft"),
        ("invoke_agent haft", "gen_ai.usage.input_tokens", "22"),
        ("invoke_agent haft", "haft.outcome", "finished"),
        ("invoke_agent haft", "haft.rounds", "2"),
        ("chat gpt-5", "gen_ai.operation.name", "chat"),
        ("chat gpt-5", "gen_ai.provider.name", "openai"),
        ("chat gpt-5", "gen_ai.request.model", "gpt-5"),
        ("chat gpt-5", "gen_ai.usage.input_tokens", "11"),
        ("chat gpt-5", "gen_ai.usage.output_tokens", "5"),
        ("chat gpt-5", "gen_ai.conversation.id", &session),
        ("execute_tool bash", "gen_ai.operation.name", "execute_tool"),
        ("execute_tool bash", "gen_ai.tool.name", "bash"),
        ("execute_tool bash", "gen_ai.tool.type", "function"),
    ];
    for (span, name, value) in table {
        assert_eq!(named(span).get(name).map(String::as_str), Some(value), "{name} of {span}");
    }
    assert!(place.journal().to_string_lossy().contains(&session));
}

#[test]
fn a_failed_request_says_whose_fault_it_is() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    let model = place.script("m", &[json!({"fail": "the key is invalid", "kind": "auth"})]);
    let mut command = place.haft(&["run", "--model", &model, "go"]);
    let ran = Ran::from(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).output().unwrap());
    assert_ne!(ran.code, 0, "{ran:?}");
    let spans = collector.spans();
    let chat = spans.iter().find(|span| span.name.starts_with("chat ")).unwrap();
    assert_eq!(attributes(&chat.attributes)["error.type"], "access_denied");
}

#[test]
fn a_subagent_s_turn_stands_below_the_call_that_began_it() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    let delegate = json!({"calls": [{"name": "delegate", "arguments": {"task": "look"}}]});
    let model = place.script("m", &[delegate, json!({"say": "Looked."}), json!({"say": "Done."})]);
    let mut command = place.haft(&["run", "--permission", "full", "--model", &model, "go"]);
    let ran = Ran::from(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let spans = collector.spans();
    let tree = tree(&spans);
    let child = ("execute_tool delegate".to_owned(), "invoke_agent haft".to_owned());
    assert!(tree.contains(&child), "{tree:?}");
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id));
}

// H-37
#[test]
fn tokens_and_durations_are_measured() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    run(&place, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)]);
    let metrics = collector.metrics();
    let counts: BTreeMap<(String, String), u64> = metrics
        .iter()
        .flat_map(|metric| {
            let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
            let points = histogram.data_points.iter();
            points.map(|point| {
                let attributes = attributes(&point.attributes);
                let kind =
                    attributes.get("gen_ai.token.type").unwrap_or(&attributes["gen_ai.operation.name"]);
                ((metric.name.clone(), kind.clone()), point.count)
            })
        })
        .collect();
    let of =
        |name: &str, kind: &str| counts.get(&(format!("gen_ai.client.{name}"), kind.to_owned())).copied();
    assert_eq!(of("token.usage", "input"), Some(3), "{counts:?}");
    assert_eq!(of("token.usage", "output"), Some(3), "{counts:?}");
    assert_eq!(of("operation.duration", "chat"), Some(3), "{counts:?}");
}

#[test]
fn variables_say_where_to_and_below_which_span() {
    let collector = Collector::answering(StatusCode::OK);
    let traces = format!("{}/v1/traces", collector.address);
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let parent = format!("00-{trace}-{span}-01");
    let ran = run(
        &Place::new(),
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &traces),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%20ey, tenant=a"),
            ("OTEL_SERVICE_NAME", "nightly"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci"),
            ("TRACEPARENT", &parent),
        ],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let (path, headers, _) = &collector.requests()[0];
    let header = |name: &str| headers[name].to_str().unwrap();
    assert_eq!((path.as_str(), header("api-key"), header("tenant")), ("/v1/traces", "k ey", "a"));
    let spans = collector.spans();
    let turn = spans.iter().find(|span| span.name.starts_with("invoke_agent")).unwrap();
    assert_eq!((hex::encode(&turn.trace_id), hex::encode(&turn.parent_span_id)), (trace.into(), span.into()));
    let resource = collector.resource();
    assert_eq!(resource["service.name"], "nightly");
    assert_eq!(resource["deployment.environment.name"], "ci");
    assert!(collector.metrics().is_empty(), "metrics have no endpoint");
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    let collector = Collector::answering(StatusCode::OK);
    let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str());
    let table: [&[(&str, &str)]; 3] = [
        &[("OTEL_SERVICE_NAME", "haft")],
        &[all, ("OTEL_SDK_DISABLED", "true")],
        &[all, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")],
    ];
    for variables in table {
        let ran = run(&Place::new(), variables);
        assert_eq!((ran.code, ran.err.contains("telemetry")), (0, false), "{variables:?}: {ran:?}");
        assert_eq!(collector.requests().len(), 0, "{variables:?}");
    }
}

#[test]
fn telemetry_that_cannot_be_sent_stops_no_work() {
    let refusing = Collector::answering(StatusCode::SERVICE_UNAVAILABLE);
    let closed = "http://127.0.0.1:9";
    let table: [(&[(&str, &str)], &str); 6] = [
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", closed)], ""),
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", &refusing.address)], ""),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", closed), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            "cannot send telemetry: `OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`; Haft sends as `http/protobuf`",
        ),
        (
            &[("OTEL_TRACES_EXPORTER", "zipkin")],
            "cannot send telemetry: `OTEL_TRACES_EXPORTER` is `zipkin`; Haft knows `otlp` and `none`",
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")],
            "cannot send telemetry: `OTEL_EXPORTER_OTLP_ENDPOINT` is `localhost:4318`; an address like",
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", closed), ("OTEL_EXPORTER_OTLP_HEADERS", "Bearer-SECRET")],
            "cannot send telemetry: `OTEL_EXPORTER_OTLP_HEADERS` is `…`; `NAME=VALUE,NAME=VALUE` is expected",
        ),
    ];
    for (variables, note) in table {
        let ran = run(&Place::new(), variables);
        assert_eq!((ran.code, ran.out.as_str()), (0, "SECRET-REPLY\n"), "{variables:?}: {ran:?}");
        let told = format!("note: {note}");
        assert_eq!(ran.err.contains(&told), !note.is_empty(), "{variables:?}: {ran:?}");
        assert!(!ran.err.contains("Bearer-SECRET"), "{ran:?}");
    }
}

#[test]
fn commands_do_not_see_the_collector_s_key() {
    let (place, collector) = (Place::new(), Collector::answering(StatusCode::OK));
    let model = place.script("m", &[bash("env > seen.txt"), json!({"say": "ok"})]);
    let mut command = place.haft(&["run", "--permission", "full", "--model", &model, "go"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=0123456789abcdef");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let seen = place.read("seen.txt").unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("0123456789abcdef"), "{seen}");
}
