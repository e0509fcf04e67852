//! [`output`]: converts the result of a server to the output for the model.
use haft_core::picture::{LARGEST, from_base64};
use haft_core::{Image, ToolError, ToolErrorKind, ToolOutput, clip};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

/// Joins texts, collects pictures, and adds a note for content that cannot be shown to models.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in result.content {
        match told(block) {
            Reported::Text(text) => texts.push(text),
            Reported::Image(image) => images.push(image),
        }
    }
    let details = result.structured_content.unwrap_or_default();
    if texts.is_empty() && !details.is_null() {
        texts.push(format!("{details:#}"));
    }
    let text = texts.join("\n");
    let details = if details.is_object() { clipped(details) } else { Value::Null };
    if result.is_error == Some(true) {
        let text = if text.is_empty() { "the tool failed and did not say why".to_owned() } else { text };
        return Err(ToolError::new(ToolErrorKind::User, text).details(details));
    }
    let text = match (text.is_empty(), images.is_empty()) {
        (true, true) => "The tool answered nothing.".to_owned(),
        (true, false) => format!("[{} pictures]", images.len()),
        (false, _) => text,
    };
    Ok(ToolOutput { images, ..ToolOutput::text(text).details(details) })
}

/// Maximum bytes of structured content that are kept beside the text, the same as for the text of a result.
const MAX_DETAILS: usize = 50_000;

/// Replaces content that is too long by its beginning as text, since half an object is not an object.
fn clipped(details: Value) -> Value {
    let text = details.to_string();
    if text.len() <= MAX_DETAILS {
        return details;
    }
    json!({"clipped_bytes": text.len(), "head": clip::head(&text, MAX_DETAILS)})
}

pub(super) enum Reported {
    Text(String),
    Image(Image),
}

pub(super) fn told(block: ContentBlock) -> Reported {
    match block {
        ContentBlock::Text(text) => Reported::Text(text.text),
        ContentBlock::Image(image) => picture(image.data, &image.mime_type, "a picture"),
        ContentBlock::Audio(audio) => Reported::Text(not_shown("a sound", &audio.mime_type, &audio.data)),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.map(|about| format!(": {about}")).unwrap_or_default();
            Reported::Text(format!("[{}]({}){about}", link.name, link.uri))
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                Reported::Text(format!("{uri}\n{text}"))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                picture(blob, mime_type.as_deref().unwrap_or("unknown type"), &uri)
            }
            _ => Reported::Text("[a resource of an unknown kind]".into()),
        },
        _ => Reported::Text("[content of an unknown kind]".into()),
    }
}

/// Vendors refuse the whole conversation for one invalid picture, so its content counts, not its declared type.
pub(super) fn picture(data: String, mime: &str, what: &str) -> Reported {
    let note = not_shown(what, mime, &data);
    match from_base64(data) {
        Ok(image) if bytes(&image.data) as u64 <= LARGEST => Reported::Image(image),
        _ => Reported::Text(note),
    }
}

fn not_shown(what: &str, mime: &str, data: &str) -> String {
    format!("[{what} ({mime}, {} bytes), which cannot be shown]", bytes(data))
}

/// The approximate number of bytes that base64 represents.
fn bytes(data: &str) -> usize {
    data.len() / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, prelude::BASE64_STANDARD};

    #[test]
    fn structured_content_is_no_longer_than_a_text_may_be() {
        let answer = json!({"content": [], "structuredContent": {"rows": "ä".repeat(40_000)}});
        let output = output(serde_json::from_value(answer).unwrap()).unwrap();
        assert_eq!(output.details["clipped_bytes"], 80_011);
        assert!(output.details.to_string().len() < MAX_DETAILS + 100);
        assert!(output.for_model.len() > 80_000, "the engine clips what the model reads");
    }

    #[test]
    fn what_a_server_answers_is_text_pictures_and_notes() {
        let png = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\n");
        let table = [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                Ok(("a\nb", 0)),
            ),
            (json!({"content": [], "structuredContent": {"n": 1}}), Ok(("{\n  \"n\": 1\n}", 0))),
            (json!({"content": []}), Ok(("The tool answered nothing.", 0))),
            (
                json!({"content": [{"type": "image", "data": png, "mimeType": "image/bmp"}]}),
                Ok(("[1 pictures]", 1)),
            ),
            (
                json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
                Ok(("[a picture (image/png, 3 bytes), which cannot be shown]", 0)),
            ),
            (
                json!({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}),
                Ok(("[a sound (audio/wav, 3 bytes), which cannot be shown]", 0)),
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "x://y", "text": "hello"}}]}),
                Ok(("x://y\nhello", 0)),
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "x://y", "name": "y", "description": "why"}]}),
                Ok(("[y](x://y): why", 0)),
            ),
            (json!({"content": [{"type": "text", "text": "no"}], "isError": true}), Err("no")),
            (json!({"content": [], "isError": true}), Err("the tool failed and did not say why")),
        ];
        for (answer, expected) in table {
            let got = output(serde_json::from_value(answer.clone()).unwrap());
            let got =
                got.map(|output| (output.for_model, output.images.len())).map_err(|error| error.message);
            let expected = expected.map(|(text, images)| (text.to_owned(), images)).map_err(str::to_owned);
            assert_eq!(got, expected, "{answer}");
        }
    }
}
