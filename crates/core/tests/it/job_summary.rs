//! Tests of `facts/standing.rs`, through the public names.
use haft_core::*;
use haft_core::{CallId, Part, Seq, SessionId, StopReason, Usage, event::JOURNAL_VERSION};
use haft_core::{Conclusion, Entry, Fact, JobSpec, JobStatus, SessionOpened};
use std::sync::Arc;

fn standing(facts: Vec<Fact>, is_alive: bool) -> (JobStatus, u32, String) {
    let order = JobSpec {
        kind: "builder".into(),
        job_type: "build".into(),
        description: "x".into(),
        origin: "/w".into(),
        branch: None,
        start: None,
        debug: false,
    };
    let opened = Fact::SessionOpened(SessionOpened {
        version: JOURNAL_VERSION,
        session: SessionId("s".into()),
        agent: "builder".into(),
        model: "m".into(),
        effort: None,
        workspace: "/w".into(),
        profile: "default".into(),
        delegated_by: None,
        forked_from: None,
        user: None,
        commit: None,
        order: Some(order),
    });
    let facts = std::iter::once(opened).chain(facts).zip(0..);
    let entries: Vec<_> = facts
        .map(|(fact, seq)| Arc::new(Entry { seq: Seq(seq), parent: None, at: 0, fact, chain: None }))
        .collect();
    let JobSummary { status, rounds, progress, .. } = JobSummary::of(&entries, is_alive).unwrap();
    (status, rounds, progress)
}

// P-46, P-49, P-50
#[test]
fn the_journal_tells_how_a_job_stands() {
    let prompted = || Fact::Prompted { parts: vec![Part::text("x")], channel: None };
    let replied = || Fact::Replied { parts: vec![], usage: Usage::default(), stop: StopReason::EndTurn };
    let asked = || Fact::ApprovalAsked {
        call: CallId("1".into()),
        reason: "`git push` needs approval".into(),
        effects: vec![],
        changes: vec![],
        bulk: vec![],
        runs: None,
        diagnostics: None,
    };
    let concluded = |status| Fact::JobFinished(Conclusion { status, reason: "so".into(), evidence: vec![] });
    let table = [
        (vec![], false, JobStatus::Pending, 0, ""),
        (vec![prompted(), replied()], true, JobStatus::Running, 1, "thinking"),
        (vec![prompted(), replied()], false, JobStatus::Waiting, 1, "thinking"),
        (vec![prompted(), asked()], true, JobStatus::Waiting, 0, "`git push` needs approval"),
        (vec![prompted(), concluded(JobStatus::Completed)], false, JobStatus::Completed, 0, "so"),
        (vec![prompted(), concluded(JobStatus::Completed), prompted()], false, JobStatus::Completed, 0, "so"),
        (vec![prompted(), concluded(JobStatus::Failed)], false, JobStatus::Failed, 0, "so"),
        (
            vec![prompted(), concluded(JobStatus::Failed), Fact::Continued],
            true,
            JobStatus::Running,
            0,
            "thinking",
        ),
    ];
    for (facts, is_alive, status, rounds, progress) in table {
        assert_eq!(standing(facts.clone(), is_alive), (status, rounds, progress.to_owned()), "{facts:?}");
    }
}
