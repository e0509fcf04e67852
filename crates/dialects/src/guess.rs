//! [`guess`] and [`by_delimiters`]: find the dialect of a whole text by its delimiters ([`Dialect::signs`]), and by the
//! calls that each dialect parses in it.
use super::{DIALECTS, Dialect, ProblemKind, Said, Setting, read};
use std::cmp::Reverse;

/// Returns the dialect whose delimiters are in `text`, even if its calls are invalid. Another dialect wins if it parses
/// more calls of known tools, unless the text ends within a call. If no delimiters with calls are found, returns the
/// dialect that parses the most calls, or `None` if none parses a valid call.
pub fn guess(setting: &Setting, text: &str) -> Option<&'static Dialect> {
    // With `beginnings`, a lenient dialect would complete a call that was cut off and be preferred for it.
    let setting = &Setting { beginnings: false, ..setting.clone() };
    let found = |dialect: &'static Dialect| (dialect, Found::of(dialect, setting, text));
    let signed = by_delimiters(text).map(found).filter(|(_, found)| found.calls + found.problems > 0);
    let (best, most) = DIALECTS.iter().copied().map(found).min_by_key(|(_, found)| found.rank())?;
    match signed {
        Some((dialect, found)) if found.known >= most.known || found.is_cut_off => Some(dialect),
        _ => (most.calls > 0).then_some(best),
    }
}

/// Returns the dialect whose unique delimiters are in `text`: a chat template (Jinja) or a reply. A model writes the
/// delimiters of its template.
pub fn by_delimiters(text: &str) -> Option<&'static Dialect> {
    let is_told = |dialect: &&&Dialect| {
        dialect.signs.iter().any(|signs| signs.iter().all(|delimiter| text.contains(delimiter)))
    };
    DIALECTS.iter().find(is_told).copied()
}

/// What a dialect parses in a text.
struct Found {
    /// Number of calls of known tools.
    known: usize,
    calls: usize,
    problems: usize,
    /// Whether the text ends within a call.
    is_cut_off: bool,
    /// Bytes of text outside of calls.
    prose: usize,
}

impl Found {
    fn of(dialect: &Dialect, setting: &Setting, text: &str) -> Self {
        let mut found = Self { known: 0, calls: 0, problems: 0, is_cut_off: false, prose: 0 };
        for said in read(dialect, setting, [text]) {
            found.is_cut_off |=
                matches!(&said, Said::Problem(problem) if problem.kind == ProblemKind::CutOff);
            match said {
                Said::Call(call) if call.object().is_ok() => {
                    found.calls += 1;
                    found.known += usize::from(setting.tool(&call.name).is_some());
                }
                Said::Call(_) | Said::Problem(_) => found.problems += 1,
                Said::Text(text) => found.prose += text.trim().len(),
                Said::Thinking(_) | Said::ThinkingEnd => {}
            }
        }
        found
    }

    /// The sort key, smallest is best: the most calls of known tools, then the most valid calls, the fewest invalid
    /// ones, the least text. Among equals, the first dialect wins.
    fn rank(&self) -> (Reverse<usize>, Reverse<usize>, usize, usize) {
        (Reverse(self.known), Reverse(self.calls), self.problems, self.prose)
    }
}
