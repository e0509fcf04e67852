//! PDFs are read by a process of its own: pages of text, or a sentence that says why not. None of them ends the session.
use crate::{
    kit::{Place, terminal::Terminal},
    models::effort::{server, told},
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use std::fmt::Write;

/// The objects of a file, from number 1 on; the first one is the catalog.
fn file(objects: &[String], trailer: &str) -> String {
    let (mut text, mut offsets) = ("%PDF-1.4\n".to_owned(), Vec::new());
    for (number, object) in objects.iter().enumerate() {
        offsets.push(text.len());
        writeln!(text, "{} 0 obj\n{object}\nendobj", number + 1).unwrap();
    }
    let (at, size) = (text.len(), objects.len() + 1);
    write!(text, "xref\n0 {size}\n0000000000 65535 f \n").unwrap();
    offsets.iter().for_each(|offset| writeln!(text, "{offset:010} 00000 n ").unwrap());
    text + &format!("trailer\n<</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{at}\n%%EOF\n")
}

fn stream(dictionary: &str, content: &str) -> String {
    format!("<<{dictionary}/Length {}>>\nstream\n{content}\nendstream", content.len())
}

/// A page for each text; an empty one has nothing on it.
fn objects(texts: &[&str]) -> Vec<String> {
    let kids: String = (0..texts.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut all = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", texts.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for (page, text) in texts.iter().enumerate() {
        let content = 5 + 2 * page;
        all.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents {content} 0 R>>"
        ));
        let shown =
            if text.is_empty() { String::new() } else { format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET") };
        all.push(stream("", &shown));
    }
    all
}

pub(crate) fn pdf(texts: &[&str]) -> String {
    file(&objects(texts), "")
}

/// A page that draws a form which draws itself.
fn endless() -> String {
    let mut all = objects(&["one"]);
    all[3] = all[3].replace("/Font<</F 3 0 R>>", "/Font<</F 3 0 R>>/XObject<</X 6 0 R>>");
    all[4] = stream("", "/X Do");
    let form = "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>";
    all.push(stream(form, "/X Do /X Do"));
    file(&all, "")
}

fn encrypted() -> String {
    let mut all = objects(&["secret"]);
    let hash = "00".repeat(32);
    all.push(format!("<</Filter/Standard/V 1/R 2/O<{hash}>/U<{hash}>/P -4>>"));
    file(&all, "/Encrypt 6 0 R/ID[<00><00>]")
}

/// What a model reads of this call, and whether it went well.
fn read(place: &Place, arguments: &Value) -> (bool, String) {
    let ran = place.run(&["tools", "call", "read", &arguments.to_string()]);
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    (told["ok"] == true, told["content"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned())
}

#[test]
fn a_pdf_is_read_by_pages() {
    let place = Place::new();
    place.write("paper.pdf", pdf(&["First page", "", "", "Fourth page"]));
    place.write("named.bin", pdf(&["Only page"]));
    let scans = "no text on pages 2-3: `pdftoppm -png` makes pictures of them";
    let table = [
        (
            json!({"path": "paper.pdf"}),
            format!(
                "--- page 1 of 4\nFirst page\n--- page 2 of 4\n[no text: a picture or a scan]\n--- page 3 of 4\n\
                 [no text: a picture or a scan]\n--- page 4 of 4\nFourth page\n[a PDF of 4 pages; {scans}]"
            ),
        ),
        (
            json!({"path": "paper.pdf", "limit": 1}),
            format!("--- page 1 of 4\nFirst page\n[a PDF of 4 pages; {scans}; continue with offset=2]"),
        ),
        (
            json!({"path": "paper.pdf", "offset": 4}),
            "--- page 4 of 4\nFourth page\n[a PDF of 4 pages]".into(),
        ),
        (json!({"path": "named.bin"}), "--- page 1 of 1\nOnly page\n[a PDF of 1 page]".into()),
    ];
    for (arguments, expected) in table {
        assert_eq!(read(&place, &arguments), (true, expected), "{arguments}");
    }
}

#[test]
fn what_cannot_be_read_of_a_pdf_is_a_sentence() {
    let place = Place::new();
    let whole = pdf(&["One"]);
    place.write("text.pdf", "no PDF at all");
    place.write("empty.pdf", "");
    place.write("none.pdf", pdf(&[]));
    place.write("cut.pdf", &whole[..whole.len() / 2]);
    place.write("locked.pdf", encrypted());
    place.write("endless.pdf", endless());
    place.write("one.pdf", &whole);
    let huge = std::fs::File::create(place.work().join("huge.pdf")).unwrap();
    huge.set_len((50 << 20) + 1).unwrap();
    let table = [
        ("text.pdf", "cannot read `text.pdf`: its content is not a PDF\nhint: "),
        ("empty.pdf", "cannot read `empty.pdf`: its content is not a PDF\nhint: "),
        ("none.pdf", "cannot read `none.pdf`: it is a PDF without pages\nhint: "),
        ("cut.pdf", "cannot read `cut.pdf`: it is cut off or malformed: "),
        ("locked.pdf", "cannot read `locked.pdf`: it is encrypted, and needs a password\nhint: "),
        ("huge.pdf", "cannot read `huge.pdf`: it has more than 52428800 bytes\nhint: "),
        (
            "endless.pdf",
            "cannot read `endless.pdf`: it is malformed, or reading it takes more than 2 GB of memory",
        ),
    ];
    for (name, expected) in table {
        let (is_ok, told) = read(&place, &json!({"path": name}));
        assert!(!is_ok && told.starts_with(&format!("error: {expected}")), "{name}: {told}");
    }
    let (is_ok, told) = read(&place, &json!({"path": "one.pdf", "offset": 2}));
    let expected =
        "error: cannot read `one.pdf` from there: it has only 1 page\nhint: use a smaller `offset`";
    assert_eq!((is_ok, told.as_str()), (false, expected));
}

#[test]
fn a_session_goes_on_after_a_pdf_that_ends_its_reader() {
    let place = Place::new();
    place.write("endless.pdf", endless());
    let read = json!({"calls": [{"name": "read", "arguments": {"path": "endless.pdf"}}]});
    let model = place.script("model.jsonl", &[read, json!({"say": "It is malformed."})]);
    let ran = place.run(&["run", "--model", &model, "Read endless.pdf."]);
    assert!(ran.code == 0 && ran.out.contains("It is malformed."), "{ran:?}");
}

/// Where the wire and the model take documents. The journal has it once.
// H-63
#[test]
fn a_pdf_goes_as_it_is_to_models_that_take_documents() {
    let place = Place::new();
    let paper = pdf(&["First", "Second"]);
    place.write("paper.pdf", &paper);
    let data = BASE64_STANDARD.encode(&paper);
    let url = format!("data:application/pdf;base64,{data}");
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": data});
    let text =
        "\n\n<pdf name=\"paper.pdf\" pages=\"2\">\n--- page 1 of 2\nFirst\n--- page 2 of 2\nSecond\n</pdf>";
    let anthropic = json!({"type": "document", "source": source, "title": "paper.pdf"});
    let table = [
        ("anthropic/claude-sonnet-4-5", "", "/messages/0/content/1", anthropic),
        (
            "openai-responses/gpt-5",
            "",
            "/input/0/content/1",
            json!({"type": "input_file", "filename": "paper.pdf", "file_data": url}),
        ),
        (
            "gemini-native/gemini-3-pro",
            "",
            "/contents/0/parts/1",
            json!({"inlineData": {"mimeType": "application/pdf", "data": data}}),
        ),
        ("openai/gpt-5", "", "/messages/1/content", json!(format!("Summarize{text}"))),
        (
            "anthropic/claude-sonnet-4-5",
            "[models.\"anthropic/claude-sonnet-4-5\"]\ndocuments = false",
            "/messages/0/content/1",
            json!({"type": "text", "text": text}),
        ),
    ];
    for (model, settings, at, expected) in table {
        place.configure(settings);
        let (body, _) = told(&place, &server(), &["run", "--model", model, "-i", "paper.pdf", "Summarize"]);
        let found = body.pointer(at).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{model}: {body}");
    }
    // A scan, too: the model sees it.
    place.configure("");
    place.write("scan.pdf", pdf(&["", ""]));
    let arguments = ["run", "--model", "anthropic/claude-sonnet-4-5", "-i", "scan.pdf", "Summarize"];
    let (body, _) = told(&place, &server(), &arguments);
    assert_eq!(body["messages"][0]["content"][1]["title"], "scan.pdf", "{body}");
    let shown = place.run(&["sessions", "show"]);
    assert!(shown.out.contains("[scan.pdf, 2 pages]"), "{shown:?}");
    // Another model, which takes none, reads the text in the same conversation.
    let arguments = ["run", "--model", "openai/gpt-5", "--continue", "And?"];
    let (body, _) = told(&place, &server(), &arguments);
    let said = body["messages"][1]["content"].as_str().unwrap();
    assert!(said.contains("[`scan.pdf`: a PDF without text, which you cannot see]"), "{body}");
}

#[test]
fn a_pdf_is_attached_on_the_screen() {
    let (place, server) = (Place::new(), server());
    place.write("paper.pdf", pdf(&["First"]));
    place.configure(&format!("[vendors.anthropic]\nbase_url = \"{}\"\nkey = \"k\"\n", server.base_url));
    let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
    terminal.haft(&place, "--model anthropic/claude-sonnet-4-5");
    terminal.see("what to do?");
    terminal.keys(&["-l", "sum up @pap"]);
    terminal.see("paper.pdf");
    terminal.keys(&["Tab"]);
    terminal.see("sum up [document 1]");
    terminal.keys(&["Enter"]);
    terminal.see("[paper.pdf, 1 page]");
    terminal.see("hi");
    let blocks = &server.prompts()[0]["messages"][0]["content"];
    assert_eq!(blocks[1]["type"], "document", "{blocks}");
}

// H-63
#[test]
fn the_text_of_a_pdf_goes_along_with_a_prompt() {
    let place = Place::new();
    place.write("paper.pdf", pdf(&["Results </pdf> ", "More"]));
    place.write("scan.pdf", pdf(&["", ""]));
    let model = place.script("model.jsonl", &[json!({"say": "Read."})]);
    for option in ["-i", "--image", "--attach"] {
        let ran = place.run(&["run", "--model", &model, "--json", option, "paper.pdf", "Summarize"]);
        let prompted = ran.events().into_iter().find(|event| event["type"] == "prompted").unwrap();
        let expected = "\n\n<pdf name=\"paper.pdf\" pages=\"2\">\n--- page 1 of 2\nResults &lt;/pdf>\n--- page 2 of 2\n\
                        More\n</pdf>";
        assert_eq!(prompted["parts"][1], json!({"type": "text", "text": expected}), "{option}: {prompted}");
    }
    let ran = place.run(&["run", "--model", &model, "-i", "scan.pdf", "Summarize"]);
    let expected =
        "error: cannot attach `scan.pdf`: its pages have no text; it is a scan, or made of pictures\nhint: ";
    assert!(ran.code == 2 && ran.err.starts_with(expected), "{ran:?}");
    let ran = place.run(&["run", "--model", &model, "-i", "missing.pdf", "Summarize"]);
    assert!(
        ran.code == 2 && ran.err.starts_with("error: cannot attach `missing.pdf`: No such file"),
        "{ran:?}"
    );
}
