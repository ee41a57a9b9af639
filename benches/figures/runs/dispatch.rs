//! Measures whether the dispatcher's work for a fact grows with the tasks of a run: the copy of the
//! state to which a fact is applied, what follows from it, and the decision of what to do next.
//!
//! CPU time of the thread is compared, a smaller run beside a larger one, so that other load on the
//! machine does not count. Nothing grows if twice the tasks take twice the time.

use libtest_mimic::Failed;

use super::played_run::{PlayedRun, Shape};
use crate::measuring::{Figure, Pairs, cpu_ms};

const SAMPLES: usize = 7;
/// The maximum time of twice the tasks.
const LIMIT: f64 = 2.2;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    use Shape::{FanIn, Flat, Layers, OneByOne};
    Ok(vec![
        figure("dispatching 1,000 tasks beside 500, in layers", 500, Layers)?,
        figure(
            "dispatching 2,000 tasks beside 1,000, in layers",
            1_000,
            Layers,
        )?,
        figure("dispatching 1,000 tasks beside 500, all at once", 500, Flat)?,
        figure(
            "dispatching 1,000 tasks beside 500, one needs all",
            500,
            FanIn,
        )?,
        figure(
            "spawning 1,000 children beside 500, one by one",
            500,
            OneByOne,
        )?,
    ])
}

fn figure(name: &'static str, tasks: usize, shape: Shape) -> Result<Figure, Failed> {
    let (mut facts_of_many, mut facts_of_few) = (0, 0);
    let pairs = Pairs::measure(
        SAMPLES,
        || play(shape, 2 * tasks, &mut facts_of_many),
        || play(shape, tasks, &mut facts_of_few),
    )?;
    let beside = format!(
        "{:.2} µs for a fact, beside {:.2} µs",
        pairs.ours()? * 1e3 / facts_of_many as f64,
        pairs.bare()? * 1e3 / facts_of_few as f64
    );
    Ok(Figure {
        name,
        measured: pairs.ratio()?,
        limit: LIMIT,
        unit: "x",
        beside,
    })
}

/// Plays a run, and returns its CPU time in milliseconds.
fn play(shape: Shape, tasks: usize, facts: &mut u64) -> Result<f64, Failed> {
    let run = PlayedRun::begin(shape, tasks)?;
    let mut played = Ok(0);
    let time = cpu_ms(|| played = run.play(tasks))?;
    *facts = played?;
    Ok(time)
}
