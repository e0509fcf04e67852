//! [`Verification::lines`]: the result of a verification as text.
use super::Verification;
use crate::replay::not_made_again;
use haft_present::{counted, safe};

impl Verification {
    /// The result for the user, a line each: whether `target` is as recorded, and then what was checked.
    #[must_use]
    pub fn lines(&self, target: &str) -> Vec<String> {
        let Self { entries, difference, head, unchained, cut, calls, tests, not_again, .. } = self;
        let Self { commits, signed_by, .. } = self;
        if let Some(difference) = difference {
            return vec![format!("not verified: {}", safe::text(difference))];
        }
        let mut lines = vec![format!("verified: `{}`", safe::name(target))];
        lines.extend(signed_by.iter().map(|signed_by| format!("signed by {}", safe::name(signed_by))));
        if *commits > 0 {
            let commits = counted(*commits, "commit holds", "commits hold");
            lines.push(format!("{commits} what the sessions left that they name"));
        }
        let entries = counted(*entries, "entry", "entries");
        lines.push(match head {
            Some(head) if *commits == 0 => format!("{entries} in a chain that ends with {head}"),
            _ => format!("{entries} in the chains of their journals"),
        });
        if *unchained > 0 {
            let older = counted(*unchained, "entry is", "entries are");
            lines.push(format!(
                "{older} older than the chain: it shows only that they were not changed since it began"
            ));
        }
        if *cut > 0 {
            lines.push(format!("secrets were cut out of {}", counted(*cut, "entry", "entries")));
        }
        let made = counted(*calls, "call", "calls");
        lines.push(match (calls, tests) {
            (0, _) => "no call was made again".to_owned(),
            (_, 0) => format!("{made} made again, with the same results"),
            _ => {
                let tests = counted(*tests, "run of tests", "runs of tests");
                format!("{made} made again, with the same results, {tests} among them")
            }
        });
        lines.extend(not_made_again(*not_again));
        lines
    }
}
