//! The public interface of the library, as a list in `crates/library/interface.txt`: whoever
//! changes the interface sees the change there, and so does its reviewer.
//!
//! It is read from the sources, without a compiler: what `lib.rs` exports, with its public fields,
//! functions and implementations. Docs, bodies and private items are left out.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use libtest_mimic::Failed;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{
    Attribute, Field, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Variant, Visibility,
};

use super::source::outline;
use super::{read, root};
use crate::support::Outcome;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/library/interface.txt");
/// What an attribute has to be named to be listed: users see what it does.
const LISTED_ATTRIBUTES: [&str; 3] = ["derive", "must_use", "non_exhaustive"];

/// Requires that the library has the listed interface.
pub(super) fn is_the_listed_one() -> Outcome {
    let folder = root().join("crates/library");
    let exports = outline("lib.rs", &read(&folder.join("lib.rs"))?)?.exports;
    let mut modules = BTreeSet::new();
    let mut list = Interface::default();
    for (name, path) in exports {
        let head = format!("pub use {}", path.join("::"));
        list.items.insert(
            name,
            Listed {
                head,
                members: Vec::new(),
            },
        );
        modules.extend(path.into_iter().next());
    }
    for module in modules {
        let file = folder.join(module).with_extension("rs");
        if file.is_file() {
            list.add(&read(&file)?)?;
        }
    }
    expect_file![LIST].assert_eq(&list.text());
    Ok(())
}

/// Shows what is listed and what is not.
pub(super) fn what_is_public_is_listed() -> Outcome {
    let text = "impl Session { pub fn one(&self) -> u8 { 1 } fn two() {} }\n\
                #[derive(Clone)] #[doc = \"A.\"] pub struct Session { pub id: u8, secret: u8 }\n\
                impl From<u8> for Session { fn from(id: u8) -> Self { at(id) } }\n\
                pub enum Event { /** A. */ Text { child: String }, At(u8), Rest }\n\
                pub trait Model: Send { /** A. */ fn reply(&self) -> u8; }\n\
                pub fn main<A>(a: A)\nwhere\n    A: Send,\n{ }\n\
                pub struct Inner;";
    let mut list = Interface::default();
    for name in ["Event", "Model", "Session", "main"] {
        list.items.insert(name.to_owned(), Listed::default());
    }
    list.add(text)?;
    let expected = "pub enum Event\n    Text { child: String }\n    At(u8)\n    Rest\n\n\
                    pub trait Model: Send\n    fn reply(&self) -> u8\n\n\
                    pub struct Session\n    pub fn one(&self) -> u8\n    #[derive(Clone)]\n    \
                    pub id: u8\n    impl From<u8> for Session\n\n\
                    pub fn main<A>(a: A) where A: Send,\n";
    assert_eq!(list.text(), expected);
    Ok(())
}

/// The exported items by their names.
#[derive(Default)]
struct Interface {
    items: BTreeMap<String, Listed>,
}

/// An item and what belongs to it, as lines.
#[derive(Default)]
struct Listed {
    head: String,
    members: Vec<String>,
}

impl Interface {
    /// Adds what is exported of a file.
    fn add(&mut self, text: &str) -> Outcome {
        let file = syn::parse_file(text).map_err(|error| Failed::from(error.to_string()))?;
        for item in &file.items {
            if let Some((name, attributes)) = named(item)
                && let Some(listed) = self.items.get_mut(&name)
            {
                listed.define(text, item, attributes);
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for listed in self.items.values() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&listed.head);
            text.push('\n');
            for member in &listed.members {
                text.push_str(&format!("    {member}\n"));
            }
        }
        text
    }
}

/// Returns the name that an item defines, or that an implementation is for, and its attributes.
fn named(item: &Item) -> Option<(String, &[Attribute])> {
    Some(match item {
        Item::Struct(item) => (item.ident.to_string(), &item.attrs),
        Item::Enum(item) => (item.ident.to_string(), &item.attrs),
        Item::Trait(item) => (item.ident.to_string(), &item.attrs),
        Item::Type(item) => (item.ident.to_string(), &item.attrs),
        Item::Fn(item) => (item.sig.ident.to_string(), &item.attrs),
        Item::Impl(item) => {
            let Type::Path(of) = &*item.self_ty else {
                return None;
            };
            (of.path.segments.last()?.ident.to_string(), &[])
        }
        _ => return None,
    })
}

impl Listed {
    fn define(&mut self, text: &str, item: &Item, attributes: &[Attribute]) {
        for attribute in attributes {
            let is_listed = |name: &&str| attribute.path().is_ident(*name);
            if LISTED_ATTRIBUTES.iter().any(is_listed) {
                self.members
                    .push(cut(text, attribute.span(), attribute.span()));
            }
        }
        match item {
            Item::Struct(item) => {
                self.head = cut(text, item.vis.span(), item.ident.span());
                let public = item.fields.iter().filter(|field| is_public(&field.vis));
                self.members
                    .extend(public.map(|field| field_text(text, field)));
            }
            Item::Enum(item) => {
                self.head = cut(text, item.vis.span(), item.ident.span());
                let variants = item.variants.iter();
                self.members
                    .extend(variants.map(|variant| variant_text(text, variant)));
            }
            Item::Trait(item) => {
                let bounds = item.supertraits.last().map(Spanned::span);
                let end = bounds.unwrap_or_else(|| item.ident.span());
                self.head = cut(text, item.vis.span(), end);
                for member in &item.items {
                    if let TraitItem::Fn(function) = member {
                        let signature = function.sig.span();
                        self.members.push(cut(text, signature, signature));
                    }
                }
            }
            Item::Type(item) => self.head = cut(text, item.vis.span(), item.ty.span()),
            Item::Fn(item) => self.head = cut(text, item.vis.span(), item.sig.span()),
            Item::Impl(item) => self.implement(text, item),
            _ => {}
        }
    }

    fn implement(&mut self, text: &str, item: &ItemImpl) {
        if item.trait_.is_some() {
            self.members
                .push(cut(text, item.impl_token.span(), item.self_ty.span()));
            return;
        }
        for member in &item.items {
            if let ImplItem::Fn(function) = member
                && is_public(&function.vis)
            {
                self.members
                    .push(cut(text, function.vis.span(), function.sig.span()));
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn field_text(text: &str, field: &Field) -> String {
    let from = match (&field.vis, &field.ident) {
        (Visibility::Public(public), _) => public.span(),
        (_, Some(name)) => name.span(),
        (_, None) => field.ty.span(),
    };
    cut(text, from, field.ty.span())
}

fn variant_text(text: &str, variant: &Variant) -> String {
    let fields: Vec<String> = variant
        .fields
        .iter()
        .map(|field| field_text(text, field))
        .collect();
    match &variant.fields {
        Fields::Unit => variant.ident.to_string(),
        Fields::Named(_) => format!("{} {{ {} }}", variant.ident, fields.join(", ")),
        Fields::Unnamed(_) => format!("{}({})", variant.ident, fields.join(", ")),
    }
}

/// Returns the source from the beginning of one place to the end of another, in one line.
fn cut(text: &str, from: Span, to: Span) -> String {
    let source = text
        .get(from.byte_range().start..to.byte_range().end)
        .unwrap_or("(unreadable)");
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("( ", "(")
        .replace(", )", ")")
        .replace("< ", "<")
        .replace(", >", ">")
}
