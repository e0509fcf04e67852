//! [`Uploads`]: pictures that wait for a prompt.
use super::{Context, body::whole};
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
use haft_core::Image;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::VecDeque;
use utoipa::ToSchema;

/// Pictures that wait at the same time; the oldest go first.
const MAX_UPLOADS: usize = 64;
/// Bytes of a picture: what models take, with room to spare.
const MAX_PICTURE_BYTES: usize = 8 << 20;
/// Bytes of all of them, as they are kept.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// Pictures by their names, the oldest first.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<Waiting>);

#[derive(Default)]
pub(crate) struct Waiting {
    count: u64,
    all: VecDeque<(String, Image)>,
}

/// A picture: PNG, JPEG, GIF or WebP.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it stands for the body in the description")]
pub(crate) struct Picture(Vec<u8>);

/// A picture that was taken in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    /// Give it as `{"type":"upload","id":…}` among the parts of a prompt
    id: String,
    /// What it is
    mime: &'static str,
    /// How long it is
    bytes: usize,
}

impl Uploads {
    fn add(&self, image: Image) -> String {
        let mut waiting = self.0.lock();
        waiting.count += 1;
        let id = format!("upload-{}", waiting.count);
        waiting.all.push_back((id.clone(), image));
        let bytes =
            |all: &VecDeque<(String, Image)>| all.iter().map(|(_, image)| image.data.len()).sum::<usize>();
        while waiting.all.len() > MAX_UPLOADS || bytes(&waiting.all) > MAX_TOTAL_BYTES {
            waiting.all.pop_front();
        }
        id
    }

    /// The picture of this name; it can be said more than once.
    pub(super) fn find(&self, id: &str) -> Answer<Image> {
        let found = self.0.lock().all.iter().find(|(known, _)| known == id).map(|(_, image)| image.clone());
        found.ok_or_else(|| {
            ApiError::wrong(format!("there is no upload `{}`", id.escape_debug()))
                .suggest("send the picture to `POST /v1/uploads` again: the oldest are let go of")
        })
    }
}

/// What a picture is, by its first bytes (PNG 5.2, JFIF, GIF89a, RFC 9649).
pub(super) fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Say a picture in a later prompt
///
/// The body is the picture itself, with its media type or `application/octet-stream` as `Content-Type`.
#[utoipa::path(post, path = "/v1/uploads", tag = "sessions", request_body(content = Picture, content_type = "application/octet-stream"),
    responses((status = CREATED, body = Uploaded), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn upload(context: Context, request: Request) -> Answer<(StatusCode, Json<Uploaded>)> {
    let named = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let bytes = whole(request).await?;
    if bytes.len() > MAX_PICTURE_BYTES {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the picture has more than {MAX_PICTURE_BYTES} bytes"),
        ));
    }
    let mime = kind(&bytes)
        .filter(|kind| [Some(*kind), Some(BYTES)].contains(&named.as_deref()))
        .ok_or_else(|| {
            ApiError::wrong("the body is not a picture of the kind that `Content-Type` names")
                .suggest("pictures are image/png, image/jpeg, image/gif and image/webp")
        })?;
    let image = Image { mime: mime.to_owned(), data: BASE64_STANDARD.encode(&bytes) };
    let id = context.uploads.add(image);
    Ok((StatusCode::CREATED, Json(Uploaded { id, mime, bytes: bytes.len() })))
}
