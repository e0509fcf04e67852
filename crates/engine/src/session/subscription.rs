//! [`Subscription`]: reports activities of calls to functions of the program.
use super::Session;
use futures::StreamExt;
use haft_core::{Activities, Activity, ActivityType};
use tokio::task::JoinSet;

/// A subscription of a function to the events of calls; it ends when this is dropped.
#[must_use = "nothing is heard once it is dropped"]
#[derive(Debug)]
pub struct Subscription {
    _task: JoinSet<()>,
}

impl Subscription {
    /// Ends the subscription. Dropping it does the same.
    pub fn unsubscribe(self) {}
}

impl Session {
    /// Calls `heard` for each activity of this kind from now on.
    ///
    /// ```
    /// # async fn example(session: haft_engine::Session) {
    /// use haft_core::ActivityType;
    /// let subscription = session.subscribe(ActivityType::ToolCallStart, |activity| {
    ///     println!("{} started", activity.data["toolName"]);
    /// });
    /// session.prompt("Which files are there?").await.ok();
    /// subscription.unsubscribe();
    /// # }
    /// ```
    pub fn subscribe(
        &self,
        kind: ActivityType,
        mut heard: impl FnMut(&Activity) + Send + 'static,
    ) -> Subscription {
        self.subscribe_all(move |activity| {
            if activity.kind == kind {
                heard(activity);
            }
        })
    }

    /// Calls `heard` for every activity from now on.
    pub fn subscribe_all(&self, mut heard: impl FnMut(&Activity) + Send + 'static) -> Subscription {
        let mut events = Box::pin(self.journal.follow(self.journal.next()));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut activities = Activities::default();
            while let Some(event) = events.next().await {
                activities.of(&event).iter().for_each(&mut heard);
            }
        });
        Subscription { _task: task }
    }
}
