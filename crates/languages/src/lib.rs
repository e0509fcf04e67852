//! Programming languages that tools read: grammars of tree-sitter, packed (`build/build.rs` says how and why).
//!
//! It uses the crates of the grammars. Where to begin: each function gives a language.
#![cfg_attr(not(plain), expect(unsafe_code, reason = "a grammar is a function in C"))]
use tree_sitter::Language;

#[cfg(not(plain))]
macro_rules! grammar {
    ($name:ident, $language:expr, $grammar:literal, $unpack:literal, $tables:literal) => {
        /// The language of this name.
        pub fn $name() -> Language {
            unsafe extern "C" {
                #[link_name = $grammar]
                fn grammar() -> *const ();
                #[link_name = $unpack]
                fn unpack(tables: *const u8);
            }
            static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $tables));
            static UNPACKED: std::sync::Once = std::sync::Once::new();
            UNPACKED.call_once(|| {
                let tables = unpacked(PACKED);
                // SAFETY: as many bytes are read as were packed, and nobody has the language before they are there.
                unsafe { unpack(tables.as_ptr()) };
            });
            // SAFETY: it is what the generator of tree-sitter makes, and its tables are filled.
            let language = unsafe { tree_sitter_language::LanguageFn::from_raw(grammar) };
            language.into()
        }
    };
}

#[cfg(not(plain))]
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut tables = Vec::new();
    let mut from = flate2::read::DeflateDecoder::new(packed);
    std::io::Read::read_to_end(&mut from, &mut tables).expect("it was packed when this was built");
    tables
}

#[cfg(plain)]
macro_rules! grammar {
    ($name:ident, $language:expr, $grammar:literal, $unpack:literal, $tables:literal) => {
        /// The language of this name.
        pub fn $name() -> Language {
            $language.into()
        }
    };
}

#[cfg(feature = "c")]
grammar!(c, tree_sitter_c::LANGUAGE, "haft_grammar_c", "haft_unpack_c", "c.tables");
#[cfg(feature = "cpp")]
grammar!(cpp, tree_sitter_cpp::LANGUAGE, "haft_grammar_cpp", "haft_unpack_cpp", "cpp.tables");
#[cfg(feature = "go")]
grammar!(go, tree_sitter_go::LANGUAGE, "haft_grammar_go", "haft_unpack_go", "go.tables");
#[cfg(feature = "java")]
grammar!(java, tree_sitter_java::LANGUAGE, "haft_grammar_java", "haft_unpack_java", "java.tables");
#[cfg(feature = "javascript")]
grammar!(
    javascript,
    tree_sitter_javascript::LANGUAGE,
    "haft_grammar_javascript",
    "haft_unpack_javascript",
    "javascript.tables"
);
#[cfg(feature = "python")]
grammar!(python, tree_sitter_python::LANGUAGE, "haft_grammar_python", "haft_unpack_python", "python.tables");
#[cfg(feature = "ruby")]
grammar!(ruby, tree_sitter_ruby::LANGUAGE, "haft_grammar_ruby", "haft_unpack_ruby", "ruby.tables");
#[cfg(feature = "rust")]
grammar!(rust, tree_sitter_rust::LANGUAGE, "haft_grammar_rust", "haft_unpack_rust", "rust.tables");
#[cfg(feature = "typescript")]
grammar!(tsx, tree_sitter_typescript::LANGUAGE_TSX, "haft_grammar_tsx", "haft_unpack_tsx", "tsx.tables");
#[cfg(feature = "typescript")]
grammar!(
    typescript,
    tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    "haft_grammar_typescript",
    "haft_unpack_typescript",
    "typescript.tables"
);
