//! What is read in Llama 3 and models made from it.
use crate::kit::{check, check_with};
use haft_dialects::Setting;

#[test]
fn bare_json_is_a_call_only_with_a_name_and_arguments() {
    let llama = [
        (
            "{\"name\":\"look\",\"parameters\":{\"a\":[1]}}; {\"name\":\"b\",\"parameters\":{}}",
            "«look {\"a\":[1]}»«b {}»",
        ),
        ("so <|python_tag|>{\"name\":\"look\",\"parameters\":{}}<|eom_id|>", "so «look {}»"),
        ("fn f() { [1, 2]; }", "fn f() { [1, 2]; }"),
        ("{\"a\": {\"name\":\"look\",\"parameters\":{}}}", "{\"a\": {\"name\":\"look\",\"parameters\":{}}}"),
        ("{\"name\": \"look\", \"parameters\": {{\"name\":\"look\",\"parameters\":{}}", "!«look {}»"),
        ("{\"name\": \"look\", \"parameters", "{\"name\": \"look\", \"parameters"),
    ];
    check("llama3_json", &llama);
    let list = "[{\"name\":\"look\",\"arguments\":{}}]";
    let fenced = format!("a\n```json\n{list}\n```\n```json\n[1]\n```");
    check("xlam", &[(list, "«look {}»"), (&fenced, "a\n«look {}»```json\n[1]\n```")]);
    let functools = format!(" functools{list} more");
    for name in ["phi4_mini", "firefunction_v2"] {
        let cut = ("functools[{", "functools[{!");
        check(name, &[(&functools, " «look {}» more"), ("functools[x] is", "functools[!x] is"), cut]);
    }
}

#[test]
fn functionary_writes_elements_or_lines() {
    let elements = [
        ("a<function=look>{\"path\":\"</function>\"}</function>b", "a«look {\"path\":\"</function>\"}»b"),
        ("<function=look>x</function>", "<function=look>x</function>!"),
        ("<function=look>{\"a", "«look {\"a»"),
    ];
    check("functionary_v31", &elements);
    let setting = Setting { prompt_end: "assistant\n\n>>>".into(), ..Setting::default() };
    let lines = [
        ("all\nhi > you>>>look\n{\"path\":\">>>\"}", "hi > you«look {\"path\":\">>>\"}»"),
        ("python\nprint(1)", "«python {\"code\":\"print(1)\"}»"),
        ("look\nx", ">>>look\nx!"),
        ("look\n{\"path\":\"a\"} so", "«look {\"path\":\"a\"}» so"),
    ];
    check_with("functionary_v32", &setting, &lines);
}
