//! `search` and `navigate` in a folder of source files.
use crate::kit::Kit;
use haft_core::{Shown, ToolErrorKind};
use serde_json::json;

const RUST: &str = "\
use std::fs;
mod other;

/// A point.
pub struct Point {
    x: f64,
}

impl Point {
    pub fn new(x: f64) -> Self {
        Self { x }
    }
}

mod tests {
    use super::*;
    fn point() {}
}
";

// P-10
#[tokio::test]
async fn an_outline_shows_what_a_file_defines_in_every_language() {
    let table = [
        (
            "a.rs",
            RUST,
            "5-7: pub struct Point\n9-13: impl Point\n  10-12: pub fn new(x: f64) -> Self\n\
             15-18: mod tests\n  17: fn point() {}",
            "1: use std::fs;\n2: mod other;\n16: use super::*;",
        ),
        (
            "a.py",
            "import os\nfrom a import (\n    b,\n)\n\n@cached\nclass Point:\n    def x(self):\n        return 1\n\nasync def main(): pass\n",
            "7-9: class Point:\n  8-9: def x(self):\n11: async def main(): pass",
            "1: import os\n2: from a import ( b, )",
        ),
        (
            "a.js",
            "import x from 'x';\nconst fs = require('fs');\nexport class Point {\n  x() { return 1 }\n  y = () => 2;\n}\nconst run = async () => {\n};\nmodule.exports.go = function () {};\n",
            "3-6: export class Point\n  4: x() { return 1 }\n  5: y = () => 2;\n7-8: const run = async () =>\n9: module.exports.go = function () {};",
            "1: import x from 'x';\n2: fs = require('fs')",
        ),
        (
            "a.ts",
            "import type { A } from './a';\nexport interface Point { x(): number }\nexport enum Color { Red }\ntype Id = string;\nabstract class Shape {\n  abstract area(): number;\n  draw(): void {}\n}\nfunction go(): void {}\n",
            "2: export interface Point { x(): number }\n  2: export interface Point { x(): number }\n3: export enum Color { Red }\n4: type Id = string;\n5-8: abstract class Shape\n  6: abstract area(): number;\n  7: draw(): void {}\n9: function go(): void {}",
            "1: import type { A } from './a';",
        ),
        (
            "a.tsx",
            "function App() {\n  return <b>hi</b>;\n}\n",
            "1-3: function App()",
            "There are no imports in `a.tsx`.",
        ),
        (
            "a.go",
            "package a\nimport (\n\t\"fmt\"\n\tx \"os\"\n)\ntype Point struct{ x int }\nconst Most = 3\nfunc (p Point) X() int {\n\treturn p.x\n}\nfunc main() { fmt.Println() }",
            "6: type Point struct{ x int }\n7: const Most = 3\n8-10: func (p Point) X() int\n11: func main() { fmt.Println() }",
            "3: \"fmt\"\n4: x \"os\"",
        ),
        (
            "A.java",
            "import java.util.List;\npublic class A {\n  A() {}\n  @Override\n  public String toString() {\n    return \"\";\n  }\n  enum Kind { X }\n}\n",
            "2-9: public class A\n  3: A() {}\n  4-7: public String toString()\n  8: enum Kind { X }",
            "1: import java.util.List;",
        ),
        (
            "a.c",
            "#include <stdio.h>\nint add(int a, int b);\nstruct point { int x; };\ntypedef struct point Point;\nchar *name(void)\n{\n  return 0;\n}\n",
            "2: int add(int a, int b);\n3: struct point { int x; };\n4: typedef struct point Point;\n5-8: char *name(void)",
            "1: #include <stdio.h>",
        ),
        (
            "a.cpp",
            "#include \"a.h\"\nnamespace n {\nclass Shape {\n public:\n  int area() const;\n};\nint Shape::area() const {\n  return 1;\n}\n}\n",
            "2-10: namespace n\n  3-6: class Shape\n    5: int area() const;\n  7-9: int Shape::area() const",
            "1: #include \"a.h\"",
        ),
        (
            "a.rb",
            "require 'set'\nmodule M\n  class Point\n    def x = 1\n    def self.make\n    end\n  end\nend\n",
            "2-8: module M\n  3-7: class Point\n    4: def x = 1\n    5-6: def self.make",
            "1: require 'set'",
        ),
    ];
    for (path, content, outline, imports) in table {
        let kit = Kit::new();
        kit.put(path, content);
        for (action, expected) in [("outline", outline), ("imports", imports)] {
            let told = kit.told("navigate", json!({"action": action, "path": path})).await.content;
            assert_eq!(told, expected, "{action} of {path}");
        }
    }
}

// P-10
#[tokio::test]
async fn without_an_action_a_folder_is_listed_and_a_file_outlined() {
    let kit = Kit::new();
    kit.put("src/a.rs", RUST);
    kit.put("empty.rs", "");
    kit.put("broken.rs", "fn whole() {}\nfn half( {\n");
    let table = [
        (json!({}), "broken.rs  25 B\nempty.rs  0 B\nsrc/"),
        (json!({"action": "list", "path": "src"}), "a.rs  196 B"),
        (json!({"path": "empty.rs"}), "There are no definitions in `empty.rs`."),
        (
            json!({"path": "src/a.rs", "limit": 1}),
            "5-7: pub struct Point\n\n\
             [1 of 5 definitions are shown; ask more narrowly, or continue with offset=1]",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.told("navigate", arguments.clone()).await.content, expected, "{arguments}");
    }
    let broken = kit.told("navigate", json!({"path": "broken.rs"})).await.content;
    assert!(broken.starts_with("1: fn whole() {}"), "{broken}");
    let shown = kit.call("navigate", json!({"path": "src/a.rs"})).await.unwrap().shown;
    assert_eq!(shown, Shown::Text("Found 5 definitions".into()));
}

#[tokio::test]
async fn a_language_that_is_not_known_is_an_error_with_those_that_are() {
    let kit = Kit::new();
    kit.put("a.cob", "IDENTIFICATION DIVISION.\n");
    let error = kit.call("navigate", json!({"action": "outline", "path": "a.cob"})).await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (ToolErrorKind::User, "cannot outline `a.cob`: its language is not known")
    );
    let hint = error.hint.unwrap();
    assert!(hint.starts_with("use `read` or `grep`; known are C (.c .h), C++ (.cpp"), "{hint}");
    let error = kit.call("navigate", json!({"action": "imports", "path": "."})).await.unwrap_err();
    assert_eq!(error.message, "cannot see the imports of `.`: it is a folder");
    assert_eq!(error.hint.unwrap(), "the folder holds a.cob");
}

// P-09, P-28
#[tokio::test]
async fn lines_files_and_definitions_are_searched_by_one_tool() {
    let kit = Kit::new();
    kit.put("src/a.rs", RUST);
    kit.put("src/b.py", "class Point: pass\ndef pointless(): pass\n");
    kit.put("docs/point.md", "A Point.\n");
    kit.put(".gitignore", "old\n");
    kit.put("old/a.rs", RUST);
    let point = "src/a.rs:5: pub struct Point\nsrc/b.py:1: class Point: pass";
    let table = [
        (json!({"query": "A Point"}), "Found 1 match in 1 file\n\ndocs/point.md\n1:A Point."),
        (
            json!({"type": "pattern", "pattern": "^def", "path": "src"}),
            "Found 1 match in 1 file\n\nsrc/b.py\n2:def pointless(): pass",
        ),
        (json!({"t": "A Point", "path": "docs"}), "Found 1 match in 1 file\n\ndocs/point.md\n1:A Point."),
        (json!({"type": "files", "query": "*.{rs,py}"}), "src/a.rs\nsrc/b.py"),
        (json!({"type": "files", "query": "POINT"}), "docs/point.md"),
        (json!({"type": "definitions", "query": "Point"}), point),
        (json!({"type": "symbol", "query": "Point", "path": "src/a.rs"}), "src/a.rs:5: pub struct Point"),
        (
            json!({"type": "definition", "name": "ointle"}),
            "No definition of that very name; these contain it:\nsrc/b.py:2: def pointless(): pass",
        ),
        (
            json!({"type": "definitions", "query": "nowhere"}),
            "No definition of `nowhere` in the workspace: 2 source files searched.",
        ),
        (
            json!({"type": "definitions", "query": "Point", "limit": 1}),
            "src/a.rs:5: pub struct Point\n\n\
             [1 of 2 definitions are shown; ask more narrowly, or continue with offset=1]",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.told("search", arguments.clone()).await.content, expected, "{arguments}");
    }
    let wrong = [
        (json!({}), "cannot call `search`: `query` is required"),
        (
            json!({"type": "everything", "query": "x"}),
            "cannot call `search`: `type` must be one of `pattern`, `files`, `definitions`, not `everything`",
        ),
        (json!({"query": "x", "path": "scr"}), "cannot search `scr`: no such file"),
    ];
    for (arguments, expected) in wrong {
        assert_eq!(kit.call("search", arguments.clone()).await.unwrap_err().message, expected, "{arguments}");
    }
}

#[tokio::test]
async fn what_nobody_waits_for_is_stopped() {
    let kit = Kit::new();
    kit.put("src/a.rs", RUST);
    kit.cancel.cancel();
    let table = [
        ("list", json!({})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("grep", json!({"pattern": "x", "path": "src/a.rs"})),
        ("search", json!({"query": "Point", "type": "definitions"})),
    ];
    for (tool, arguments) in table {
        let error = kit.call(tool, arguments.clone()).await.unwrap_err();
        assert_eq!(error.message, "the search was stopped", "{tool} {arguments}");
    }
}

#[tokio::test]
async fn a_file_that_was_written_to_break_a_parser_does_not() {
    let kit = Kit::new();
    for path in ["a.rs", "A.java", "a.cpp"] {
        kit.put(path, "class A ".to_owned() + &"({[".repeat(7_000));
        if let Err(error) = kit.call("navigate", json!({"path": path})).await {
            assert_eq!(error.message, format!("cannot outline `{path}`: understanding it takes too long"));
        }
    }
}
