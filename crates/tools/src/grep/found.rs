//! [`Found`]: the result of a search, as shown to the model and the user.
use super::{Args, Output, hits::Hits};
use crate::{
    first::First,
    report::{Page, counted},
    walk::{Root, Rules},
};
use haft_core::ToolOutput;
use serde_json::json;
use std::path::Path;

/// The result of a search.
pub(crate) struct Found {
    pub(crate) first: First<Hits>,
    pub(crate) matches: u64,
    pub(crate) files: u64,
    pub(crate) searched: u64,
    pub(crate) binary: u64,
    pub(crate) unreadable: u64,
    pub(crate) rules: Rules,
    /// Notes about files that could not be read.
    pub(crate) note: String,
}

impl Found {
    /// The page of the result that the call requests.
    pub(crate) fn output(&self, root: &Root, args: &Args, page: &Page) -> ToolOutput {
        if self.files == 0 {
            return self.nothing(root, args);
        }
        let output = args.output.unwrap_or_default();
        let (text, shown, all, what) = match output {
            Output::Content => {
                let (text, shown) = self.lines(root, page);
                (text, shown, self.matches, "matches")
            }
            Output::Files => {
                let (text, shown) = page.fill(self.first.iter().map(|(path, _)| root.called(path) + "\n"));
                (text, shown, self.files, "files")
            }
            Output::Count => {
                let line = |(path, hits): (&Path, &Hits)| format!("{}:{}\n", root.called(path), hits.matches);
                let (text, shown) = page.fill(self.first.iter().map(line));
                (text, shown, self.files, "files")
            }
        };
        let found = self.found(output);
        let text = format!("{found}\n{text}{}", page.note(shown, all, what));
        let details = self.details(shown);
        ToolOutput::text(text.trim_end().to_owned() + &self.note).show(found).details(details)
    }

    /// `Found 12 matches in 3 files`.
    fn found(&self, output: Output) -> String {
        let files = counted(self.files, "file");
        match output {
            Output::Files => format!("Found {files}"),
            _ => format!("Found {} in {files}", counted(self.matches, "match")),
        }
    }

    fn details(&self, shown: usize) -> serde_json::Value {
        json!({
            "matches": self.matches, "files": self.files, "searched": self.searched, "shown": shown,
            "unreadable": self.unreadable,
        })
    }

    /// The matches. The name of a file comes once, above its lines.
    fn lines(&self, root: &Root, page: &Page) -> (String, usize) {
        let mut above = None;
        let hits =
            self.first.iter().flat_map(|(path, hits)| hits.lines.iter().map(move |lines| (path, lines)));
        let mut texts = Vec::new();
        for (number, (path, lines)) in hits.enumerate() {
            // The first match of a page also gets the name of its file.
            let is_new = above != Some(path) || number == page.offset();
            above = Some(path);
            let lines = if is_new { lines.strip_prefix("--\n").unwrap_or(lines) } else { lines };
            texts.push(if is_new { format!("\n{}\n{lines}", root.called(path)) } else { lines.to_owned() });
        }
        page.fill(texts.into_iter())
    }

    fn nothing(&self, root: &Root, args: &Args) -> ToolOutput {
        let searched = counted(self.searched, "file");
        let binary = match self.binary {
            0 => String::new(),
            many => format!(", {many} of them binary and left out"),
        };
        let rules = if root.is_file { "" } else { self.rules.note() };
        let text = format!(
            "No matches for `{}` in {}: {searched} searched{binary}.{rules}{}",
            args.pattern,
            root.said(),
            self.note
        );
        ToolOutput::text(text).show("Found no matches").details(self.details(0))
    }
}
