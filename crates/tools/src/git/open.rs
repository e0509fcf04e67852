//! [`open`]: opens the repository for an action. Refuses if that would run a filter that the repository, or one inside
//! it, defines.
use super::{
    Action,
    repository::{Repository, refused},
};
use haft_core::{
    ToolContext, ToolError,
    git_settings::{self, Setting},
};

/// Maximum number of repositories inside the repository that are checked.
const MAX_REPOSITORIES: usize = 100;

/// Returns the repository around the workspace, configured so that none of its programs run.
pub(super) async fn open(ctx: &ToolContext, action: Action) -> Result<Repository, ToolError> {
    let (repository, settings) = Repository::locate(ctx, action).await?;
    if matches!(action, Action::Add | Action::Commit | Action::Checkout | Action::Stash) {
        refuse_filters(&settings, "its own configuration")?;
        refuse_filters_inside(&repository).await?;
    }
    if action == Action::Blame {
        refuse_foreign_files(&repository, &settings)?;
    }
    Ok(repository)
}

/// Refuses if `git blame` would read a file that the call may not read: an error would quote its first line.
fn refuse_foreign_files(repository: &Repository, settings: &[Setting]) -> Result<(), ToolError> {
    for file in git_settings::revision_files(settings) {
        // At the beginning of a path, Git reads `~` as a home folder, `%(prefix)` as its installation folder, and
        // `:(…)` as an option.
        let path = repository.root.join(file).canonicalize();
        let is_own =
            path.is_ok_and(|path| path.starts_with(&repository.root) && repository.readable.holds(&path));
        if !is_own || file.starts_with(['~', '%', ':']) {
            let why =
                format!("its `blame.ignoreRevsFile` is `{file}`, which is no file of it that may be read");
            return Err(refused(&why));
        }
    }
    Ok(())
}

/// Refuses if the repository defines a filter, whose output is unknown unless it runs.
fn refuse_filters(settings: &[Setting], whose: &str) -> Result<(), ToolError> {
    match git_settings::filters(settings).first() {
        None => Ok(()),
        Some(name) => Err(refused(&format!("{whose} would run a program (the filter `{name}`)"))),
    }
}

/// Refuses if a submodule, at any depth, defines a filter. Git reads submodules before it stages, with their own
/// settings, and has no option to prevent that.
async fn refuse_filters_inside(repository: &Repository) -> Result<(), ToolError> {
    let mut open = inside(repository).await?;
    let mut seen = 0;
    while let Some(submodule) = open.pop() {
        seen += 1;
        if seen > MAX_REPOSITORIES {
            return Err(refused(&format!("it has more than {MAX_REPOSITORIES} submodules")));
        }
        let name = format!("the configuration of `{}`", submodule.root.display());
        refuse_filters(&submodule.settings().await?, &name)?;
        open.extend(inside(&submodule).await?);
    }
    Ok(())
}

/// The submodules in the index that are checked out.
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
