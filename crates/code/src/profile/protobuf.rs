//! Reads messages of protocol buffers in their wire format.

use super::damage::Damage;

/// A message, or what is left of it.
#[derive(Clone, Copy)]
pub(super) struct Message<'b> {
    bytes: &'b [u8],
    /// The place of the first byte in the whole.
    at: usize,
}

/// The value of a field.
pub(super) enum Field<'b> {
    Number(u64),
    /// A text, a message, or numbers side by side.
    Bytes(Message<'b>),
    /// A number of fixed size.
    Fixed,
}

impl<'b> Message<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Message<'b> {
        Message { bytes, at: 0 }
    }

    pub(super) fn bytes(self) -> &'b [u8] {
        self.bytes
    }

    /// Returns the next field with its number; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Field<'b>)>, Damage> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let key = self.varint()?;
        let number = key >> 3;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => self.take(8, number).map(|_| Field::Fixed)?,
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length, number)?)
            }
            5 => self.take(4, number).map(|_| Field::Fixed)?,
            other => {
                return Err(Damage::At(format!(
                    "byte {at}: a field of the type {other}, which none has"
                )));
            }
        };
        Ok(Some((number, field)))
    }

    fn take(&mut self, length: u64, field: u64) -> Result<Message<'b>, Damage> {
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| self.bytes.split_at_checked(length));
        let Some((taken, rest)) = split else {
            let (at, left) = (self.at, self.bytes.len());
            return Err(Damage::At(format!(
                "byte {at}: field {field} states {length} bytes, but {left} are left"
            )));
        };
        let message = Message {
            bytes: taken,
            at: self.at,
        };
        *self = Message {
            bytes: rest,
            at: self.at + taken.len(),
        };
        Ok(message)
    }

    /// Reads a number.
    pub(super) fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = self.bytes.split_first() else {
                return Err(Damage::At(format!(
                    "byte {}: it ends within a number",
                    self.at
                )));
            };
            *self = Message {
                bytes: rest,
                at: self.at + 1,
            };
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damage::At(format!(
            "byte {}: a number of more than ten bytes",
            self.at
        )))
    }

    /// Calls a function with each field that is a number.
    pub(super) fn numbers(mut self, mut with: impl FnMut(u64, u64)) -> Result<(), Damage> {
        while let Some((field, value)) = self.next()? {
            if let Field::Number(number) = value {
                with(field, number);
            }
        }
        Ok(())
    }

    /// Reports whether there is nothing left.
    pub(super) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }
}
