//! [`parse`] (`haft parse`): shows the calls in a model's text.
use crate::{CliContext, args::ParseArgs};
use haft_app::{App, Failure};
use haft_terminal::Exit;
use std::{
    fs,
    io::{Read, Write, stdin, stdout},
    path::Path,
};

/// `haft parse`
pub(crate) fn parse(cli: &CliContext, args: &ParseArgs) -> Result<Exit, Failure> {
    if args.dialect == "?" {
        App::call_formats().iter().try_for_each(|name| writeln!(stdout(), "{name}"))?;
        return Ok(Exit::Success);
    }
    // Made before the text is read, because the user may be typing it.
    let parser = cli.reply_parser(&args.dialect, args.tools.as_deref())?;
    writeln!(stdout(), "{:#}", parser.parse(&text_of(&args.file)?))?;
    Ok(Exit::Success)
}

fn text_of(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot read `{}`: {error}", file.display()));
    if file == Path::new("-") {
        let mut text = String::new();
        stdin().read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(failed)
}
