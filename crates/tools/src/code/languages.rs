//! [`Language`]: the built-in languages, each with its grammar.
use std::{
    path::Path,
    sync::{LazyLock, OnceLock},
};
use tree_sitter::Query;
use tree_sitter_language::LanguageFn;

/// A grammar, with the queries for it.
pub(crate) struct Language {
    name: &'static str,
    extensions: &'static [&'static str],
    grammar: LanguageFn,
    /// Texts that are joined to one query.
    queries: &'static [&'static str],
    ready: OnceLock<Option<Query>>,
}

impl Language {
    pub(crate) fn grammar(&self) -> tree_sitter::Language {
        self.grammar.into()
    }

    /// Compiled on first use, which takes a few milliseconds.
    pub(crate) fn query(&self) -> Option<&Query> {
        self.ready.get_or_init(|| Query::new(&self.grammar(), &self.queries.concat()).ok()).as_ref()
    }
}

/// The language of a file, by its extension.
pub(crate) fn language_of(path: &Path) -> Option<&'static Language> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.extensions.contains(&extension.as_str()))
}

/// `Rust (.rs), …`
pub(crate) fn known() -> String {
    let one = |language: &Language| format!("{} (.{})", language.name, language.extensions.join(" ."));
    LANGUAGES.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Name, extensions, grammar, queries.
type Row = (&'static str, &'static [&'static str], LanguageFn, &'static [&'static str]);

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let rows: Vec<Row> = vec![
        #[cfg(feature = "lang-c")]
        ("C", &["c", "h"], tree_sitter_c::LANGUAGE, &[include_str!("c.scm")]),
        #[cfg(feature = "lang-cpp")]
        (
            "C++",
            &["cpp", "cc", "cxx", "hpp", "hh", "hxx"],
            tree_sitter_cpp::LANGUAGE,
            &[include_str!("c.scm"), include_str!("cpp.scm")],
        ),
        #[cfg(feature = "lang-go")]
        ("Go", &["go"], tree_sitter_go::LANGUAGE, &[include_str!("go.scm")]),
        #[cfg(feature = "lang-java")]
        ("Java", &["java"], tree_sitter_java::LANGUAGE, &[include_str!("java.scm")]),
        #[cfg(feature = "lang-javascript")]
        (
            "JavaScript",
            &["js", "mjs", "cjs", "jsx"],
            tree_sitter_javascript::LANGUAGE,
            &[include_str!("ecmascript.scm"), include_str!("javascript.scm")],
        ),
        #[cfg(feature = "lang-python")]
        ("Python", &["py", "pyi"], tree_sitter_python::LANGUAGE, &[include_str!("python.scm")]),
        #[cfg(feature = "lang-ruby")]
        ("Ruby", &["rb", "rake", "gemspec"], tree_sitter_ruby::LANGUAGE, &[include_str!("ruby.scm")]),
        #[cfg(feature = "lang-rust")]
        ("Rust", &["rs"], tree_sitter_rust::LANGUAGE, &[include_str!("rust.scm")]),
        #[cfg(feature = "lang-typescript")]
        (
            "TypeScript",
            &["ts", "mts", "cts"],
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            &[include_str!("ecmascript.scm"), include_str!("typescript.scm")],
        ),
        #[cfg(feature = "lang-typescript")]
        (
            "TSX",
            &["tsx"],
            tree_sitter_typescript::LANGUAGE_TSX,
            &[include_str!("ecmascript.scm"), include_str!("typescript.scm")],
        ),
    ];
    let language = |(name, extensions, grammar, queries)| Language {
        name,
        extensions,
        grammar,
        queries,
        ready: OnceLock::new(),
    };
    rows.into_iter().map(language).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_fits_its_grammar() {
        for language in LANGUAGES.iter() {
            let query = Query::new(&language.grammar(), &language.queries.concat());
            assert!(query.is_ok(), "{}: {:?}", language.name, query.err());
        }
    }
}
