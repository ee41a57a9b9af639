//! Reads the values that Python's `marshal` writes, as far as statistics of cProfile consist of
//! them.

use std::rc::Rc;

use super::damage::{Damage, check};
use crate::source::Stop;

/// Maximum depth of values within values; statistics need five.
const MAX_DEPTH: usize = 8;
/// Maximum number of values, which then have about fifty megabytes; a function has about a dozen.
const MAX_VALUES: usize = 600_000;
/// After so many values, `stop` is asked.
const VALUES_BETWEEN_STOPS: usize = 16_384;
/// The bit of a type that says that its value is referred to.
const REFERRED: u8 = 0x80;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Nothing,
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    Tuple(Rc<[Value]>),
    Table(Rc<[(Value, Value)]>),
}

/// A value, with the number of values that are within each other in it. A tuple may refer to an
/// earlier value, so that its own is deeper than what stands in the file.
#[derive(Clone, Debug)]
struct Measured {
    value: Value,
    height: usize,
}

impl Measured {
    fn scalar(value: Value) -> Measured {
        Measured { value, height: 0 }
    }
}

/// Reads one value.
pub(super) fn read(bytes: &[u8], stop: Stop<'_>) -> Result<Value, Damage> {
    let mut reader = Reader {
        bytes,
        at: 0,
        known: Vec::new(),
        values: 0,
        stop,
    };
    let whole = reader.value(0)?;
    whole
        .map(|whole| whole.value)
        .ok_or_else(|| reader.damage("it ends before its first value"))
}

struct Reader<'b, 's> {
    bytes: &'b [u8],
    at: usize,
    /// The values that can be referred to; `None` for one that is not whole yet, or a table.
    known: Vec<Option<Measured>>,
    values: usize,
    stop: Stop<'s>,
}

impl Reader<'_, '_> {
    fn damage(&self, reason: &str) -> Damage {
        Damage::At(format!("byte {}: {reason}", self.at))
    }

    /// Reads a value; `None` is the mark at the end of a table.
    fn value(&mut self, depth: usize) -> Result<Option<Measured>, Damage> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_BETWEEN_STOPS) {
            check(self.stop)?;
        }
        if self.values > MAX_VALUES {
            return Err(self.damage(&format!("more than {MAX_VALUES} values")));
        }
        self.require_depth(depth)?;
        let kind = self.byte()?;
        // A value is numbered before those within it.
        let number = (kind & REFERRED != 0).then(|| {
            self.known.push(None);
            self.known.len() - 1
        });
        let value = match kind & !REFERRED {
            b'0' => return Ok(None),
            b'(' => {
                let length = self.length()?;
                self.tuple(length, depth)?
            }
            b')' => {
                let length = usize::from(self.byte()?);
                self.tuple(length, depth)?
            }
            b'{' => self.table(depth)?,
            b'r' => self.known(depth)?,
            other => Measured::scalar(self.scalar(other)?),
        };
        if let Some(place) = number.and_then(|number| self.known.get_mut(number))
            && !matches!(value.value, Value::Table(_))
        {
            *place = Some(value.clone());
        }
        Ok(Some(value))
    }

    fn scalar(&mut self, kind: u8) -> Result<Value, Damage> {
        Ok(match kind {
            b'N' => Value::Nothing,
            b'F' => Value::Int(0),
            b'T' => Value::Int(1),
            b'i' => Value::Int(i64::from(i32::from_le_bytes(self.array()?))),
            b'I' => Value::Int(i64::from_le_bytes(self.array()?)),
            b'l' => self.long()?,
            b'g' => Value::Float(f64::from_le_bytes(self.array()?)),
            b'f' => {
                let length = usize::from(self.byte()?);
                let text = self.text(length)?;
                Value::Float(
                    text.parse()
                        .map_err(|_| self.damage("a number that is none"))?,
                )
            }
            b'z' | b'Z' => {
                let length = usize::from(self.byte()?);
                Value::Text(self.text(length)?)
            }
            b'a' | b'A' | b'u' | b't' | b's' => {
                let length = self.length()?;
                Value::Text(self.text(length)?)
            }
            other => {
                let name = char::from(other).escape_default();
                return Err(self.damage(&format!(
                    "a value of the type `{name}`, which statistics do not have"
                )));
            }
        })
    }

    fn tuple(&mut self, length: usize, depth: usize) -> Result<Measured, Damage> {
        if length > self.bytes.len().saturating_sub(self.at) {
            return Err(self.damage(&format!(
                "a tuple states {length} values, which is more than there are bytes"
            )));
        }
        let (mut values, mut height) = (Vec::new(), 0);
        for _ in 0..length {
            let within = self
                .value(depth + 1)?
                .ok_or_else(|| self.damage("a tuple ends early"))?;
            height = height.max(within.height + 1);
            values.push(within.value);
        }
        Ok(Measured {
            value: Value::Tuple(values.into()),
            height,
        })
    }

    fn table(&mut self, depth: usize) -> Result<Measured, Damage> {
        let (mut entries, mut height) = (Vec::new(), 0);
        while let Some(key) = self.value(depth + 1)? {
            let value = self
                .value(depth + 1)?
                .ok_or_else(|| self.damage("a key without a value"))?;
            height = height.max(key.height.max(value.height) + 1);
            entries.push((key.value, value.value));
        }
        Ok(Measured {
            value: Value::Table(entries.into()),
            height,
        })
    }

    fn known(&mut self, depth: usize) -> Result<Measured, Damage> {
        let number = u32::from_le_bytes(self.array()?);
        let known = usize::try_from(number)
            .ok()
            .and_then(|number| self.known.get(number));
        match known {
            Some(Some(known)) => {
                let known = known.clone();
                self.require_depth(depth + known.height)?;
                Ok(known)
            }
            Some(None) => {
                Err(self.damage(&format!("value {number} is a table, or refers to itself")))
            }
            None => Err(self.damage(&format!("value {number} is referred to, but there is none"))),
        }
    }

    fn require_depth(&self, depth: usize) -> Result<(), Damage> {
        let reason = "values within values, deeper than statistics are";
        if depth > MAX_DEPTH {
            Err(self.damage(reason))
        } else {
            Ok(())
        }
    }

    /// Reads a number of digits of 15 bits each; the sign is that of their number.
    fn long(&mut self) -> Result<Value, Damage> {
        let digits = i32::from_le_bytes(self.array()?);
        let mut value = 0_i128;
        for place in 0..digits.unsigned_abs() {
            let digit = i128::from(u16::from_le_bytes(self.array()?));
            if place > 4 || digit >> 15 != 0 {
                return Err(self.damage("a whole number that is too large"));
            }
            value |= digit << (15 * place);
        }
        let value = if digits < 0 { -value } else { value };
        i64::try_from(value)
            .map(Value::Int)
            .map_err(|_| self.damage("a whole number that is too large"))
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn length(&mut self) -> Result<usize, Damage> {
        let length = u32::from_le_bytes(self.array()?);
        usize::try_from(length).map_err(|_| self.damage("a length that is too large"))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let found = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<N>());
        let found = found
            .copied()
            .ok_or_else(|| self.damage("it ends within a value"))?;
        self.at += N;
        Ok(found)
    }

    fn text(&mut self, length: usize) -> Result<Rc<str>, Damage> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(text) = rest.get(..length) else {
            let left = rest.len();
            return Err(self.damage(&format!(
                "a text states {length} bytes, but {left} are left"
            )));
        };
        self.at += length;
        Ok(String::from_utf8_lossy(text).into())
    }
}
