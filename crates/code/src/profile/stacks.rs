//! Adds up stacks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use super::damage::{Damage, ProfileFormat, check};
use super::model::{Function, HotPath, LeftOut, MAX_HOTTEST, Measure, PerformanceAnalysis, add};
use crate::source::Stop;

/// Maximum number of frames of one stack; a program's own stack ends far earlier.
const MAX_STACK: usize = 1_000_000;
/// Maximum number of functions, which then have about thirty megabytes; programs that are profiled
/// have fewer.
const MAX_FUNCTIONS: usize = 200_000;
/// Maximum number of nodes of the call tree, which then has about fifteen megabytes: the functions
/// need room beside it.
const MAX_NODES: usize = 300_000;
/// The number of frames of a path at its two ends.
const OUTER_FRAMES: usize = 32;
const INNER_FRAMES: usize = 96;
/// After so many frames, `stop` is asked.
const FRAMES_BETWEEN_STOPS: usize = 16_384;
/// What stands for the frames between the two ends of a long path.
const MIDDLE: FunctionNumber = FunctionNumber::MAX;

/// The number of a function, in the order in which they are named.
pub(super) type FunctionNumber = u32;
type NodeNumber = u32;

/// Stacks with what was spent at their ends.
pub(super) struct Stacks<'t, 's> {
    stop: Stop<'s>,
    frames: usize,
    numbers: HashMap<Cow<'t, str>, FunctionNumber>,
    sums: Vec<Sums>,
    nodes: Vec<Node>,
    children: HashMap<(NodeNumber, FunctionNumber), NodeNumber>,
    stacks: usize,
    total: u64,
    left_out: usize,
}

/// What was spent in a function.
#[derive(Default)]
struct Sums {
    own: u64,
    total: u64,
    /// The last stack that it is part of.
    stack: usize,
}

/// A path of the call tree; that of no function is the first one.
struct Node {
    above: NodeNumber,
    function: FunctionNumber,
    value: u64,
}

impl<'t, 's> Stacks<'t, 's> {
    pub(super) fn new(stop: Stop<'s>) -> Stacks<'t, 's> {
        let root = Node {
            above: 0,
            function: MIDDLE,
            value: 0,
        };
        Stacks {
            stop,
            frames: 0,
            numbers: HashMap::new(),
            sums: Vec::new(),
            nodes: vec![root],
            children: HashMap::new(),
            stacks: 0,
            total: 0,
            left_out: 0,
        }
    }

    /// Returns the number of a function.
    pub(super) fn function(&mut self, name: Cow<'t, str>) -> Result<FunctionNumber, Damage> {
        self.step(1)?;
        if let Some(number) = self.numbers.get(name.as_ref()) {
            return Ok(*number);
        }
        let number = match FunctionNumber::try_from(self.sums.len()) {
            Ok(number) if self.sums.len() < MAX_FUNCTIONS => number,
            _ => {
                return Err(Damage::At(format!(
                    "it has more than {MAX_FUNCTIONS} functions"
                )));
            }
        };
        self.numbers.insert(name, number);
        self.sums.push(Sums::default());
        Ok(number)
    }

    /// Adds a frame to a stack.
    pub(super) fn push(
        frames: &mut Vec<FunctionNumber>,
        number: FunctionNumber,
    ) -> Result<(), Damage> {
        if frames.len() >= MAX_STACK {
            return Err(Damage::At(format!(
                "a stack has more than {MAX_STACK} frames"
            )));
        }
        frames.push(number);
        Ok(())
    }

    /// Adds a stack, the outermost function first. A stack of nothing says nothing.
    pub(super) fn add(&mut self, frames: &[FunctionNumber], value: u64) -> Result<(), Damage> {
        self.step(frames.len())?;
        let Some(last) = frames.last() else {
            return Ok(());
        };
        self.total = add(self.total, value)?;
        self.stacks += 1;
        for number in frames {
            // One that calls itself is counted once.
            if let Some(sums) = self
                .sums
                .get_mut(index_of(*number))
                .filter(|sums| sums.stack != self.stacks)
            {
                sums.stack = self.stacks;
                sums.total += value;
            }
        }
        if let Some(sums) = self.sums.get_mut(index_of(*last)) {
            sums.own += value;
        }
        self.add_path(frames, value);
        Ok(())
    }

    fn step(&mut self, frames: usize) -> Result<(), Damage> {
        self.frames += frames + 1;
        if self.frames < FRAMES_BETWEEN_STOPS {
            return Ok(());
        }
        self.frames = 0;
        check(self.stop)
    }

    fn add_path(&mut self, frames: &[FunctionNumber], value: u64) {
        let (mut outer, mut middle, mut inner) = (frames, [].as_slice(), [].as_slice());
        if frames.len() > OUTER_FRAMES + INNER_FRAMES {
            (outer, _) = frames.split_at(OUTER_FRAMES);
            (_, inner) = frames.split_at(frames.len() - INNER_FRAMES);
            middle = &[MIDDLE];
        }
        let mut node = 0;
        for function in outer.iter().chain(middle).chain(inner) {
            let Some(below) = self.below(node, *function) else {
                self.left_out += 1;
                return;
            };
            node = below;
        }
        let node = usize::try_from(node)
            .ok()
            .and_then(|node| self.nodes.get_mut(node));
        if let Some(node) = node {
            node.value += value;
        }
    }

    /// Returns the path that goes on with a function; `None` if there is no room for it.
    fn below(&mut self, above: NodeNumber, function: FunctionNumber) -> Option<NodeNumber> {
        if let Some(node) = self.children.get(&(above, function)) {
            return Some(*node);
        }
        let number = NodeNumber::try_from(self.nodes.len())
            .ok()
            .filter(|_| self.nodes.len() < MAX_NODES)?;
        self.nodes.push(Node {
            above,
            function,
            value: 0,
        });
        self.children.insert((above, function), number);
        Some(number)
    }

    /// Reports whether there is no stack.
    pub(super) fn is_empty(&self) -> bool {
        self.stacks == 0
    }

    /// Returns what most was spent on.
    pub(super) fn analysis(
        self,
        format: ProfileFormat,
        measure: Measure<'_>,
    ) -> PerformanceAnalysis {
        let mut names: Vec<(Cow<'t, str>, FunctionNumber)> = self.numbers.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        let functions: Vec<Function<'_>> = names
            .into_iter()
            .zip(&self.sums)
            .map(|((name, _), sums)| Function {
                name,
                own: sums.own,
                total: sums.total,
                calls: None,
            })
            .collect();
        let mut analysis =
            PerformanceAnalysis::of_functions(format, measure, &functions, self.total);
        analysis.paths = hottest_paths(&self.nodes, &functions, self.total);
        analysis.left_out = LeftOut {
            paths: self.left_out,
            ..LeftOut::default()
        };
        analysis
    }
}

fn index_of(number: FunctionNumber) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the paths with the largest values; of equal ones, the first.
fn hottest_paths(nodes: &[Node], functions: &[Function<'_>], total: u64) -> Vec<HotPath> {
    let mut order: Vec<&Node> = nodes.iter().filter(|node| node.value > 0).collect();
    order.sort_by_key(|node| Reverse(node.value));
    let name = |number: FunctionNumber| match usize::try_from(number)
        .ok()
        .and_then(|at| functions.get(at))
    {
        Some(function) => function.name.as_ref(),
        None => "…",
    };
    let path = |node: &Node| {
        let (mut frames, mut at) = (vec![name(node.function)], node.above);
        while let Some(node) = usize::try_from(at)
            .ok()
            .filter(|at| *at > 0)
            .and_then(|at| nodes.get(at))
        {
            frames.push(name(node.function));
            at = node.above;
        }
        HotPath::new(frames.into_iter().rev(), node.value, total)
    };
    order.into_iter().take(MAX_HOTTEST).map(path).collect()
}
