//! Measures whether the dispatcher's work for a fact grows with the tasks of a run: the copy of the
//! state to which a fact is applied, what follows from it, and the decision of what to do next.
//!
//! CPU time of the thread is compared, a smaller run beside a larger one, so that other load on the
//! machine does not count. Nothing grows if twice the tasks take twice the time.

use libtest_mimic::Failed;

use crate::figure::{Figure, median, ms};
use crate::played_run::{PlayedRun, Shape};
use crate::processor::time_of;

const SAMPLES: usize = 7;
/// The maximum time of twice the tasks.
const LIMIT: f64 = 2.2;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    Ok(vec![
        figure(
            "dispatching 1,000 tasks beside 500, in layers",
            500,
            |tasks| dispatch(Shape::Layers, tasks),
        )?,
        figure(
            "dispatching 2,000 tasks beside 1,000, in layers",
            1_000,
            |tasks| dispatch(Shape::Layers, tasks),
        )?,
        figure(
            "dispatching 1,000 tasks beside 500, all at once",
            500,
            |tasks| dispatch(Shape::Flat, tasks),
        )?,
        figure(
            "dispatching 1,000 tasks beside 500, one needs all",
            500,
            |tasks| dispatch(Shape::FanIn, tasks),
        )?,
        figure("spawning 1,000 children beside 500, one by one", 500, spawn)?,
    ])
}

fn figure(
    name: &'static str,
    tasks: usize,
    measure: impl Fn(usize) -> Result<Time, Failed>,
) -> Result<Figure, Failed> {
    let (mut ratios, mut small, mut large) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let (one, two) = (measure(tasks)?, measure(2 * tasks)?);
        ratios.push(two.total / one.total);
        small.push(one.per_fact);
        large.push(two.per_fact);
    }
    let beside = format!(
        "{:.2} µs for a fact, beside {:.2} µs",
        median(large)?,
        median(small)?
    );
    Ok(Figure {
        name,
        measured: median(ratios)?,
        limit: LIMIT,
        unit: "x",
        beside,
    })
}

/// The CPU time of a run: of the whole one in milliseconds, and for a fact in microseconds.
struct Time {
    total: f64,
    per_fact: f64,
}

impl Time {
    /// Measures what returns the number of its facts.
    fn of(act: impl FnOnce() -> Result<u64, String>) -> Result<Self, Failed> {
        let mut facts = Err("nothing was recorded".to_owned());
        let total = ms(time_of(|| facts = act())?);
        let facts = u32::try_from(facts.map_err(Failed::from)?)?;
        Ok(Self {
            total,
            per_fact: total * 1e3 / f64::from(facts),
        })
    }
}

fn dispatch(shape: Shape, tasks: usize) -> Result<Time, Failed> {
    let run = PlayedRun::begin(shape, tasks).map_err(Failed::from)?;
    Time::of(|| run.play())
}

fn spawn(children: usize) -> Result<Time, Failed> {
    let run = PlayedRun::begin(Shape::Flat, 0).map_err(Failed::from)?;
    Time::of(|| run.spawn(children))
}
