//! Work that outlives its call. It belongs to the session: when the session goes, so does the work.
use crate::session::Mail;
use futures::future::BoxFuture;
use haft_core::{JobId, Jobs, Render, ToolCall, ToolError, ToolOutput};
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};
use tokio::{sync::mpsc, task::JoinSet};

pub(crate) struct Board {
    /// Weak: a job must not keep its session's inbox alive.
    inbox: mpsc::WeakUnboundedSender<Mail>,
    running: Mutex<JoinSet<()>>,
    next: AtomicU64,
    render: Render,
}

impl Board {
    /// `next` is the number of the first job that starts here.
    pub(crate) fn new(inbox: mpsc::WeakUnboundedSender<Mail>, next: u64, render: Render) -> Self {
        Self { inbox, running: Mutex::default(), next: AtomicU64::new(next), render }
    }

    fn tell(&self, mail: Mail) {
        if let Some(inbox) = self.inbox.upgrade() {
            let _session_closed = inbox.send(mail);
        }
    }
}

impl Jobs for Board {
    fn start(&self, title: String, work: BoxFuture<'static, Result<ToolOutput, ToolError>>) -> JobId {
        let job = JobId(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        self.tell(Mail::JobStarted { job: job.clone(), title: title.clone() });
        let (inbox, id, render) = (self.inbox.clone(), job.clone(), self.render);
        let mut running = self.running.lock().expect("no code panics while it holds the jobs");
        while running.try_join_next().is_some() {}
        running.spawn(async move {
            let call = ToolCall::new(id.0.clone(), title, serde_json::Value::Null);
            let result = render.result(&call, work.await);
            if let Some(inbox) = inbox.upgrade() {
                let _session_closed = inbox.send(Mail::JobEnded { job: id, result });
            }
        });
        job
    }
}
