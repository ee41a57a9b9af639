//! Profiles of pprof: the message `perftools.profiles.Profile` of protocol buffers, usually
//! compressed.
//!
//! The numbers of fields are those of `proto/profile.proto` in github.com/google/pprof.

use std::borrow::Cow;
use std::collections::HashMap;

use super::damage::{Damage, check};
use super::format::ProfileFormat;
use super::model::{Measure, PerformanceAnalysis};
use super::protobuf::{Field, Message};
use super::stacks::{FunctionNumber, Stacks};
use crate::source::Stop;

/// Maximum number of functions, locations and strings together, which then have about forty
/// megabytes; programs that are profiled have fewer.
const MAX_RECORDS: usize = 300_000;
/// Maximum number of functions that are inlined into each other at one location.
const MAX_INLINED: usize = 100_000;
/// After so many records, `stop` is asked.
const RECORDS_BETWEEN_STOPS: usize = 4_096;

/// The parts of a profile except its samples.
#[derive(Default)]
struct Profile<'b> {
    /// The type and unit of each value of a sample, as numbers of strings.
    types: Vec<(u64, u64)>,
    /// The type that is shown unless another one is asked for, as the number of a string.
    default_type: u64,
    locations: HashMap<u64, Location>,
    /// The number of the string that names a function.
    functions: HashMap<u64, u64>,
    strings: Vec<&'b [u8]>,
}

#[derive(Default)]
struct Location {
    address: u64,
    /// The functions, the innermost of inlined ones first.
    functions: Vec<u64>,
}

/// Reports whether binary data begins as a profile does: with fields that one has, in whatever
/// order. Go writes the time first in profiles of the processor, and the type of the period in all
/// others.
pub(super) fn is_begin(bytes: &[u8]) -> bool {
    let mut message = Message::new(bytes);
    match bytes.first() {
        // A table, which hardly anything else begins with.
        Some(key) if key & 7 == 2 && (1..=6).contains(&(key >> 3)) => true,
        Some(key) if is_field(*key) => {
            message.next().is_ok() && message.bytes().first().is_some_and(|key| is_field(*key))
        }
        _ => false,
    }
}

/// Reports whether a byte says that a field of a profile follows, in the type that it has there.
fn is_field(key: u8) -> bool {
    matches!((key >> 3, key & 7), (1..=6 | 11 | 13, 2) | (7..=10 | 12..=14, 0))
}

/// Reads a profile that is not compressed.
pub(super) fn read(bytes: &[u8], stop: Stop<'_>) -> Result<PerformanceAnalysis, Damage> {
    let profile = Profile::read(Message::new(bytes), stop)?;
    if profile.strings.is_empty() {
        return Err(Damage::At("it has no table of strings".to_owned()));
    }
    let value = profile.measured();
    let mut reader = Samples {
        profile: &profile,
        value,
        stacks: Stacks::new(stop),
        known: HashMap::new(),
        unread: 0,
    };
    let mut message = Message::new(bytes);
    while let Some((field, value)) = message.next()? {
        if let (2, Field::Bytes(sample)) = (field, value) {
            reader.add(sample)?;
        }
    }
    let (measure, unit) = profile
        .types
        .get(value)
        .map_or((0, 0), |(measure, unit)| (*measure, *unit));
    let (measure, unit) = (profile.string(measure), profile.string(unit));
    let (measure, unit) = (or_samples(measure), or_samples(unit));
    let mut analysis = reader
        .stacks
        .analysis(ProfileFormat::Pprof, Measure(&measure, &unit));
    analysis.left_out.unread = reader.unread;
    Ok(analysis)
}

fn or_samples(text: Cow<'_, str>) -> String {
    if text.is_empty() {
        "samples".to_owned()
    } else {
        text.into_owned()
    }
}

impl<'b> Profile<'b> {
    fn read(mut message: Message<'b>, stop: Stop<'_>) -> Result<Profile<'b>, Damage> {
        let (mut profile, mut records) = (Profile::default(), 0_usize);
        while let Some((field, value)) = message.next()? {
            records += 1;
            if records.is_multiple_of(RECORDS_BETWEEN_STOPS) {
                check(stop)?;
            }
            match (field, value) {
                (1, Field::Bytes(bytes)) => profile.types.push(pair(bytes)?),
                (4, Field::Bytes(bytes)) => profile.location(bytes)?,
                (5, Field::Bytes(bytes)) => profile.function(bytes)?,
                (6, Field::Bytes(bytes)) => profile.strings.push(bytes.bytes()),
                (14, Field::Number(number)) => profile.default_type = number,
                _ => {}
            }
            if profile.locations.len() + profile.functions.len() + profile.strings.len()
                > MAX_RECORDS
            {
                return Err(Damage::At(format!(
                    "it has more than {MAX_RECORDS} functions, locations and strings"
                )));
            }
        }
        Ok(profile)
    }

    fn location(&mut self, mut message: Message<'b>) -> Result<(), Damage> {
        let (mut id, mut location) = (0, Location::default());
        while let Some((field, value)) = message.next()? {
            match (field, value) {
                (1, Field::Number(number)) => id = number,
                (3, Field::Number(number)) => location.address = number,
                (4, Field::Bytes(_)) if location.functions.len() >= MAX_INLINED => {
                    return Err(Damage::At(format!(
                        "a location has more than {MAX_INLINED} functions"
                    )));
                }
                (4, Field::Bytes(line)) => location.functions.push(pair(line)?.0),
                _ => {}
            }
        }
        self.locations.insert(id, location);
        Ok(())
    }

    fn function(&mut self, message: Message<'b>) -> Result<(), Damage> {
        let (mut id, mut name, mut system_name) = (0, 0, 0);
        message.numbers(|field, number| match field {
            1 => id = number,
            2 => name = number,
            3 => system_name = number,
            _ => {}
        })?;
        self.functions
            .insert(id, if name == 0 { system_name } else { name });
        Ok(())
    }

    /// Returns which of the values of a sample is added up: the one that the profile names, or the
    /// last, as pprof does.
    fn measured(&self) -> usize {
        let named = self
            .types
            .iter()
            .position(|(kind, _)| *kind == self.default_type && *kind != 0);
        named.unwrap_or(self.types.len().saturating_sub(1))
    }

    fn string(&self, number: u64) -> Cow<'b, str> {
        let string = usize::try_from(number)
            .ok()
            .and_then(|number| self.strings.get(number));
        String::from_utf8_lossy(string.copied().unwrap_or_default())
    }
}

/// Returns the fields 1 and 2 of a message.
fn pair(message: Message<'_>) -> Result<(u64, u64), Damage> {
    let (mut first, mut second) = (0, 0);
    message.numbers(|field, number| match field {
        1 => first = number,
        2 => second = number,
        _ => {}
    })?;
    Ok((first, second))
}

/// Adds up the samples of a profile.
struct Samples<'p, 'b, 's> {
    profile: &'p Profile<'b>,
    /// Which of the values of a sample is added up.
    value: usize,
    stacks: Stacks<'b, 's>,
    /// The functions of each location that has been met.
    known: HashMap<u64, Vec<FunctionNumber>>,
    unread: usize,
}

impl Samples<'_, '_, '_> {
    fn add(&mut self, mut message: Message<'_>) -> Result<(), Damage> {
        let (mut frames, mut values, mut number) = (Vec::new(), 0, None);
        while let Some((field, value)) = message.next()? {
            match (field, value) {
                (1, Field::Number(location)) => self.location(location, &mut frames)?,
                (1, Field::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        self.location(packed.varint()?, &mut frames)?;
                    }
                }
                (2, Field::Number(value)) => {
                    number = if values == self.value {
                        Some(value)
                    } else {
                        number
                    };
                    values += 1;
                }
                (2, Field::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        let value = packed.varint()?;
                        number = if values == self.value {
                            Some(value)
                        } else {
                            number
                        };
                        values += 1;
                    }
                }
                _ => {}
            }
        }
        // Differences between profiles may be negative; they are no cost.
        match number.filter(|value| i64::try_from(*value).is_ok()) {
            Some(value) => {
                frames.reverse();
                self.stacks.add(&frames, value)
            }
            None => {
                self.unread += 1;
                Ok(())
            }
        }
    }

    /// Adds the functions of a location, the innermost first.
    fn location(&mut self, id: u64, frames: &mut Vec<FunctionNumber>) -> Result<(), Damage> {
        if !self.known.contains_key(&id) {
            let numbers = self.functions(id)?;
            self.known.insert(id, numbers);
        }
        for number in self.known.get(&id).into_iter().flatten() {
            Stacks::push(frames, *number)?;
        }
        Ok(())
    }

    fn functions(&mut self, location: u64) -> Result<Vec<FunctionNumber>, Damage> {
        let profile = self.profile;
        match profile.locations.get(&location) {
            Some(found) if !found.functions.is_empty() => found
                .functions
                .iter()
                .map(|id| {
                    let name = profile.functions.get(id).map(|name| profile.string(*name));
                    let name = name.filter(|name| !name.is_empty());
                    self.stacks
                        .function(name.unwrap_or_else(|| Cow::Owned(format!("function {id}"))))
                })
                .collect(),
            Some(found) if found.address != 0 => Ok(vec![
                self.stacks
                    .function(Cow::Owned(format!("{:#x}", found.address)))?,
            ]),
            _ => Ok(vec![
                self.stacks
                    .function(Cow::Owned(format!("location {location}")))?,
            ]),
        }
    }
}
