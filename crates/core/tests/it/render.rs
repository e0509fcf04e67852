//! Tests of `tool/render.rs`, through the public names.
use haft_core::ToolErrorKind;
use haft_core::{Clip, ErrorWording, Keep, Render, ToolCall, ToolError, ToolOutput, Wording};
use serde_json::{Value, json};

// C-40, X-13, A-32, A-46, A-48, C-05, C-06, C-49, C-54, C-55, C-56, O-28, T-45, X-12, X-14, X-15, X-16
#[test]
fn one_outcome_in_several_accents() {
    let call = ToolCall::new("1", "my_tool", json!({"param1": "value"}));
    let good = || Ok(ToolOutput::text("did it").fields(json!({"done": 1})));
    let bad = || Err(ToolError::new(ToolErrorKind::User, "File not found").hint("check the path"));
    let fields = || Err(ToolError::new(ToolErrorKind::User, "x").fields(json!({"edited": false})));
    let unknown = || haft_core::Registry::default().find("my_tool").map(|_| ToolOutput::default());
    let plain = &Render::default();
    let alfred = &Render { result: Wording::Fields, error: ErrorWording::Prefixed, ..Render::default() };
    let ally = &Render { result: Wording::Success, error: ErrorWording::Call, ..Render::default() };
    let opencode = &Render { result: Wording::Titled, error: ErrorWording::Prefixed, ..Render::default() };
    let titled = Ok(ToolOutput::text("text").show("Read file\nmore"));
    let renamed = Render {
        result: Wording::Success,
        fields: [("stdout", "output"), ("stderr", "error"), ("exit_code", "return_code"), ("truncated", "")]
            .map(|(a, b)| (a.into(), b.into()))
            .into(),
        ..Render::default()
    };
    let ran = |stderr: &str, code: u8| {
        let fields = json!({"stdout": "x", "stderr": stderr, "exit_code": code, "truncated": false});
        Ok(ToolOutput::text("").fields(fields))
    };
    let with_titles = Render {
        result: Wording::Titled,
        titles: [("my_tool".to_owned(), "My tool".to_owned())].into(),
        ..Render::default()
    };
    let table = [
        (&renamed, ran("", 0), r#"{"success":true,"error":"","output":"x","return_code":0}"#),
        (&renamed, ran("w", 0), r#"{"success":true,"error":"w","output":"x","return_code":0}"#),
        (&renamed, ran("no", 127), r#"{"success":false,"error":"no","output":"x","return_code":127}"#),
        (&renamed, ran("", 1), r#"{"success":false,"error":"exit code 1","output":"x","return_code":1}"#),
        (&with_titles, good(), r#"{"title":"My tool","output":"did it"}"#),
        (plain, good(), "did it"),
        (plain, bad(), "error: File not found\nhint: check the path"),
        (alfred, good(), "{\n  \"done\": 1\n}"),
        (alfred, Ok(ToolOutput::text("no fields")), "no fields"),
        (alfred, Ok(ToolOutput::text("a:1: x").details(json!({"matches": 1}))), "a:1: x"),
        (alfred, bad(), "Error: File not found\nhint: check the path"),
        (alfred, fields(), "{\n  \"edited\": false\n}"),
        (alfred, unknown(), "Error: Tool 'my_tool' not found\nhint: available tools: "),
        (ally, good(), r#"{"success":true,"error":"","done":1}"#),
        (
            ally,
            Ok(ToolOutput::text("1 failed\nmore").details(json!({"ok": false}))),
            r#"{"success":false,"error":"1 failed","content":"1 failed\nmore","ok":false}"#,
        ),
        (ally, Ok(ToolOutput::text("no fields")), r#"{"success":true,"error":"","content":"no fields"}"#),
        (
            ally,
            Ok(ToolOutput::text("a:1: x").details(json!({"matches": 1}))),
            r#"{"success":true,"error":"","content":"a:1: x","matches":1}"#,
        ),
        (
            ally,
            fields(),
            r#"{"success":false,"error":"my_tool(param1=\"value\"): x","error_type":"user_error","edited":false}"#,
        ),
        (
            ally,
            bad(),
            r#"{"success":false,"error":"my_tool(param1=\"value\"): File not found","error_type":"user_error","suggestion":"check the path"}"#,
        ),
        (opencode, titled, r#"{"title":"Read file","output":"text"}"#),
        (opencode, bad(), r#"{"title":"my_tool","output":"Error: File not found\nhint: check the path"}"#),
    ];
    let quoting = Err(ToolError::new(
        ToolErrorKind::Validation,
        "cannot call `my_tool`: `a[0].b` is required; not `x y`, `\nsaid: `it`",
    ));
    let bare = "my_tool(param1=\"value\"): cannot call my_tool: a[0].b is required; not `x y`, `\nsaid: `it`";
    let accent = Render { error: ErrorWording::Call, ..Render::default() };
    assert_eq!(accent.result(&call, quoting).content, bare);
    for (render, result, expected) in table {
        let failed = result.is_err();
        let recorded = render.result(&call, result);
        assert_eq!((recorded.content.as_str(), recorded.error.is_some()), (expected, failed));
    }
}

// C-65, C-57, C-58, C-59, C-60, C-61
#[test]
fn an_error_says_who_can_do_something_about_it() {
    use ToolErrorKind::{Permission, Security, System, User, Validation};
    let names = ["validation_error", "user_error", "system_error", "permission_error", "security_error"];
    for (kind, name) in [Validation, User, System, Permission, Security].into_iter().zip(names) {
        assert_eq!((json!(kind), kind.to_string().as_str()), (json!(name), name));
    }
}

// A-24, O-09, O-22, T-09, T-13, T-19, C-54, C-55, O-48
#[test]
fn a_result_as_json_says_whether_it_is_one() {
    let call = ToolCall::new("1", "t", json!({}));
    let told = |result| serde_json::to_value(Render::default().result(&call, result)).unwrap();
    assert_eq!(told(Ok(ToolOutput::text("x"))), json!({"ok": true, "content": "x", "error": null}));
    assert_eq!(
        told(Err(ToolError::new(ToolErrorKind::Security, "no").hint("h"))),
        json!({"ok": false, "content": "error: no\nhint: h",
               "error": {"type": "security_error", "message": "no", "suggestion": "h"}})
    );
}

// T-12, T-15, T-16, T-17, T-20, T-21
#[test]
fn a_result_says_what_people_see_and_keeps_its_cause_for_the_log() {
    let call = ToolCall::new("1", "t", json!({}));
    let told = |result| serde_json::to_value(Render::default().result(&call, result)).unwrap();
    let table = [
        (ToolOutput::text("x"), Value::Null),
        (ToolOutput::text("x").silent(), json!("nothing")),
        (ToolOutput::text("x").show("y"), json!({"text": "y"})),
    ];
    for (output, shown) in table {
        let result = told(Ok(output));
        assert_eq!((&result["content"], &result["shown"]), (&json!("x"), &shown));
    }
    let error = ToolError::new(ToolErrorKind::System, "cannot write").caused_by("the disk is full");
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("the disk is full"));
    assert!(!told(Err(error)).to_string().contains("disk"));
}

// C-54: a note is in the JSON that a profile makes, and never in JSON that a tool read
#[test]
fn a_note_changes_no_text_of_the_tool() {
    let call = ToolCall::new("1", "read", json!({}));
    let file = "{\n    \"size\": 1.0e2,\n    \"name\": \"x\"\n}";
    let own = || ToolOutput::text(file).details(json!({"path": "package.json"}));
    let fields = || ToolOutput::text("").fields(json!({"stdout": "x", "exit_code": 0}));
    let table = [
        (Wording::Text, own(), format!("{file}\n[look out]\n[again]")),
        (Wording::Fields, own(), format!("{file}\n[look out]\n[again]")),
        (
            Wording::Fields,
            fields(),
            "{\n  \"stdout\": \"x\",\n  \"exit_code\": 0,\n  \"note\": \"[look out]\\n[again]\"\n}"
                .to_owned(),
        ),
        (
            Wording::Titled,
            ToolOutput::text("x"),
            r#"{"title":"read","output":"x\n[look out]\n[again]"}"#.to_owned(),
        ),
    ];
    for (wording, output, expected) in table {
        let render = Render { result: wording, ..Render::default() };
        let mut result = render.result(&call, Ok(output));
        for note in ["\n[look out]", "", "\n[again]"] {
            render.add_note(&mut result, note);
        }
        assert_eq!(result.content, expected, "{wording:?}");
    }
}

// C-54: what is too long is cut, and stays JSON
#[test]
fn a_result_as_json_is_cut_within_its_texts() {
    let clip = Clip { lines: 50, bytes: 4_000, keep: Keep::Both };
    let render = Render { result: Wording::Fields, ..Render::default() };
    let nulls = "\0".repeat(3_000);
    for details in [
        json!({"stdout": nulls, "exit_code": 3}),
        json!({"rows": vec!["short"; 2_000], "exit_code": 3}),
        json!({"rows": vec![1; 100], "exit_code": 3}),
    ] {
        let mut result =
            render.result(&ToolCall::new("1", "x", json!({})), Ok(ToolOutput::text("").fields(details)));
        result.content = render.clipped(&result, &clip);
        let read: Value =
            serde_json::from_str(&result.content).unwrap_or_else(|_| panic!("{}", result.content));
        assert_eq!(read["exit_code"], 3);
        assert!(result.content.len() <= clip.bytes, "{}", result.content.len());
    }
}
