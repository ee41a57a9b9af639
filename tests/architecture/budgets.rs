//! What makes code hard to take over, counted: each budget only falls.
//!
//! Product code is `crates/*/src` and `crates/cli` without what is compiled for tests only. A rate
//! is per 1,000 functions with bodies. A number that has fallen by a fiftieth of its budget lowers
//! the budget; a budget is raised only with the reason in a line beside it.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprClosure, ExprMethodCall, FnArg, ImplItemFn, ItemFn, ItemMod, Local,
    Pat, ReturnType, Signature, TraitItemFn, Type,
};

use super::source::without_test_files;
use super::{read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// Lines are at most this wide.
const WIDTH: usize = 100;

/// The most of each that there may be.
const BUDGETS: [(&str, usize); 8] = [
    ("closures per 1,000 functions", 766),
    ("named closures per 1,000 functions", 55),
    ("tuple parameters", 0),
    ("nested results", 0),
    // Formats of plans cut titles out of lines at offsets that they have just found there.
    // 16 more than before: what plans say of marks, of fields and of rewritten lines is cut where
    // its end was found. One is left elsewhere: a text between two places of a syntax tree, which
    // may be within a character.
    ("parts that may be missing", 105),
    ("`unwrap_or_default()`", 338),
    ("functions named `of`", 0),
    // All in the readers of plans.
    ("lines of code wider than 100 columns", 19),
];

/// The methods that give an empty part where there is none, as `.get(…).unwrap_or_default()` does,
/// and the trait that a file with such calls imports; others have methods of the same names.
const PARTS: [&str; 3] = ["head", "tail", "part"];
const TRAIT_OF_PARTS: [&str; 2] = ["text::parts::", "Parts"];

/// What is counted.
#[derive(Debug, Default)]
struct Counts {
    functions: usize,
    closures: usize,
    named_closures: usize,
    tuple_parameters: usize,
    nested_results: usize,
    defaults_of_get: usize,
    defaults: usize,
    named_of: usize,
    wide_lines: usize,
    /// Whether the current file imports [`TRAIT_OF_PARTS`].
    cuts_parts: bool,
}

pub(super) fn workspace_holds() -> Outcome {
    let files: Vec<_> = rust_files()?
        .into_iter()
        .filter(|file| is_product(&file.display().to_string()))
        .collect();
    let mut counts = Counts::default();
    for file in without_test_files(&files)? {
        counts.add(&file.display().to_string(), &read(&root().join(file))?)?;
    }
    require_none(&off_budget(&counts.table(), &BUDGETS))
}

fn is_product(file: &str) -> bool {
    let in_crate = file.starts_with("crates/") && file.contains("/src/");
    let is_test = file.ends_with("/tests.rs") || file.contains("/src/tests/");
    let is_root = file.starts_with("crates/cli/") || file.starts_with("crates/library/");
    (in_crate || is_root) && !is_test
}

/// Returns the numbers that are above their budgets, or so far below that these have to follow.
fn off_budget(counted: &BTreeMap<&str, usize>, budgets: &[(&str, usize)]) -> Vec<String> {
    let mut off = Vec::new();
    for (name, budget) in budgets {
        let found = counted.get(name).copied().unwrap_or_default();
        if found > *budget {
            off.push(format!(
                "{name}: {found}, {budget} before; write it otherwise"
            ));
        } else if found * 50 < *budget * 49 {
            off.push(format!(
                "{name}: {found}, {budget} before; lower the budget"
            ));
        }
    }
    off
}

impl Counts {
    fn add(&mut self, file: &str, text: &str) -> Result<(), Failed> {
        let parsed =
            syn::parse_file(text).map_err(|error| Failed::from(format!("{file}: {error}")))?;
        self.cuts_parts = TRAIT_OF_PARTS.iter().all(|name| text.contains(name));
        self.visit_file(&parsed);
        let is_wide =
            |line: &&str| !line.trim_start().starts_with("//") && line.chars().count() > WIDTH;
        self.wide_lines += text.lines().filter(is_wide).count();
        Ok(())
    }

    fn table(&self) -> BTreeMap<&'static str, usize> {
        let rate = |count: usize| (count * 1_000).div_ceil(self.functions.max(1));
        BTreeMap::from([
            ("closures per 1,000 functions", rate(self.closures)),
            (
                "named closures per 1,000 functions",
                rate(self.named_closures),
            ),
            ("tuple parameters", self.tuple_parameters),
            ("nested results", self.nested_results),
            ("parts that may be missing", self.defaults_of_get),
            ("`unwrap_or_default()`", self.defaults),
            ("functions named `of`", self.named_of),
            ("lines of code wider than 100 columns", self.wide_lines),
        ])
    }

    fn enter_function(&mut self, signature: &Signature, block: Option<&Block>) {
        if block.is_none() {
            return;
        }
        self.functions += 1;
        for input in &signature.inputs {
            if let FnArg::Typed(input) = input
                && matches!(&*input.pat, Pat::Tuple(_))
            {
                self.tuple_parameters += 1;
            }
        }
        if let ReturnType::Type(_, returned) = &signature.output
            && is_nested(returned)
        {
            self.nested_results += 1;
        }
        if signature.ident == "of" {
            self.named_of += 1;
        }
    }
}

/// Reports whether a type is a result of a result, or of an optional switch.
fn is_nested(returned: &Type) -> bool {
    let Some((outer, first)) = named(returned) else {
        return false;
    };
    let Some((inner, second)) = first.and_then(named) else {
        return false;
    };
    let is_switch = || {
        second
            .and_then(named)
            .is_some_and(|(name, _)| name == "bool")
    };
    outer == "Result" && (inner == "Result" || inner == "Option" && is_switch())
}

/// Returns the name of a type and its first type parameter.
fn named(of: &Type) -> Option<(String, Option<&Type>)> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Some((last.ident.to_string(), None));
    };
    let first = arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(first) => Some(first),
        _ => None,
    });
    Some((last.ident.to_string(), first))
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition.starts_with("test")
                || condition.starts_with("all (test")
                || condition.starts_with("all(test")
        }
        _ => false,
    })
}

impl<'a> Visit<'a> for Counts {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_for_tests(&item.attrs) {
            self.enter_function(&item.sig, Some(&item.block));
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.enter_function(&item.sig, Some(&item.block));
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        self.enter_function(&item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_closure(&mut self, closure: &'a ExprClosure) {
        self.closures += 1;
        visit::visit_expr_closure(self, closure);
    }

    fn visit_local(&mut self, local: &'a Local) {
        if local
            .init
            .as_ref()
            .is_some_and(|init| matches!(&*init.expr, Expr::Closure(_)))
        {
            self.named_closures += 1;
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        if self.cuts_parts && PARTS.iter().any(|name| call.method == name) {
            self.defaults_of_get += 1;
        }
        if call.method == "unwrap_or_default" {
            self.defaults += 1;
            if matches!(&*call.receiver, Expr::MethodCall(inner) if inner.method == "get") {
                self.defaults_of_get += 1;
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

pub(super) fn examples_are_counted() -> Outcome {
    let mut counts = Counts::default();
    let text = "impl A {\n    fn of((a, b): (u8, u8)) -> Result<Result<u8, E>, E> {\n        let f = |x: u8| x;\n        \
                c.map(|y| y).get(0).unwrap_or_default()\n    }\n}\nfn g() -> Result<Option<bool>, E> {\n    \
                x.unwrap_or_default()\n}\n#[cfg(test)]\nmod tests {\n    fn h() {\n        let f = |x| x;\n    }\n}\n";
    counts.add(
        "a.rs",
        &format!("{text}const WIDE: &str = \"{}\";\n", "x".repeat(WIDTH)),
    )?;
    let counted: Vec<String> = counts
        .table()
        .into_iter()
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    let expected = [
        "`unwrap_or_default()`: 2",
        "closures per 1,000 functions: 1000",
        "functions named `of`: 1",
        "lines of code wider than 100 columns: 1",
        "named closures per 1,000 functions: 500",
        "nested results: 2",
        "parts that may be missing: 1",
        "tuple parameters: 1",
    ];
    require_exactly(&counted, &expected)?;
    let counted = BTreeMap::from([("a", 101), ("b", 97), ("c", 98)]);
    let off = off_budget(&counted, &[("a", 100), ("b", 100), ("c", 100)]);
    let expected = [
        "a: 101, 100 before; write it otherwise",
        "b: 97, 100 before; lower the budget",
    ];
    assert_eq!(off, expected, "{}", off.join("\n"));
    Ok(())
}
