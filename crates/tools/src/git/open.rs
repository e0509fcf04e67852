//! Repositories inside the repository. Git looks into them before it stages, with settings of their own, and cannot
//! be told not to.
use super::repository::{self, Repository, refused};
use haft_core::ToolError;

/// So many are looked into.
const MOST: usize = 100;

/// Refuses where one of them, at any depth, defines a filter.
pub(super) async fn refuse_filters(repository: &Repository) -> Result<(), ToolError> {
    let mut open = inside(repository).await?;
    let mut seen = 0;
    while let Some(submodule) = open.pop() {
        seen += 1;
        if seen > MOST {
            return Err(refused(&format!("it has more than {MOST} submodules")));
        }
        let name = format!("the configuration of `{}`", submodule.root.display());
        repository::refuse_filters(&submodule.settings().await?, &name)?;
        open.extend(inside(&submodule).await?);
    }
    Ok(())
}

/// Those in the index of this one that are there.
async fn inside(repository: &Repository) -> Result<Vec<Repository>, ToolError> {
    let mut whole = repository.clone();
    whole.folder.clone_from(&whole.root);
    let answer = whole.must(["ls-files", "--stage", "-z"]).await?;
    if answer.truncated {
        return Err(refused("it has too many files to look for submodules"));
    }
    let links = answer.stdout.split('\0').filter(|line| line.starts_with("160000 "));
    let all = links.filter_map(|line| Some(repository.inside(line.split_once('\t')?.1)));
    Ok(all.filter(|submodule| submodule.root.join(".git").symlink_metadata().is_ok()).collect())
}
