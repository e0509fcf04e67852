//! The public face of the library: what it is made of, by a snapshot that a person reviews, and that each type in it has
//! a name that a program can write.
use quote::ToTokens;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Fields, ImplItem, Item, ItemUse, TraitItem, UseTree, Visibility, visit, visit::Visit};

/// The crates whose items the library exports.
const CRATES: &[&str] = &["core", "call", "dialects", "engine", "evidence", "haft", "providers", "stage"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The public items of a crate by name, with what their `impl` blocks offer.
#[derive(Default)]
struct Offered {
    items: BTreeMap<String, Vec<Item>>,
    methods: BTreeMap<String, Vec<String>>,
    /// Types that the methods of a type mention.
    mentioned: BTreeMap<String, BTreeSet<String>>,
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let text = |attribute: &Attribute| attribute.to_token_stream().to_string().replace(' ', "");
    attributes.iter().map(text).any(|text| text.contains("doc(hidden)") || text.contains("cfg(test)"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            false => {}
        }
    }
}

impl Offered {
    fn of(name: &str) -> Self {
        let mut paths = Vec::new();
        files(&crates().join(name).join("src"), &mut paths);
        paths.sort();
        let mut offered = Self::default();
        for path in paths {
            let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
            file.items.into_iter().for_each(|item| offered.take(item));
        }
        offered
    }

    fn take(&mut self, item: Item) {
        let (name, visibility) = match &item {
            Item::Struct(item) => (item.ident.to_string(), &item.vis),
            Item::Enum(item) => (item.ident.to_string(), &item.vis),
            Item::Trait(item) => (item.ident.to_string(), &item.vis),
            Item::Type(item) => (item.ident.to_string(), &item.vis),
            Item::Fn(item) => (item.sig.ident.to_string(), &item.vis),
            Item::Const(item) => (item.ident.to_string(), &item.vis),
            Item::Impl(block) if block.trait_.is_none() => {
                let name = block.self_ty.to_token_stream().to_string();
                let name = name.split([' ', '<']).next().unwrap_or_default().to_owned();
                for item in &block.items {
                    let ImplItem::Fn(method) = item else { continue };
                    if is_public(&method.vis) && !is_hidden(&method.attrs) {
                        let signature = plain(&method.sig);
                        self.methods.entry(name.clone()).or_default().push(signature);
                        let mut types = Types::default();
                        types.visit_signature(&method.sig);
                        self.mentioned.entry(name.clone()).or_default().extend(types.0);
                    }
                }
                return;
            }
            _ => return,
        };
        if is_public(visibility) {
            self.items.entry(name).or_default().push(item);
        }
    }
}

/// Names of types and traits, by their last part.
#[derive(Default)]
struct Types(BTreeSet<String>);

impl<'ast> Visit<'ast> for Types {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.extend(path.segments.last().map(|last| last.ident.to_string()));
        visit::visit_path(self, path);
    }
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_block(&mut self, _: &'ast syn::Block) {}
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
    fn visit_field(&mut self, field: &'ast syn::Field) {
        // The fields of variants have no visibility of their own.
        if !matches!(field.vis, Visibility::Restricted(_)) {
            visit::visit_field(self, field);
        }
    }
}

/// On one line, as it would be written.
fn plain(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    let tight = [
        (" :: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" , ", ", "),
        (" : ", ": "),
        (" ;", ""),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" [", "["),
        ("[ ", "["),
        (" ]", "]"),
        (" ,", ","),
        ("> ::", ">::"),
        ("<'", "<'"),
        ("->", " -> "),
        ("  ", " "),
        ("- >", "->"),
        (",)", ")"),
    ];
    for (from, to) in tight {
        text = text.replace(from, to);
    }
    text.replace("  ", " ")
}

fn fields(fields: &Fields) -> String {
    let is_open = |field: &&syn::Field| !matches!(field.vis, Visibility::Restricted(_));
    let told: Vec<String> = fields
        .iter()
        .filter(is_open)
        .map(|field| {
            let name = field.ident.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            name + &plain(&field.ty)
        })
        .collect();
    told.join(", ")
}

fn declared(item: &Item) -> Vec<String> {
    match item {
        Item::Struct(item) => {
            let open = item.fields.iter().filter(|field| is_public(&field.vis));
            let open = open.map(|field| {
                let name = field.ident.as_ref().map_or_else(|| "0".into(), ToString::to_string);
                format!("  {name}: {}", plain(&field.ty))
            });
            std::iter::once(format!("struct {}{}", item.ident, plain(&item.generics))).chain(open).collect()
        }
        Item::Enum(item) => {
            let variants = item
                .variants
                .iter()
                .map(|variant| format!("  {}({})", variant.ident, fields(&variant.fields)));
            let variants = variants.map(|line| line.strip_suffix("()").map(str::to_owned).unwrap_or(line));
            std::iter::once(format!("enum {}", item.ident)).chain(variants).collect()
        }
        Item::Trait(item) => {
            let items = item.items.iter().filter_map(|item| match item {
                TraitItem::Fn(method) if !is_hidden(&method.attrs) => {
                    Some(format!("  {}", plain(&method.sig)))
                }
                TraitItem::Type(kind) => Some(format!("  type {}", kind.ident)),
                TraitItem::Const(value) => Some(format!("  const {}: {}", value.ident, plain(&value.ty))),
                _ => None,
            });
            std::iter::once(format!("trait {}", item.ident)).chain(items).collect()
        }
        Item::Type(item) => vec![format!("type {}", item.ident)],
        Item::Fn(item) => vec![plain(&item.sig)],
        Item::Const(item) => vec![format!("const {}: {}", item.ident, plain(&item.ty))],
        _ => Vec::new(),
    }
}

/// What a type, a trait or a function mentions in the part that programs see.
fn mentioned(item: &Item) -> BTreeSet<String> {
    let mut types = Types::default();
    match item {
        Item::Struct(item) => {
            let open = item.fields.iter().filter(|field| is_public(&field.vis));
            open.for_each(|field| types.visit_type(&field.ty));
        }
        Item::Fn(item) => types.visit_signature(&item.sig),
        item => types.visit_item(item),
    }
    types.0
}

/// The names in `use` items: those of a module and those of a crate that becomes one.
fn names(tree: &UseTree, found: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => names(&path.tree, found),
        UseTree::Name(name) => found.push(name.ident.to_string()),
        UseTree::Rename(rename) => found.push(rename.ident.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
        UseTree::Glob(_) => {}
    }
}

/// What the first file of a crate exports: names, and other crates as modules.
fn exported(name: &str) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let path = crates().join(name).join("src/lib.rs");
    let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    let (mut found, mut modules) = (Vec::new(), BTreeMap::new());
    // What the file itself declares, and what its own modules export.
    let own = file.items.iter().filter_map(|item| match item {
        Item::Struct(item) if is_public(&item.vis) => Some(&item.ident),
        Item::Enum(item) if is_public(&item.vis) => Some(&item.ident),
        Item::Trait(item) if is_public(&item.vis) => Some(&item.ident),
        _ => None,
    });
    found.extend(own.map(ToString::to_string));
    let inner = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if is_public(&module.vis) => Some(&module.content.as_ref()?.1),
        _ => None,
    });
    for item in inner.flatten().chain(&file.items) {
        let Item::Use(ItemUse { vis, tree, attrs, .. }) = item else { continue };
        if !is_public(vis) || is_hidden(attrs) {
            continue;
        }
        match tree {
            UseTree::Rename(rename) if rename.ident.to_string().starts_with("haft_") => {
                let own = rename.ident.to_string().trim_start_matches("haft_").to_owned();
                modules.insert(rename.rename.to_string(), own);
            }
            tree => names(tree, &mut found),
        }
    }
    (found.into_iter().collect(), modules)
}

#[test]
fn the_surface_of_the_library_is_as_it_was_reviewed() {
    let offered: Vec<Offered> = CRATES.iter().map(|name| Offered::of(name)).collect();
    let (roots, modules) = exported("haft");
    let mut text = String::new();
    for root in &roots {
        let Some(own) = offered.iter().rev().find(|offered| offered.items.contains_key(root)) else {
            continue;
        };
        let lines = own.items[root].iter().flat_map(declared);
        let methods = own.methods.get(root).into_iter().flatten().map(|method| format!("  {method}"));
        lines.chain(methods).for_each(|line| writeln!(text, "{line}").unwrap());
    }
    modules.iter().for_each(|(name, own)| writeln!(text, "mod {name}: haft-{own}").unwrap());
    insta::assert_snapshot!(text);
}

#[test]
fn every_type_in_a_signature_has_a_name_in_the_library() {
    let offered: Vec<Offered> = CRATES.iter().map(|name| Offered::of(name)).collect();
    let (roots, modules) = exported("haft");
    let below = modules.values().filter(|own| crates().join(own).exists()).flat_map(|own| exported(own).0);
    let nameable: BTreeSet<String> = below.chain(roots.iter().cloned()).collect();
    let known = |name: &String| offered.iter().any(|offered| offered.items.contains_key(name));
    let mut missing = BTreeSet::new();
    for root in &roots {
        for own in offered.iter().filter(|offered| offered.items.contains_key(root)) {
            let told = own.items[root].iter().flat_map(mentioned);
            let told = told.chain(own.mentioned.get(root).into_iter().flatten().cloned());
            missing
                .extend(told.filter(|name| known(name) && !nameable.contains(name)).map(|name| (name, root)));
        }
    }
    assert!(
        missing.is_empty(),
        "types that a program cannot name, and where they are mentioned: {missing:#?}"
    );
}
