//! [`definitions`]: finds definitions by name in all source files below a folder.
use crate::{
    code::{self, Code},
    first::First,
    grep::containing,
    report::{Page, counted},
    walk::{Root, Rules, walk},
    watch::Watch,
};
use grep_matcher::Matcher;
use haft_core::{ToolContext, ToolError, ToolOutput};
use haft_process::open_regular;
use parking_lot::Mutex;
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::{self, Read},
    path::Path,
    sync::atomic::Ordering::Relaxed,
};

/// Returns definitions with this name; if there are none, those whose names contain it.
pub(crate) fn definitions(
    ctx: &ToolContext,
    path: &Path,
    name: &str,
    page: &Page,
) -> Result<ToolOutput, ToolError> {
    let root = Root::new(ctx, path, "search")?;
    let watch = Watch::new(ctx);
    let found = Mutex::new(Named::new(page));
    let matcher = containing(name);
    walk(&root, &Rules::default(), &watch, || {
        let (found, watch, root, matcher) = (&found, &watch, &root, matcher.clone());
        move |real, path| {
            let Some(language) = code::language_of(real) else { return };
            watch.files.fetch_add(1, Relaxed);
            let content = match content(real) {
                Ok(content) => content,
                Err(error) => return watch.could_not_open(&error),
            };
            // Most files do not contain the word, and need no parsing.
            if matcher.as_ref().is_none_or(|matcher| matcher.is_match(&content).unwrap_or(true)) {
                let Some(mut code) = code::code(language, content, watch) else {
                    return watch.could_not_open(&io::ErrorKind::TimedOut.into());
                };
                code.definitions.retain(|definition| !definition.is_part);
                found.lock().take(root, path, name, &code);
            }
        }
    });
    watch.done()?;
    Ok(found.into_inner().output(name, &root, &watch, page))
}

/// Skips a file that is larger than any source.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = open_regular(path, OpenOptions::new().read(true))?;
    file.take(code::MAX_SOURCE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > code::MAX_SOURCE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(content)
}

/// Definitions as lines, by file.
struct Named {
    exactly: First<Vec<String>>,
    containing: First<Vec<String>>,
    /// The number of definitions of each kind.
    numbers: (u64, u64),
}

impl Named {
    fn new(page: &Page) -> Self {
        Self { exactly: First::new(page.end()), containing: First::new(page.end()), numbers: (0, 0) }
    }

    fn take(&mut self, root: &Root, path: &Path, name: &str, code: &Code) {
        let file = root.called(path);
        let lines = |wanted: &dyn Fn(&str) -> bool| {
            let named = code.definitions.iter().filter(|definition| wanted(own_name(&definition.name)));
            named.map(|found| format!("{file}:{}: {}\n", found.first, found.line)).collect::<Vec<_>>()
        };
        let exactly = lines(&|own| own == name);
        let containing = lines(&|own| own.to_lowercase().contains(&name.to_lowercase()));
        self.numbers.0 += exactly.len() as u64;
        self.numbers.1 += containing.len() as u64;
        for (first, lines) in [(&mut self.exactly, exactly), (&mut self.containing, containing)] {
            if !lines.is_empty() {
                first.push(path, lines.len(), lines);
            }
        }
    }

    fn output(&self, name: &str, root: &Root, watch: &Watch<'_>, page: &Page) -> ToolOutput {
        let (exactly, containing) = self.numbers;
        let (first, number) =
            if exactly > 0 { (&self.exactly, exactly) } else { (&self.containing, containing) };
        let found = format!("Found {}", counted(number, "definition"));
        let (lines, shown) = page.fill(first.iter().flat_map(|(_, lines)| lines.iter().cloned()));
        let mut text = match (exactly, containing) {
            (0, 0) => {
                let files = counted(watch.files.load(Relaxed), "source file");
                format!("No definition of `{name}` in {}: {files} searched.", root.said())
            }
            (0, _) => format!("No definition of that very name; these contain it:\n{lines}"),
            _ => lines,
        };
        text += &page.note(shown, number, "definitions");
        let details = json!({"definitions": number, "shown": shown, "unreadable": watch.unreadable()});
        ToolOutput::text(text.trim_end().to_owned() + &watch.note()).show(found).details(details)
    }
}

/// C++ names a method with its class: `Shape::area`.
fn own_name(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
