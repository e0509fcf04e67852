//! [`acp`] (`haft acp`): the agent in an editor. Standard output belongs to the protocol.
use super::models_in_common::ModelsInCommon;
use crate::{
    CliContext,
    agents::AGENT,
    args::{AcpArgs, TurnArgs},
    assemble::{Assembled, SessionSpec},
    failure::Failure,
    mcp::{given, notes},
    slash::{self, Expanded, Template},
};
use haft_acp::{self, Opened, Server, Settings, SlashCommand, Wanted, over_streams};
use haft_core::Mode;
use haft_engine::Home;
use haft_mcp::client::{McpServer, Transport};
use haft_process::is_read;
use haft_terminal::{Exit, signals::Interrupts};
use std::sync::Arc;
use tokio::io::{stdin, stdout};

/// Serves until the editor leaves or a signal interrupts.
pub(crate) async fn acp(context: &CliContext, args: &AcpArgs) -> Result<Exit, Failure> {
    let (own, turn, up_to, models) =
        (context.clone(), args.work.turn(), args.up_to, ModelsInCommon::default());
    let open: haft_acp::Open = Arc::new(move |wanted| {
        let (context, turn, models) = (own.clone(), turn.clone(), models.clone());
        Box::pin(async move { opened(&context, turn, (up_to, models), wanted).await.map_err(in_a_line) })
    });
    let home = Home(context.places.home.clone());
    let settings = Settings { home, open, note: notes(args.work.quiet) };
    let mut interrupts = Interrupts::listen()?;
    over_streams(stdin(), stdout(), || is_read(std::io::stdout()), settings, interrupts.next()).await?;
    Ok(Exit::Success)
}

/// The engine of one session.
async fn opened(
    context: &CliContext,
    turn: TurnArgs,
    (up_to, models): (Option<Mode>, ModelsInCommon),
    wanted: Wanted,
) -> Result<Opened, Failure> {
    let Wanted { workspace, servers, stages } = wanted;
    let servers = servers.into_iter().map(server).collect();
    let turn = TurnArgs { cwd: Some(workspace.clone()), servers, ..turn };
    let assembled = SessionSpec::of(context, &turn)?.engine_with(|setup| {
        setup.ceiling = up_to;
        setup.stages = stages(setup.stages.clone());
        models.share(setup);
    });
    let Assembled { engine, notices } = assembled.await?;
    let note = notes(turn.quiet);
    notices.into_iter().for_each(|notice| note(notice));
    let known = slash::known(&context.places, &workspace, &*note);
    let commands = known.iter().map(listed).collect();
    let expand: haft_acp::Expand = Arc::new(move |prompt| expand(&known, prompt).map_err(in_a_line));
    let agent = turn.agent.unwrap_or_else(|| AGENT.to_owned());
    Ok(Opened { engine, agent, commands, expand })
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
    match slash::expand(known, prompt, "haft commands list")? {
        Expanded { prompt, agent: None, model: None } => Ok(prompt),
        Expanded { .. } => Err(Failure::usage("the command names an agent or a model")
            .hint("use it with `haft run`, or start `haft acp` with `--agent` and `--model`")),
    }
}

fn server(Server { name, transport }: Server) -> McpServer {
    let transport = match transport {
        haft_acp::Transport::Program { program, arguments, environment } => {
            Transport::Program { program: program.to_string_lossy().into_owned(), arguments, environment }
        }
        haft_acp::Transport::Url { url, headers } => Transport::Url { url, headers },
    };
    given(name, transport)
}

fn in_a_line(failure: Failure) -> String {
    let Failure { message, hint, .. } = failure;
    hint.map_or_else(|| message.clone(), |hint| format!("{message} (hint: {hint})"))
}
