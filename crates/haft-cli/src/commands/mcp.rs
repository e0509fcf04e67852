//! [`mcp`] (`haft mcp`): sets up MCP servers, or serves agents and tools to other programs. In the latter case, only
//! the protocol uses standard output.
mod login;
mod servers;

use crate::{
    CliContext,
    args::{Mcp, McpArgs, McpServeArgs},
};
use haft_app::{
    Failure,
    config::{Config, Settings},
    session, token,
};
use haft_mcp::server::{HaftServer, listen, over_http, over_stdio};
use haft_terminal::{Exit, signals::Interrupts};
use serde_json::json;
use std::{
    io::{Write, stdout},
    path::Path,
};

/// `haft mcp …`
pub(crate) async fn mcp(cli: &CliContext, args: McpArgs) -> Result<Exit, Failure> {
    match args.command {
        None => serve(cli, &args.serve).await,
        Some(Mcp::Serve(args)) => serve(cli, &args).await,
        Some(Mcp::Add(args)) => servers::add(cli, args),
        Some(Mcp::List { json }) => servers::list(cli, json),
        Some(Mcp::Import { names, json, cwd }) => servers::import(cli, &names, json, cwd.as_deref()),
        Some(Mcp::Test { name, json, cwd }) => servers::test(cli, &name, json, cwd.as_deref()).await,
        Some(Mcp::Remove { name, json }) => servers::remove(cli, &name, json).await,
        Some(Mcp::Login(args)) => login::login(cli, &args).await,
        Some(Mcp::Logout { name, json }) => login::logout(cli, &name, json).await,
    }
}

/// Prints the state of a server, for programs or for users.
fn say_state(json: bool, name: &str, state: &str) -> Result<(), Failure> {
    if json {
        writeln!(stdout(), "{}", json!({"name": name, "state": state}))?;
    }
    Ok(())
}

/// Serves until the client disconnects or a signal interrupts.
async fn serve(cli: &CliContext, args: &McpServeArgs) -> Result<Exit, Failure> {
    let offers = cli.mcp_offers(&args.spec(), !args.no_agents, args.expose.as_deref()).await?;
    let mut interrupts = Interrupts::listen()?;
    let served = speak(cli, offers.server(), args, &mut interrupts).await;
    interrupts.or_leave(offers.shut_down()).await;
    served.map(|()| Exit::Success)
}

async fn speak(
    cli: &CliContext,
    server: HaftServer,
    args: &McpServeArgs,
    interrupts: &mut Interrupts,
) -> Result<(), Failure> {
    match args.listen {
        None => over_stdio(server, interrupts.next()).await?,
        Some(address) => {
            let listener = listen(address).await?;
            let token =
                if args.no_token { None } else { Some(token::of(&cli.places.home, token::MCP)?.token) };
            cli.warn(format!("listening on http://{}/mcp", listener.local_addr()?));
            if let Some(token) = &token {
                cli.warn(format!("clients send `Authorization: Bearer {token}`"));
            }
            let served =
                interrupts.until(|interrupted| over_http(server, listener, token, interrupted)).await;
            served.unwrap_or(Ok(()))?;
        }
    }
    Ok(())
}

/// The configuration for `workspace`, or for the current directory.
fn config(cli: &CliContext, workspace: Option<&Path>) -> Result<Config, Failure> {
    let workspace =
        workspace.map_or_else(|| session::workspace(None), |workspace| Ok(workspace.to_owned()))?;
    Ok(cli.config(&workspace, &Settings::default())?)
}
