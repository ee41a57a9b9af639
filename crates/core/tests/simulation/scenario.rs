//! What is to happen in a run: its settings, its plan, and what each agent does, all determined by
//! a seed.
//!
//! What becomes of the work must not depend on the order of events, so that runs can be compared:
//! an agent's acts depend on nothing but what was asked of it, and a conflict is resolved by
//! keeping both sides.

use std::collections::{BTreeMap, BTreeSet};

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::messages::Address;
use orchestrate_core::task::Work;
use orchestrate_core::{ReviewMode, RunSettings, Task, TaskId};

use crate::git::Tree;
use crate::random::Random;

/// The most tasks of a run, children included.
const MAX_TASKS: usize = 10;
/// The files that several tasks change.
const SHARED: u32 = 1_000;
/// The files that make two pieces of work fit together.
const FITTED: u32 = 2_000;
/// The files that an own check requires.
const REPAIRED: u32 = 3_000;
/// The files that a review requires.
const IMPROVED: u32 = 4_000;
/// Rounds that are never used up, so that the result does not depend on who comes first.
const ENDLESS_ROUNDS: u32 = 1_000;

/// A run to be played.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) settings: RunSettings,
    pub(crate) plan: Vec<Task>,
    /// The children that agents spawn.
    pub(crate) children: BTreeMap<TaskId, Task>,
    pub(crate) scripts: BTreeMap<TaskId, Script>,
    /// Tasks whose works pass the run's check together only with a file that makes them fit.
    pairs: Vec<(u32, u32)>,
    /// Whether the result is the same in whatever order things happen.
    pub(crate) is_confluent: bool,
}

/// What one task's agent or command does.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) number: u32,
    pub(crate) acts: Vec<Act>,
    pub(crate) end: End,
    /// How many calls a reply contains at most.
    pub(crate) calls: usize,
    /// Whether its own check fails at first.
    pub(crate) has_red_check: bool,
    /// Whether those who review it, agents and people, ask for changes first.
    pub(crate) is_to_improve: bool,
    /// Whether it reviews other tasks.
    pub(crate) gives_verdict: bool,
    /// Whether it answers questions.
    pub(crate) answers: bool,
}

/// One call of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    Write(u32),
    Spawn(TaskId),
    Send(Address),
    /// A question that waits for its answer.
    Question(Address, Option<u64>),
    Wait(Vec<TaskId>, Option<u64>),
    Ask,
}

/// How an agent ends once its acts are done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Done,
    /// It refuses, again after a retry.
    Refuses,
    /// It refuses until it is retried.
    RefusesOnce,
    /// It repeats itself.
    Loops,
    /// It uses up its turns.
    NeverEnds,
}

impl Script {
    pub(crate) fn own_file(&self) -> u32 {
        self.number
    }

    fn line(&self) -> u64 {
        1 << self.number
    }
}

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_confluent = random.percent(75);
        let mut scenario = Self {
            settings: settings(&mut random, is_confluent),
            plan: Vec::new(),
            children: BTreeMap::new(),
            scripts: BTreeMap::new(),
            pairs: Vec::new(),
            is_confluent,
        };
        for _ in 0..=random.below(4) {
            scenario.add_to_plan(&mut random);
        }
        scenario.talk(&mut random);
        scenario.pair(&mut random);
        scenario
    }

    fn add_to_plan(&mut self, random: &mut Random) {
        let before: Vec<TaskId> = self.plan.iter().map(|task| task.id.clone()).collect();
        let mut task = self.task(random, None);
        for id in &before {
            match random.below(6) {
                0 | 1 => task.depends.push(id.clone()),
                2 => task.after.push(id.clone()),
                _ => {}
            }
        }
        let is_reviewed =
            |id: &TaskId| self.plan.iter().any(|task| task.id == *id && !task.verdict);
        task.verdict =
            !task.is_command() && task.depends.iter().any(is_reviewed) && random.percent(35);
        if task.verdict {
            let script = self.scripts.get_mut(&task.id).unwrap();
            (script.acts, script.has_red_check, script.gives_verdict) = (Vec::new(), false, true);
            (task.verify, script.end, task.review) = (None, End::Done, None);
            self.children.retain(|_, child| {
                child
                    .section
                    .as_deref()
                    .is_none_or(|above| above != task.id.as_str())
            });
        }
        self.plan.push(task);
    }

    /// Creates a task with its script, and the children that its agent spawns.
    fn task(&mut self, random: &mut Random, above: Option<(&TaskId, usize)>) -> Task {
        let number = u32::try_from(self.scripts.len()).unwrap();
        let id = TaskId::new(format!("t{number}"));
        let mut task = Task {
            id: id.clone(),
            title: format!("Task {number}"),
            ..Task::default()
        };
        task.section = above.map(|(parent, _)| parent.to_string());
        task.priority = i64::try_from(random.below(3)).unwrap();
        task.review = random.percent(10).then_some(ReviewMode::Always);
        let has_check = random.percent(25);
        task.verify = has_check.then(|| "own check".to_owned());
        if !self.is_confluent && random.percent(40) {
            task.tokens = Some(2_000 + random.next() % 20_000);
        }
        let script = Script {
            number,
            acts: vec![Act::Write(number)],
            end: match random.below(24) {
                0 => End::Refuses,
                1 => End::RefusesOnce,
                2 => End::Loops,
                3 => End::NeverEnds,
                _ => End::Done,
            },
            calls: 1 + random.below(3),
            has_red_check: has_check && random.percent(50),
            is_to_improve: random.percent(30),
            gives_verdict: false,
            answers: random.percent(70),
        };
        // Retried, a child may go to its parent or to the result, and only there do people review
        // it.
        let script = match above {
            Some(_) if script.end == End::RefusesOnce => Script {
                is_to_improve: false,
                ..script
            },
            _ => script,
        };
        self.scripts.insert(id.clone(), script);
        if random.percent(40) {
            self.script(&id)
                .acts
                .push(Act::Write(SHARED + u32::try_from(random.below(2)).unwrap()));
        }
        if above.is_none() && random.percent(15) {
            task.work = Work::Run("make".to_owned());
            (self.script(&id).end, self.script(&id).has_red_check) = (End::Done, false);
            self.script(&id).is_to_improve = false;
            return task;
        }
        self.add_children(random, &id, above.map_or(1, |(_, depth)| depth + 1));
        if random.percent(10) {
            self.script(&id).acts.push(Act::Ask);
        }
        task
    }

    fn add_children(&mut self, random: &mut Random, parent: &TaskId, depth: usize) {
        let mut children = Vec::new();
        while self.scripts.len() < MAX_TASKS && children.len() < 3 && random.percent(40 - 8 * depth)
        {
            let child = self.task(random, Some((parent, depth)));
            self.script(parent).acts.push(Act::Spawn(child.id.clone()));
            // A child begins with what its parent has done so far, so the order of the parent's
            // acts counts.
            self.script(parent).calls = 1;
            children.push(child.id.clone());
            self.children.insert(child.id.clone(), child);
        }
        if !children.is_empty() && self.is_confluent {
            // What becomes of the children of an agent that fails depends on the order.
            self.script(parent).end = End::Done;
        }
        if !children.is_empty() && random.percent(70) {
            let seconds = random.percent(30).then(|| random.next() % 100);
            self.script(parent).acts.push(Act::Wait(children, seconds));
        }
    }

    fn script(&mut self, task: &TaskId) -> &mut Script {
        self.scripts.get_mut(task).unwrap()
    }

    /// Lets agents send messages to others, and wait for them.
    fn talk(&mut self, random: &mut Random) {
        let tasks: Vec<TaskId> = self.scripts.keys().cloned().collect();
        for _ in 0..random.below(6) {
            let (from, to) = (random.pick(&tasks).unwrap(), random.pick(&tasks).unwrap());
            let seconds = random.percent(50).then(|| random.next() % 100);
            let address = match random.below(9) {
                0 => Address::Parent,
                1 => Address::Children,
                2 => Address::Siblings,
                3 => Address::All,
                4 => Address::User,
                _ => Address::Agent(to.clone()),
            };
            let act = match random.below(10) {
                0..=4 => Act::Send(address),
                5..=7 => Act::Question(address, seconds),
                _ => Act::Wait(vec![to.clone()], seconds),
            };
            let acts = &mut self.script(from).acts;
            let at = random.below(acts.len() + 1);
            acts.insert(at, act);
        }
    }

    /// Chooses agents whose works do not fit together at first.
    fn pair(&mut self, random: &mut Random) {
        let is_agents = |id: &TaskId| {
            !self
                .plan
                .iter()
                .any(|task| task.id == *id && (task.is_command() || task.verdict))
        };
        let agents: Vec<u32> = self
            .scripts
            .iter()
            .filter(|(id, _)| is_agents(id))
            .map(|(_, it)| it.number)
            .collect();
        if self.settings.verify.is_none() || agents.len() < 2 {
            return;
        }
        for _ in 0..random.below(3) {
            let one = *random.pick(&agents).unwrap();
            let other = *random.pick(&agents).unwrap();
            if one != other {
                self.pairs.push((one, other));
            }
        }
    }

    /// Reports whether the run's check passes on a tree.
    pub(crate) fn passes(&self, tree: &Tree) -> bool {
        self.unfit(tree).next().is_none()
    }

    fn unfit<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = u32> + 'a {
        let files = self.pairs.iter().zip(FITTED..);
        let unfit = files.filter(|((one, other), file)| {
            tree.contains_key(one) && tree.contains_key(other) && !tree.contains_key(file)
        });
        unfit.map(|(_, file)| file)
    }

    /// Reports whether a task's own check passes on a tree.
    pub(crate) fn passes_own(&self, task: &TaskId, tree: &Tree) -> bool {
        let script = &self.scripts[task];
        !script.has_red_check || tree.contains_key(&(REPAIRED + script.number))
    }

    /// Reports whether a review of a task's work asks for changes.
    pub(crate) fn needs_changes(&self, task: &TaskId, tree: &Tree) -> bool {
        let script = &self.scripts[task];
        script.is_to_improve && !tree.contains_key(&(IMPROVED + script.number))
    }

    pub(crate) fn write(&self, task: &TaskId, file: u32, tree: &mut Tree) {
        *tree.entry(file).or_default() |= self.scripts[task].line();
    }

    /// Resolves conflicts, and makes the works of others fit.
    pub(crate) fn mend(&self, tree: &mut Tree, unresolved: &mut Tree) {
        tree.append(unresolved);
        let unfit: Vec<u32> = self.unfit(tree).collect();
        tree.extend(unfit.into_iter().map(|file| (file, 1)));
    }

    /// Does what a task's own check asks for, and its reviews, if they have asked.
    pub(crate) fn improve(&self, task: &TaskId, is_reviewed: bool, tree: &mut Tree) {
        let script = &self.scripts[task];
        if script.has_red_check {
            tree.insert(REPAIRED + script.number, 1);
        }
        if script.is_to_improve && is_reviewed {
            tree.insert(IMPROVED + script.number, 1);
        }
    }

    /// Returns the tasks in the order in which ids were given.
    pub(crate) fn ids(&self) -> BTreeSet<TaskId> {
        self.scripts.keys().cloned().collect()
    }
}

fn settings(random: &mut Random, is_confluent: bool) -> RunSettings {
    let rounds = if is_confluent {
        ENDLESS_ROUNDS
    } else {
        u32::try_from(random.below(3)).unwrap()
    };
    let budget = 5_000 + random.next() % 100_000;
    RunSettings {
        max_agents: 1 + random.below(4),
        max_depth: 3,
        max_children_per_agent: if is_confluent { 3 } else { 2 },
        context_tokens: 1_000_000,
        max_output_tokens: 500,
        budget_tokens: (!is_confluent && random.percent(60)).then_some(budget),
        max_turns: 40,
        verify: random.percent(60).then(|| "check".to_owned()),
        verify_base: random.percent(50),
        merge: match random.below(10) {
            0 => MergeMode::Review,
            1 => MergeMode::None,
            _ => MergeMode::Auto,
        },
        merge_rounds: rounds,
        ask_parks: true,
        ..RunSettings::default()
    }
}
