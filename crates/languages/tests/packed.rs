//! A packed grammar is the one that was packed.
use tree_sitter::{Language, Parser};

/// The packed one, the crate's own, and a text with what its scanner reads.
fn all() -> Vec<(&'static str, Language, Language, &'static str)> {
    vec![
        #[cfg(feature = "c")]
        ("c", haft_languages::c(), tree_sitter_c::LANGUAGE.into(), "int main(void) { return f(1, \"a\"); }"),
        #[cfg(feature = "cpp")]
        (
            "cpp",
            haft_languages::cpp(),
            tree_sitter_cpp::LANGUAGE.into(),
            "template <class T> auto f() { return R\"x(a\"b)x\"; }",
        ),
        #[cfg(feature = "go")]
        (
            "go",
            haft_languages::go(),
            tree_sitter_go::LANGUAGE.into(),
            "package a\nfunc (x *T) F() error { return nil }",
        ),
        #[cfg(feature = "java")]
        (
            "java",
            haft_languages::java(),
            tree_sitter_java::LANGUAGE.into(),
            "class A<T> { @Override int f() { return 1; } }",
        ),
        #[cfg(feature = "javascript")]
        (
            "javascript",
            haft_languages::javascript(),
            tree_sitter_javascript::LANGUAGE.into(),
            "const f = async (x) => `a${x}b` / /c/g\nlet y = <A b={1}>c</A>",
        ),
        #[cfg(feature = "python")]
        (
            "python",
            haft_languages::python(),
            tree_sitter_python::LANGUAGE.into(),
            "class A:\n    def f(self):\n        return f'{1}'\n\nx = 2\n",
        ),
        #[cfg(feature = "ruby")]
        (
            "ruby",
            haft_languages::ruby(),
            tree_sitter_ruby::LANGUAGE.into(),
            "def f(x)\n  puts <<~A, %w[a b]\n    #{x}\n  A\nend\n",
        ),
        #[cfg(feature = "rust")]
        (
            "rust",
            haft_languages::rust(),
            tree_sitter_rust::LANGUAGE.into(),
            "/* a /* b */ */ fn f<'a>() -> &'a str { r#\"c\"# }",
        ),
        #[cfg(feature = "typescript")]
        (
            "tsx",
            haft_languages::tsx(),
            tree_sitter_typescript::LANGUAGE_TSX.into(),
            "let x: A<B> = <C d={`e${1}`}>f</C>\nlet y = 1",
        ),
        #[cfg(feature = "typescript")]
        (
            "typescript",
            haft_languages::typescript(),
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            "interface A { b?: string }\nlet x = <A>{ b: `c${1}` }",
        ),
    ]
}

#[test]
fn a_packed_grammar_reads_as_the_one_of_its_crate() {
    for (name, packed, plain, text) in all() {
        let read = |language: &Language| {
            let mut parser = Parser::new();
            parser.set_language(language).expect("the library knows its format");
            let tree = parser.parse(text, None).expect("nothing stops it");
            (tree.root_node().has_error(), tree.root_node().to_sexp())
        };
        let told = read(&packed);
        assert_eq!(told, read(&plain), "{name}");
        assert!(!told.0, "{name}: {}", told.1);
    }
}

#[test]
fn all_its_states_are_there() {
    for (name, packed, plain, _) in all() {
        let counts = |of: &Language| {
            (of.abi_version(), of.parse_state_count(), of.node_kind_count(), of.field_count())
        };
        assert_eq!(counts(&packed), counts(&plain), "{name}");
        let states = |of: &Language, state| {
            (0..of.node_kind_count() as u16).map(|symbol| of.next_state(state, symbol)).collect::<Vec<_>>()
        };
        for state in 0..plain.parse_state_count() as u16 {
            assert_eq!(states(&packed, state), states(&plain, state), "{name}: state {state}");
        }
    }
}
