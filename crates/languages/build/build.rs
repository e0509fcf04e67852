//! Tables are nine tenths of a grammar, twelve megabytes of all of them, and a twelfth of that when they are packed. So each
//! grammar is compiled with tables that are empty, and beside it lies what `src/lib.rs` fills them with when the grammar is
//! first used.
//!
//! Where that cannot be done, since nobody tells where the sources are or the compiler's objects are of another kind, the
//! grammars are used as their crates have them (`cfg(plain)`).
mod pack;
mod sources;

use std::{env, error::Error, fs, path::PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A grammar: its name, its feature, the crate, and the folder in which its source lies.
struct Grammar {
    name: &'static str,
    feature: &'static str,
    package: &'static str,
    folder: &'static str,
}

/// It names the versions of the crates.
const LOCK: &str = "../../Cargo.lock";

const GRAMMARS: [Grammar; 10] = [
    grammar("c", "c", "tree-sitter-c", "src"),
    grammar("cpp", "cpp", "tree-sitter-cpp", "src"),
    grammar("go", "go", "tree-sitter-go", "src"),
    grammar("java", "java", "tree-sitter-java", "src"),
    grammar("javascript", "javascript", "tree-sitter-javascript", "src"),
    grammar("python", "python", "tree-sitter-python", "src"),
    grammar("ruby", "ruby", "tree-sitter-ruby", "src"),
    grammar("rust", "rust", "tree-sitter-rust", "src"),
    grammar("tsx", "typescript", "tree-sitter-typescript", "tsx/src"),
    grammar("typescript", "typescript", "tree-sitter-typescript", "typescript/src"),
];

const fn grammar(
    name: &'static str,
    feature: &'static str,
    package: &'static str,
    folder: &'static str,
) -> Grammar {
    Grammar { name, feature, package, folder }
}

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={LOCK}");
    println!("cargo::rustc-check-cfg=cfg(plain)");
    if let Err(why) = pack_all() {
        println!("cargo::warning=the grammars take twelve megabytes more than they need to: {why}");
        println!("cargo::rustc-cfg=plain");
    }
}

fn pack_all() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let is_wanted = |grammar: &&Grammar| {
        env::var_os(format!("CARGO_FEATURE_{}", grammar.feature.to_uppercase())).is_some()
    };
    let wanted: Vec<&Grammar> = GRAMMARS.iter().filter(is_wanted).collect();
    let folders = sources::of(&wanted, &out)?;
    // Nothing is linked before all of it is there.
    let packed = wanted.iter().map(|grammar| {
        let folder = folders.get(grammar.package).ok_or("cargo does not tell where its crate lies");
        let source = folder.map(|folder| folder.join(grammar.folder))?;
        let packed =
            pack::pack(grammar.name, &source, &out).map_err(|why| format!("{}: {why}", grammar.name))?;
        Ok((grammar.name, source, packed))
    });
    for (name, source, packed) in packed.collect::<Result<Vec<_>>>()? {
        fs::write(out.join(format!("{name}.tables")), packed)?;
        pack::link(name, &source, &out);
    }
    Ok(())
}
