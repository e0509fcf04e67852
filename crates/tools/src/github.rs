//! [`pull_request`] and [`review`]: pull requests and reviews on GitHub, by `gh` if it is installed, otherwise by the
//! API.
//!
//! Source: docs.github.com/en/rest/pulls, version 2022-11-28.
use crate::settings::PublishSettings;
use haft_core::{ToolContext, ToolError, ToolErrorKind};
use haft_process::{Exit, Program};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::time::Duration;

/// The default address of the API.
const API_URL: &str = "https://api.github.com";
const TIMEOUT: Duration = Duration::from_secs(30);

/// A pull request to open.
pub(crate) struct Asked<'a> {
    pub(crate) settings: &'a PublishSettings,
    /// The address to which the branch was pushed.
    pub(crate) remote: Option<&'a str>,
    pub(crate) head: &'a str,
    pub(crate) base: &'a str,
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
}

/// Returns the address of the pull request, or an error.
pub(crate) async fn pull_request(
    asked: &Asked<'_>,
    ctx: &ToolContext,
) -> Result<Result<String, String>, ToolError> {
    let own = asked.settings.repository.clone();
    let Some(repository) = own.or_else(|| asked.remote.and_then(repository_of)) else {
        return Ok(Err("the remote is not a repository of GitHub".into()));
    };
    if asked.settings.token.is_none() {
        return gh(asked, &repository, ctx).await;
    }
    ctx.progress(format!("opening a pull request in `{repository}` …\n"));
    let body = json!({"title": asked.title, "head": asked.head, "base": asked.base, "body": asked.body});
    let (status, answer) = post(asked.settings, &format!("repos/{repository}/pulls"), body, ctx).await?;
    let is_there = status == 422 && answer.to_string().contains("already exists");
    match status {
        201 => Ok(Ok(url_of(&answer))),
        _ if is_there => existing(asked, &repository).await,
        _ => Err(refused("open a pull request", status, &answer)),
    }
}

/// The open pull request of the same branch.
async fn existing(asked: &Asked<'_>, repository: &str) -> Result<Result<String, String>, ToolError> {
    let owner = repository.split('/').next().unwrap_or_default();
    let path = format!("repos/{repository}/pulls?head={owner}:{}&state=open", asked.head);
    let (status, answer) = request(asked.settings, reqwest::Method::GET, &path, |request| request).await?;
    match (status, answer.get(0)) {
        (200, Some(first)) => Ok(Ok(url_of(first))),
        _ => Err(refused("find the pull request of this branch", status, &answer)),
    }
}

/// Posts a review; returns its address.
pub(crate) async fn review(
    settings: &PublishSettings,
    number: u64,
    review: Value,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let Some(repository) = &settings.repository else {
        let message = "cannot post the review: the repository is unknown";
        return Err(ToolError::new(ToolErrorKind::User, message).hint("set `repository` in [tools.publish]"));
    };
    let path = format!("repos/{repository}/pulls/{number}/reviews");
    let (status, answer) = post(settings, &path, review, ctx).await?;
    if status == 200 { Ok(url_of(&answer)) } else { Err(refused("post the review", status, &answer)) }
}

/// Uses `gh`, which has a login of its own.
async fn gh(
    asked: &Asked<'_>,
    repository: &str,
    ctx: &ToolContext,
) -> Result<Result<String, String>, ToolError> {
    let words = ["pr", "create", "--repo", repository, "--head", asked.head, "--base", asked.base, "--title"];
    let words = words.into_iter().chain([asked.title, "--body", asked.body]);
    let program = Program {
        program: "gh".into(),
        arguments: words.map(Into::into).collect(),
        folder: ctx.workspace.clone(),
        environment: ctx.access.reaching().into(),
        timeout: Some(TIMEOUT),
        capture: 64 << 10,
        confinement: None,
    };
    let Ok(finished) = program.run(|_| ()).await else {
        return Ok(Err("there is neither a token in GITHUB_TOKEN nor the program `gh`".into()));
    };
    match finished.exit {
        Exit::Code(0) => Ok(Ok(finished.stdout.text.trim().to_owned())),
        _ => Ok(Err(format!("`gh` refused: {}", finished.stderr.text.trim()))),
    }
}

/// Sends JSON. A call from the outbox carries an idempotency key, by which a server can recognize a second attempt.
async fn post(
    settings: &PublishSettings,
    path: &str,
    body: Value,
    ctx: &ToolContext,
) -> Result<(u16, Value), ToolError> {
    let key = ctx.access.idempotency_key();
    let with_body = |request: RequestBuilder| {
        let request = request.header("content-type", "application/json").body(body.to_string());
        match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        }
    };
    request(settings, reqwest::Method::POST, path, with_body).await
}

async fn request(
    settings: &PublishSettings,
    method: reqwest::Method,
    path: &str,
    finish: impl FnOnce(RequestBuilder) -> RequestBuilder,
) -> Result<(u16, Value), ToolError> {
    let failed = |error: reqwest::Error| {
        let message = format!("cannot reach GitHub: {}", error.without_url());
        ToolError::new(ToolErrorKind::System, message).hint("the branch is pushed; try `publish` again later")
    };
    let base = settings.api_url.as_deref().unwrap_or(API_URL).trim_end_matches('/');
    let client = haft_http::builder().redirect(reqwest::redirect::Policy::default()).timeout(TIMEOUT).build();
    let mut request = client.map_err(failed)?.request(method, format!("{base}/{path}"));
    request = request
        .header("accept", "application/vnd.github+json")
        .header("x-github-api-version", "2022-11-28")
        .header("user-agent", "haft");
    if let Some(token) = &settings.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = finish(request).send().await.map_err(failed)?;
    let status = answer.status().as_u16();
    let bytes = answer.bytes().await.map_err(failed)?;
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

fn refused(what: &str, status: u16, answer: &Value) -> ToolError {
    let said = answer["message"].as_str().unwrap_or("it says nothing more");
    let error =
        ToolError::new(ToolErrorKind::User, format!("cannot {what}: GitHub answered {status}: {said}"));
    match status {
        401 | 403 | 404 => {
            error.hint("the token in GITHUB_TOKEN must be allowed to write pull requests there")
        }
        _ => error,
    }
}

fn url_of(answer: &Value) -> String {
    answer["html_url"].as_str().unwrap_or_default().to_owned()
}

/// `OWNER/NAME` from an address at github.com.
fn repository_of(remote: &str) -> Option<String> {
    let rest = ["https://github.com/", "http://github.com/", "ssh://git@github.com/", "git@github.com:"]
        .into_iter()
        .find_map(|start| remote.strip_prefix(start))?;
    let name = rest.trim_end_matches('/').trim_end_matches(".git");
    (name.split('/').filter(|part| !part.is_empty()).count() == 2).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_at_github_name_their_repository() {
        let table = [
            ("https://github.com/a/b.git", Some("a/b")),
            ("git@github.com:a/b.git", Some("a/b")),
            ("ssh://git@github.com/a/b", Some("a/b")),
            ("https://github.com/a", None),
            ("/srv/b.git", None),
            ("https://example.org/a/b", None),
        ];
        for (remote, expected) in table {
            assert_eq!(repository_of(remote).as_deref(), expected, "{remote}");
        }
    }
}
