//! What developers type every day (`everyday.toml`) works in a view, and hardly any of it is asked about.
use crate::kit::{Place, Ran, Reply, Server, openai_call, openai_text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

#[derive(Deserialize)]
struct List {
    group: Vec<Group>,
}

/// Commands in one repository, one after the other.
#[derive(Deserialize)]
struct Group {
    name: String,
    /// Makes the repository.
    setup: String,
    commands: Vec<Everyday>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Everyday {
    run: String,
    #[serde(default)]
    says: String,
    #[serde(default)]
    exit: i32,
    then: Option<String>,
    program: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    background: bool,
    asks: Option<String>,
}

/// What came of a group.
struct Report {
    commands: usize,
    asked: Vec<String>,
    faults: Vec<String>,
}

impl Group {
    /// Runs its commands unasked, and then with a yes those that were asked about.
    fn report(&self) -> Report {
        let repository = Repository::new(&self.setup);
        let is_here = |command: &&Everyday| command.program.as_ref().is_none_or(|name| repository.has(name));
        let commands: Vec<Everyday> = self.commands.iter().filter(is_here).cloned().collect();
        let (mut asked, mut faults, mut allowed) = (Vec::new(), Vec::new(), Vec::new());
        for (command, came) in commands.iter().zip(repository.run("accept-edits", &commands)) {
            let told = |what: &str| format!("{}: `{}`: {what}", self.name, command.run);
            if came.asked.is_some() != command.asks.is_some() {
                faults.push(told(&format!("asked: {:?}, expected: {:?}", came.asked, command.asks)));
            }
            match came.asked {
                Some(why) => {
                    asked.push(told(&why));
                    allowed.push(command.clone());
                }
                None => faults.extend(came.fault.map(|fault| told(&fault))),
            }
        }
        if !allowed.is_empty() {
            let came = repository.run("full", &allowed).into_iter().zip(&allowed);
            let wrong = came.filter_map(|(came, command)| Some((came.fault?, &command.run)));
            faults.extend(wrong.map(|(fault, run)| format!("{}: `{run}`, allowed: {fault}", self.name)));
        }
        Report { commands: commands.len(), asked, faults }
    }
}

impl Everyday {
    fn call(&self, host: &str) -> Reply {
        let needs: Vec<String> = self.needs.iter().map(|need| need.replace("HOST", host)).collect();
        let mut arguments = json!({"command": self.run.replace("HOST", host)});
        if !needs.is_empty() {
            arguments["needs"] = json!(needs);
        }
        if self.background {
            arguments["background"] = json!(true);
        }
        openai_call("bash", &arguments)
    }

    /// What is wrong with how it ended.
    fn fault(&self, ended: &Value) -> Option<String> {
        let said = ended["content"].as_str().unwrap();
        let ended_so = match self.exit {
            0 => !said.contains("[exit code: "),
            exit => said.ends_with(&format!("[exit code: {exit}]")),
        };
        let is_right = ended_so && said.contains(&self.says) && ended["error"].is_null();
        (!is_right).then(|| format!("it said: {said}"))
    }
}

/// What came of one command.
struct Came {
    asked: Option<String>,
    fault: Option<String>,
}

/// A repository and what a shell finds in it.
struct Repository {
    place: Place,
    path: String,
}

const BEGINNING: &str = "set -e; git init -q -b main
    git config user.name Octo; git config user.email octo@example.org";

impl Repository {
    fn new(setup: &str) -> Self {
        let place = Place::in_sight();
        fs::create_dir(place.path().join("person")).unwrap();
        // The toolchain itself: what stands for it in `PATH` may look for it in the home.
        let tools = env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).parent().unwrap().to_owned());
        let path = env::join_paths(tools.into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())));
        let repository = Self { path: path.unwrap().into_string().unwrap(), place };
        let made = repository.sh(&format!("{BEGINNING}\n{setup}"));
        assert!(made.status.success(), "{made:?}");
        repository
    }

    fn sh(&self, line: &str) -> Output {
        sh(&self.place.work(), &self.path, line)
    }

    fn has(&self, program: &str) -> bool {
        self.sh(&format!("command -v {program}")).status.success()
    }

    /// All of `commands` in one session.
    fn run(&self, permission: &str, commands: &[Everyday]) -> Vec<Came> {
        let effects = Arc::new(Mutex::new(Vec::new()));
        let other = Server::start(vec![openai_text("Not asked.")]);
        let host = other.address.trim_start_matches("http://").to_owned();
        let server = self.server(commands.to_vec(), host, effects.clone());
        let arguments = ["run", "--permission", permission, "--json", "--model", "openai/gpt-5", "go"];
        let mut haft = self.place.haft(&arguments);
        haft.env("PATH", &self.path).env("OPENAI_API_KEY", "k");
        haft.env("OPENAI_BASE_URL", format!("{}/v1", server.address));
        let ran = Ran::from(haft.output().unwrap());
        let mut came = told(&ran, commands);
        for (came, fault) in came.iter_mut().zip(effects.lock().unwrap().drain(..)) {
            came.fault = came.fault.take().or(fault);
        }
        came
    }

    /// Asks for one command after the other; before the next one it looks what has become of the last one.
    fn server(
        &self,
        commands: Vec<Everyday>,
        host: String,
        effects: Arc<Mutex<Vec<Option<String>>>>,
    ) -> Server {
        let (work, path) = (self.place.work(), self.path.clone());
        Server::answering(move |number, _| {
            if let Some(then) =
                number.checked_sub(1).and_then(|last| commands.get(last)).map(|last| &last.then)
            {
                let looked = then.as_ref().map(|then| (then, sh(&work, &path, then)));
                let fault = looked.filter(|(_, looked)| !looked.status.success());
                effects.lock().unwrap().push(fault.map(|(then, _)| format!("it does not hold: {then}")));
            }
            commands.get(number).map_or_else(|| openai_text("Done."), |next| next.call(&host))
        })
    }
}

fn sh(folder: &Path, path: &str, line: &str) -> Output {
    let home = folder.parent().unwrap().join("person");
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env_clear().env("PATH", path).env("HOME", home);
    shell.output().unwrap()
}

fn told(ran: &Ran, commands: &[Everyday]) -> Vec<Came> {
    let mut came: Vec<Came> = Vec::new();
    let mut asked = None;
    for event in ran.events() {
        match event["type"].as_str().unwrap() {
            "approval_asked" => asked = Some(event["reason"].as_str().unwrap().to_owned()),
            "tool_ended" => {
                let fault = commands[came.len()].fault(&event);
                came.push(Came { asked: asked.take(), fault });
            }
            _ => {}
        }
    }
    assert_eq!(came.len(), commands.len(), "{ran:?}");
    came
}

#[test]
fn everyday_commands_work_and_hardly_any_is_asked_about() {
    let list: List = toml::from_str(include_str!("everyday.toml")).unwrap();
    let reports: Vec<Report> = thread::scope(|scope| {
        let running: Vec<_> = list.group.iter().map(|group| scope.spawn(|| group.report())).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let all: usize = reports.iter().map(|report| report.commands).sum();
    let asked: Vec<&String> = reports.iter().flat_map(|report| &report.asked).collect();
    let faults: Vec<&String> = reports.iter().flat_map(|report| &report.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(all >= 200 && asked.len() * 20 <= all, "{} of {all}: {asked:#?}", asked.len());
}
