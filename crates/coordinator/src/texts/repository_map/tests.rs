//! Maps of random repositories, counted as requests are.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use orchestrate_core::TokenCounter as _;
use orchestrate_git::blob_id;
use orchestrate_model::Tokenizer;

use super::*;
use crate::texts::project_texts::builtin_names;

/// How many repositories are tried; all with `just maps`.
const REPOSITORIES: (u64, u64) = (300, 10_000);

/// Random numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const ENDINGS: [&str; 12] = [
    "rs", "py", "ts", "tsx", "js", "go", "java", "c", "cpp", "h", "sh", "md",
];
const WORDS: [&str; 12] = [
    "order",
    "Basket",
    "größe",
    "名前",
    "имя",
    "parse",
    "ab",
    "total_price",
    "_hidden",
    "HttpServer",
    "x",
    "𝒳𝒴𝒵",
];
const FOLDERS: [&str; 6] = ["", "src/", "src/deep/er/", "lib/größe/", "tests/", "名前/"];

fn name(random: &mut Random) -> String {
    let words: Vec<&str> = (0..=random.below(3)).map(|_| random.one(&WORDS)).collect();
    words.join("_")
}

/// Returns a random text, mostly code of a language.
fn source(random: &mut Random, ending: &str) -> String {
    let mut text = String::new();
    for _ in 0..random.below(8) {
        let (name, other, argument) = (name(random), name(random), name(random));
        let definition = match ending {
            "rs" => format!(
                "pub struct {name}s;\nimpl {name}s {{\n    fn {other}(&self, {argument}: {name}s) {{ {other}({argument}) }}\n}}\n"
            ),
            "py" => format!(
                "class {name}:\n    def {other}(self, {argument}):\n        return {other}({argument})\n"
            ),
            "ts" | "tsx" | "js" => {
                format!(
                    "export class {name} {{ {other}({argument}) {{ return {other}({argument}); }} }}\n"
                )
            }
            "go" => format!(
                "package p\nfunc {name}({argument} int) int {{ return {other}({argument}) }}\n"
            ),
            "java" => format!(
                "class {name} {{ void {other}(int {argument}) {{ {other}({argument}); }} }}\n"
            ),
            "c" | "cpp" | "h" => {
                format!("int {name}(int {argument}) {{ return {other}({argument}); }}\n")
            }
            "sh" => format!("{name}() {{\n    {other} {argument}\n}}\n"),
            _ => format!("{name} {other}\n"),
        };
        text.push_str(&definition);
    }
    match random.below(40) {
        0 => text.push_str(&"fn wide(".repeat(300)),
        1 => {
            text = format!(
                "fn {}({}) {{}}\n",
                "λ".repeat(5_000),
                "größe: 名前, ".repeat(2_000)
            )
        }
        2 => text = text.replace('\n', " "),
        3 => {
            text = (0..500)
                .map(|_| {
                    char::from_u32(u32::try_from(random.below(0x3000)).unwrap())
                        .unwrap_or('\u{fffd}')
                })
                .collect()
        }
        _ => {}
    }
    text
}

/// A random repository: its files, by their paths.
fn repository(random: &mut Random) -> BTreeMap<String, String> {
    let file = |random: &mut Random| {
        let ending = random.one(&ENDINGS);
        let path = format!(
            "{}{}{}.{ending}",
            random.one(&FOLDERS),
            name(random),
            random.below(50)
        );
        (path, source(random, ending))
    };
    (0..random.below(14)).map(|_| file(random)).collect()
}

fn order(choice: MapChoice, files: &[String], text: &str) -> MapOrder {
    let names = builtin_names().unwrap();
    MapOrder {
        base: Oid::new("0".repeat(40)),
        files: files.to_vec(),
        text: text.to_owned(),
        budget: MapBudget {
            choice: Some(choice),
            of_run: 0,
            context_tokens: u64::MAX,
            looks_for_code: true,
        },
        policy: Policy::new(&[], &names).unwrap(),
        grant: Grant::of_tools([READ_FILE]),
        prompts: Prompts::default(),
    }
}

fn map(order: &MapOrder, repository: &BTreeMap<String, String>, reversed: bool) -> Option<String> {
    let mut files: Vec<StoredFile> = repository
        .iter()
        .map(|(path, text)| StoredFile {
            path: path.clone(),
            content: blob_id(text.as_bytes()).unwrap(),
            bytes: text.len() as u64,
        })
        .collect();
    if reversed {
        files.reverse();
    }
    let read = |file: &StoredFile| Ok::<_, Infallible>(repository[&file.path].clone().into_bytes());
    let tokens = order.budget.tokens(usize::MAX).ok()?;
    let folder = tempfile::tempdir().unwrap();
    let parts = MapParts::at(&folder.path().join("parts"));
    let ready = || {
        let index = map_index(&files, &order.task(), &parts, &|| false, &read).unwrap();
        Ready {
            indexed: Arc::new(Indexed {
                files: files.clone(),
                index,
            }),
            tokens,
        }
    };
    let made = order.of_index(&ready(), &|| false).ok();
    assert_eq!(
        order.of_index(&ready(), &|| false).ok(),
        made,
        "from the parts that were kept"
    );
    made
}

/// Returns the lines of a map with the files that they are in, without those of one file.
fn lines_of_others(map: &str, path: &str) -> BTreeSet<String> {
    let (mut folder, mut file, mut lines) = ("", String::new(), BTreeSet::new());
    let within = map
        .lines()
        .skip_while(|line| !line.starts_with("<data-"))
        .skip(1);
    let within = within.take_while(|line| !line.starts_with("</data-"));
    for line in within.map(|line| line.trim_end_matches(" ⋮")) {
        let shown = line.trim_start();
        let is_line = shown
            .split(':')
            .next()
            .is_some_and(|number| number.parse::<u64>().is_ok());
        let entry = match line.strip_suffix('/') {
            Some(below) if !line.starts_with(' ') => {
                folder = below;
                continue;
            }
            _ if is_line => format!("{file} {shown}"),
            _ => {
                file = if line.starts_with(' ') {
                    format!("{folder}/{shown}")
                } else {
                    shown.to_owned()
                };
                file.clone()
            }
        };
        if file != path {
            lines.insert(entry);
        }
    }
    lines
}

#[test]
fn no_map_is_over_its_budget_and_each_is_the_same_again_1() {
    require_maps_of_half(0);
}

#[test]
fn no_map_is_over_its_budget_and_each_is_the_same_again_2() {
    require_maps_of_half(1);
}

/// Makes the maps of every second repository, so that two tests share the processors.
fn require_maps_of_half(first: u64) {
    #[expect(clippy::disallowed_methods, reason = "the long form of this test")]
    let all = std::env::var_os("ORCHESTRATE_MAPS").is_some_and(|which| which == "all");
    let counter = Tokenizer::load().unwrap();
    let (mut maps, mut longest) = (0, 0);
    let repositories = if all { REPOSITORIES.1 } else { REPOSITORIES.0 };
    for seed in (first..repositories).step_by(2) {
        let random = &mut Random(seed);
        let repository = repository(random);
        let declared: Vec<String> = repository
            .keys()
            .filter(|_| random.below(6) == 0)
            .cloned()
            .collect();
        let text = format!(
            "{} `{}` {}",
            name(random),
            name(random),
            random.one(&FOLDERS)
        );
        let tokens = [0, 1, 60, 100, 300, 1_000, 3_000][random.below(7)];
        let choice = if tokens == 0 {
            MapChoice::Off
        } else {
            MapChoice::Tokens(tokens)
        };
        let order = order(choice, &declared, &text);
        let made = map(&order, &repository, false);
        assert_eq!(
            map(&order, &repository, true),
            made,
            "{seed}: not the same again"
        );
        let Some(made) = made else { continue };
        let counted = counter.count(&made);
        assert!(
            counted as u64 <= tokens,
            "{seed}: {counted} of {tokens}\n{made}"
        );
        (maps, longest) = (maps + 1, longest.max(counted));
    }
    // Most budgets are large enough for something.
    assert!(maps > 50 && longest > 900, "{maps} {longest}");
}

/// With another name of one file, the others keep their order: of what is shown of them before and
/// after, one is a part of the other.
#[test]
fn a_renamed_file_leaves_the_order_of_the_others() {
    let (mut compared, mut differing) = (0, 0);
    for seed in 0..200 {
        let random = &mut Random(seed);
        let repository = repository(random);
        let code: Vec<&String> = repository
            .keys()
            .filter(|path| !path.ends_with(".md"))
            .collect();
        let Some(path) = code
            .get(random.below(code.len()))
            .map(|path| (*path).clone())
        else {
            continue;
        };
        let (mut renamed, (stem, ending)) = (repository.clone(), path.rsplit_once('.').unwrap());
        let new = format!("{stem}{}.{ending}", "_renamed".repeat(1 + random.below(8)));
        let text = renamed.remove(&path).unwrap();
        renamed.insert(new.clone(), text);
        let declared: Vec<String> = code
            .iter()
            .filter(|other| **other != &path)
            .map(|path| (*path).clone())
            .collect();
        let order = order(
            MapChoice::Tokens([150, 300, 600][random.below(3)]),
            &declared,
            "",
        );
        let before = lines_of_others(&map(&order, &repository, false).unwrap_or_default(), &path);
        let after = lines_of_others(&map(&order, &renamed, false).unwrap_or_default(), &new);
        assert!(
            before.is_subset(&after) || after.is_subset(&before),
            "{seed} {path}\n{before:#?}\n{after:#?}"
        );
        (compared, differing) = (
            compared + usize::from(!before.is_empty()),
            differing + usize::from(before != after),
        );
    }
    assert!(compared > 100 && differing > 10, "{compared} {differing}");
}

#[test]
fn what_an_agent_may_not_read_is_not_in_its_map() {
    let names = builtin_names().unwrap();
    let rule = orchestrate_core::policy::RuleText::new(
        orchestrate_core::policy::RuleDecision::Deny,
        "Read(/secret/**)",
        "test",
    );
    let mut order = order(MapChoice::On, &[], "");
    order.policy = Policy::new(&[rule], &names).unwrap();
    assert_eq!(
        ["secret/a.rs", "open/a.rs"].map(|path| order.may_read(path)),
        [false, true]
    );
    order.grant = Grant::of_tools(["write_file"]);
    assert_eq!(order.is_possible(), Err(NoMap::MayNotRead));
}
