//! [`Profile`]: the settings of one profile in AWS's shared files.
use super::{Variables, signature::Keys};
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Settings that only `aws` supports: single sign-on, a role, a login in the browser.
const OTHER_MEANS: [&str; 5] =
    ["sso_session", "sso_start_url", "role_arn", "credential_source", "login_session"];

/// One profile, with the settings of both files.
pub(super) struct Profile {
    pub name: String,
    /// Whether a variable names the profile.
    pub is_named: bool,
    settings: BTreeMap<String, String>,
    files: [PathBuf; 2],
}

/// How to sign in with a profile.
pub(super) enum Means {
    Keys(Keys),
    Command(Vec<String>),
    /// A role that is assumed with the token in a file.
    WebIdentity {
        role: String,
        file: PathBuf,
        session: Option<String>,
    },
    Other,
}

impl Profile {
    /// Reads the profile that a variable names, otherwise `default`. The credentials file takes precedence over the
    /// config file.
    pub(super) fn read(variables: &Variables) -> Self {
        let named = variables.get("AWS_PROFILE").or_else(|| variables.get("AWS_DEFAULT_PROFILE"));
        let name = named.unwrap_or("default").to_owned();
        let files = [
            variables.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
            variables.file("AWS_CONFIG_FILE", ".aws/config"),
        ];
        let [credentials, config] = files.each_ref().map(|file| fs::read_to_string(file).unwrap_or_default());
        let mut settings = section(
            &config,
            &[&format!("profile {name}"), if named.is_none() || name == "default" { "default" } else { "" }],
        );
        settings.extend(section(&credentials, &[&name]));
        Self { name, is_named: named.is_some(), settings, files }
    }

    pub(super) fn get(&self, setting: &str) -> Option<&str> {
        self.settings.get(setting).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// How to sign in with this profile, if possible.
    pub(super) fn means(&self) -> Option<Means> {
        let owned = |name: &str| self.get(name).map(str::to_owned);
        if let (Some(role), Some(file)) = (owned("role_arn"), owned("web_identity_token_file")) {
            let session = owned("role_session_name");
            return Some(Means::WebIdentity { role, file: file.into(), session });
        }
        if OTHER_MEANS.iter().any(|name| self.get(name).is_some()) {
            return Some(Means::Other);
        }
        if let (Some(id), Some(secret)) = (owned("aws_access_key_id"), owned("aws_secret_access_key")) {
            return Some(Means::Keys(Keys { id, secret, session: owned("aws_session_token") }));
        }
        let line = shlex::split(self.get("credential_process")?)?;
        (!line.is_empty()).then_some(Means::Command(line))
    }

    /// The message if a variable names the profile, and neither file has it.
    pub(super) fn unknown(&self) -> Option<String> {
        let [credentials, config] = self.files.each_ref().map(|file| file.display());
        let unknown = || format!("neither `{credentials}` nor `{config}` has the profile `{}`", self.name);
        (self.is_named && self.settings.is_empty()).then(unknown)
    }

    /// The message if the profile has no way to sign in; it names the files.
    pub(super) fn absent(&self) -> String {
        let [credentials, config] = &self.files;
        format!(
            "neither `{}` nor `{}` says how the profile `{}` signs in",
            credentials.display(),
            config.display(),
            self.name
        )
    }
}

/// The settings of the sections with these names. A line that is indented further than the setting above it belongs to
/// that setting, and is ignored; a setting itself may be indented.
fn section(text: &str, names: &[&str]) -> BTreeMap<String, String> {
    let (mut settings, mut is_inside, mut indent_above) = (BTreeMap::new(), false, None);
    for line in text.lines() {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) || indent_above.is_some_and(|above| indent > above)
        {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            (is_inside, indent_above) = (names.contains(&name.as_str()), None);
        } else if let Some((name, value)) = line.split_once('=') {
            indent_above = Some(indent);
            // A comment inside a line begins after white space.
            let value = value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
            if is_inside {
                settings.insert(name.trim().to_lowercase(), value.trim().to_owned());
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_as_the_tools_of_aws_do() {
        let text = "# mine\n[default]\nregion = us-east-1 # near\ns3 =\n  region = no\n\n[ profile  dev ]\nRegion=eu-west-1\n\
                    credential_process = \"/opt/a b\" --x=1\n[sso-session dev]\nregion = no\n\
                    [indented]\n  region = eu-north-1\n\n  s3 =\n    region = no\n  # mine\n  output = json\n";
        type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);
        let table: [Row<'_>; 4] = [
            (&["default"], &[("region", "us-east-1"), ("s3", "")]),
            (&["profile dev"], &[("credential_process", "\"/opt/a b\" --x=1"), ("region", "eu-west-1")]),
            (&["dev"], &[]),
            (&["indented"], &[("output", "json"), ("region", "eu-north-1"), ("s3", "")]),
        ];
        for (names, expected) in table {
            let found = section(text, names);
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(found, expected, "{names:?}");
        }
    }
}
