//! `#[orchestrate::main]`: see `orchestrate::main`.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// The name of the user's function inside of the generated one.
const INNER: &str = "asynchronous_main";

/// What is written instead of a function that cannot be the program's.
const WRONG: &str =
    "compile_error!(\"#[orchestrate::main] is for an `async fn` without arguments\");";

/// Makes an `async fn main` the program's `main`: the sandbox's helper first, which is this program
/// as well, and then a tokio runtime.
#[proc_macro_attribute]
pub fn main(_arguments: TokenStream, function: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = function.into_iter().collect();
    match wrapped(&tokens).or_else(|| WRONG.parse().ok()) {
        Some(written) => written,
        None => TokenStream::new(),
    }
}

/// Returns `fn main() -> R { async fn inner() -> R { … } orchestrate::block_on(inner) }`; `None`
/// for anything but an `async fn` without arguments.
fn wrapped(tokens: &[TokenTree]) -> Option<TokenStream> {
    let at = tokens.iter().position(|token| is_word(token, "async"))?;
    let (attributes, function) = tokens.split_at(at);
    let [
        keyword,
        name,
        arguments,
        returned @ ..,
        TokenTree::Group(body),
    ] = function.get(1..)?
    else {
        return None;
    };
    let TokenTree::Group(list) = arguments else {
        return None;
    };
    if !is_word(keyword, "fn")
        || !list.stream().is_empty()
        || list.delimiter() != Delimiter::Parenthesis
        || body.delimiter() != Delimiter::Brace
    {
        return None;
    }
    let mut inner: Vec<TokenTree> = function.to_vec();
    *inner.get_mut(2)? = TokenTree::Ident(Ident::new(INNER, Span::mixed_site()));
    let call: TokenStream = "::orchestrate::block_on".parse().ok()?;
    let argument = TokenTree::Ident(Ident::new(INNER, Span::mixed_site()));
    let argument = Group::new(Delimiter::Parenthesis, TokenStream::from(argument));
    let mut block = TokenStream::from_iter(inner);
    block.extend(call);
    block.extend([TokenTree::Group(argument)]);
    let mut wrapped: Vec<TokenTree> = attributes.to_vec();
    wrapped.extend([keyword.clone(), name.clone(), arguments.clone()]);
    wrapped.extend(returned.iter().cloned());
    wrapped.push(TokenTree::Group(Group::new(Delimiter::Brace, block)));
    Some(TokenStream::from_iter(wrapped))
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}
