//! Tests of `secret.rs`, through the public names.
use haft_core::secret::*;

#[test]
fn a_registered_secret_is_hidden_by_all() {
    let none = Secrets::default();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ==\nQ==\n-----END PRIVATE KEY-----\n";
    let json = key.replace('\n', "\\n");
    for value in ["ya29.registered\n", "quoted-\"-registered", "short", key] {
        register(value);
    }
    let table = [
        ("a ya29.registered b", "a [key] b"),
        ("quoted-\"-registered", "[key]"),
        ("quoted-\\\"-registered", "[key]"),
        ("short", "short"),
        (key, "-----BEGIN PRIVATE KEY-----\n[key]\n[key]\nQ==\n-----END PRIVATE KEY-----\n"),
        (&json, "-----BEGIN PRIVATE KEY-----\\n[key]\\n[key]\\nQ==\\n-----END PRIVATE KEY-----\\n"),
    ];
    for (text, expected) in table {
        assert_eq!(none.hide(text), expected);
        assert_eq!(none.are_in(text), text != expected);
    }
    assert!(none.values().contains(&"ya29.registered".to_owned()) && !none.is_empty());
}

#[test]
fn secrets_are_known_by_their_names_or_by_their_values() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    let slack = "https://hooks.slack.com/services/T0/B0/x";
    let secret = [
        ("OPENAI_API_KEY", "x"),
        ("OPENAI_API_KEYS", "a,b"),
        ("API_KEY_PROD", "x"),
        ("aws_secret_access_key", "x"),
        ("AWS_SESSION_TOKEN", "x"),
        ("PGPASSWORD", "x"),
        ("MYSQL_PWD", "hunter2"),
        ("AZURE_DEVOPS_EXT_PAT", "x"),
        ("GPG_PASSPHRASE", "x"),
        ("PASSPHRASE", "x"),
        ("DB_PASS", "x"),
        ("SECRET_KEY_BASE", "x"),
        ("TOKEN_1", "x"),
        ("NPMTOKEN", "x"),
        ("NPM_CONFIG__AUTH", "x"),
        ("SLACK_WEBHOOK", "x"),
        ("MYWEBHOOKURL", "x"),
        ("MYCREDENTIALSFILE", "x"),
        ("SECRETVALUE", "x"),
        ("SSHPASS", "x"),
        ("ENCRYPTIONKEY", "x"),
        ("BW_SESSION", "x"),
        ("OP_SESSION_me", "x"),
        // Of these, git needs all or none.
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "user.name"),
        ("GIT_CONFIG_VALUE_0", "Me"),
        ("GIT_CONFIG_PARAMETERS", "'user.name=Me'"),
        ("SENTRY_DSN", "x"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("GIT_ASKPASS", "/usr/bin/x"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("DATABASE_URL", "postgres://me:secret@db/x"),
        ("DATABASE_URL", "postgres://me:se/cr#et@db/x"),
        ("REDIS", "redis://:secret@db:6379"),
        ("X", "https://token@github.com/a/b"),
        ("X", "Server=db;User=me;Password=hunter2;"),
        ("X", "host=db password=hunter2"),
        ("X", "Bearer sk-proj-0123456789abcdef0123"),
        ("X", "sk_live_0123456789abcdef"),
        ("X", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ("X", "github_pat_0123456789abcdefghij"),
        ("X", "glpat-0123456789abcdefghij"),
        ("X", "xoxb-0123456789-abcdefghij"),
        ("X", "lin_api_0123456789abcdefghijABCDEFGHIJ0123456789"),
        ("X", "secret_0123456789abcdefghijABCDEFGHIJ0123456789abc"),
        ("X", "AKIAIOSFODNN7EXAMPLE"),
        ("X", "AIzaSyA0123456789abcdefghijklmnopqrstuv"),
        ("X", "123456789:AAF0123456789abcdefghijklmnopqrstuv"),
        ("X", jwt),
        ("X", "-----BEGIN OPENSSH PRIVATE KEY-----\nx"),
        ("X", slack),
    ];
    let public = [
        ("PATH", "/usr/bin:/bin"),
        ("PWD", "/home/me"),
        ("OLDPWD", "/home/me"),
        ("INIT_PWD", "/home/me"),
        ("HOME", "/home/me"),
        ("LANG", "en_US.UTF-8"),
        ("XAUTHORITY", "/run/x"),
        ("SSH_KEY_PATH", "/home/me/key"),
        ("AUTH_TYPE", "basic"),
        ("KEYBOARD", "de"),
        ("GIT_AUTHOR_NAME", "Me"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("COMPASS", "north"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"),
        ("PASSENGER_COUNT", "3"),
        ("COMPATIBILITY", "yes"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("ORIGIN", "ssh://git@github.com/a/b"),
        ("ORIGIN", "git@github.com:a/b"),
        ("MAVEN_OPTS", "-Djavax.net.ssl.trustStorePassword=changeit"),
        ("NPM_CONFIG_REGISTRY", "https://packages.example/"),
        ("X", "https://npm.example:8080/@scope/a"),
        ("X", "https://npm.example/@scope/a"),
        ("RUSTFLAGS", "-C target-cpu=native"),
        ("X", "task-1-of-3"),
        ("X", "sk-learn"),
        ("X", "a.b.c"),
    ];
    for (name, value) in secret {
        assert!(is_secret(name, value), "{name}={value}");
    }
    for (name, value) in public {
        assert!(!is_secret(name, value), "{name}={value}");
    }
}

#[test]
fn addresses_lose_their_credentials() {
    let table = [
        ("http://me:secret@proxy:3128", Some("http://proxy:3128")),
        ("http://me@proxy:3128/", Some("http://proxy:3128/")),
        ("socks5h://me:se@cret@proxy", Some("socks5h://proxy")),
        ("http://proxy:3128/a@b", None),
        ("proxy:3128", None),
        ("me:secret@proxy:3128", Some("proxy:3128")),
    ];
    for (url, expected) in table {
        assert_eq!(without_credentials(url).as_deref(), expected, "{url}");
    }
}

#[test]
fn secrets_are_hidden_and_words_are_not() {
    let known = ["sk-0123456789", "sk-0123456789abc", " padded-key \n", "short"].map(str::to_owned);
    let guessed = ["development", "/home/me/0123456789", "hunter2hunter2hunter2"].map(str::to_owned);
    let secrets = Secrets::new(known, guessed);
    let table = [
        ("key sk-0123456789abc, sk-0123456789!", "key [key], [key]!"),
        ("padded-key", "[key]"),
        ("short development /home/me/0123456789", "short development /home/me/0123456789"),
        ("hunter2hunter2hunter2", "[key]"),
    ];
    for (text, expected) in table {
        assert_eq!(secrets.hide(text), expected);
        assert_eq!(secrets.are_in(text), text != expected);
    }
    assert_eq!(format!("{secrets:?}"), "Secrets(4)");
    assert_eq!(Secrets::default().hide("x"), "x");
}

#[test]
fn each_line_of_a_secret_is_hidden() {
    let key = "-----BEGIN KEY-----\nline-1-abcdefgh\n  MIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n";
    let account = "{\n  \"type\": \"service_account\",\n  \"private_key\": \"MIIEvAIB 0123\"\n}";
    let cluster = "clusters:\ncontexts:\nemail-addresses-of-people:\n  token: 4f1b9c7d2e5a6b8c\n";
    let secrets = Secrets::new([key, account, cluster].map(str::to_owned), []);
    let table = [
        (
            "clusters:\n- a\ncontexts:\nemail-addresses-of-people:\n",
            "clusters:\n- a\ncontexts:\nemail-addresses-of-people:\n",
        ),
        ("  token: 4f1b9c7d2e5a6b8c\n", "  [key]\n"),
        (key, "[key]\n"),
        ("2: line-1-abcdefgh\n", "2: [key]\n"),
        ("> MIIEvQIBADANBgkqhkiG9w0B", "> [key]"),
        ("+  \"private_key\": \"MIIEvAIB 0123\"", "+  [key]"),
        // Words that other texts have as well.
        ("-----BEGIN KEY-----", "-----BEGIN KEY-----"),
        ("  \"type\": \"service_account\",", "  \"type\": \"service_account\","),
    ];
    for (text, expected) in table {
        assert_eq!(secrets.hide(text), expected);
    }
}
