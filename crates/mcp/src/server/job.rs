//! [`JobTool`]: offers an agent as an MCP tool: each call runs a job, and returns its conclusion with the evidence.
use super::{
    Offer,
    agent::{failed, object},
    client::Client,
    follow::{Approvals, follow},
};
use futures::future::BoxFuture;
use haft_core::{Command, Conclusion, JobSpec, JobStatus, Outcome};
use haft_engine::{Agent, Engine, Session, Turns, run_job};
use haft_process::appears;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Creates a job from a description; the error says why that failed.
pub type Begin = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Begun, String>> + Send + Sync>;

/// A job that is ready to run.
pub struct Begun {
    /// Session of the job.
    pub session: Session,
    /// Agent of the job.
    pub agent: Agent,
    /// The order of the job.
    pub order: JobSpec,
    /// The engine of the session.
    pub engine: Engine,
    /// A file that stops the job as soon as it exists.
    pub stop: PathBuf,
    /// Called with the conclusion; completes once all processes of the job have ended.
    pub end: Box<dyn FnOnce(Conclusion) -> BoxFuture<'static, ()> + Send>,
}

struct Followed<'a> {
    session: &'a Session,
    client: &'a Client,
    stop: &'a Path,
}

impl Turns for Followed<'_> {
    type Error = Infallible;

    async fn turn(&mut self, command: Command) -> Result<Outcome, Infallible> {
        let followed = follow(self.session, command, self.client, Approvals::Session);
        tokio::pin!(followed);
        let report = tokio::select! {
            report = &mut followed => report,
            () = appears(Some(self.stop)) => {
                let _it_has_ended = self.session.send(Command::Interrupt);
                followed.await
            }
        };
        Ok(report.outcome.unwrap_or(Outcome::Failed))
    }
}

/// An agent that other programs may give jobs to.
pub struct JobTool {
    /// The tool's name for clients.
    pub name: String,
    /// When to use the tool and what it returns.
    pub description: String,
    /// Creates a job for each call.
    pub begin: Begin,
}

impl Offer for JobTool {
    fn tool(&self) -> Tool {
        let description = "What to do, whole: the agent knows nothing else of your conversation.";
        let schema = json!({
            "type": "object",
            "properties": {"description": {"type": "string", "description": description}},
            "required": ["description"],
        });
        Tool::new(self.name.clone(), self.description.clone(), object(schema))
    }

    fn call<'a>(&'a self, arguments: JsonObject, client: &'a Client) -> BoxFuture<'a, CallToolResult> {
        Box::pin(async move {
            let description = arguments.get("description").and_then(Value::as_str).map(str::trim);
            let Some(description) = description.filter(|text| !text.is_empty()) else {
                return failed("missing 'description' in input");
            };
            match (self.begin)(description.to_owned()).await {
                Ok(job) => work(job, client).await,
                Err(why) => failed(&why),
            }
        })
    }
}

async fn work(job: Begun, client: &Client) -> CallToolResult {
    let Begun { session, agent, order, engine, stop, end } = job;
    let mut turns = Followed { session: &session, client, stop: &stop };
    let Ok(conclusion) = run_job(engine.setup(), &session, &agent, &order, &mut turns).await;
    end(conclusion.clone()).await;
    let Conclusion { status, reason, evidence } = &conclusion;
    let content = vec![ContentBlock::text(format!("{status}: {reason}"))];
    let mut result = match status {
        JobStatus::Completed => CallToolResult::success(content),
        _ => CallToolResult::error(content),
    };
    result.structured_content = Some(json!({
        "job": session.id(), "status": status, "reason": reason, "evidence": evidence, "branch": order.branch,
    }));
    result
}
