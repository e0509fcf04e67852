//! [`mcp`] (`haft mcp`): agents and tools for other programs. Standard output belongs to the protocol.
use crate::{CliContext, args::McpArgs};
use haft_app::{Failure, token};
use haft_mcp::server::{HaftServer, listen, over_http, over_stdio};
use haft_terminal::{Exit, signals::Interrupts};

/// Serves until the client leaves or a signal interrupts.
pub(crate) async fn mcp(cli: &CliContext, args: &McpArgs) -> Result<Exit, Failure> {
    let offers = cli.mcp_offers(&args.spec(), !args.no_agents, args.expose.as_deref()).await?;
    let mut interrupts = Interrupts::listen()?;
    let served = serve(cli, offers.server(), args, &mut interrupts).await;
    interrupts.or_leave(offers.shut_down()).await;
    served.map(|()| Exit::Success)
}

async fn serve(
    cli: &CliContext,
    server: HaftServer,
    args: &McpArgs,
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
