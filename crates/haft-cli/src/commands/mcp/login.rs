//! [`login`] and [`logout`] (`haft mcp login`, `haft mcp logout`): OAuth for MCP servers behind HTTP.
use super::{config, say_state};
use crate::{CliContext, args::McpLoginArgs, commands::interruptible::interruptible};
use haft_app::{Failure, mcp_servers::entries};
use haft_mcp::client::{
    BrowserLogin, DeviceLogin, LoggedOut, Login, LoginError, LoginWay, McpServer, login as begin,
    logout as end,
};
use haft_present::safe;
use haft_terminal::Exit;
use std::{
    io::{Write, stderr},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines, Stdin},
    time::timeout,
};

/// Timeout of a login. Authorization servers keep an unfinished login for about as long.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

/// `haft mcp login`
pub(super) async fn login(cli: &CliContext, args: &McpLoginArgs) -> Result<Exit, Failure> {
    let name = &args.name;
    let mut server = entries::named(cli, &config(cli, None)?, name)?;
    if let Some(oauth) = server.oauth.as_mut().filter(|_| !args.scopes.is_empty()) {
        oauth.scopes.clone_from(&args.scopes);
    }
    let browser = browser(cli).filter(|_| !args.no_browser);
    let way = match (args.device, args.no_browser, &browser) {
        (true, ..) => LoginWay::Device,
        (_, false, None) => LoginWay::Either,
        _ => LoginWay::Browser,
    };
    let done = interruptible(timeout(LOGIN_TIMEOUT, log_in(&server, way, browser.as_deref()))).await?;
    let late = |_| {
        let minutes = LOGIN_TIMEOUT.as_secs() / 60;
        Failure::failed(format!("cannot log in to `{name}`: no answer came within {minutes} minutes"))
            .hint(format!("`haft mcp login {name}` begins again"))
    };
    done.map_err(late)?.map_err(|error| failed(&server, &error))?;
    let file = cli.places.mcp_logins_file.display();
    say_state(args.json, &server.name, "logged in")?;
    writeln!(stderr(), "Logged in to `{name}`. The login is in `{file}`, which only you can read.")?;
    Ok(Exit::Success)
}

async fn log_in(server: &McpServer, way: LoginWay, browser: Option<&str>) -> Result<(), LoginError> {
    match begin(server, way).await? {
        Login::Browser(login) => in_browser(*login, browser).await,
        Login::Device(login) => on_device(&login).await,
    }
}

async fn on_device(login: &DeviceLogin) -> Result<(), LoginError> {
    let (address, code) = (safe::text(login.address()), safe::text(login.code()));
    say(&format!("Open this address on any device:\n\n  {address}\n\nand enter this code: {code}\n"));
    login.finish().await
}

async fn in_browser(mut login: BrowserLogin, browser: Option<&str>) -> Result<(), LoginError> {
    let is_open = browser.is_some_and(|browser| open(browser, login.address()));
    let (verb, address) = (if is_open { "Your browser opens" } else { "Open" }, login.address());
    say(&format!(
        "{verb} this address to log in:\n\n  {address}\n\nIf the browser cannot come back to this machine, paste the address \
         that it ends at, and press Enter.\n"
    ));
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let redirected = tokio::select! {
            redirected = login.redirected() => redirected?,
            pasted = pasted(&mut typed) => pasted,
        };
        match login.finish(&redirected).await {
            // The next address may be right.
            Err(wrong @ LoginError::Foreign(_)) => say(&format!("{wrong}.\n")),
            done => return done,
        }
    }
}

/// Returns the next line; waits forever if there are no more lines.
async fn pasted(typed: &mut Lines<BufReader<Stdin>>) -> String {
    loop {
        match typed.next_line().await {
            Ok(Some(line)) if line.trim().is_empty() => {}
            Ok(Some(line)) => return line.trim().to_owned(),
            _ => std::future::pending().await,
        }
    }
}

fn say(text: &str) {
    // A program keeps running if its standard error is closed.
    write!(stderr(), "{text}").ok();
}

/// The command that opens an address: `BROWSER`, or the desktop's own.
fn browser(cli: &CliContext) -> Option<String> {
    let get = |name: &str| cli.environment.get(name);
    let chosen = get("BROWSER").and_then(|browsers| browsers.split(':').next()).map(str::to_owned);
    let desktop = || {
        let has_screen = get("DISPLAY").or_else(|| get("WAYLAND_DISPLAY")).is_some();
        match cfg!(target_os = "macos") {
            true => Some("open".to_owned()),
            false => has_screen.then(|| "xdg-open".to_owned()),
        }
    };
    chosen.or_else(desktop)
}

/// Starts a browser; returns whether that succeeded. The browser belongs to the user, and stays open when Haft ends.
fn open(browser: &str, address: &str) -> bool {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{browser} \"$@\"")).arg(browser).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().is_ok()
}

fn failed(server: &McpServer, error: &LoginError) -> Failure {
    let name = &server.name;
    let failure = Failure::failed(format!("cannot log in to `{name}`: {error}"));
    match error {
        LoginError::HasToken => failure.hint(format!(
            "remove `Authorization` from `headers` of `[mcp.{name}]` to log in instead"
        )),
        LoginError::NoAddress => failure.hint(format!("`haft mcp test {name}` tries it")),
        LoginError::NoOAuth => failure.hint(format!(
            "if it wants a token, put it into `headers` of `[mcp.{name}]`: `Authorization = \"Bearer ${{TOKEN}}\"`"
        )),
        LoginError::NoDevice => failure.hint(format!(
            "`haft mcp login --no-browser {name}` shows an address to open on any device"
        )),
        LoginError::Port { .. } => {
            failure.hint(format!("set `oauth.callback_port` of `[mcp.{name}]` to a free one, or leave it out"))
        }
        LoginError::Forbidden(_) | LoginError::TokenType(_) => failure.hint("ask those who run the server"),
        LoginError::Unregistered(_) => failure.hint(format!(
            "register a client there by hand, and set `oauth.client_id` of `[mcp.{name}]` to its ID"
        )),
        _ => failure.hint(format!("`haft mcp login {name}` begins again")),
    }
}

/// `haft mcp logout`
pub(super) async fn logout(cli: &CliContext, name: &str, json: bool) -> Result<Exit, Failure> {
    let server = entries::named(cli, &config(cli, None)?, name)?;
    match forget(&server).await? {
        true => say_state(json, name, "logged out").map(|()| Exit::Success),
        false => Err(Failure::usage(format!("there is no login for `{name}`"))
            .hint(format!("`haft mcp login {name}` logs in"))),
    }
}

/// Removes a login and reports it; returns whether there was one.
pub(super) async fn forget(server: &McpServer) -> Result<bool, Failure> {
    let name = &server.name;
    let revoked = match interruptible(end(server)).await?.map_err(|error| failed(server, &error))? {
        LoggedOut::NoLogin => return Ok(false),
        LoggedOut::Revoked => "and its tokens are revoked".to_owned(),
        LoggedOut::Kept => "and its tokens work until they expire: the server cannot revoke them".to_owned(),
        LoggedOut::Failed(why) => format!("but its tokens may still work: they could not be revoked: {why}"),
    };
    writeln!(stderr(), "The login for `{name}` is forgotten, {}.", safe::text(&revoked))?;
    Ok(true)
}
