//! [`completions`] and [`man`] (`haft completions`, `haft man`): print shell completions and man pages, generated from
//! the definitions of the commands.
use super::command_line;
use clap_complete::Shell;
use clap_mangen::Man;
use haft_app::Failure;
use haft_terminal::Exit;
use std::{
    io::{Write, stdout},
    path::Path,
};

/// Prints the completions, for `eval` or for a file.
pub(crate) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line::command(), "haft", &mut script);
    stdout().write_all(&script)?;
    Ok(Exit::Success)
}

/// Prints the page of `haft` itself, or writes all pages to files.
pub(crate) fn man(to: Option<&Path>) -> Result<Exit, Failure> {
    match to {
        None => {
            let mut page = Vec::new();
            Man::new(command_line::command()).render(&mut page)?;
            stdout().write_all(&page)?;
        }
        Some(folder) => {
            let cannot =
                |error| Failure::failed(format!("cannot write pages to `{}`: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(cannot)?;
            clap_mangen::generate_to(command_line::command(), folder).map_err(cannot)?;
        }
    }
    Ok(Exit::Success)
}
