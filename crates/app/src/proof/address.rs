//! [`App::verify_address`]: verifies a bundle on a server, or a pull request with the bundles that its description
//! names.
use super::{Commits, MAX_BYTES, Subject, Verification, VerifyOptions, of_file};
use crate::{App, Failure, git::said};
use haft_http::{Address, Download, Proxy};
use serde::{Deserialize, de::DeserializeOwned};
use std::{io::Write, path::Path, time::Duration};
use tempfile::NamedTempFile;

/// Maximum bytes of a server's description of a pull request.
const MAX_DESCRIPTION: u64 = 8 << 20;
/// Maximum time for each 16 KiB of a download.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters that surround an address in Markdown.
const AROUND_ADDRESS: &str = "()<>[]\"'`";

impl App {
    pub(super) async fn verify_address(
        &self,
        target: &str,
        options: &VerifyOptions,
    ) -> Result<Verification, Failure> {
        let failed = |why: String| Failure::usage(format!("cannot verify `{target}`: {why}"));
        let address = Address::parse(target).map_err(|error| failed(error.to_string()))?;
        let Some(page) = Page::of(&address) else {
            return match self.downloaded_bundle(&address, options.signers.as_deref()).await? {
                Ok(subject) => self.verified(&subject, options).await,
                Err(flaw) => Ok(Verification::not(&flaw)),
            };
        };
        let request = self.pull_request(&address, &page).await?;
        let folder = options.folder.clone().map_or_else(std::env::current_dir, Ok)?;
        let is_known =
            |commit: &str| said(&folder, ["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_some();
        if let Some(commit) = [&request.base, &request.head].into_iter().find(|commit| !is_known(commit)) {
            let why = format!("`{}` does not have its commit `{commit}`", folder.display());
            return Err(failed(why).hint(format!("fetch it: `git fetch origin {}`", page.reference())));
        }
        let mut brought = Vec::new();
        for bundle in bundles(&request.description, &address, &page) {
            match self.downloaded_bundle(&bundle, options.signers.as_deref()).await? {
                Ok(subject) => brought.push(subject),
                Err(flaw) => return Ok(Verification::not(&flaw)),
            }
        }
        let range = format!("{}..{}", request.base, request.head);
        let commits = Commits::find(&folder, &range)
            .ok_or_else(|| failed(format!("Git cannot list the commits `{range}`")))?;
        self.verify_commits(&commits, &brought, options).await
    }

    async fn pull_request(&self, address: &Address, page: &Page) -> Result<PullRequest, Failure> {
        let api = page.api(address).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(match page {
            Page::GitHub { .. } => {
                let told: GitHubPull = self.told(&api).await?;
                let description = told.body.unwrap_or_default();
                PullRequest { base: told.base.sha, head: told.head.sha, description }
            }
            Page::GitLab { .. } => {
                let told: GitLabMerge = self.told(&api).await?;
                let description = told.description.unwrap_or_default();
                PullRequest { base: told.diff_refs.base_sha, head: told.diff_refs.head_sha, description }
            }
        })
    }

    async fn told<T: DeserializeOwned>(&self, api: &Address) -> Result<T, Failure> {
        let mut text = Vec::new();
        self.download(api, MAX_DESCRIPTION, |piece| {
            text.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::failed(format!("`{api}` does not describe a pull request: {error}")))
    }

    async fn downloaded_bundle(
        &self,
        address: &Address,
        signers: Option<&Path>,
    ) -> Result<Result<Subject, super::Flaw>, Failure> {
        let mut file = NamedTempFile::with_prefix("haft-verify-")?;
        self.download(address, MAX_BYTES, |piece| file.write_all(piece)).await?;
        of_file(file.path(), signers)
    }

    async fn download(
        &self,
        address: &Address,
        max_bytes: u64,
        keep: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let proxy = Proxy::of(|name| self.environment.get(name));
        let download = Download { address: address.clone(), max_bytes, timeout: TIMEOUT, proxy };
        let fetched = download.fetch(keep).await;
        fetched.map(drop).map_err(|error| {
            Failure::failed(error.to_string())
                .hint("for what only you may read: download the bundle, and verify that file")
        })
    }
}

/// The page of a pull request.
enum Page {
    /// `https://HOST/OWNER/REPOSITORY/pull/NUMBER`
    GitHub { repository: String, number: u64 },
    /// `https://HOST/GROUP/…/PROJECT/-/merge_requests/NUMBER`
    GitLab { project: String, number: u64 },
}

impl Page {
    fn of(address: &Address) -> Option<Self> {
        let parts: Vec<&str> = address.path().split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            [owner, name, "pull", number, ..] => {
                Some(Self::GitHub { repository: format!("{owner}/{name}"), number: number.parse().ok()? })
            }
            _ => {
                let at = parts.windows(2).position(|pair| pair == ["-", "merge_requests"])?;
                Some(Self::GitLab {
                    project: parts[..at].join("/"),
                    number: parts.get(at + 2)?.parse().ok()?,
                })
            }
        }
    }

    /// The address at which the API of the server describes the pull request:
    /// `docs.github.com/en/rest/pulls/pulls#get-a-pull-request`, which GitHub Enterprise Server has below `/api/v3`,
    /// and `docs.gitlab.com/api/merge_requests/#get-single-mr`.
    fn api(&self, page: &Address) -> Result<Address, haft_http::AddressError> {
        match self {
            Self::GitHub { repository, number } if page.host() == "github.com" => {
                Address::parse(&format!("https://api.github.com/repos/{repository}/pulls/{number}"))
            }
            Self::GitHub { repository, number } => {
                page.join(&format!("/api/v3/repos/{repository}/pulls/{number}"))
            }
            Self::GitLab { project, number } => page
                .join(&format!("/api/v4/projects/{}/merge_requests/{number}", project.replace('/', "%2F"))),
        }
    }

    /// The reference to fetch from the repository to get the commits of the pull request.
    fn reference(&self) -> String {
        match self {
            Self::GitHub { number, .. } => format!("pull/{number}/head"),
            Self::GitLab { number, .. } => format!("merge-requests/{number}/head"),
        }
    }
}

/// A pull request to verify.
struct PullRequest {
    base: String,
    head: String,
    description: String,
}

#[derive(Deserialize)]
struct GitHubPull {
    body: Option<String>,
    base: GitHubEnd,
    head: GitHubEnd,
}

#[derive(Deserialize)]
struct GitHubEnd {
    sha: String,
}

#[derive(Deserialize)]
struct GitLabMerge {
    description: Option<String>,
    diff_refs: GitLabEnds,
}

#[derive(Deserialize)]
struct GitLabEnds {
    base_sha: String,
    head_sha: String,
}

/// The addresses of bundles in a description: those that end with `.zip`. GitLab names an attached file by a path
/// relative to the project.
fn bundles(description: &str, address: &Address, page: &Page) -> Vec<Address> {
    let words = description.split(|c: char| c.is_whitespace() || AROUND_ADDRESS.contains(c));
    let mut found: Vec<Address> = Vec::new();
    for word in words.filter(|word| word.ends_with(".zip")) {
        let bundle = match page {
            Page::GitLab { project, .. } if word.starts_with("/uploads/") => {
                address.join(&format!("/{project}{word}"))
            }
            _ if word.contains("://") || word.starts_with('/') => address.join(word),
            _ => continue,
        };
        found.extend(bundle.ok().filter(|bundle| !found.contains(bundle)));
    }
    found
}
