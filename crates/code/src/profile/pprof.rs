//! Profiles of pprof: the message `perftools.profiles.Profile` of protocol buffers, usually
//! compressed.
//!
//! The numbers of fields are those of `proto/profile.proto` in github.com/google/pprof. The message
//! is taken apart here, field by field, so that nothing but what is needed of it is in memory; each
//! record in it is decoded as a whole.

use std::borrow::Cow;
use std::collections::HashMap;

use prost::Message;

use super::damage::{Damage, ProfileFormat, check};
use super::model::{Measure, PerformanceAnalysis};
use super::stacks::{FunctionNumber, Stacks};
use crate::source::Stop;

/// Maximum number of functions, locations and strings together, which then have about forty
/// megabytes; programs that are profiled have fewer.
const MAX_RECORDS: usize = 300_000;
/// Maximum size of a record in bytes, which takes ten times as much once it is decoded. A stack of
/// a hundred thousand frames is smaller.
const MAX_RECORD_BYTES: usize = 1 << 20;
/// After so many records, `stop` is asked.
const RECORDS_BETWEEN_STOPS: usize = 4_096;

/// The type and the unit of the values of samples, as numbers of strings.
#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// The locations, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    locations: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    values: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    /// The functions, the innermost of inlined ones first.
    #[prost(message, repeated, tag = "4")]
    lines: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function: u64,
}

/// A function with its names, as numbers of strings.
#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
}

/// The value of a field of the profile.
enum Field<'b> {
    Number(usize),
    /// A record, or a text.
    Bytes(&'b [u8]),
}

/// What is left of a profile.
struct Fields<'b> {
    bytes: &'b [u8],
    /// The size of the whole.
    size: usize,
}

impl<'b> Fields<'b> {
    fn new(bytes: &'b [u8]) -> Fields<'b> {
        Fields {
            bytes,
            size: bytes.len(),
        }
    }

    /// Returns the next field with its number; `None` at the end.
    fn next(&mut self) -> Result<Option<(usize, Field<'b>)>, Damage> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let at = self.size - self.bytes.len();
        let key = self.number()?;
        let (number, kind) = (key >> 3, key & 7);
        if kind == 0 {
            return Ok(Some((number, Field::Number(self.number()?))));
        }
        if kind != 2 {
            let reason = format!("byte {at}: a field of the type {kind}, which profiles have not");
            return Err(Damage::At(reason));
        }
        let length = self.number()?;
        let Some((bytes, rest)) = self.bytes.split_at_checked(length) else {
            let left = self.bytes.len();
            return Err(Damage::At(format!(
                "byte {at}: field {number} states {length} bytes, but {left} are left"
            )));
        };
        self.bytes = rest;
        Ok(Some((number, Field::Bytes(bytes))))
    }

    /// Reads a number, which is encoded as lengths are.
    fn number(&mut self) -> Result<usize, Damage> {
        let at = self.size - self.bytes.len();
        prost::decode_length_delimiter(&mut self.bytes)
            .map_err(|error| Damage::At(format!("byte {at}: {error}")))
    }
}

/// Decodes a record of a profile.
fn record<R: Message + Default>(bytes: &[u8]) -> Result<R, Damage> {
    if bytes.len() > MAX_RECORD_BYTES {
        let megabytes = MAX_RECORD_BYTES >> 20;
        return Err(Damage::At(format!("a record has more than {megabytes} MB")));
    }
    R::decode(bytes).map_err(|error| Damage::At(error.to_string()))
}

/// Reports whether binary data begins as a profile does: with fields that one has, in whatever
/// order. Go writes the time first in profiles of the processor, and the type of the period in all
/// others.
pub(super) fn is_begin(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    match bytes.first() {
        // A table, which hardly anything else begins with.
        Some(key) if key & 7 == 2 && (1..=6).contains(&(key >> 3)) => true,
        Some(key) if is_field(*key) => {
            fields.next().is_ok() && fields.bytes.first().is_some_and(|key| is_field(*key))
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
    let profile = Profile::read(bytes, stop)?;
    if profile.strings.is_empty() {
        return Err(Damage::At("it has no table of strings".to_owned()));
    }
    let measured = profile.measured();
    let mut samples = Samples {
        profile: &profile,
        value: measured,
        stacks: Stacks::new(stop),
        known: HashMap::new(),
        unread: 0,
    };
    let mut fields = Fields::new(bytes);
    while let Some((number, field)) = fields.next()? {
        if let (2, Field::Bytes(bytes)) = (number, field) {
            samples.add(&record(bytes)?)?;
        }
    }
    let measured = profile.types.get(measured).copied().unwrap_or_default();
    let measure = or_samples(profile.string(measured.kind));
    let unit = or_samples(profile.string(measured.unit));
    let mut analysis = samples
        .stacks
        .analysis(ProfileFormat::Pprof, Measure(&measure, &unit));
    analysis.left_out.unread = samples.unread;
    Ok(analysis)
}

fn or_samples(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_empty() {
        Cow::Borrowed("samples")
    } else {
        text
    }
}

/// The parts of a profile except its samples.
#[derive(Default)]
struct Profile<'b> {
    /// What each value of a sample is.
    types: Vec<ValueType>,
    /// The type that is shown unless another one is asked for, as the number of a string.
    default_type: i64,
    locations: HashMap<u64, Location>,
    functions: HashMap<u64, Function>,
    strings: Vec<&'b [u8]>,
}

impl<'b> Profile<'b> {
    fn read(bytes: &'b [u8], stop: Stop<'_>) -> Result<Profile<'b>, Damage> {
        let mut profile = Profile::default();
        let mut fields = Fields::new(bytes);
        let mut count = 0_usize;
        while let Some((number, field)) = fields.next()? {
            count += 1;
            if count.is_multiple_of(RECORDS_BETWEEN_STOPS) {
                check(stop)?;
            }
            profile.add(number, field)?;
        }
        Ok(profile)
    }

    fn add(&mut self, number: usize, field: Field<'b>) -> Result<(), Damage> {
        match (number, field) {
            (1, Field::Bytes(bytes)) => self.types.push(record(bytes)?),
            (4, Field::Bytes(bytes)) => {
                let location: Location = record(bytes)?;
                self.locations.insert(location.id, location);
            }
            (5, Field::Bytes(bytes)) => {
                let function: Function = record(bytes)?;
                self.functions.insert(function.id, function);
            }
            (6, Field::Bytes(string)) => self.strings.push(string),
            (14, Field::Number(number)) => self.default_type = number as i64,
            _ => {}
        }
        if self.locations.len() + self.functions.len() + self.strings.len() > MAX_RECORDS {
            return Err(Damage::At(format!(
                "it has more than {MAX_RECORDS} functions, locations and strings"
            )));
        }
        Ok(())
    }

    /// Returns which of the values of a sample is added up: the one that the profile names, or the
    /// last, as pprof does.
    fn measured(&self) -> usize {
        let named = self
            .types
            .iter()
            .position(|one| one.kind == self.default_type && one.kind != 0);
        named.unwrap_or(self.types.len().saturating_sub(1))
    }

    fn string(&self, number: i64) -> Cow<'b, str> {
        let string = usize::try_from(number)
            .ok()
            .and_then(|number| self.strings.get(number));
        String::from_utf8_lossy(string.copied().unwrap_or_default())
    }

    /// Returns the name of a function; one without a name is told apart by its number.
    fn name(&self, id: u64) -> Cow<'b, str> {
        let function = self.functions.get(&id).copied().unwrap_or_default();
        let name = if function.name == 0 {
            function.system_name
        } else {
            function.name
        };
        let name = self.string(name);
        if name.is_empty() {
            Cow::Owned(format!("function {id}"))
        } else {
            name
        }
    }
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
    fn add(&mut self, sample: &Sample) -> Result<(), Damage> {
        // Differences between profiles may be negative; they are no cost.
        let value = sample.values.get(self.value).copied();
        let Some(value) = value.and_then(|value| u64::try_from(value).ok()) else {
            self.unread += 1;
            return Ok(());
        };
        let mut frames = Vec::new();
        for location in &sample.locations {
            if !self.known.contains_key(location) {
                let functions = self.functions(*location)?;
                self.known.insert(*location, functions);
            }
            for function in self.known.get(location).into_iter().flatten() {
                Stacks::push(&mut frames, *function)?;
            }
        }
        frames.reverse();
        self.stacks.add(&frames, value)
    }

    /// Returns the functions of a location, the innermost first.
    fn functions(&mut self, id: u64) -> Result<Vec<FunctionNumber>, Damage> {
        let profile = self.profile;
        let name = match profile.locations.get(&id) {
            Some(location) if !location.lines.is_empty() => {
                let functions = location.lines.iter();
                return functions
                    .map(|line| self.stacks.function(profile.name(line.function)))
                    .collect();
            }
            Some(location) if location.address != 0 => format!("{:#x}", location.address),
            _ => format!("location {id}"),
        };
        Ok(vec![self.stacks.function(Cow::Owned(name))?])
    }
}
