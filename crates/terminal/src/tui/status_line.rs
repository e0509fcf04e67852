//! The last line of the screen: the values for its template, and the user's command that writes it.
use super::app::{App, Done};
use crate::bars::tokens;
use haft_core::dollars;
use haft_present::safe;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Minimum interval between two runs of the command.
const INTERVAL: Duration = Duration::from_millis(500);

impl App {
    /// The value of `name` in [`crate::STATUS_FIELDS`]; `None` if there is nothing to show.
    pub(super) fn status_fact(&self, name: &str) -> Option<String> {
        let setup = self.engine.as_ref().map(|engine| engine.setup());
        match name {
            "model" => Some(setup.map_or("…".to_owned(), |setup| setup.model.spec.clone())),
            "effort" => self.effort.clone(),
            "agent" => {
                Some(self.view.setup.agent.clone()).filter(|agent| !agent.is_empty() && agent != "haft")
            }
            "mode" => self.permission_mode().map(|mode| mode.name().to_owned()),
            "session" => {
                let id = self.session.as_ref()?.id();
                let name = setup.and_then(|setup| setup.home.name(id));
                Some(name.map_or_else(|| id.to_string(), |name| safe::name(&name).into_owned()))
            }
            "folder" => {
                let folder = setup?.workspace.file_name()?.to_string_lossy().into_owned();
                Some(safe::name(&folder).into_owned())
            }
            "window" => {
                let window = setup?.model.window.filter(|window| *window > 0 && self.view.context > 0)?;
                Some(format!("{}% of {}", self.view.context * 100 / window, tokens(window)))
            }
            "tokens" => Some(self.view.usage.total()).filter(|count| *count > 0).map(tokens),
            "cost" => self.view.cost_usd.filter(|cost| *cost > 0.0).map(dollars),
            "goal" => self.view.goal.as_ref().map(|open| match open.checks {
                0 => "goal".to_owned(),
                1 => "goal: 1 check".to_owned(),
                checks => format!("goal: {checks} checks"),
            }),
            "tasks" => Some(self.view.jobs.len())
                .filter(|jobs| *jobs > 0)
                .map(|jobs| format!("{jobs} background task{}", if jobs == 1 { "" } else { "s" })),
            "vim" => self.input.vim_mode().map(str::to_owned),
            _ => None,
        }
    }

    /// The output of the user's command or template; `None` if Haft's own line is shown.
    pub(super) fn own_status_line(&self) -> Option<String> {
        let written = || self.around.status_line.filled(|name| self.status_fact(name));
        self.status_output.line.clone().or_else(written)
    }

    /// Runs the user's command if its input has changed, at most twice per second.
    pub(super) fn refresh_status_line(&mut self) {
        let Some(command) = self.around.status_line.command().filter(|_| !self.status_output.is_running)
        else {
            return;
        };
        let Some(facts) = self.status_facts().filter(|facts| self.status_output.told.as_ref() != Some(facts))
        else {
            return;
        };
        let command = command.clone();
        let start = self.status_output.started.map_or_else(Instant::now, |started| started + INTERVAL);
        let text = facts.to_string();
        let (folder, environment) = (self.around.workspace.clone(), self.around.environment.clone());
        let output = &mut self.status_output;
        (output.told, output.started, output.is_running) =
            (Some(facts), Some(start.max(Instant::now())), true);
        self.waiting.push(Box::pin(async move {
            tokio::time::sleep_until(start.into()).await;
            Done::StatusLine(command.run(&folder, environment, text).await)
        }));
    }

    /// Applies the command's output. If the command failed, the line is the same as without a command.
    pub(super) fn status_said(&mut self, said: Result<String, String>) {
        self.status_output.is_running = false;
        match said {
            Ok(line) => (self.status_output.line, self.status_output.has_failed) = (Some(line), false),
            Err(why) => {
                self.status_output.line = None;
                if !std::mem::replace(&mut self.status_output.has_failed, true) {
                    self.fail(format!("`status_command` failed: {}", safe::text(&why)), None);
                }
            }
        }
    }

    /// The input of the command, with the names of Claude Code (code.claude.com/docs/en/statusline, 2026-11) and some
    /// others.
    fn status_facts(&self) -> Option<Value> {
        let (session, setup) = (self.session.as_ref()?, self.engine.as_ref()?.setup());
        let (model, folder, usage) = (&setup.model.spec, &setup.workspace, self.view.usage);
        Some(json!({
            "hook_event_name": "Status",
            "session_id": session.id().0,
            "session_name": setup.home.name(session.id()),
            "cwd": folder,
            "workspace": {"current_dir": folder, "project_dir": folder},
            "model": {"id": model, "display_name": model},
            "effort": self.effort,
            "agent": {"name": self.view.setup.agent},
            "permission_mode": self.status_fact("mode"),
            "version": env!("CARGO_PKG_VERSION"),
            "cost": {"total_cost_usd": self.view.cost_usd},
            "context_window": {
                "context_window_size": setup.model.window,
                "total_input_tokens": usage.input + usage.cache_read + usage.cache_write,
                "total_output_tokens": usage.output,
                "used_tokens": self.view.context,
            },
            "background_tasks": self.view.jobs.len(),
        }))
    }
}
