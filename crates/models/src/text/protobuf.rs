//! The wire format of Protocol Buffers, as far as one message needs it: fields with their numbers and values.
//!
//! Bytes are a stranger's: a length is believed only where so many bytes are left. Groups, which nothing writes any
//! more, are refused.
//!
//! Source: Protocol Buffers documentation, "Encoding".

/// A value as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'b> {
    /// Whole numbers, truth values, enumerations.
    Number(u64),
    /// Texts, bytes, messages.
    Bytes(&'b [u8]),
    /// Four bytes, as a float.
    Four([u8; 4]),
    /// Eight bytes.
    Eight,
}

impl<'b> Value<'b> {
    pub fn bytes(self) -> Result<&'b [u8], String> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            other => Err(format!("has {other:?} where bytes must be")),
        }
    }

    pub fn text(self) -> Result<&'b str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|e| format!("has a text that is no UTF-8: {e}"))
    }

    pub fn number(self) -> Result<u64, String> {
        match self {
            Value::Number(number) => Ok(number),
            other => Err(format!("has {other:?} where a number must be")),
        }
    }

    pub fn truth(self) -> Result<bool, String> {
        Ok(self.number()? != 0)
    }

    pub fn float(self) -> Result<f32, String> {
        match self {
            Value::Four(bytes) => Ok(f32::from_le_bytes(bytes)),
            other => Err(format!("has {other:?} where a float must be")),
        }
    }
}

/// Shows each field of a message with its number, in order.
pub(super) fn fields<'b>(
    message: &'b [u8],
    mut field: impl FnMut(u64, Value<'b>) -> Result<(), String>,
) -> Result<(), String> {
    let mut rest = message;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut rest)?),
            1 => take(&mut rest, 8).map(|_| Value::Eight)?,
            2 => {
                let len = varint(&mut rest)?;
                Value::Bytes(take(&mut rest, len)?)
            }
            5 => {
                let four = take(&mut rest, 4)?;
                Value::Four([four[0], four[1], four[2], four[3]])
            }
            other => return Err(format!("has a field of wire type {other}")),
        };
        field(key >> 3, value)?;
    }
    Ok(())
}

fn take<'b>(rest: &mut &'b [u8], len: u64) -> Result<&'b [u8], String> {
    let (taken, left) = usize::try_from(len)
        .ok()
        .and_then(|len| rest.split_at_checked(len))
        .ok_or_else(|| format!("ends where {len} more bytes are announced"))?;
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for place in 0..10 {
        let byte = take(rest, 1)?[0];
        // The tenth byte has one bit that counts; what is beyond 64 bits is dropped, as the format says.
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("has a number longer than ten bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Value, fields};

    fn read(bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, String> {
        let mut found = Vec::new();
        fields(bytes, |number, value| {
            found.push((number, value));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_are_read_and_broken_ones_refused() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1D, 0, 0, 0x80, 0x3F];
        let found = read(&message).expect("a message");
        assert_eq!(found[..2], [(1, Value::Number(150)), (2, Value::Bytes(b"hi"))]);
        assert_eq!(found[2].1.float(), Ok(1.0));
        for end in [1, 2, 4, 5, 6, 8, 11] {
            assert!(read(&message[..end]).is_err(), "cut at {end}");
        }
        assert!(read(&[0x0B]).is_err(), "a group");
        assert!(read(&[0x08; 1]).is_err());
        assert!(read(&[0xFF; 20]).is_err());
        assert!(read(&[0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]).is_err());
    }
}
