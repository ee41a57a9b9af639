//! Folded stacks, and what `perf script` prints.

use std::borrow::Cow;
use std::collections::HashSet;

use super::damage::{Damage, ProfileFormat, check};
use super::model::{LeftOut, Measure, PerformanceAnalysis};
use super::stacks::{FunctionNumber, Stacks};
use crate::source::Stop;

/// After so many lines, `stop` is asked.
const LINES_BETWEEN_STOPS: usize = 4_096;

fn check_line(line: usize, stop: Stop<'_>) -> Result<(), Damage> {
    if line.is_multiple_of(LINES_BETWEEN_STOPS) {
        check(stop)
    } else {
        Ok(())
    }
}

/// Reads folded stacks; `None` if most lines are none. Of the counts before and after a change, the
/// latter count.
pub(super) fn folded(text: &str, stop: Stop<'_>) -> Result<Option<PerformanceAnalysis>, Damage> {
    let is_difference = has_two_counts(text);
    let (mut stacks, mut lines, mut unread) = (Stacks::new(stop), 0_usize, 0_usize);
    let mut frames = Vec::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        check_line(number, stop)?;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        lines += 1;
        match line.rsplit_once(char::is_whitespace) {
            Some((stack, count)) if is_number(count) => {
                let stack = without_count(stack)
                    .filter(|_| is_difference)
                    .unwrap_or(stack);
                folded_line(&mut stacks, &mut frames, stack, count)
                    .map_err(|damage| damage.in_line(number))?;
            }
            _ => unread += 1,
        }
    }
    // Most lines of another text are no stacks.
    if stacks.is_empty() || unread * 2 > lines {
        return Ok(None);
    }
    let measure = if is_difference {
        "samples after the change"
    } else {
        "samples"
    };
    let mut analysis = stacks.analysis(ProfileFormat::Folded, Measure(measure, "samples"));
    analysis.left_out.unread = unread;
    Ok(Some(analysis))
}

/// Reports whether folded stacks have two counts each, as those of two profiles that are compared.
/// The name of a function may end with a number as well. What compares profiles writes both counts
/// alike, and each stack once.
fn has_two_counts(text: &str) -> bool {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut stacks, mut have_names_numbers) = (HashSet::new(), None);
    for line in lines.take(LINES_BETWEEN_STOPS) {
        let Some((first, separator)) = counted(line) else {
            return false;
        };
        let Some((stack, other)) = counted(first) else {
            return false;
        };
        if separator != other || !stacks.insert(stack) {
            return false;
        }
        if let Some((outer, inner)) = stack.rsplit_once(';') {
            // Where all other names have one, the first number belongs to the last name.
            let is_of_name = outer.split(';').all(is_numbered) && !is_numbered(inner);
            have_names_numbers = Some(have_names_numbers.unwrap_or(true) && is_of_name);
        }
    }
    !stacks.is_empty() && have_names_numbers != Some(true)
}

/// Reports whether a frame ends with a number.
fn is_numbered(frame: &str) -> bool {
    counted(frame.trim()).is_some()
}

/// Splits a number from the end of a line; returns what is before it, and what separates it. `None`
/// if there is none.
fn counted(line: &str) -> Option<(&str, &str)> {
    let before = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = before.trim_end();
    let separator = before.get(name.len()..)?;
    let has_number = before.len() < line.len() && !separator.is_empty();
    has_number.then_some((name, separator))
}

/// Returns a line without the number at its end; `None` if there is none.
fn without_count(line: &str) -> Option<&str> {
    let (stack, count) = line.trim_end().rsplit_once(char::is_whitespace)?;
    if is_number(count) { Some(stack) } else { None }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn folded_line<'t>(
    stacks: &mut Stacks<'t, '_>,
    frames: &mut Vec<FunctionNumber>,
    stack: &'t str,
    count: &str,
) -> Result<(), Damage> {
    let count = count
        .parse()
        .map_err(|_| Damage::At(format!("the count {count:.40} is larger than {}", u64::MAX)))?;
    frames.clear();
    for name in stack
        .split(';')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let number = stacks.function(Cow::Borrowed(name))?;
        Stacks::push(frames, number)?;
    }
    stacks.add(frames, count)
}

/// The heading of a sample: `program 123/124 [000] 5678.901: 250000 cpu-clock:u: 55d0 work+0x1f
/// (/usr/bin/program)`.
struct Heading<'t> {
    program: &'t str,
    period: u64,
    event: &'t str,
    /// What stands behind the event: the one frame of a sample without a stack.
    frame: &'t str,
}

impl<'t> Heading<'t> {
    fn from_line(line: &'t str) -> Option<Heading<'t>> {
        let (before, after) = at_word(line, is_time)?;
        let (period, after) = match after.split_once(char::is_whitespace) {
            Some((word, rest)) if is_number(word) => (word.parse().ok()?, rest.trim_start()),
            _ => (1, after),
        };
        // `probe:a: ` has a colon in its name, and so has `cpu-clock:uhH: ` before what it is
        // limited to.
        let (event, frame) = after
            .split_once(": ")
            .or_else(|| Some((after.trim_end().strip_suffix(':')?, "")))?;
        let event = event.trim_end_matches(':');
        let is_event = !event.is_empty() && !event.contains(char::is_whitespace);
        let frame = Some(frame.trim()).filter(has_address).unwrap_or_default();
        is_event.then(|| Heading {
            program: program(before),
            period,
            event,
            frame,
        })
    }
}

fn is_time(word: &str) -> bool {
    let time = word
        .strip_suffix(':')
        .filter(|time| time.starts_with(|c: char| c.is_ascii_digit()));
    time.is_some_and(|time| time.parse::<f64>().is_ok())
}

/// Behind a tracepoint stand its arguments.
fn has_address(frame: &&str) -> bool {
    frame
        .bytes()
        .take_while(|byte| *byte != b' ')
        .all(|byte| byte.is_ascii_hexdigit())
}

/// Returns what is before and behind the first word that fits.
fn at_word(line: &str, fits: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let rest = line.get(from..)?;
        let begin = from + rest.find(|c: char| !c.is_whitespace())?;
        let word = line.get(begin..)?.split(char::is_whitespace).next()?;
        let end = begin + word.len();
        if fits(word) {
            return Some((line.get(..begin)?.trim(), line.get(end..)?.trim_start()));
        }
        from = end;
    }
}

/// Returns the name of a program, without the ids of its process and thread and its processor.
fn program(before: &str) -> &str {
    let mut name = before;
    while let Some((left, _)) = name
        .rsplit_once(char::is_whitespace)
        .filter(|(_, word)| is_id(word))
    {
        name = left.trim_end();
    }
    name
}

fn is_id(word: &str) -> bool {
    let is_processor = word.starts_with('[') && word.ends_with(']');
    is_processor
        || word
            .split('/')
            .all(|part| is_number(part.trim_start_matches('-')))
}

/// Reports whether a text begins as `perf script` begins.
pub(super) fn is_perf_script(text: &str) -> bool {
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| Heading::from_line(line).is_some())
}

/// Adds up the samples of the first event.
struct PerfScript<'t, 's> {
    stacks: Stacks<'t, 's>,
    event: Option<&'t str>,
    heading: Option<Heading<'t>>,
    /// The frames of the sample that is being read, the innermost first.
    frames: Vec<FunctionNumber>,
    left_out: LeftOut,
}

/// Reads what `perf script` prints.
pub(super) fn perf_script(text: &str, stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let mut reader = PerfScript {
        stacks: Stacks::new(stop),
        event: None,
        heading: None,
        frames: Vec::new(),
        left_out: LeftOut::default(),
    };
    for (number, line) in text.lines().enumerate() {
        check_line(number, stop)?;
        if !line.starts_with('#') {
            reader.line(line).map_err(|damage| damage.in_line(number))?;
        }
    }
    reader.sample()?;
    let PerfScript {
        stacks,
        event,
        left_out,
        ..
    } = reader;
    let event = event.unwrap_or_default();
    let unit = if event.starts_with("cpu-clock") || event.starts_with("task-clock") {
        "nanoseconds"
    } else {
        "events"
    };
    let mut analysis = stacks.analysis(ProfileFormat::PerfScript, Measure(event, unit));
    analysis.left_out = LeftOut {
        paths: analysis.left_out.paths,
        ..left_out
    };
    Ok(analysis)
}

impl<'t> PerfScript<'t, '_> {
    fn line(&mut self, line: &'t str) -> Result<(), Damage> {
        if line.trim().is_empty() {
            return self.sample();
        }
        // Headings are aligned, so they may begin with a space as well.
        let heading = Heading::from_line(line);
        if heading.is_none() && self.heading.is_some() && line.starts_with(char::is_whitespace) {
            return self.frame(frame(line));
        }
        self.sample()?;
        match heading {
            Some(heading) => {
                let single = heading.frame;
                self.heading = Some(heading);
                if single.is_empty() {
                    Ok(())
                } else {
                    self.frame(frame(single))
                }
            }
            None => {
                self.left_out.unread += 1;
                Ok(())
            }
        }
    }

    fn frame(&mut self, name: &'t str) -> Result<(), Damage> {
        let number = self.stacks.function(Cow::Borrowed(name))?;
        Stacks::push(&mut self.frames, number)
    }

    /// Ends a sample. Events count different things, so only those of the first one are added up.
    fn sample(&mut self) -> Result<(), Damage> {
        let Some(heading) = self.heading.take() else {
            return Ok(());
        };
        if *self.event.get_or_insert(heading.event) != heading.event {
            self.left_out.other_events += 1;
            self.frames.clear();
            return Ok(());
        }
        if !heading.program.is_empty() {
            self.frame(heading.program)?;
        }
        self.frames.reverse();
        self.stacks.add(&self.frames, heading.period)?;
        self.frames.clear();
        Ok(())
    }
}

/// Returns the function of a frame such as `55d0a1 work+0x1f (/usr/bin/program)`.
fn frame(line: &str) -> &str {
    let line = line.trim();
    let (address, after) = line.split_once(char::is_whitespace).unwrap_or((line, line));
    let name = after.trim();
    let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
    let name = name.rsplit_once("+0x").map_or(name, |(name, _)| name);
    // A function without a name is told apart by its address.
    if name == "[unknown]" { address } else { name }
}
