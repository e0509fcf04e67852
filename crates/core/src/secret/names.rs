//! [`is_secret`]: recognizes secrets by the names of their variables.

/// Variables that give access to secrets without being secrets: with the value a program can use the keys of an agent.
const HANDLE_NAMES: [&str; 15] = [
    "BW_SESSION",
    "GIT_ASKPASS",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GNOME_KEYRING_CONTROL",
    "GPG_AGENT_INFO",
    "KRB5CCNAME",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "SUDO_ASKPASS",
    "VSCODE_GIT_IPC_HANDLE",
];

/// Prefixes of the names of such variables. `git` reads either all of its numbered settings or none; the last prefix is
/// 1Password's.
const HANDLE_PREFIXES: [&str; 3] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "OP_SESSION_"];

/// Parts that make any name containing them the name of a secret: `MYWEBHOOKURL`, `CLIENTSECRETS`.
const SECRET_PARTS: [&str; 4] = ["CREDENTIAL", "PASSPHRASE", "SECRET", "WEBHOOK"];

/// Words that make any name containing them the name of a secret.
const SECRET_WORDS: [&str; 7] = ["APIKEYS", "BEARER", "COOKIE", "COOKIES", "CREDS", "DSN", "JWT"];

/// Ends of such words: `PGPASSWORD`, `NPMTOKEN`.
const SECRET_SUFFIXES: [&str; 12] = [
    "ACCESSKEY",
    "APIKEY",
    "AUTHKEY",
    "ENCRYPTIONKEY",
    "MASTERKEY",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "PRIVATEKEY",
    "SIGNINGKEY",
    "SSHPASS",
    "TOKEN",
];

/// Words that usually mean a secret; the suffixes below are exceptions.
const USUALLY_SECRET_WORDS: [&str; 7] = ["AUTH", "KEY", "KEYS", "PASS", "PAT", "PWD", "TOKENS"];

/// `SSH_KEY_PATH` is not a key.
const NOT_SECRET_SUFFIXES: [&str; 12] =
    ["COUNT", "DIR", "FILE", "FORMAT", "ID", "LENGTH", "METHOD", "MODE", "NAME", "PATH", "SIZE", "TYPE"];

/// Whether the variable's whole name, or a word in it, is that of a secret.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HANDLE_NAMES.contains(&name.as_str())
        || HANDLE_PREFIXES.iter().any(|start| name.starts_with(start))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
    {
        return true;
    }
    let words: Vec<&str> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_only_word = words.iter().filter(|word| !word.is_empty()).count() == 1;
    words.iter().enumerate().any(|(place, word)| {
        SECRET_WORDS.contains(word)
            || SECRET_SUFFIXES.iter().any(|end| word.ends_with(end))
            || (USUALLY_SECRET_WORDS.contains(word)
                && !words.get(place + 1).is_some_and(|next| NOT_SECRET_SUFFIXES.contains(next))
                && !is_harmless(word, is_only_word, value))
    })
}

/// A shell has `PWD`, a model `MAX_TOKENS`, a program `USE_AUTH`.
fn is_harmless(word: &str, is_only_word: bool, value: &str) -> bool {
    match word {
        "PWD" => is_only_word || value.starts_with('/'),
        "TOKENS" => value.bytes().all(|byte| byte.is_ascii_digit()),
        "AUTH" | "PASS" => ["0", "1", "false", "no", "off", "on", "true", "yes"].contains(&value),
        _ => false,
    }
}
