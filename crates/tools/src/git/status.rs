//! [`Status`]: parses `git status --porcelain=v2 --branch -z`.
use serde::Serialize;

/// The state of a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Status {
    /// The branch; `None` if no branch is checked out.
    pub(super) branch: Option<String>,
    /// The commit; `None` before the first commit.
    pub(super) commit: Option<String>,
    pub(super) upstream: Option<String>,
    /// Number of commits that the upstream does not have.
    pub(super) ahead: u32,
    /// Number of commits of the upstream that are missing here.
    pub(super) behind: u32,
    pub(super) staged: Vec<Touched>,
    pub(super) unstaged: Vec<Touched>,
    pub(super) conflicted: Vec<String>,
    pub(super) untracked: Vec<String>,
}

/// A file, and its change as a letter of Git: `M`, `A`, `D`, `R`, `C`, `T`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Touched {
    pub(super) change: char,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
}

impl Status {
    /// `named` returns a path as the model knows it.
    pub(super) fn parse(text: &str, named: impl Fn(&str) -> String) -> Self {
        let mut status = Self::default();
        let mut records = text.split('\0');
        while let Some(record) = records.next() {
            let Some((kind, rest)) = record.split_once(' ') else { continue };
            match kind {
                "#" => status.header(rest),
                "1" => status.touched(rest, 7, None, &named),
                "2" => status.touched(rest, 8, records.next().map(&named), &named),
                "u" => status.conflicted.extend(rest.splitn(10, ' ').nth(9).map(&named)),
                "?" => status.untracked.push(named(rest)),
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, header: &str) {
        let (name, value) = header.split_once(' ').unwrap_or((header, ""));
        match name {
            "branch.head" if value != "(detached)" => self.branch = Some(value.into()),
            "branch.oid" if value != "(initial)" => self.commit = Some(value.into()),
            "branch.upstream" => self.upstream = Some(value.into()),
            "branch.ab" => {
                let (ahead, behind) = value.split_once(' ').unwrap_or_default();
                self.ahead = ahead.trim_start_matches('+').parse().unwrap_or_default();
                self.behind = behind.trim_start_matches('-').parse().unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Parses `XY`, some numbers, and the path, which is the field with this index.
    fn touched(&mut self, record: &str, index: usize, from: Option<String>, named: &impl Fn(&str) -> String) {
        let fields: Vec<&str> = record.splitn(index + 1, ' ').collect();
        let (Some(letters), Some(path)) = (fields.first(), fields.get(index)) else { return };
        let mut letters = letters.chars();
        let sides = [&mut self.staged, &mut self.unstaged];
        for side in sides {
            match letters.next() {
                None | Some('.') => {}
                Some(change) => {
                    let from = from.clone().filter(|_| matches!(change, 'R' | 'C'));
                    side.push(Touched { change, path: named(path), from });
                }
            }
        }
    }

    /// The text for the model.
    pub(super) fn text(&self) -> String {
        let mut text = self.branch_line();
        let sections = [("staged", files(&self.staged)), ("not staged", files(&self.unstaged))];
        let names = |names: &[String]| names.iter().map(|name| format!("  {name}")).collect();
        let more: [(&str, Vec<String>); 2] =
            [("in conflict", names(&self.conflicted)), ("untracked", names(&self.untracked))];
        for (title, lines) in sections.into_iter().chain(more).filter(|(_, lines)| !lines.is_empty()) {
            text += &format!("\n{title}:\n{}", lines.join("\n"));
        }
        if self.is_clean() { text + "\nnothing to commit" } else { text }
    }

    /// The text for the user.
    pub(super) fn summary(&self) -> String {
        let counts = [
            (self.staged.len(), "staged"),
            (self.unstaged.len(), "not staged"),
            (self.conflicted.len(), "in conflict"),
            (self.untracked.len(), "untracked"),
        ];
        let told: Vec<_> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let told = if told.is_empty() { "clean".into() } else { told.join(", ") };
        format!("{}: {told}", self.branch.as_deref().unwrap_or("no branch"))
    }

    fn is_clean(&self) -> bool {
        self.staged.is_empty()
            && self.unstaged.is_empty()
            && self.conflicted.is_empty()
            && self.untracked.is_empty()
    }

    fn branch_line(&self) -> String {
        let place = match (&self.branch, &self.commit) {
            (Some(branch), Some(_)) => format!("on `{branch}`"),
            (Some(branch), None) => format!("on `{branch}`, no commit yet"),
            (None, commit) => format!("on no branch, at {}", commit.as_deref().unwrap_or("nothing")),
        };
        match &self.upstream {
            None => place,
            Some(upstream) if (self.ahead, self.behind) == (0, 0) => {
                format!("{place}, level with `{upstream}`")
            }
            Some(upstream) => {
                format!("{place}, {} ahead of and {} behind `{upstream}`", self.ahead, self.behind)
            }
        }
    }
}

fn files(touched: &[Touched]) -> Vec<String> {
    let line = |Touched { change, path, from }: &Touched| match from {
        Some(from) => format!("  {change} {from} -> {path}"),
        None => format!("  {change} {path}"),
    };
    touched.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-11
    #[test]
    fn a_status_is_read_and_told() {
        let text = "# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
            1 M. N... 100644 100644 100644 aa bb a b.txt\0\
            1 AM N... 000000 100644 100644 aa bb sub/new.rs\0\
            1 .D N... 100644 100644 000000 aa aa gone\0\
            2 R. N... 100644 100644 100644 aa aa R100 to.rs\0from.rs\0\
            u UU N... 100644 100644 100644 100644 aa bb cc both.rs\0? x y\0";
        let status = Status::parse(text, |path| path.to_owned());
        insta::assert_snapshot!(status.text(), @r"
        on `main`, 2 ahead of and 1 behind `origin/main`
        staged:
          M a b.txt
          A sub/new.rs
          R from.rs -> to.rs
        not staged:
          M sub/new.rs
          D gone
        in conflict:
          both.rs
        untracked:
          x y
        ");
        assert_eq!(status.summary(), "main: 3 staged, 2 not staged, 1 in conflict, 1 untracked");
        let empty = Status::parse("# branch.oid (initial)\0# branch.head main\0", |path| path.to_owned());
        assert_eq!(empty.text(), "on `main`, no commit yet\nnothing to commit");
        let detached = Status::parse("# branch.oid 12\0# branch.head (detached)\0", |path| path.to_owned());
        assert_eq!(
            (detached.text().as_str(), detached.summary().as_str()),
            ("on no branch, at 12\nnothing to commit", "no branch: clean")
        );
    }
}
