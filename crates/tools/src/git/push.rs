//! [`push`]: pushes, and parses the server's response on each branch.
use super::{Args, look::words, repository::Repository, work::not_run};
use haft_core::{ToolContext, ToolError, ToolErrorKind, ToolOutput};
use serde::Serialize;
use serde_json::json;

/// A line of `git push --porcelain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Pushed {
    from: String,
    to: String,
    summary: String,
    #[serde(skip)]
    rejected: bool,
}

/// A repository on this machine receives the push with a process of its own, whose hooks and settings are not trusted.
const RECEIVE_PACK: &str = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c receive.autogc=false \
                       -c core.alternateRefsCommand= -c gc.auto=0 receive-pack";

pub(super) async fn push(
    repository: &Repository,
    args: &Args,
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let what = args.revision.as_deref().unwrap_or("HEAD");
    if what.contains(':') || what.starts_with('+') {
        let message = format!("cannot push `{what}`: it would force, rename or remove");
        return Err(ToolError::new(ToolErrorKind::Validation, message).hint("use `bash` if that is meant"));
    }
    // Overrides the target that the repository's `remote.NAME.push` sets for the branch.
    let branch = format!("refs/heads/{what}");
    let is_branch = repository.git(["show-ref", "--verify", "--quiet", &branch]).await?.ok;
    let refspec = if is_branch { format!("{branch}:{branch}") } else { what.to_owned() };
    send(repository, args.remote(), &refspec, &args.options, ctx).await
}

/// Pushes `branch` to the branch of the same name, whatever the repository's `remote.NAME.push` says.
pub(super) async fn push_as_named(
    repository: &Repository,
    remote: &str,
    branch: &str,
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    send(repository, remote, &format!("refs/heads/{branch}:refs/heads/{branch}"), &[], ctx).await
}

async fn send(
    repository: &Repository,
    remote: &str,
    what: &str,
    options: &[String],
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    ctx.progress(format!("pushing to `{remote}` …\n"));
    let receive = if is_local(repository, remote).await? { RECEIVE_PACK } else { "git-receive-pack" };
    let mut words = words(["push", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no"]);
    words.push(format!("--receive-pack={receive}").into());
    words.extend(options.iter().map(Into::into));
    words.extend(["--", remote, what].map(Into::into));
    let answer = repository.git(words).await?;
    let pushed: Vec<Pushed> = answer.stdout.lines().filter_map(parse).collect();
    if !answer.ok && pushed.is_empty() {
        return Err(answer.error());
    }
    let lines = pushed.iter().map(|Pushed { from, to, summary, .. }| format!("{from} -> {to}: {summary}"));
    let text = lines.collect::<Vec<_>>().join("\n");
    if !answer.ok || pushed.iter().any(|pushed| pushed.rejected) {
        let message = format!("cannot push to `{remote}`: {text}");
        return Err(ToolError::new(ToolErrorKind::User, message).hint("fetch and merge first, with `bash`"));
    }
    let shown = format!("Pushed to `{remote}`: {text}");
    let details = json!({"remote": remote, "refs": pushed});
    Ok(ToolOutput::text(format!("{shown}{}", not_run(repository, &["pre-push"])))
        .show(shown)
        .details(details))
}

/// Whether any address of this remote is a folder of this machine.
async fn is_local(repository: &Repository, remote: &str) -> Result<bool, ToolError> {
    let answer = repository.git(["remote", "get-url", "--push", "--all", "--", remote]).await?;
    let addresses = if answer.ok { answer.stdout } else { remote.to_owned() };
    Ok(addresses.lines().any(is_folder))
}

/// Whether Git interprets the address as a folder: `host:path` is a server, `./host:path` and `/path` are folders.
fn is_folder(address: &str) -> bool {
    if let Some((scheme, _)) = address.split_once("://") {
        return scheme == "file";
    }
    match address.find(':') {
        None => true,
        Some(colon) => address.find('/').is_some_and(|slash| slash < colon),
    }
}

/// `FLAG TAB FROM:TO TAB SUMMARY`.
fn parse(line: &str) -> Option<Pushed> {
    let mut fields = line.splitn(3, '\t');
    let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
    let (from, to) = names.split_once(':')?;
    let plain = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    Some(Pushed { from: plain(from), to: plain(to), summary: summary.to_owned(), rejected: flag == "!" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_from_servers() {
        let table = [
            ("/srv/x.git", true),
            ("../x", true),
            ("file:///srv/x", true),
            ("./a:b", true),
            ("git@host:x.git", false),
            ("host:x", false),
            ("https://host/x", false),
            ("ssh://host/x", false),
        ];
        for (address, expected) in table {
            assert_eq!(is_folder(address), expected, "{address}");
        }
    }
}
