//! The `#[cost_centre]` attribute of heapprof; programs use it as `heapprof::attr::cost_centre`.

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, ItemFn, LitStr, Token, parse_macro_input, parse_quote};

/// Enters a cost centre for as long as the function or method runs.
///
/// `#[cost_centre]` names the centre after the function, `#[cost_centre("name")]` as it says. The
/// attribute goes on any `fn` with a body that is neither `async` nor `const`: an `async fn` is left
/// and entered again at every `.await`, on any thread, which a guard cannot follow.
///
/// The documentation with an example is at `heapprof::attr`.
#[proc_macro_attribute]
pub fn cost_centre(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Name(name) = parse_macro_input!(arguments as Name);
    let mut function = parse_macro_input!(item as ItemFn);
    if let Err(refusal) = check(&function) {
        return refusal.to_compile_error().into();
    }
    let name = name.unwrap_or_else(|| LitStr::new(&plain_name(&function), function.sig.ident.span()));
    function.block.stmts.insert(0, parse_quote!(let _heapprof_scope = ::heapprof::cost_centre!(#name);));
    quote!(#function).into()
}

/// The attribute's argument: nothing, or one string.
struct Name(Option<LitStr>);

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self(None));
        }
        let name = input.parse().map_err(|error| {
            Error::new(error.span(), "expected a name in quotes, as in #[cost_centre(\"parse\")]")
        })?;
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() {
            Ok(Self(Some(name)))
        } else {
            Err(input.error("expected one name and nothing else"))
        }
    }
}

/// Refuses the functions whose body a guard cannot span.
fn check(function: &ItemFn) -> syn::Result<()> {
    if let Some(token) = &function.sig.asyncness {
        return Err(Error::new_spanned(
            token,
            "a cost centre cannot span an async fn: enter it with cost_centre! between two .await",
        ));
    }
    if let Some(token) = &function.sig.constness {
        return Err(Error::new_spanned(token, "a cost centre cannot be entered in a const fn"));
    }
    Ok(())
}

/// The function's name without `r#`.
fn plain_name(function: &ItemFn) -> String {
    let name = function.sig.ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
