//! Files that go along with a prompt of the page: PDFs are read by a process of their own, as in a terminal.
use crate::{
    kit::{
        Place,
        serving::{Answered, Serving},
    },
    models::effort::server,
    tools::pdf::pdf,
};
use serde_json::{Value, json};

fn upload(server: &Serving, name: &str, kind: &str, body: &str) -> Answered {
    let token = format!("Bearer {}", server.token);
    let head = [("host", server.host.as_str()), ("authorization", &token), ("content-type", kind)];
    server.with(&format!("POST /v1/uploads?name={name}"), &head, body)
}

/// Sends a prompt with the upload `id`, and waits for the end of its turn.
fn prompt(server: &Serving, id: &Value) -> (String, Answered) {
    let session = server.session("{}");
    let parts = json!([{"type": "text", "text": "Sum up"}, {"type": "upload", "id": id}]);
    let body = json!({"parts": parts, "wait": true}).to_string();
    let answer = server.ask(&format!("POST /v1/sessions/{session}/prompt"), &body);
    (session, answer)
}

// H-88
#[test]
fn a_pdf_goes_as_it_is_to_a_model_that_takes_documents() {
    let (place, model) = (Place::new(), server());
    place.configure(&format!("[vendors.anthropic]\nbase_url = \"{}\"\nkey = \"k\"\n", model.base_url));
    let serving = Serving::start(&place, &["--model", "anthropic/claude-sonnet-4-5"]);
    let taken = upload(&serving, "papers%2Fpaper.pdf", "application/pdf", &pdf(&["First", ""])).json();
    assert_eq!((&taken["mime"], &taken["pages"]), (&json!("application/pdf"), &json!(2)), "{taken}");
    let (session, answer) = prompt(&serving, &taken["id"]);
    assert_eq!(answer.status, 200, "{answer:?}");
    let block = &model.prompts()[0]["messages"][0]["content"][1];
    assert_eq!((&block["type"], &block["title"]), (&json!("document"), &json!("paper.pdf")), "{block}");
    let timeline = serving.ask(&format!("GET /v1/sessions/{session}/timeline"), "").body;
    assert!(timeline.contains("[paper.pdf, 2 pages]"), "{timeline}");
}

// H-88
#[test]
fn another_model_reads_the_text_of_a_pdf() {
    let place = Place::new();
    let model = place.script("model", &[json!({"expect": "--- page 1 of 1\nFirst", "say": "Read."})]);
    let serving = Serving::start(&place, &["--model", &model]);
    let taken = upload(&serving, "paper.pdf", "application/octet-stream", &pdf(&["First"])).json();
    let (_, answer) = prompt(&serving, &taken["id"]);
    assert_eq!(answer.json()["text"], "Read.", "{answer:?}");
    // A scan has nothing for it.
    let scan = upload(&serving, "scan.pdf", "application/pdf", &pdf(&[""])).json();
    let (_, refused) = prompt(&serving, &scan["id"]);
    assert!(refused.status == 400 && refused.body.contains("its page has no text"), "{refused:?}");
}

// H-88
#[test]
fn what_is_no_pdf_is_refused_by_its_name() {
    let place = Place::new();
    let model = place.script("model", &[]);
    let serving = Serving::start(&place, &["--model", &model]);
    let refused = upload(&serving, "paper.pdf", "application/pdf", "Not a PDF");
    assert!(refused.status == 400 && refused.body.contains("cannot attach `paper.pdf`"), "{refused:?}");
    let refused = upload(&serving, "paper.txt", "application/octet-stream", "Not a PDF");
    assert!(
        refused.status == 400 && refused.body.contains("a PDF is application/pdf, up to 24 MB"),
        "{refused:?}"
    );
}
