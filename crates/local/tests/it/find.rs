//! [`find`]: a model by its name or its file.
use haft_local::models::{DEFAULT, FindError, find};
use std::fs;

#[test]
fn models_are_found_by_name_and_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let default = folder.path().join("SmolLM2-135M-Instruct.Q4_1.gguf");
    let own = folder.path().join("own.gguf");
    let missing = find("local/smollm2-135m", folder.path());
    assert_eq!(missing, Err(FindError::NotPulled { name: DEFAULT.into(), path: default.clone() }));
    let alike = folder.path().join("smollm2-135m-instruct-q4_1.gguf");
    fs::write(&alike, "").unwrap();
    assert_eq!(find(DEFAULT, folder.path()), Ok(alike));
    fs::write(&default, "").unwrap();
    fs::write(&own, "").unwrap();
    let absolute = own.display().to_string();
    let table = [
        ("local/smollm2-135m", &default),
        ("local/own.gguf", &own),
        ("own", &own),
        (absolute.as_str(), &own),
    ];
    for (name, path) in table {
        assert_eq!(find(name, folder.path()).as_ref(), Ok(path), "{name}");
    }
    let unknown = find("local/gpt-9", folder.path()).unwrap_err().to_string();
    assert!(
        unknown.starts_with("there is no model `gpt-9`: neither a file nor one of `gemma3-270m`, "),
        "{unknown}"
    );
}
