//! `haft acp`: the agent in an editor. Standard output belongs to the protocol.
use crate::{
    Surroundings,
    args::{AcpArgs, TurnArgs},
    assemble::{self, AGENT, Assembled},
    failure::Failure,
    mcp::{given, notes},
    slash::{self, Meant, Template},
};
use haft::{
    core::Mode,
    engine::Home,
    frontends::{
        Exit,
        acp::{self, Opened, Server, Settings, SlashCommand, Wanted, over_streams},
        signals::Interrupts,
    },
    tools::{McpServer, Way},
};
use std::sync::Arc;
use tokio::io::{stdin, stdout};

/// Serves until the editor leaves or somebody interrupts.
pub(crate) async fn acp(surroundings: &Surroundings, args: &AcpArgs) -> Result<Exit, Failure> {
    let (own, turn, up_to) = (surroundings.clone(), args.turn(), args.up_to.map(Mode::from));
    let open: acp::Open = Arc::new(move |wanted| {
        let (surroundings, turn) = (own.clone(), turn.clone());
        Box::pin(async move { opened(&surroundings, turn, up_to, wanted).await.map_err(in_a_line) })
    });
    let home = Home(surroundings.places.home.clone());
    let settings = Settings { home, open, note: notes(args.quiet) };
    let mut interrupts = Interrupts::listen()?;
    over_streams(stdin(), stdout(), settings, interrupts.next()).await?;
    Ok(Exit::Success)
}

/// The engine of one session.
async fn opened(
    surroundings: &Surroundings,
    turn: TurnArgs,
    up_to: Option<Mode>,
    wanted: Wanted,
) -> Result<Opened, Failure> {
    let Wanted { workspace, servers, stages } = wanted;
    let servers = servers.into_iter().map(server).collect();
    let turn = TurnArgs { cwd: Some(workspace.clone()), servers, ..turn };
    let mut begin = Mode::default();
    let assembled = assemble::engine_with(surroundings, &turn, |setup| {
        begin = setup.policy.mode;
        setup.policy.mode = up_to.unwrap_or(begin);
        setup.stages = stages(setup.stages.clone());
    });
    let Assembled { engine, notice } = assembled.await?;
    let note = notes(turn.quiet);
    notice.into_iter().for_each(|notice| note(notice));
    let known = slash::known(&surroundings.places, &workspace, &*note);
    let commands = known.iter().map(listed).collect();
    let meant: acp::Meant = Arc::new(move |prompt| meant(&known, prompt).map_err(in_a_line));
    let agent = turn.agent.unwrap_or_else(|| AGENT.to_owned());
    Ok(Opened { engine, agent, begin, commands, meant })
}

fn listed(template: &Template) -> SlashCommand {
    let description = match template.header.description.trim() {
        "" => format!("the prompt in `{}`", template.file.display()),
        description => description.to_owned(),
    };
    SlashCommand { name: template.name.clone(), description }
}

/// Who works in a session and who is asked is settled when it begins.
fn meant(known: &[Template], prompt: &str) -> Result<String, Failure> {
    match slash::meant(known, prompt)? {
        Meant { prompt, agent: None, model: None } => Ok(prompt),
        Meant { .. } => Err(Failure::usage("the command names an agent or a model")
            .hint("use it with `haft run`, or start `haft acp` with `--agent` and `--model`")),
    }
}

fn server(Server { name, way }: Server) -> McpServer {
    let way = match way {
        acp::Way::Program { program, arguments, environment } => {
            Way::Program { program: program.to_string_lossy().into_owned(), arguments, environment }
        }
        acp::Way::Url { url, headers } => Way::Url { url, headers },
    };
    given(name, way)
}

fn in_a_line(failure: Failure) -> String {
    let Failure { message, hint, .. } = failure;
    hint.map_or_else(|| message.clone(), |hint| format!("{message} (hint: {hint})"))
}
