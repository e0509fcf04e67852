//! Contents of changed files in an object store: `moto`, which speaks the protocol of Amazon S3.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use haft_testing::left_out;
use serde_json::json;
use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// An object store on loopback, with the bucket `haft`.
struct Moto {
    child: Child,
    address: String,
}

impl Moto {
    /// None where it is not installed, which is said.
    fn start() -> Option<Self> {
        let port = haft_testing::free_port().to_string();
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", &port]).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            left_out("an object store: there is no `moto_server`; `. scripts/peers.sh`");
            return None;
        };
        let moto = Self { child, address: format!("127.0.0.1:{port}") };
        let begun = Instant::now();
        while TcpStream::connect(&moto.address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen");
            sleep(Duration::from_millis(50));
        }
        moto.ask("PUT /haft", "");
        Some(moto)
    }

    fn ask(&self, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (length, host) = (body.len(), &self.address);
        // It checks no signature, but looks for one.
        let signed = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let head = format!(
            "authorization: {signed}\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n"
        );
        let request =
            format!("{line} HTTP/1.1\r\nhost: {host}\r\n{head}content-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The names of all objects.
    fn objects(&self) -> Vec<String> {
        let listed = self.ask("GET /haft?list-type=2", "");
        let names = listed.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        names.map(str::to_owned).collect()
    }

    fn variables(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        let all = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_has_ended = self.child.wait();
    }
}

// H-99
#[test]
fn a_job_goes_on_and_is_shown_where_its_contents_are_in_an_object_store() {
    let (Some(mut fleet), Some(moto)) = (Fleet::new(), Moto::start()) else { return };
    fleet.variables = moto.variables();
    let set = fleet.run(&["fleet", "storage", "s3://haft/of-jobs"]);
    assert!(set.code == 0 && set.out.contains("stored in `s3://haft/of-jobs`"), "{set:?}");
    assert_eq!(moto.objects(), [""; 0], "what it tried out with is removed");
    let id = fleet.add();
    let script = fleet.place.script("first.jsonl", &[count(), json!({"hang": true})]);
    let mut first = fleet.worker(&script, &["--lease", "1"]);
    let ended =
        format!("SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%\"type\":\"tool_ended\"%'");
    fleet.wait_for("a call has ended", || (fleet.number(&ended) == 1).then_some(()));
    first.kill().unwrap();
    first.wait().unwrap();
    let contents = "SELECT count(*), count(bytes), count(place) FROM contents";
    assert_eq!(fleet.server.sql(contents), "2|0|2");
    let hashes = fleet.server.sql("SELECT hash FROM contents ORDER BY hash");
    let expected: Vec<String> = hashes.lines().map(|hash| format!("of-jobs/{}/{hash}", &hash[..2])).collect();
    assert_eq!(moto.objects(), expected);
    let script = fleet.place.script("second.jsonl", &[count(), publish(), say()]);
    let mut second = fleet.worker(&script, &["--lease", "2"]);
    fleet.wait_until_completed(&id);
    fleet.wait_for("its branch stands", || (fleet.job(&id, "published = head") == "t").then_some(()));
    assert_eq!(fleet.counted(&id), "+end");
    end(&mut second);
    let server = Serving::begin(&fleet.place, fleet.haft(&["serve", "--fleet", "--listen", "127.0.0.1:0"]));
    let seq = format!("SELECT seq FROM entries WHERE job = '{id}' AND line LIKE '%\"type\":\"staged\"%'");
    let diff = format!("GET /v1/sessions/{id}/diff?seq={}", fleet.server.sql(&seq));
    let shown = server.ask(&diff, "");
    assert!(shown.status == 200 && shown.body.contains("+end"), "{shown:?}");
    // What was changed there is not taken for what was recorded.
    for object in moto.objects() {
        let changed = moto.ask(&format!("PUT /haft/{object}"), "something else");
        assert!(changed.starts_with("HTTP/1.1 200"), "{changed}");
    }
    let forged = server.ask(&diff, "");
    assert!(forged.status >= 500 && forged.body.contains("the object has another hash"), "{forged:?}");
}

// H-99
#[test]
fn an_object_store_that_cannot_be_used_is_refused_and_nothing_changes() {
    let (Some(mut fleet), Some(moto)) = (Fleet::new(), Moto::start()) else { return };
    fleet.variables = moto.variables();
    for (address, code, said) in [
        ("s3://other/of-jobs", 1, "cannot write the content"),
        ("https://example.com/haft", 2, "`https://example.com/haft` is not `s3://BUCKET`"),
    ] {
        let refused = fleet.run(&["fleet", "storage", address]);
        assert!(refused.code == code && refused.err.contains(said), "{refused:?}");
        let shown = fleet.run(&["fleet", "storage"]);
        assert_eq!(shown.out, "contents of changed files are stored in the database\n");
    }
    assert_eq!(fleet.run(&["fleet", "storage", "s3://haft/"]).code, 0);
    let shown = fleet.run(&["fleet", "storage", "--json"]);
    assert_eq!(shown.out, "{\"storage\":\"s3://haft/\"}\n");
    let back = fleet.run(&["fleet", "storage", "--database"]);
    assert!(back.out.contains("stored in the database"), "{back:?}");
}
