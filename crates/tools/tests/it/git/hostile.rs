//! Repositories that do all they can to start something.
use super::{commit, git, prepare, repository, told};
use crate::kit::Kit;
use haft_core::{Policy, Readable, Rule, Ruling, ToolErrorKind};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

/// Settings that start programs, were they obeyed.
const HOSTILE: [(&str, &str); 44] = [
    ("core.fsmonitor", "touch ../pwned-fsmonitor"),
    ("core.pager", "touch ../pwned-pager"),
    ("core.editor", "touch ../pwned-editor"),
    ("core.askPass", "touch ../pwned-askpass"),
    ("core.hooksPath", "hooks"),
    ("core.sshCommand", "touch ../pwned-ssh"),
    ("core.gitProxy", "touch ../pwned-proxy"),
    ("core.alternateRefsCommand", "touch ../pwned-alternate"),
    ("sequence.editor", "touch ../pwned-sequence"),
    ("pager.log", "touch ../pwned-pager-log"),
    ("pager.diff", "touch ../pwned-pager-diff"),
    ("pager.status", "touch ../pwned-pager-status"),
    ("diff.external", "touch ../pwned-external"),
    ("diff.evil.command", "touch ../pwned-diff-command"),
    ("diff.evil.textconv", "touch ../pwned-textconv"),
    ("diff.submodule", "diff"),
    ("diff.ignoreSubmodules", "none"),
    ("merge.evil.driver", "touch ../pwned-merge"),
    ("alias.status", "!touch ../pwned-alias"),
    ("alias.log", "!touch ../pwned-alias"),
    ("gpg.program", "touch-pwned"),
    ("gpg.format", "ssh"),
    ("gpg.ssh.program", "touch-pwned"),
    ("gpg.ssh.defaultKeyCommand", "touch ../pwned-key"),
    ("commit.gpgSign", "true"),
    ("commit.verbose", "true"),
    ("push.gpgSign", "true"),
    ("tag.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("format.pretty", "%G? %s"),
    ("credential.helper", "!touch ../pwned-credential"),
    ("credential.https://127.0.0.1.helper", "!touch ../pwned-credential"),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("gc.auto", "1"),
    ("gc.recentObjectsHook", "touch ../pwned-gc"),
    ("trailer.evil.command", "touch ../pwned-trailer"),
    ("submodule.recurse", "true"),
    ("push.recurseSubmodules", "on-demand"),
    ("status.submoduleSummary", "true"),
    ("interactive.diffFilter", "touch ../pwned-interactive"),
    ("remote.origin.receivepack", "touch ../pwned-receive; git-receive-pack"),
    ("remote.origin.uploadpack", "touch ../pwned-upload; git-upload-pack"),
    ("include.path", "../evil-include"),
];

const HOOKS: [&str; 11] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-push",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-receive",
    "pre-receive",
];

pub(crate) fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn put_hooks(folder: &Path, mark: &Path) {
    for hook in HOOKS {
        let text = format!("#!/bin/sh\ntouch {}-hook-{hook}\n", mark.display());
        executable(&folder.join(hook), &text);
    }
}

/// A repository that does all it can to start something, with a submodule and a remote of the same kind.
fn hostile(filters: &[&str]) -> Kit {
    let kit = repository();
    let mark = kit.workspace.with_file_name("pwned");
    let inner = kit.workspace.join("inner");
    prepare(&inner);
    kit.put("inner/x.evil", "1\n");
    commit(&inner, "Inner");
    kit.put("log.evil", "1\n");
    kit.put("same.evil", "1\n");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./inner", "inner"];
    git(&kit.workspace, &add);
    // It prevails over the settings.
    git(&kit.workspace, &["config", "--file", ".gitmodules", "submodule.inner.ignore", "none"]);
    commit(&kit.workspace, "With all");
    let bare = kit.workspace.join("bare.git");
    fs::create_dir(&bare).unwrap();
    git(&bare, &["init", "--quiet", "--bare"]);
    put_hooks(&bare.join("hooks"), &mark);
    git(&kit.workspace, &["remote", "add", "origin", "./bare.git"]);
    let absolute = |value: &str| value.replace("../pwned", mark.to_str().unwrap());
    for folder in [&kit.workspace, &inner] {
        let directory = folder.join(".git");
        put_hooks(&directory.join("hooks"), &mark);
        put_hooks(&folder.join("hooks"), &mark);
        executable(&folder.join("touch-pwned"), &absolute("#!/bin/sh\ntouch ../pwned-program\n"));
        fs::create_dir_all(directory.join("info")).unwrap();
        fs::write(directory.join("info/attributes"), "*.evil filter=evil diff=evil merge=evil\n").unwrap();
        let program = format!("[core]\nfsmonitor = {}\n", absolute("touch ../pwned-include"));
        fs::write(folder.join("evil-include"), program).unwrap();
        let mut config = fs::read_to_string(directory.join("config")).unwrap();
        for (key, value) in HOSTILE.iter().filter(|(key, _)| !key.starts_with("remote.")) {
            config += &entry(key, &absolute(value));
        }
        for (key, value) in HOSTILE.iter().filter(|(key, _)| key.starts_with("remote.")) {
            config += &entry(key, &absolute(value));
        }
        if filters.contains(&folder.file_name().unwrap().to_str().unwrap()) {
            for program in ["clean", "smudge", "process"] {
                config += &entry(&format!("filter.evil.{program}"), &absolute("touch ../pwned-filter"));
            }
            config += &entry("filter.evil.required", "true");
        }
        fs::write(directory.join("config"), config).unwrap();
    }
    // Same size, other time: git has to look into them.
    kit.put("log.evil", "2\n");
    kit.put("inner/x.evil", "2\n");
    kit.put("a.txt", "two\none\n");
    kit
}

fn entry(key: &str, value: &str) -> String {
    let (section, rest) = key.split_once('.').unwrap();
    let heading = match rest.rsplit_once('.') {
        Some((name, _)) => format!("[{section} \"{name}\"]"),
        None => format!("[{section}]"),
    };
    let variable = rest.rsplit('.').next().unwrap();
    format!("{heading}\n\t{variable} = \"{}\"\n", value.replace('"', "\\\""))
}

/// Files beside the workspace that a hostile setting made.
fn pwned(kit: &Kit) -> Vec<String> {
    let beside = fs::read_dir(kit.workspace.parent().unwrap()).unwrap();
    let names = beside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("pwned")).collect();
    names.sort();
    names
}

/// All files may be read but this one.
fn all_but(kit: &Kit, file: &str) -> Readable {
    let rules = vec![Rule::parse(Ruling::Deny, &format!("read:{file}")).unwrap()];
    Readable::new(&Policy { rules, ..Policy::default() }, &kit.workspace, &[], Vec::new())
}

fn every_look() -> Vec<Value> {
    vec![
        json!({"action": "status"}),
        json!({"action": "diff"}),
        json!({"action": "diff", "staged": true}),
        json!({"action": "diff", "ref": "HEAD~1"}),
        json!({"action": "log"}),
        json!({"action": "log", "paths": ["log.evil"]}),
        json!({"action": "show"}),
        json!({"action": "show", "ref": "HEAD:log.evil"}),
        json!({"action": "blame", "paths": ["log.evil"]}),
        json!({"action": "branch"}),
    ]
}

// D13
#[tokio::test]
async fn nothing_of_a_hostile_repository_runs() {
    let kit = hostile(&[]);
    let more = [
        json!({"action": "add", "paths": ["."]}),
        json!({"action": "commit", "message": "Take it"}),
        json!({"action": "commit", "message": "Part", "paths": ["touch-pwned"]}),
        json!({"action": "branch", "ref": "topic"}),
        json!({"action": "checkout", "ref": "topic"}),
        json!({"action": "checkout", "ref": "HEAD~1", "paths": ["a.txt", "log.evil"]}),
        json!({"action": "checkout", "ref": "main"}),
        json!({"action": "push"}),
    ];
    let allowed_to_fail = [2, 5, 6];
    for (index, arguments) in every_look().into_iter().chain(more).chain(every_look()).enumerate() {
        let told = told(&kit, arguments.clone()).await;
        assert_eq!(pwned(&kit), [""; 0], "{arguments}");
        let may_fail = index >= 10 && allowed_to_fail.contains(&(index - 10));
        assert!(told.is_ok() || may_fail, "{arguments}: {}", told.content);
    }
}

// D13
#[tokio::test]
async fn a_repository_with_filters_of_its_own_can_be_looked_at_only() {
    for filters in [["w"], ["inner"]] {
        let mut kit = hostile(&filters);
        for readable in [Readable::default(), all_but(&kit, "secret.txt")] {
            kit.readable = readable.into();
            for arguments in every_look() {
                let told = told(&kit, arguments.clone()).await;
                assert!(told.is_ok(), "{arguments}: {}", told.content);
                assert_eq!(pwned(&kit), [""; 0], "{arguments}");
            }
        }
        let rest = [
            json!({"action": "add", "paths": ["."]}),
            json!({"action": "commit", "message": "m", "paths": ["log.evil"]}),
            json!({"action": "checkout", "ref": "HEAD~1"}),
        ];
        for arguments in rest {
            let told = told(&kit, arguments).await;
            assert!(told.content.contains("would run a program (the filter `evil`)"), "{}", told.content);
            assert_eq!(told.error.unwrap().kind, ToolErrorKind::Security);
        }
        assert_eq!(pwned(&kit), [""; 0]);
    }
}

// H-131
#[tokio::test]
async fn blame_quotes_no_file_that_a_setting_names() {
    let mut kit = repository();
    fs::write(kit.workspace.with_file_name("key"), "SECRET = 1\n").unwrap();
    kit.put("sub/.key", "SECRET = 2\n");
    kit.put(".git-blame-ignore-revs", "# Formatting\n");
    let outside = kit.workspace.with_file_name("key").display().to_string();
    std::os::unix::fs::symlink(&outside, kit.workspace.join("link")).unwrap();
    for (file, is_read) in [
        (".git-blame-ignore-revs", true),
        ("sub/.key", false),
        ("link", false),
        ("../key", false),
        (&*outside, false),
        ("~/key", false),
    ] {
        kit.readable = all_but(&kit, "**/.key").into();
        git(&kit.workspace, &["config", "blame.ignoreRevsFile", file]);
        let told = told(&kit, json!({"action": "blame", "paths": ["a.txt"]})).await;
        assert_eq!(told.is_ok(), is_read, "{file}: {}", told.content);
        assert!(!told.content.contains("SECRET"), "{file}: {}", told.content);
    }
}

// H-131
#[tokio::test]
async fn no_link_leads_the_tool_to_another_repository() {
    let deep = format!("refs/heads{}", "/b".repeat(45));
    for name in
        ["refs/heads/main", "refs/heads", "logs/HEAD", "refs", "x/y", "worktrees/w/HEAD", "hooks/main", &deep]
    {
        let (kit, other) = (repository(), repository());
        other.put("secret.txt", "SECRET\n");
        commit(&other.workspace, "SECRET");
        let directories = [&kit, &other].map(|kit| kit.workspace.join(".git"));
        let alternates = format!("{}\n", directories[1].join("objects").display());
        fs::write(directories[0].join("objects/info/alternates"), alternates).unwrap();
        let link = directories[0].join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let other = match fs::rename(&link, directories[0].join("moved")) {
            Ok(()) => directories[1].join(name),
            Err(_) => directories[1].join("refs/heads/main"),
        };
        std::os::unix::fs::symlink(other, &link).unwrap();
        for revision in ["HEAD", "HEAD@{0}", name] {
            let told = told(&kit, json!({"action": "show", "ref": revision})).await;
            assert!(!told.content.contains("SECRET"), "{name}: {}", told.content);
            assert!(told.content.contains("is a link or a pipe"), "{name}: {}", told.content);
        }
    }
}

// People keep hooks and lists of what to ignore elsewhere, and link them.
#[tokio::test]
async fn links_that_are_no_references_are_no_harm() {
    let kit = repository();
    let directory = kit.workspace.join(".git");
    for (name, text) in [("hooks/pre-commit", "#!/bin/sh\nexit 1\n"), ("info/exclude", "*.log\n")] {
        let (target, link) = (kit.workspace.with_file_name("kept"), directory.join(name));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::remove_file(&link).ok();
        fs::write(&target, text).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let told = told(&kit, json!({"action": "status"})).await;
        assert!(told.is_ok(), "{name}: {}", told.content);
    }
}

/// The same, obeyed: else the tests above would prove nothing.
#[test]
fn a_hostile_repository_is_hostile() {
    let push = ["-c", "push.gpgSign=false", "push", "origin", "main"];
    let all =
        [["status"].as_slice(), &["diff"], &["log", "-p"], &["add", "."], &["commit", "-m", "x"], &push];
    let mut names = Vec::new();
    for kit in [hostile(&[]), hostile(&["w"]), hostile(&["inner"])] {
        for arguments in all {
            let mut git = Command::new("git");
            git.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", kit.workspace.with_file_name("home"));
            let _whatever = git.args(arguments).current_dir(&kit.workspace).output();
        }
        names.extend(pwned(&kit));
    }
    let expected = ["include", "external", "filter", "textconv", "diff-command", "key", "receive"];
    for expected in expected.into_iter().chain(["hook-pre-push", "hook-post-index-change", "hook-pre-commit"])
    {
        assert!(
            names.iter().any(|name| name == &format!("pwned-{expected}")),
            "{expected} is not in {names:?}"
        );
    }
}

// D13
#[tokio::test]
async fn an_address_that_is_a_command_is_not_obeyed() {
    let table = [
        ("url", "ext::sh -c touch% ../pwned"),
        ("url", "git://127.0.0.1:9/x"),
        ("url", "ssh://127.0.0.1:9/x"),
        ("vcs", "pwned"),
    ];
    for (key, value) in table {
        let kit = repository();
        git(&kit.workspace, &["config", &format!("remote.origin.{key}"), value]);
        git(&kit.workspace, &["config", "protocol.ext.allow", "always"]);
        git(&kit.workspace, &["config", "core.sshCommand", "touch ../pwned-ssh;"]);
        git(&kit.workspace, &["config", "core.gitProxy", "touch"]);
        let told = told(&kit, json!({"action": "push"})).await;
        assert!(!told.is_ok());
        assert_eq!(pwned(&kit), [""; 0], "{value}: {}", told.content);
    }
}

// D13
#[tokio::test]
async fn what_is_missing_is_not_fetched() {
    let kit = repository();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "./.git"),
        ("remote.origin.uploadpack", "touch ../pwned; git-upload-pack"),
    ] {
        git(&kit.workspace, &["config", key, value]);
    }
    // The blob `one LF two LF`.
    fs::remove_file(kit.workspace.join(".git/objects/81/4f4a422927b82f5f8a43f8fab6d3839e3983f2")).unwrap();
    kit.put("a.txt", "other\n");
    let told = told(&kit, json!({"action": "diff"})).await;
    assert!(!told.is_ok(), "{}", told.content);
    assert_eq!(pwned(&kit), [""; 0]);
}
