//! [`is_secret`]: recognizes secrets by their form, independent of the name of their variable.

/// Prefixes of the keys of well-known services, and the minimum length of the keys in bytes. From their documentation
/// and the list of GitHub's secret scanning, 2026-11.
const KEY_PREFIXES: [(&str, usize); 42] = [
    ("AGE-SECRET-KEY-", 30), // age
    ("AIza", 35),            // Google
    ("EAAA", 60),            // Meta, Square
    ("SG.", 40),             // SendGrid
    ("dckr_pat_", 20),       // Docker
    ("dop_v1_", 40),         // DigitalOcean
    ("glsa_", 30),           // Grafana
    ("gho_", 20),            // GitHub, as are the next ones
    ("ghp_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("gldt-", 20), // GitLab
    ("glpat-", 20),
    ("gsk_", 20),     // Groq
    ("hf_", 20),      // Hugging Face
    ("hvs.", 20),     // Vault
    ("lin_api_", 40), // Linear
    ("npm_", 20),     // npm
    ("ntn_", 40),     // Notion, as is the next one
    ("secret_", 50),
    ("nvapi-", 40),   // NVIDIA
    ("pplx-", 20),    // Perplexity
    ("pypi-", 20),    // PyPI
    ("r8_", 20),      // Replicate
    ("rk_live_", 16), // Stripe, as are the next ones
    ("rk_test_", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("whsec_", 16),
    ("shpat_", 20), // Shopify
    ("sk-", 20),    // OpenAI, Anthropic, DeepSeek, OpenRouter …
    ("xai-", 20),   // xAI
    ("xapp-", 20),  // Slack, as are the next ones
    ("xoxa-", 15),
    ("xoxb-", 15),
    ("xoxe-", 15),
    ("xoxp-", 15),
    ("xoxr-", 15),
    ("xoxs-", 15),
    ("ya29.", 20), // Google
];

/// Minimum bytes of a key.
const MIN_KEY_BYTES: usize = 15;

/// Addresses that grant access by themselves.
const SECRET_URLS: [&str; 3] =
    ["hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"];

/// `password=…`, as in connection strings and in queries.
const ASSIGNMENT_NAMES: [&str; 11] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "access_token",
    "api_key",
    "apikey",
    "accountkey",
    "sharedaccesskey",
];

/// Whether some part of `value` looks like a secret.
pub(super) fn is_secret(value: &str) -> bool {
    let is_private_key = || value.contains("-----BEGIN") && value.contains("PRIVATE KEY");
    let is_address = || SECRET_URLS.iter().any(|address| value.contains(address));
    is_private_key()
        || is_address()
        || has_password(value)
        || value.split(|letter: char| !is_of_word(letter)).any(is_key)
        || value.split([' ', '/', ',', ';', '"', '\'']).any(is_bot_token)
        || assigns(&value.to_ascii_lowercase())
}

/// The position of the user name and the password in an address, including the `@`.
pub(super) fn credentials(url: &str) -> Option<(usize, usize)> {
    let start = url.find("://").map_or(0, |sign| sign + "://".len());
    let rest = &url[start..];
    let authority = rest.find(['/', '?', '#', ' ', '"', '\'']).unwrap_or(rest.len());
    let sign = rest[..authority].rfind('@')?;
    Some((start, start + sign + 1))
}

/// `scheme://user:password@host`; for web addresses also `https://token@host`.
fn has_password(value: &str) -> bool {
    value.match_indices("://").any(|(sign, _)| {
        let rest = &value[sign + "://".len()..];
        let scheme = value[..sign].to_ascii_lowercase();
        let is_page = scheme.ends_with("http") || scheme.ends_with("https");
        (is_page && credentials(rest).is_some()) || is_behind_colon(rest)
    })
}

/// Whether the text begins with `user:password@`. The password may contain any character, because passwords are often
/// written without escaping.
fn is_behind_colon(rest: &str) -> bool {
    let word = rest.split([' ', '"', '\'', '\n']).next().unwrap_or_default();
    let Some((before, _)) = word.rsplit_once('@') else { return false };
    let Some((user, password)) = before.split_once(':') else { return false };
    let port = password.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_port = port.len() < password.len() && port.starts_with(['/', '?', '#']);
    !password.is_empty() && !is_port && !user.contains(['/', '?', '#'])
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-.".contains(letter)
}

fn is_key(word: &str) -> bool {
    let is_long = |(begin, least): &(&str, usize)| word.starts_with(begin) && word.len() >= *least;
    word.len() >= MIN_KEY_BYTES && (KEY_PREFIXES.iter().any(is_long) || is_amazon(word) || is_web_token(word))
}

/// The id of an access key.
fn is_amazon(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    word.len() == 20 && (word.starts_with("AKIA") || word.starts_with("ASIA")) && word.bytes().all(is_plain)
}

/// A JSON Web Token (RFC 7519): three parts in base64, the first two of them JSON objects.
fn is_web_token(word: &str) -> bool {
    let mut parts = word.split('.');
    let mut is_object = || parts.next().is_some_and(|part| part.starts_with("eyJ"));
    let are_objects = is_object() && is_object();
    are_objects && parts.next().is_some_and(|proof| proof.len() >= 20) && parts.next().is_none()
}

/// Telegram: `123456789:AAF…`, 35 letters behind the colon.
fn is_bot_token(word: &str) -> bool {
    word.split_once(':').is_some_and(|(id, proof)| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        (8..=12).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && proof.len() == 35
            && proof.bytes().all(is_letter)
    })
}

/// Whether the text holds a name such as `password`, as a word of its own, with a value after its `=`.
fn assigns(lower: &str) -> bool {
    lower.match_indices('=').any(|(sign, _)| {
        let behind = &lower[sign + 1..];
        let value = behind.find([';', '&', ' ', '"', '\'']).map_or(behind, |end| &behind[..end]);
        let ends = |name: &&str| {
            let before = lower[..sign].strip_suffix(*name).map(|before| before.chars().next_back());
            before.is_some_and(|letter| letter.is_none_or(|letter| !letter.is_alphanumeric()))
        };
        value.len() >= 4 && ASSIGNMENT_NAMES.iter().any(ends)
    })
}
