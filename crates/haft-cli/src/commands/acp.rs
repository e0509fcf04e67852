//! [`acp`] (`haft acp`): the agent in an editor. Standard output belongs to the protocol.
use crate::{CliContext, args::AcpArgs};
use haft_acp::{self, Opened, Server, Settings, SlashCommand, Wanted, over_streams};
use haft_app::{
    App, Assembled, Failure, SessionSpec,
    agents::AGENT,
    mcp_servers,
    model::SharedModels,
    slash::{self, Template},
};
use haft_core::Mode;
use haft_mcp::client::{McpServer, Transport};
use haft_process::is_read;
use haft_terminal::{Exit, signals::Interrupts};
use std::sync::Arc;
use tokio::io::{stdin, stdout};

/// Serves until the editor leaves or a signal interrupts.
pub(crate) async fn acp(cli: &CliContext, args: &AcpArgs) -> Result<Exit, Failure> {
    let own = Arc::new(Own {
        app: App::clone(cli),
        spec: args.work.spec(),
        up_to: args.up_to,
        models: SharedModels::default(),
    });
    let open: haft_acp::Open = Arc::new(move |wanted| {
        let own = own.clone();
        Box::pin(async move { own.open(wanted).await.map_err(in_a_line) })
    });
    let settings = Settings { home: cli.home(), open, note: cli.warnings() };
    let mut interrupts = Interrupts::listen()?;
    over_streams(stdin(), stdout(), || is_read(std::io::stdout()), settings, interrupts.next()).await?;
    Ok(Exit::Success)
}

/// What the server was started with.
struct Own {
    app: App,
    spec: SessionSpec,
    up_to: Option<Mode>,
    models: SharedModels,
}

impl Own {
    /// The engine of one session.
    async fn open(&self, wanted: Wanted) -> Result<Opened, Failure> {
        let Wanted { workspace, servers, stages } = wanted;
        let servers = servers.into_iter().map(server).collect();
        let spec = SessionSpec { workspace: Some(workspace.clone()), servers, ..self.spec.clone() };
        let assembled = self.app.plan(&spec)?.engine_with(|setup| {
            setup.ceiling = self.up_to;
            setup.stages = stages(setup.stages.clone());
            self.models.share(setup);
        });
        let Assembled { engine, notices } = assembled.await?;
        notices.into_iter().for_each(|notice| self.app.warn(notice));
        let known = self.app.prompts(&workspace);
        let commands = known.iter().map(listed).collect();
        let expand: haft_acp::Expand = Arc::new(move |prompt| expand(&known, prompt).map_err(in_a_line));
        let agent = spec.agent.unwrap_or_else(|| AGENT.to_owned());
        Ok(Opened { engine, agent, commands, expand })
    }
}

fn listed(template: &Template) -> SlashCommand {
    let description = match template.header.description.trim() {
        "" => format!("the prompt in `{}`", template.file.display()),
        description => description.to_owned(),
    };
    SlashCommand { name: template.name.clone(), description }
}

/// The agent and the model of a session are chosen when it starts.
fn expand(known: &[Template], prompt: &str) -> Result<String, Failure> {
    let hint = "use it with `haft run`, or start `haft acp` with `--agent` and `--model`";
    slash::expand(known, prompt, "haft commands list")?.prompt_alone().map_err(|failure| failure.hint(hint))
}

fn server(Server { name, transport }: Server) -> McpServer {
    let transport = match transport {
        haft_acp::Transport::Program { program, arguments, environment } => {
            Transport::Program { program: program.to_string_lossy().into_owned(), arguments, environment }
        }
        haft_acp::Transport::Url { url, headers } => Transport::Url { url, headers },
    };
    mcp_servers::unnamed(name, transport)
}

fn in_a_line(failure: Failure) -> String {
    let Failure { message, hint, .. } = failure;
    hint.map_or_else(|| message.clone(), |hint| format!("{message} (hint: {hint})"))
}
