//! [`declaration`]: reads the declaration of a tool from a function, or returns all reasons why that is not possible.
use crate::documentation::{Documentation, joined, lines_of};
use proc_macro2::TokenStream;
use syn::{
    Attribute, Error, Expr, FnArg, Ident, ItemFn, LitStr, Pat, PatType, Path, Result, Signature, Token, Type,
    ext::IdentExt,
    parse::{Parse, ParseStream},
};

/// The declaration of a tool.
pub(crate) struct Declaration {
    /// The first line of the doc comment.
    pub(crate) description: String,
    /// The arguments, in the order of the function.
    pub(crate) inputs: Vec<Input>,
    /// The effects that the attribute names.
    pub(crate) effects: Vec<PathEffect>,
}

/// The source of an argument of the function.
pub(crate) enum Input {
    /// The call's context.
    Context,
    /// The model.
    Parameter(Box<Parameter>),
}

/// A parameter that the model may give.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    pub(crate) description: String,
    /// The value if the model does not give one.
    pub(crate) default: Option<Expr>,
}

/// A parameter that names a file.
pub(crate) struct PathEffect {
    /// `Read` or `Write`.
    pub(crate) kind: Ident,
    pub(crate) parameter: Ident,
}

/// The options inside `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct Options {
    /// The path of the crate `haft_core`.
    pub(crate) krate: Option<Path>,
    effects: Vec<(Ident, LitStr)>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key = Ident::parse_any(input)?;
            input.parse::<Token![=]>()?;
            match key.to_string().as_str() {
                "crate" => options.krate = Some(input.call(Path::parse_mod_style)?),
                "reads" => options.effects.push((Ident::new("Read", key.span()), input.parse()?)),
                "writes" => options.effects.push((Ident::new("Write", key.span()), input.parse()?)),
                _ => return Err(Error::new(key.span(), "expected `reads`, `writes` or `crate`")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// Reads `function`, and removes the attributes from it that only this macro understands. All problems are reported at
/// once.
pub(crate) fn declaration(function: &mut ItemFn, options: &Options) -> Result<Declaration> {
    let mut problems = Problems::default();
    problems.note(refuse_shapes(&function.sig));
    let names: Vec<String> = function.sig.inputs.iter().filter_map(name_of).collect();
    let documentation = Documentation::read(&lines_of(&function.attrs), &names);
    let mut inputs = Vec::new();
    for input in &mut function.sig.inputs {
        inputs.extend(problems.note(input_of(input, &documentation)));
    }
    let effects = options.effects.iter().map(|(kind, name)| effect(kind, name, &inputs));
    let effects = effects.filter_map(|effect| problems.note(effect)).collect();
    problems.finish()?;
    Ok(Declaration { description: documentation.first_line, inputs, effects })
}

/// Many errors reported as one.
#[derive(Default)]
struct Problems(Option<Error>);

impl Problems {
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        match (result, &mut self.0) {
            (Ok(value), _) => return Some(value),
            (Err(error), Some(all)) => all.combine(error),
            (Err(error), none) => *none = Some(error),
        }
        None
    }

    fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

fn refuse_shapes(signature: &Signature) -> Result<()> {
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        let why = "a tool cannot be generic: a model calls it with one set of types, so write them out";
        return Err(Error::new_spanned(&generics.params, why));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new_spanned(variadic, "a tool has a fixed number of parameters: take a `Vec`"));
    }
    Ok(())
}

fn name_of(input: &FnArg) -> Option<String> {
    match input {
        FnArg::Typed(PatType { pat, .. }) => match pat.as_ref() {
            Pat::Ident(name) => Some(name.ident.unraw().to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    }
}

fn input_of(input: &mut FnArg, documentation: &Documentation) -> Result<Input> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            let why = "a tool has no `self`: declare a function outside of `impl`, or implement `Tool` for the type";
            return Err(Error::new_spanned(receiver, why));
        }
    };
    let attributes = take_own_attributes(&mut typed.attrs);
    if is_context(&typed.ty) {
        return Ok(Input::Context);
    }
    refuse_type(&typed.ty)?;
    let Pat::Ident(pattern) = typed.pat.as_ref() else {
        let why = "a parameter of a tool needs a name: write `name: Type` and take it apart in the body";
        return Err(Error::new_spanned(&typed.pat, why));
    };
    let own = joined(&lines_of(&attributes));
    let name = pattern.ident.clone();
    let described = || documentation.parameters.get(&name.unraw().to_string()).cloned().unwrap_or_default();
    let description = if own.is_empty() { described() } else { own };
    let default = attributes.iter().find(|attribute| attribute.path().is_ident("default"));
    let default = default.map(Attribute::parse_args).transpose()?;
    let kind = typed.ty.as_ref().clone();
    Ok(Input::Parameter(Box::new(Parameter { name, kind, description, default })))
}

/// Takes the attributes that the compiler does not accept on parameters: `#[default]` and doc comments.
fn take_own_attributes(attributes: &mut Vec<Attribute>) -> Vec<Attribute> {
    let own =
        |attribute: &Attribute| attribute.path().is_ident("default") || attribute.path().is_ident("doc");
    let (own, kept) = std::mem::take(attributes).into_iter().partition(own);
    *attributes = kept;
    own
}

fn is_context(kind: &Type) -> bool {
    let Type::Reference(reference) = kind else { return false };
    let Type::Path(path) = reference.elem.as_ref() else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|last| last.ident == "ToolContext")
}

fn refuse_type(kind: &Type) -> Result<()> {
    let why = match kind {
        Type::Reference(reference) => match reference.elem.as_ref() {
            Type::Path(path) if path.path.is_ident("str") => "a model's text is not borrowed: write `String`",
            Type::Path(path) if path.path.is_ident("Path") => {
                "a model's path is not borrowed: write `PathBuf`"
            }
            Type::Slice(_) => "what a model gives is not borrowed: write `Vec<…>`",
            Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "ToolContext") => {
                "the context of a call cannot be changed: write `&ToolContext`"
            }
            _ => "what a model gives is not borrowed: take it by value",
        },
        Type::ImplTrait(_) => "a model needs to know the type: write it out instead of `impl …`",
        _ => return Ok(()),
    };
    Err(Error::new_spanned(kind, why))
}

fn effect(kind: &Ident, name: &LitStr, inputs: &[Input]) -> Result<PathEffect> {
    let named = inputs.iter().find_map(|input| match input {
        Input::Parameter(parameter) if parameter.name.unraw() == name.value() => Some(parameter.name.clone()),
        Input::Parameter(_) | Input::Context => None,
    });
    match named {
        Some(parameter) => Ok(PathEffect { kind: kind.clone(), parameter }),
        None => Err(Error::new(name.span(), format!("there is no parameter `{}`", name.value()))),
    }
}

/// Parses a function; the error explains what else was found.
pub(crate) fn function(item: TokenStream) -> Result<ItemFn> {
    syn::parse2(item).map_err(|error| {
        Error::new(error.span(), format!("`#[tool]` belongs on a function with a body: {error}"))
    })
}
