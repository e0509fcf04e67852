//! One grammar: what its tables hold, and its source without that (the form of `parser.c` is that of tree-sitter's
//! generator, ABI 14 and 15).
use crate::Result;
use flate2::{Compression, write::DeflateEncoder};
use object::{Object, ObjectSection, ObjectSymbol};
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The ones that are large. Nothing in them is an address.
const TABLES: [&str; 6] = [
    "ts_parse_actions",
    "ts_parse_table",
    "ts_small_parse_table",
    "ts_small_parse_table_map",
    "ts_lex_modes",
    "ts_primary_state_ids",
];

/// Names that the crate gives to the linker, too, behind its own.
const LINKED: [&str; 6] = [
    "",
    "_external_scanner_create",
    "_external_scanner_destroy",
    "_external_scanner_scan",
    "_external_scanner_serialize",
    "_external_scanner_deserialize",
];

/// Writes the source without tables to `out`, and returns the tables, packed.
pub(crate) fn pack(name: &str, source: &Path, out: &Path) -> Result<Vec<u8>> {
    let parser = source.join("parser.c");
    println!("cargo::rerun-if-changed={}", parser.display());
    // Not as fast as can be: it is never run.
    let objects = compiler(name, source).opt_level(0).file(&parser).try_compile_intermediates()?;
    let tables = tables(&objects[0])?;
    fs::remove_file(&objects[0])?;
    let empty = without(&fs::read_to_string(parser)?, &tables);
    fs::write(empty_parser(name, out), empty + &unpacking(name, &tables))?;
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    for (_, content) in &tables {
        packed.write_all(content)?;
    }
    Ok(packed.finish()?)
}

/// Compiles what [`pack`] wrote, and has it linked.
pub(crate) fn link(name: &str, source: &Path, out: &Path) {
    let mut all = compiler(name, source);
    all.file(empty_parser(name, out));
    let scanner = source.join("scanner.c");
    if scanner.exists() {
        println!("cargo::rerun-if-changed={}", scanner.display());
        all.file(scanner);
    }
    all.compile(&format!("haft-grammar-{name}"));
}

fn empty_parser(name: &str, out: &Path) -> PathBuf {
    out.join(format!("{name}.c"))
}

fn compiler(name: &str, source: &Path) -> cc::Build {
    let mut compiler = cc::Build::new();
    compiler.std("c11").include(source).warnings(false);
    for linked in LINKED {
        compiler.define(&format!("tree_sitter_{name}{linked}"), &*format!("haft_grammar_{name}{linked}"));
    }
    // The one that a crate (of Ruby) gives without its own name.
    compiler.define("NON_IDENTIFIER_CHARS", &*format!("haft_grammar_{name}_NON_IDENTIFIER_CHARS"));
    compiler
}

/// What the tables hold that an object has, by name.
fn tables(object: &Path) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let content = fs::read(object)?;
    let object = object::File::parse(&*content)?;
    let mut tables = Vec::new();
    for symbol in object.symbols() {
        let name = symbol.name()?;
        let Some(name) = TABLES.into_iter().find(|table| *table == name) else { continue };
        let section = object.section_by_index(symbol.section_index().ok_or("a table lies nowhere")?)?;
        let range = section.data_range(symbol.address(), symbol.size())?.ok_or("a table is cut off")?;
        // As in an object of Mach-O, which does not tell how long anything is.
        if range.is_empty() {
            return Err("nobody tells how long its tables are".into());
        }
        tables.push((name, range.to_owned()));
    }
    if tables.is_empty() { Err("it has no tables".into()) } else { Ok(tables) }
}

/// `static const TYPE NAME[…] = {`, lines, `};` becomes `static TYPE NAME[…];`.
fn without(parser: &str, tables: &[(&str, Vec<u8>)]) -> String {
    let (mut empty, mut lines) = (String::new(), parser.lines());
    while let Some(line) = lines.next() {
        let Some(declaration) = declaration(line, tables) else {
            empty += line;
            empty.push('\n');
            continue;
        };
        empty += &declaration;
        lines.find(|line| *line == "};");
    }
    empty
}

fn declaration(line: &str, tables: &[(&str, Vec<u8>)]) -> Option<String> {
    let (kind, rest) = line.strip_prefix("static const ")?.strip_suffix(" = {")?.split_once(' ')?;
    let (name, lengths) = rest.split_once('[')?;
    let (_, content) = tables.iter().find(|(table, _)| *table == name)?;
    Some(match lengths {
        "]" => format!("static {kind} {name}[{} / sizeof({kind})];\n", content.len()),
        lengths => format!("static {kind} {name}[{lengths};\n"),
    })
}

/// Fills the tables, one after the other. It does not compile where one is not as long as it was.
fn unpacking(name: &str, tables: &[(&str, Vec<u8>)]) -> String {
    let mut text = format!("#include <string.h>\nvoid haft_unpack_{name}(const unsigned char *from) {{\n");
    for (table, content) in tables {
        let length = content.len();
        writeln!(text, "  _Static_assert(sizeof({table}) == {length}, \"the length of a table\");")
            .and_then(|()| writeln!(text, "  memcpy({table}, from, {length});\n  from += {length};"))
            .expect("a text grows");
    }
    text + "}\n"
}
