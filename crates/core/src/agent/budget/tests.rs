//! Tests of the budgets: what fits, what waits and what is held.

use std::collections::BTreeMap;

use super::*;

/// A run of 100,000 tokens with a parent of 20,000, its two children, and a task beside them; only
/// the parent has begun.
fn tree() -> BudgetTree {
    let mut tree = BudgetTree::new(Unit::Tokens, Some(100_000));
    tree.add("parent".into(), None, Some(20_000));
    tree.hold(&"parent".into());
    tree.add("child".into(), Some("parent".into()), None);
    tree.add("sibling".into(), Some("parent".into()), None);
    tree.add("other".into(), None, None);
    tree
}

fn refused(task: Option<&str>, (cap, used, kept): (u64, u64, u64), needed: u64) -> Reservation {
    let (task, parent, unit) = (task.map(TaskId::from), None, Unit::Tokens);
    Reservation::Refused(Exhausted {
        task,
        parent,
        unit,
        cap,
        used,
        kept,
        needed,
    })
}

#[test]
fn nobody_else_can_spend_what_is_held_for_a_report() {
    let (mut tree, parent, child) = (tree(), TaskId::from("parent"), TaskId::from("child"));
    assert_eq!(tree.ask(&child, 18_000), Reservation::Fits);
    tree.reserve(&child, 18_000);
    tree.settle(&child, 18_000);
    for task in [&child, &parent] {
        assert_eq!(
            tree.ask(task, 1),
            refused(Some("parent"), (20_000, 18_000, 2_000), 1)
        );
    }
    assert_eq!(tree.ask_report(&parent, 2_000), Reservation::Fits);
    assert_eq!(
        tree.ask_report(&parent, 2_001),
        refused(Some("parent"), (20_000, 18_000, 2_000), 2_001)
    );
    tree.let_go(&parent);
    tree.reserve(&parent, 2_000);
    assert_eq!(tree.ask(&child, 1), Reservation::Waits);
    tree.settle(&parent, 1_500);
    assert_eq!(tree.ask(&child, 500), Reservation::Fits);
}

#[test]
fn a_child_gets_its_budget_once_more_of_what_its_parent_has() {
    let parent = TaskId::from("parent");
    let child = TaskId::from("child");
    let plan = TaskId::from("plan");
    let mut tree = BudgetTree::new(Unit::Tokens, None);
    tree.add(parent.clone(), None, Some(20_000));
    tree.add(child.clone(), Some(parent.clone()), Some(8_000));
    tree.add(plan.clone(), None, Some(8_000));
    let spend = |tree: &mut BudgetTree, task: &TaskId, tokens: u64| {
        tree.reserve(task, tokens);
        tree.settle(task, tokens);
    };
    spend(&mut tree, &child, 7_000);
    spend(&mut tree, &plan, 7_000);
    let used_up = |tree: &BudgetTree, task: &TaskId| match tree.ask(task, 6_000) {
        Reservation::Refused(exhausted) => exhausted.to_string(),
        other => format!("{other:?}"),
    };
    assert!(used_up(&tree, &child).ends_with(
        "Agent parent set this budget when it spawned child, and can spawn an agent with a larger one; a retry gives \
         child as much again"
    ));
    let below = TaskId::from("below");
    tree.add(below.clone(), Some(child.clone()), None);
    assert_eq!(
        [&child, &below, &plan].map(|task| tree.is_bound_by_plan(task)),
        [false, false, true]
    );
    assert!(used_up(&tree, &plan).ends_with("raising it takes a changed plan and a new run"));
    assert_eq!(
        [&child, &plan, &parent].map(|task| tree.is_renewable(task)),
        [true, false, false]
    );
    for task in [&child, &plan] {
        tree.renew(task, 8_000);
    }
    assert_eq!(
        (
            tree.ask(&child, 8_000),
            tree.ask(&child, 8_001) == Reservation::Fits
        ),
        (Reservation::Fits, false)
    );
    assert!(matches!(tree.ask(&plan, 1_001), Reservation::Refused(_)));
    // It never gets more than its parent has.
    spend(&mut tree, &child, 8_000);
    tree.renew(&child, 8_000);
    assert_eq!(
        (
            tree.ask(&child, 5_000),
            tree.ask(&child, 5_001) == Reservation::Fits
        ),
        (Reservation::Fits, false)
    );
    spend(&mut tree, &child, 5_000);
    assert!(!tree.is_renewable(&child));
}

#[test]
fn a_report_is_held_where_budgets_cover_it() {
    let held = |caps: &[Option<u64>]| {
        let mut tree = BudgetTree::new(Unit::Tokens, caps[0]);
        tree.add("a".into(), None, caps[1]);
        tree.add("b".into(), Some("a".into()), caps[2]);
        tree.add("c".into(), None, None);
        ["a", "b", "c"].map(|task| {
            tree.hold(&task.into());
            tree.hold(&task.into());
            tree.held(&task.into())
        })
    };
    let table = [
        ([None, None, None], [0, 0, 0]),
        ([Some(100_000), None, None], [2_000, 2_000, 2_000]),
        ([None, Some(100_000), None], [2_000, 2_000, 0]),
        // At most a quarter of a budget is held, and nothing that could not pay for a report.
        ([Some(20_000), None, None], [2_000, 2_000, 1_000]),
        ([Some(10_000), None, None], [2_000, 0, 0]),
        ([Some(4_000), None, None], [1_000, 0, 0]),
        ([Some(3_000), None, None], [0, 0, 0]),
        ([Some(100_000), Some(5_000), None], [1_250, 0, 2_000]),
    ];
    for (caps, expected) in table {
        assert_eq!(held(&caps), expected, "{caps:?}");
    }
    let mut money = BudgetTree::new(Unit::Money, Some(100_000));
    money.add("a".into(), None, None);
    money.hold(&"a".into());
    assert_eq!(
        (money.held(&"a".into()), money.ask(&"a".into(), 100_000)),
        (0, Reservation::Fits)
    );
}

#[test]
fn a_childs_budget_is_at_most_what_its_parent_has_left() {
    let cap_of = |steps: &str, parent: Option<&str>, cap| {
        let mut tree = after(steps);
        tree.add("new".into(), parent.map(TaskId::from), cap);
        tree.tasks.get("new").unwrap().cap
    };
    assert_eq!(cap_of("", Some("parent"), Some(50_000)), Some(18_000));
    assert_eq!(cap_of("", Some("child"), Some(50_000)), Some(18_000));
    assert_eq!(
        cap_of("sibling+5000 child=3000", Some("parent"), Some(50_000)),
        Some(10_000)
    );
    assert_eq!(
        cap_of("sibling+5000", Some("parent"), Some(7_000)),
        Some(7_000)
    );
    // What a child has not used goes back.
    assert_eq!(
        cap_of("sibling+5000 sibling=100", Some("parent"), Some(50_000)),
        Some(17_900)
    );
    assert_eq!(cap_of("", Some("parent"), None), None);
    assert_eq!(cap_of("", Some("other"), Some(500_000)), Some(500_000));
    assert_eq!(cap_of("", None, Some(500_000)), Some(500_000));
}

#[test]
fn children_get_what_no_budget_above_them_needs() {
    let mut tree = tree();
    let left = |tree: &BudgetTree, task: &str| tree.left_for_children(&task.into());
    assert_eq!(
        (
            left(&tree, "parent"),
            left(&tree, "child"),
            left(&tree, "other")
        ),
        (Some(18_000), Some(18_000), Some(98_000))
    );
    tree.reserve(&"child".into(), 3_000);
    tree.settle(&"sibling".into(), 5_000);
    assert_eq!(left(&tree, "parent"), Some(10_000));
    tree.reserve(&"other".into(), 90_000);
    assert_eq!(left(&tree, "parent"), Some(0));
    assert_eq!(BudgetTree::default().left_for_children(&"a".into()), None);
}

#[test]
fn a_task_is_capped_by_its_own_budget_or_by_one_above() {
    let capped = |cap_of_run, task: &str| {
        let mut tree = tree();
        tree.limit_run(cap_of_run);
        tree.is_capped(&task.into())
    };
    assert_eq!(
        ["parent", "child", "other"].map(|task| capped(None, task)),
        [true, true, false]
    );
    assert!(capped(Some(1), "other"));
}

#[test]
fn a_repeated_request_replaces_its_reservation() {
    let mut tree = tree();
    tree.reserve(&"child".into(), 15_000);
    assert_eq!(tree.ask(&"child".into(), 15_000), Reservation::Fits);
    tree.reserve(&"child".into(), 15_000);
    tree.settle(&"child".into(), 5_000);
    assert_eq!(tree.run.settled, 5_000);
    assert_eq!(tree.ask(&"child".into(), 13_000), Reservation::Fits);
}

/// Plays steps like `child+15000` (reserves), `child=100` (settles), `child?9000` (waits), `child-`
/// (gives back).
fn after(steps: &str) -> BudgetTree {
    let mut tree = tree();
    for step in steps.split_whitespace() {
        let at = step.find(['+', '=', '?', '-']).unwrap();
        let task = TaskId::from(&step[..at]);
        let tokens = step[at + 1..].parse().unwrap_or(0);
        match &step[at..=at] {
            "+" => tree.reserve(&task, tokens),
            "=" => tree.settle(&task, tokens),
            "?" => tree.wait(&task, tokens),
            _ => tree.release(&task),
        }
    }
    tree
}

#[test]
fn a_request_waits_for_open_ones_and_is_refused_only_by_what_is_used() {
    let table = [
        ("", "child", 18_000, Reservation::Fits),
        (
            "",
            "child",
            18_001,
            refused(Some("parent"), (20_000, 0, 2_000), 18_001),
        ),
        ("sibling+10000", "child", 8_000, Reservation::Fits),
        ("sibling+10000", "child", 8_001, Reservation::Waits),
        (
            "sibling+10000 sibling=500",
            "child",
            8_001,
            Reservation::Fits,
        ),
        (
            "sibling+10000 sibling=10000",
            "child",
            8_001,
            refused(Some("parent"), (20_000, 10_000, 2_000), 8_001),
        ),
        ("sibling+10000 sibling-", "child", 18_000, Reservation::Fits),
        // The first request is served first where both claim the same budget.
        (
            "sibling+10000 child?17000 sibling=0",
            "child",
            17_000,
            Reservation::Fits,
        ),
        (
            "sibling+10000 child?17000 sibling=0",
            "sibling",
            1_001,
            Reservation::Waits,
        ),
        (
            "sibling+10000 child?17000 sibling=0",
            "sibling",
            1_000,
            Reservation::Fits,
        ),
        (
            "sibling+10000 child?17000 sibling=0 child-",
            "sibling",
            1_001,
            Reservation::Fits,
        ),
        (
            "sibling+10000 child?17000",
            "other",
            71_000,
            Reservation::Fits,
        ),
        (
            "sibling+10000 child?17000",
            "other",
            71_001,
            Reservation::Waits,
        ),
        ("other+90000", "parent", 9_000, Reservation::Waits),
        (
            "other=90000",
            "parent",
            9_000,
            refused(None, (100_000, 90_000, 2_000), 9_000),
        ),
    ];
    for (steps, task, tokens, expected) in table {
        assert_eq!(
            after(steps).ask(&task.into(), tokens),
            expected,
            "{steps} / {task} {tokens}"
        );
    }
}

#[test]
fn the_run_binds_whom_it_leaves_the_least() {
    let bound = |steps: &str, task: &str| after(steps).is_bound_by_run(&task.into());
    assert!(bound("", "other") && !bound("", "child") && !bound("other=80000", "child"));
    assert!(
        bound("other=80001", "child")
            && bound("other=80001", "parent")
            && !bound("other=80000", "parent")
    );
    let mut unlimited = tree();
    unlimited.limit_run(None);
    assert!(!unlimited.is_bound_by_run(&"other".into()));
}

#[test]
fn money_is_reserved_and_settled_like_tokens() {
    let mut money = BudgetTree::new(Unit::Money, Some(1_000_000));
    money.add("a".into(), None, None);
    money.add("b".into(), None, None);
    money.reserve(&"a".into(), 600_000);
    assert_eq!(money.ask(&"b".into(), 400_001), Reservation::Waits);
    assert_eq!(money.ask(&"b".into(), 400_000), Reservation::Fits);
    money.settle(&"a".into(), 250_000);
    let Reservation::Refused(exhausted) = money.ask(&"b".into(), 750_001) else {
        panic!("it fits")
    };
    let said = "the run has used $0.25 of its budget of $1.00; the next request needs up to $0.76";
    assert_eq!(exhausted.to_string(), said);
}

#[test]
fn requests_of_a_process_that_died_hold_nothing_back() {
    let mut tree = after("sibling+10000 child?17000");
    tree.release_all();
    assert_eq!(
        (
            tree.ask(&"other".into(), 98_000),
            tree.waiting(&"child".into())
        ),
        (Reservation::Fits, None)
    );
}

/// Requires of every node that what is used, reserved and held is within its cap, and is the sum of
/// its subtree.
fn require_whole(tree: &BudgetTree) {
    let mut sums: BTreeMap<Option<TaskId>, [u64; 2]> = BTreeMap::new();
    for (task, node) in tree.tasks.iter() {
        for (name, _) in tree.lineage(task) {
            let [reserved, held] = sums.entry(name.cloned()).or_default();
            (*reserved, *held) = (*reserved + node.own_request, *held + node.own_held);
        }
    }
    let named = tree
        .tasks
        .iter()
        .map(|(task, node)| (Some(task.clone()), node));
    for (name, node) in named.chain([(None, &tree.run)]) {
        let within = node.settled + node.reserved + node.held <= node.cap.unwrap_or(u64::MAX);
        let sum = sums.get(&name).copied().unwrap_or_default();
        assert!(
            within && [node.reserved, node.held] == sum,
            "{name:?}: {node:?}, sums {sum:?}"
        );
    }
}

/// One step of the property below, for one of the tasks.
#[derive(Clone, Debug)]
enum Act {
    Spawn {
        parent: Option<u16>,
        cap: Option<u64>,
    },
    Ask {
        task: u16,
        tokens: u64,
    },
    Settle {
        task: u16,
        percent: u64,
    },
    Report {
        task: u16,
        tokens: u64,
    },
    End(u16),
    Crash,
}

fn acts() -> impl proptest::strategy::Strategy<Value = Act> {
    use proptest::prelude::*;
    let cap = || proptest::option::of(0_u64..400_000);
    prop_oneof![
        6 => (proptest::option::weighted(0.8, any::<u16>()), cap())
            .prop_map(|(parent, cap)| Act::Spawn { parent, cap }),
        6 => (any::<u16>(), 0_u64..40_000).prop_map(|(task, tokens)| Act::Ask { task, tokens }),
        5 => (any::<u16>(), 0_u64..=100).prop_map(|(task, percent)| Act::Settle { task, percent }),
        1 => (any::<u16>(), 0_u64..3_000).prop_map(|(task, tokens)| Act::Report { task, tokens }),
        1 => any::<u16>().prop_map(Act::End),
        1 => Just(Act::Crash),
    ]
}

/// Carries out a step as the run does: a refused request changes nothing, and one that must wait is
/// queued.
fn carry_out(tree: &mut BudgetTree, spawned: &mut Vec<TaskId>, act: &Act) {
    let one = |number: u16| {
        spawned
            .get(usize::from(number) % spawned.len().max(1))
            .cloned()
    };
    match act {
        Act::Spawn { parent, cap } => {
            let task = TaskId::new(format!("T{}", spawned.len()));
            let parent = parent.and_then(one);
            tree.add(task.clone(), parent, *cap);
            tree.hold(&task);
            spawned.push(task);
        }
        Act::Ask { task, tokens } => {
            let Some(task) = one(*task) else { return };
            match tree.ask(&task, *tokens) {
                Reservation::Fits => tree.reserve(&task, *tokens),
                Reservation::Waits => tree.wait(&task, *tokens),
                Reservation::Refused(_) => {}
            }
        }
        Act::Settle { task, percent } => {
            let Some(task) = one(*task) else { return };
            tree.settle(&task, tree.own_request(&task) * percent / 100);
        }
        Act::Report { task, tokens } => {
            let Some(task) = one(*task) else { return };
            let held = tree.held(&task);
            let reservation = tree.ask_report(&task, *tokens);
            assert!(
                *tokens > held || reservation == Reservation::Fits,
                "{task} holds {held} for {tokens}"
            );
            if reservation == Reservation::Fits {
                tree.release(&task);
                tree.let_go(&task);
                tree.reserve(&task, *tokens);
            }
        }
        Act::End(task) => {
            let Some(task) = one(*task) else { return };
            tree.release(&task);
            tree.let_go(&task);
        }
        Act::Crash => tree.release_all(),
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 48, ..Default::default() })]

    /// At every instant, over random trees, budgets, requests, ends and crashes.
    #[test]
    fn no_budget_is_ever_exceeded(
        cap in proptest::option::of(0_u64..2_000_000),
        acts in proptest::collection::vec(acts(), 0..250),
    ) {
        let (mut tree, mut spawned) = (BudgetTree::new(Unit::Tokens, cap), Vec::new());
        for act in &acts {
            carry_out(&mut tree, &mut spawned, act);
            require_whole(&tree);
        }
    }
}

/// A thousand agents are spawned before any of them asks, below a parent and its children.
#[test]
fn a_thousand_spawns_at_once_oversubscribe_nothing() {
    let (mut tree, mut spawned) = (BudgetTree::new(Unit::Tokens, Some(1_000_000)), Vec::new());
    let spawn = |parent, cap| Act::Spawn { parent, cap };
    carry_out(&mut tree, &mut spawned, &spawn(None, Some(600_000)));
    for number in 1..1_000_u16 {
        let cap = (number >= 100).then_some(20_000);
        carry_out(&mut tree, &mut spawned, &spawn(Some(number / 10), cap));
    }
    require_whole(&tree);
    for round in 0..4_u16 {
        for task in 0..1_000_u16 {
            let tokens = u64::from(task.wrapping_mul(7_919) % 5_000);
            carry_out(&mut tree, &mut spawned, &Act::Ask { task, tokens });
            if task % 3 == round % 3 {
                let percent = u64::from(task % 101);
                carry_out(
                    &mut tree,
                    &mut spawned,
                    &Act::Settle {
                        task: task / 2,
                        percent,
                    },
                );
            }
        }
        require_whole(&tree);
    }
    assert!(tree.run.settled > 100_000, "{:?}", tree.run);
}
