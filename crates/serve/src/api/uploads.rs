//! [`Uploads`]: pictures and PDFs that wait for a prompt.
use super::{
    Context,
    body::{Asked, LONGEST, whole},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    gate::BYTES,
};
use axum::{
    Json,
    extract::Request,
    http::{StatusCode, header::CONTENT_TYPE},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use haft_app::pdf::part_of_bytes;
use haft_app::token::random;
use haft_core::{Document, Image, Part, picture::media_type};
use haft_present::safe;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};

/// Pictures and PDFs that wait at the same time; the oldest go first.
const MAX_UPLOADS: usize = 64;
/// Bytes of a picture: what models take, with room to spare.
const MAX_PICTURE_BYTES: usize = 8 << 20;
/// Bytes of all of them, as they are kept.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// PDFs that are read at the same time: each takes a process.
const MAX_READERS: usize = 2;
/// Characters of a name.
const MAX_NAME: usize = 120;
const PDF: &str = "application/pdf";

/// Parts of prompts by their names, the oldest first.
pub(crate) struct Uploads {
    waiting: Mutex<Waiting>,
    readers: Semaphore,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { waiting: Mutex::default(), readers: Semaphore::new(MAX_READERS) }
    }
}

#[derive(Default)]
pub(crate) struct Waiting {
    all: VecDeque<(String, Part)>,
}

/// A picture (PNG, JPEG, GIF or WebP) or a PDF.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it stands for the body in the description")]
pub(crate) struct Picture(Vec<u8>);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadName {
    /// Name of the file, which the model reads of a PDF [default: document.pdf]
    name: Option<String>,
}

/// A picture or a PDF that was taken in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    /// Give it as `{"type":"upload","id":…}` among the parts of a prompt
    id: String,
    /// What it is
    mime: &'static str,
    /// How long it is
    bytes: usize,
    /// Pages of a PDF that goes to models as it is; `null` for a picture, and for a PDF of which only the text goes along
    pages: Option<usize>,
}

impl Uploads {
    fn add(&self, part: Part) -> Answer<String> {
        let mut waiting = self.waiting.lock();
        // A user cannot guess the upload of another.
        let id = random().map(|id| format!("upload-{id}"));
        let id = id.map_err(|error| ApiError::failed(format!("cannot name an upload: {error}")))?;
        waiting.all.push_back((id.clone(), part));
        let bytes = |all: &VecDeque<(String, Part)>| all.iter().map(|(_, part)| size(part)).sum::<usize>();
        while waiting.all.len() > MAX_UPLOADS || bytes(&waiting.all) > MAX_TOTAL_BYTES {
            waiting.all.pop_front();
        }
        Ok(id)
    }

    /// The upload of this name; it can be said more than once.
    pub(super) fn find(&self, id: &str) -> Answer<Part> {
        let waiting = self.waiting.lock();
        let found = waiting.all.iter().find(|(known, _)| known == id).map(|(_, part)| part.clone());
        found.ok_or_else(|| {
            ApiError::wrong(format!("there is no upload `{}`", id.escape_debug()))
                .suggest("send the file to `POST /v1/uploads` again: the oldest are let go of")
        })
    }
}

/// Bytes that are kept of a part.
fn size(part: &Part) -> usize {
    match part {
        Part::Image(image) => image.data.len(),
        Part::Document(document) => document.data.len() + document.text.len(),
        Part::Text { text } => text.len(),
        Part::Thinking { .. } | Part::ToolCall(_) => 0,
    }
}

/// Say a picture or a PDF in a later prompt
///
/// The body is the file itself, with its media type or `application/octet-stream` as `Content-Type`. A PDF goes as it is to
/// models that take documents, up to 10 MB and 100 pages, and otherwise as the text of its pages.
#[utoipa::path(post, path = "/v1/uploads", tag = "sessions", params(UploadName), request_body(content = Picture, content_type = "application/octet-stream"),
    responses((status = CREATED, body = Uploaded), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn upload(
    context: Context,
    Asked(UploadName { name }): Asked<UploadName>,
    request: Request,
) -> Answer<(StatusCode, Json<Uploaded>)> {
    let named = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let bytes = whole(request).await?;
    let is_pdf =
        named.as_deref() == Some(PDF) || named.as_deref() == Some(BYTES) && bytes.starts_with(b"%PDF-");
    let (part, mime, pages) = match is_pdf {
        true => pdf(&context.uploads, &name_of(name.as_deref()), &bytes).await?,
        false => picture(named.as_deref(), &bytes)?,
    };
    let id = context.uploads.add(part)?;
    Ok((StatusCode::CREATED, Json(Uploaded { id, mime, bytes: bytes.len(), pages })))
}

type Read = (Part, &'static str, Option<usize>);

async fn pdf(uploads: &Uploads, name: &str, bytes: &[u8]) -> Answer<Read> {
    let _place = uploads.readers.acquire().await;
    let part = part_of_bytes(name, bytes).await?;
    let pages = match &part {
        Part::Document(Document { pages, .. }) => Some(*pages),
        _ => None,
    };
    Ok((part, PDF, pages))
}

fn picture(named: Option<&str>, bytes: &[u8]) -> Answer<Read> {
    if bytes.len() > MAX_PICTURE_BYTES {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the picture has more than {MAX_PICTURE_BYTES} bytes"),
        ));
    }
    let mime = media_type(bytes).filter(|kind| [Some(*kind), Some(BYTES)].contains(&named)).ok_or_else(|| {
        ApiError::wrong("the body is not a picture of the kind that `Content-Type` names").suggest(format!(
            "pictures are image/png, image/jpeg, image/gif and image/webp, up to {} MB; a PDF is {PDF}, up to {} MB",
            MAX_PICTURE_BYTES >> 20,
            LONGEST >> 20
        ))
    })?;
    let image = Image { mime: mime.to_owned(), data: BASE64_STANDARD.encode(bytes) };
    Ok((Part::Image(image), mime, None))
}

/// The name of a file that a client gave, without folders and what would hide in it.
fn name_of(given: Option<&str>) -> String {
    let last = given.and_then(|name| name.rsplit(['/', '\\']).next()).unwrap_or_default().trim();
    let name: String =
        safe::name(last).chars().filter(|letter| !['<', '>'].contains(letter)).take(MAX_NAME).collect();
    if name.is_empty() { "document.pdf".to_owned() } else { name }
}
