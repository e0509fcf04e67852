//! [`Stash`]: the stash, which holds changes that are put aside to be restored later.
use super::{
    Args, look,
    look::words,
    repository::{Answer, Repository},
};
use haft_core::{ToolError, ToolOutput};

/// An action on the stash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stash {
    #[default]
    Push,
    Pop,
    Apply,
    Drop,
    List,
    Show,
}

impl Stash {
    const ALL: [Self; 6] = [Self::Push, Self::Pop, Self::Apply, Self::Drop, Self::List, Self::Show];

    /// Parses an action as users type it; `save` is the old name of `push`.
    pub(super) fn named(word: &str) -> Option<Self> {
        let word = if word == "save" { "push" } else { word };
        Self::ALL.into_iter().find(|stash| stash.word() == word)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pop => "pop",
            Self::Apply => "apply",
            Self::Drop => "drop",
            Self::List => "list",
            Self::Show => "show",
        }
    }

    pub(super) fn only_looks(self) -> bool {
        matches!(self, Self::List | Self::Show)
    }
}

pub(super) async fn stash(repository: &Repository, args: &Args) -> Result<ToolOutput, ToolError> {
    match args.stash {
        Stash::List => list(repository).await,
        Stash::Show => {
            let entry = entry(args);
            let revision = Some(format!("stash@{{{entry}}}^1..stash@{{{entry}}}"));
            look::diff(repository, &Args { revision, staged: None, ..args.clone() }).await
        }
        Stash::Push => {
            let mut words = words(["stash", "push"]);
            words.extend(args.options.iter().map(Into::into));
            words.extend(args.message.iter().map(|message| format!("--message={message}").into()));
            // Without paths, Git adds `:/` for all files, which must be interpreted as a pathspec, not as a name.
            let answer = match args.paths.is_empty() {
                true => repository.with_pathspecs(words).await?,
                false => {
                    words.extend(repository.scope(&args.paths));
                    repository.must(words).await?
                }
            };
            after(repository, &answer).await
        }
        Stash::Pop | Stash::Apply | Stash::Drop => {
            let mut words = words(["stash", args.stash.word()]);
            words.extend(args.options.iter().map(Into::into));
            words.push(entry(args).into());
            after(repository, &repository.must(words).await?).await
        }
    }
}

/// The number of the entry; the newest one is 0.
fn entry(args: &Args) -> String {
    args.revision.clone().unwrap_or_else(|| "0".to_owned())
}

async fn list(repository: &Repository) -> Result<ToolOutput, ToolError> {
    let answer = repository.must(["stash", "list", "--no-color", "--no-show-signature"]).await?;
    let text = if answer.stdout.trim().is_empty() { "Nothing is stashed." } else { answer.stdout.trim_end() };
    Ok(ToolOutput::text(text))
}

/// The first line that git printed, and the resulting state.
async fn after(repository: &Repository, answer: &Answer) -> Result<ToolOutput, ToolError> {
    let status = look::status(repository, &Args::default()).await?;
    let said = answer.stdout.lines().chain(answer.stderr.lines());
    let said = said.filter(|line| ["Saved", "Dropped", "No local"].iter().any(|word| line.starts_with(word)));
    let said: Vec<&str> = said.collect();
    let text = format!("{}\n{}", said.join("\n"), status.for_model);
    Ok(ToolOutput { for_model: text.trim_start().to_owned(), ..status })
}
