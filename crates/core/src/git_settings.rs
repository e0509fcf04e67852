//! [`overrides`]: replaces settings of a repository that would start programs.
//!
//! A repository may come from an untrusted source. Its configuration is read (`user.name`, remotes, line ends), but
//! settings that start programs are replaced by the user's own configuration (`~/.gitconfig`, `/etc/gitconfig`), or by
//! nothing.

/// A setting in the output of `git config --list --show-scope -z`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Whether it is from the user's or the system's configuration.
    own: bool,
    /// Section and variable in lower case, as git prints them.
    key: String,
    value: String,
}

/// Reads that output: `SCOPE NUL KEY LF VALUE NUL …`.
pub fn settings(list: &str) -> Vec<Setting> {
    let words: Vec<&str> = list.split('\0').collect();
    let pairs = words.chunks_exact(2).filter(|pair| pair[0] != "command");
    pairs
        .map(|pair| {
            let (key, value) = pair[1].split_once('\n').unwrap_or((pair[1], "true"));
            let own = matches!(pair[0], "system" | "global");
            Setting { own, key: key.to_owned(), value: value.to_owned() }
        })
        .collect()
}

/// The overrides for a repository with these settings, in this order.
pub fn overrides(settings: &[Setting]) -> Vec<(String, String)> {
    let fixed = FIXED_SETTINGS.iter().chain(&[("core.askpass", "")]);
    let mut all: Vec<_> = fixed.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let named = settings.iter().filter(|setting| !setting.own);
    for Setting { key, .. } in named {
        if let Some(neutral) = neutral(key) {
            all.push((key.clone(), own_value(settings, key).unwrap_or(neutral).to_owned()));
        }
    }
    let ssh = own_value(settings, "core.sshcommand").unwrap_or("ssh");
    all.push(("core.sshcommand".into(), ssh.to_owned()));
    // An empty helper removes all helpers before it, for all URLs.
    all.push(("credential.helper".into(), String::new()));
    let helpers = settings.iter().filter(|setting| setting.own && is_helper(&setting.key));
    all.extend(helpers.map(|setting| (setting.key.clone(), setting.value.clone())));
    all
}

/// Filters that the repository itself defines. Their output is unknown without running them.
pub fn filters(settings: &[Setting]) -> Vec<&str> {
    let runs = |setting: &&Setting| {
        !setting.own && is_filter(&setting.key) && own_value(settings, &setting.key).is_none()
    };
    let mut names: Vec<&str> = settings.iter().filter(runs).map(|setting| split(&setting.key).1).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Files that `git blame` reads independent of other settings: git sorts their names, so an empty value does not reset
/// the list (2.39 to 2.51).
pub fn revision_files(settings: &[Setting]) -> impl Iterator<Item = &str> {
    let named = settings.iter().filter(|setting| setting.key == "blame.ignorerevsfile");
    // The user's own files, unless the path is relative and so names a file of the repository.
    let is_elsewhere = |setting: &&Setting| setting.own && setting.value.starts_with(['/', '~']);
    let named = named.filter(move |setting| !is_elsewhere(setting));
    named.map(|setting| setting.value.as_str()).filter(|file| !file.is_empty())
}

/// Settings for every Git command that Haft runs, independent of the repository.
pub const FIXED_SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hookspath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("sequence.editor", "true"),
    ("core.alternaterefscommand", ""),
    ("diff.external", ""),
    ("diff.submodule", "short"),
    ("diff.ignoresubmodules", "dirty"),
    ("submodule.recurse", "false"),
    ("push.recursesubmodules", "no"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("push.gpgsign", "false"),
    ("log.showsignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gc.auto", "0"),
    ("gc.recentobjectshook", ""),
    ("maintenance.auto", "false"),
    ("receive.autogc", "false"),
    ("color.ui", "false"),
    ("column.ui", "never"),
];

/// The replacement for a setting of the repository that starts a program or sends secrets elsewhere.
fn neutral(key: &str) -> Option<&'static str> {
    let (section, _, variable) = split(key);
    match (section, variable) {
        ("filter", "clean" | "smudge" | "process") => Some(""),
        ("filter", "required") => Some("false"),
        ("diff", "command" | "textconv") => Some(""),
        ("merge", "driver") => Some("false"),
        ("trailer", "command" | "cmd") => Some("true"),
        ("gpg", "defaultkeycommand") => Some("false"),
        ("hook", "enabled") => Some("false"),
        ("hook", "command") => Some("true"),
        ("submodule", "update") => Some("none"),
        ("pager", _) => Some("false"),
        ("http", "sslverify") => Some("true"),
        ("http" | "remote", "proxy") => Some(""),
        _ => None,
    }
}

fn is_filter(key: &str) -> bool {
    let (section, _, variable) = split(key);
    section == "filter" && matches!(variable, "clean" | "smudge" | "process")
}

fn is_helper(key: &str) -> bool {
    let (section, _, variable) = split(key);
    section == "credential" && variable == "helper"
}

fn own_value<'a>(settings: &'a [Setting], key: &str) -> Option<&'a str> {
    settings.iter().rfind(|setting| setting.own && setting.key == key).map(|setting| setting.value.as_str())
}

/// `filter.a.b.clean` is `filter`, `a.b`, `clean`.
fn split(key: &str) -> (&str, &str, &str) {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let (name, variable) = rest.rsplit_once('.').unwrap_or(("", rest));
    (section, name, variable)
}

/// The settings as options of `git`, each after a `-c`.
pub fn options(settings: &[(&str, &str)]) -> impl Iterator<Item = String> {
    settings.iter().flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")])
}

/// The settings as environment variables of `git`. Unlike in an option, a name may contain a `=`.
pub fn variables(settings: Vec<(String, String)>) -> impl Iterator<Item = (String, String)> {
    let count = ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    let named = settings.into_iter().enumerate().flat_map(|(index, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{index}"), key), (format!("GIT_CONFIG_VALUE_{index}"), value)]
    });
    std::iter::once(count).chain(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    // D13
    #[test]
    fn the_persons_own_settings_stand_over_those_of_the_repository() {
        let list = "global\0filter.lfs.clean\ngit-lfs clean\0global\0credential.helper\nstore\0\
                    global\0core.sshcommand\nmyssh\0local\0filter.lfs.clean\nevil\0\
                    local\0filter.a.b.smudge\nevil\0local\0filter.a.b.required\0\
                    local\0credential.helper\nevil\0local\0core.sshcommand\nevil\0\
                    local\0user.name\nAda\0command\0filter.x.clean\nours\0";
        let settings = settings(list);
        let set = overrides(&settings);
        let last = |key: &str| set.iter().rfind(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let table = [
            ("filter.lfs.clean", Some("git-lfs clean")),
            ("filter.a.b.smudge", Some("")),
            ("filter.a.b.required", Some("false")),
            ("credential.helper", Some("store")),
            ("core.sshcommand", Some("myssh")),
            ("core.fsmonitor", Some("false")),
            ("user.name", None),
            ("filter.x.clean", None),
        ];
        for (key, expected) in table {
            assert_eq!(last(key), expected, "{key}");
        }
        assert!(set.iter().all(|(_, value)| value != "evil"));
        assert_eq!(filters(&settings), ["a.b"]);
    }
}
