//! The code beside the function.
use crate::declaration::{Declaration, Input, Options, Parameter, PathEffect, declaration, function};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Expr, ExprLit, Ident, ItemFn, Lit, LitStr, Path, ext::IdentExt, spanned::Spanned};

/// The function as it was, and its tool; or the function and the errors. `home`: where `haft_core` is found, unless
/// the attribute says otherwise.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream, home: Path) -> TokenStream {
    let mut function = match function(item.clone()) {
        Ok(function) => function,
        Err(error) => return [error.into_compile_error(), item].into_iter().collect(),
    };
    let options = syn::parse2::<Options>(arguments);
    let declared = options.and_then(|options| {
        let declaration = declaration(&mut function, &options)?;
        Ok(tool(&function, &declaration, options.krate.as_ref().unwrap_or(&home)))
    });
    let tool = declared.unwrap_or_else(syn::Error::into_compile_error);
    quote! { #function #tool }
}

fn tool(function: &ItemFn, declaration: &Declaration, home: &Path) -> TokenStream {
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let called = name.unraw().to_string();
    let conditions: Vec<&Attribute> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    let (arguments, effects) = (arguments(declaration, home), effects(declaration, home));
    let run = run(function, declaration, home);
    let title = format!("The tool made of the function `{called}`.");
    // A type with braces lives beside a function of its name, as a module would, and unlike a module it sees what
    // the function sees, even inside another function.
    quote! {
        #(#conditions)*
        #[doc = #title]
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        #(#conditions)*
        #[allow(non_camel_case_types, unreachable_pub, clippy::allow_attributes)]
        const _: () = {
            #arguments

            impl #name {
                /// The tool, for a registry.
                pub fn tool() -> ::std::sync::Arc<dyn #home::AnyTool> {
                    #home::private::erase(#name {})
                }
            }

            impl #home::Tool for #name {
                const NAME: &'static str = #called;
                type Args = __HaftArguments;

                fn effects(
                    &self,
                    arguments: &__HaftArguments,
                    workspace: &::std::path::Path,
                ) -> ::std::vec::Vec<#home::Effect> {
                    #effects
                }

                #run
            }

            #home::private::inventory::submit! {
                #home::Declared {
                    tool: #name::tool,
                    function: || #home::private::type_of(#name),
                    place: (::core::file!(), ::core::line!()),
                }
            }
        };
    }
}

fn parameters(declaration: &Declaration) -> impl Iterator<Item = &Parameter> {
    declaration.inputs.iter().filter_map(|input| match input {
        Input::Parameter(parameter) => Some(parameter.as_ref()),
        Input::Context => None,
    })
}

/// The type that is read from what the model gives, and that its schema is made of.
fn arguments(declaration: &Declaration, home: &Path) -> TokenStream {
    let path = |inside: &str| {
        let path = format!("{}::private::{inside}", home.to_token_stream().to_string().replace(' ', ""));
        LitStr::new(&path, Span::call_site())
    };
    let (serde, schemars) = (path("serde"), path("schemars"));
    let description = documented(&declaration.description);
    let (fields, defaults): (Vec<_>, Vec<_>) = parameters(declaration).map(field).unzip();
    quote! {
        #description
        #[derive(#home::private::serde::Deserialize, #home::private::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        pub struct __HaftArguments { #(#fields,)* }
        #(#defaults)*
    }
}

fn documented(text: &str) -> Option<TokenStream> {
    (!text.is_empty()).then(|| quote! { #[doc = #text] })
}

/// A field, and the function that gives its default.
fn field(parameter: &Parameter) -> (TokenStream, Option<TokenStream>) {
    let Parameter { name, kind, description, default } = parameter;
    let description = documented(description);
    let Some(default) = default else { return (quote! { #description #name: #kind }, None) };
    let function = Ident::new(&format!("__haft_default_{}", name.unraw()), Span::call_site());
    let path = function.to_string();
    let value = match default {
        // So that `#[default("all")]` does for a `String`.
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => quote! { ::std::convert::Into::into(#text) },
        other => other.to_token_stream(),
    };
    let field = quote! { #description #[serde(default = #path)] #name: #kind };
    (field, Some(quote_spanned! { default.span() => fn #function() -> #kind { #value } }))
}

fn effects(declaration: &Declaration, home: &Path) -> TokenStream {
    let effects = declaration.effects.iter().map(|PathEffect { kind, parameter }| {
        quote! { #home::Effect::#kind(workspace.join(&arguments.#parameter)) }
    });
    quote! { ::std::vec![#(#effects),*] }
}

fn run(function: &ItemFn, declaration: &Declaration, home: &Path) -> TokenStream {
    let name = &function.sig.ident;
    let given = parameters(declaration).map(|parameter| {
        let (field, bound) = (&parameter.name, bound(&parameter.name));
        quote! { #field: #bound }
    });
    let passed = declaration.inputs.iter().map(|input| match input {
        Input::Context => quote! { __haft_context },
        Input::Parameter(parameter) => bound(&parameter.name).into_token_stream(),
    });
    let waited = function.sig.asyncness.as_ref().map(|_| quote! { .await });
    // An error about what is returned points at the type that says so.
    let at = match &function.sig.output {
        syn::ReturnType::Default => name.span(),
        syn::ReturnType::Type(_, kind) => kind.span(),
    };
    let result =
        quote_spanned! { at => (&&&#home::private::Returned::new(#name(#(#passed),*)#waited)).result()? };
    let output = quote_spanned! { at => (&&&#home::private::Returned::new(#result)).output() };
    let uses = quote! {
        #[allow(unused_imports)]
        use #home::private::{AsJson as _, AsOutput as _, AsText as _, FromResult as _, FromToolError as _, FromValue as _};
    };
    let body = match function.sig.asyncness {
        Some(_) => quote! { #uses #output },
        None => quote! {
            let __haft_context = ::std::clone::Clone::clone(__haft_context);
            #home::private::on_a_thread(move || {
                #uses
                #[allow(unused_variables)]
                let __haft_context = &__haft_context;
                #output
            })
            .await
        },
    };
    quote! {
        async fn run(
            &self,
            __HaftArguments { #(#given),* }: __HaftArguments,
            __haft_context: &#home::ToolContext,
        ) -> ::std::result::Result<#home::ToolOutput, #home::ToolError> {
            #body
        }
    }
}

/// The variable for a parameter: a parameter may have the name of the function, which is called with it.
fn bound(parameter: &Ident) -> Ident {
    Ident::new(&format!("__haft_argument_{}", parameter.unraw()), parameter.span())
}
