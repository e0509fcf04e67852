//! Behind the proxies of `deploy/proxy`, events arrive one by one and terminals attach, under the name that clients call.
use super::text;
use crate::kit::{Place, UNTIL_GO, bash, serving::Serving};
use serde_json::json;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const NAME: &str = "agent.example.org";

/// A proxy that runs. It ends with the test.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        // nginx ends its workers itself.
        let id = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _it_has_ended = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::TERM));
        let _it_is_gone = self.0.wait();
    }
}

/// `deploy/proxy/nginx.conf`, but for the address and the encryption.
fn nginx(folder: &Path, listen: &str, server: &str) -> Command {
    let written = text("proxy/nginx.conf");
    let lines = written.lines().filter(|line| !line.trim_start().starts_with("ssl_certificate"));
    let site = lines.collect::<Vec<_>>().join("\n");
    let site =
        site.replace("listen 443 ssl;", &format!("listen {listen};")).replace("127.0.0.1:8171", server);
    assert!(site.contains(listen) && site.contains(server), "{site}");
    fs::write(folder.join("haft.conf"), site).unwrap();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {}/{name};", folder.display()))
        .join("\n");
    let place = folder.display();
    let around = format!(
        "daemon off;\nworker_processes 1;\npid {place}/pid;\nevents {{}}\n\
         http {{\naccess_log off;\n{temporary}\ninclude {place}/haft.conf;\n}}\n"
    );
    fs::write(folder.join("nginx.conf"), around).unwrap();
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-p"]).arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    command
}

/// `deploy/proxy/Caddyfile`, but for the address and the encryption.
fn caddy(folder: &Path, listen: &str, server: &str) -> Command {
    let port = listen.rsplit(':').next().unwrap();
    let written = text("proxy/Caddyfile");
    let site = written.replace(&format!("{NAME} {{"), &format!("http://{NAME}:{port} {{\n\tbind 127.0.0.1"));
    let site = site.replace("127.0.0.1:8171", server);
    assert!(site.contains("bind") && site.contains(server), "{site}");
    fs::write(folder.join("Caddyfile"), format!("{{\n\tadmin off\n\tauto_https off\n}}\n{site}")).unwrap();
    let mut command = Command::new("caddy");
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"));
    command.env("HOME", folder);
    command
}

/// Starts a proxy, and waits until it listens; `None` if it is not installed.
fn start(mut command: Command, listen: &str, folder: &Path) -> Option<Proxy> {
    let said = fs::File::create(folder.join("said")).unwrap();
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
    let Ok(child) = started else {
        let name = command.get_program().display().to_string();
        haft_testing::left_out(&format!("a proxy: there is no `{name}`; `. scripts/peers.sh`"));
        return None;
    };
    let (proxy, begun) = (Proxy(child), Instant::now());
    while TcpStream::connect(listen).is_err() {
        let said = || fs::read_to_string(folder.join("said")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen: {}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(proxy)
}

fn free_address() -> String {
    format!("127.0.0.1:{}", haft_testing::free_port())
}

/// What is answered to a terminal that asks for the WebSocket of a session.
fn websocket(server: &Serving, id: &str) -> String {
    let mut stream = server.connect();
    let (host, token) = (&server.host, &server.token);
    let request = format!(
        "GET /v1/sessions/{id}/socket HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: haft-session.1\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

// H-66
#[test]
fn events_arrive_one_by_one_and_terminals_attach_through_a_proxy() {
    for proxy in [nginx, caddy] {
        let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
        place.hold();
        let waits = format!("echo begun; {UNTIL_GO}");
        let model = place.script("model", &[bash(&waits), json!({"say": "Done."})]);
        let mut server = Serving::start(&place, &["--model", &model, "--permission", "full", "--host", NAME]);
        let listen = free_address();
        let command = proxy(folder.path(), &listen, &server.address);
        let Some(_running) = start(command, &listen, folder.path()) else { return };
        (server.address, server.host) = (listen, NAME.to_owned());
        let id = server.session("{}");
        let mut events = server.follow(&id, "");
        let prompt = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
        assert!(prompt.status < 300, "{prompt:?}");
        // The command waits: what is read here was passed on before there was more.
        events.until("tool_output");
        place.let_go();
        let rest = events.until("turn_ended");
        assert_eq!(rest.last().unwrap()["outcome"], "finished");
        assert_eq!(websocket(&server, &id), "HTTP/1.1 101 Switching Protocols");
        // Any other name is refused, by the proxy or by Haft.
        server.host = "evil.example".to_owned();
        let refused = server.ask("GET /v1/sessions", "");
        assert!(!refused.body.contains("sessions"), "{refused:?}");
    }
}
