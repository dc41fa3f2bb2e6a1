//! Values for PostgreSQL, and from it.
//!
//! They are those of SQLite: a number, a text, bytes, or nothing. PostgreSQL names the type of each parameter, and gets the
//! value as that type. Its texts cannot hold the character NUL, which may occur in reviewed files; it is escaped by two
//! characters, of which the first occurs in no text, and restored when read.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::{BufMut as _, BytesMut};
use rusqlite::types::{FromSql, ToSql, ToSqlOutput, Value, ValueRef};
use tokio_postgres::types::{self, IsNull, Type};

use super::error::{Error, Result};

/// The first character of an escape; no text contains it.
const ESCAPE: char = '\u{10ffff}';

/// A parameter.
#[derive(Debug)]
pub(super) struct Sent(Value);

impl Sent {
    pub(super) fn of(value: &dyn ToSql) -> Result<Self> {
        let value = match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => {
                Value::try_from(value).map_err(|error| Error::Damaged(error.to_string()))?
            }
            ToSqlOutput::Owned(value) => value,
            _ => return Err(Error::Damaged("a value is of no kind that can be stored".to_owned())),
        };
        Ok(Self(value))
    }
}

type Encoded = std::result::Result<IsNull, Box<dyn StdError + Sync + Send>>;

impl types::ToSql for Sent {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        match (&self.0, ty) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(n), &Type::INT8) => out.put_i64(*n),
            (Value::Integer(n), &Type::INT4) => out.put_i32(i32::try_from(*n)?),
            (Value::Integer(n), &Type::INT2) => out.put_i16(i16::try_from(*n)?),
            (Value::Integer(n), &Type::BOOL) => out.put_u8(u8::from(*n != 0)),
            #[expect(clippy::cast_precision_loss, reason = "a number for a column of inexact numbers")]
            (Value::Integer(n), &Type::FLOAT8) => out.put_f64(*n as f64),
            (Value::Real(n), &Type::FLOAT8) => out.put_f64(*n),
            (Value::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR | &Type::NAME) => {
                out.put_slice(escaped(text).as_bytes());
            }
            (Value::Blob(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (value, ty) => return Err(format!("a value of the kind {} is no {ty}", value.data_type()).into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    types::to_sql_checked!();
}

/// A result.
enum Received<'a> {
    Plain(ValueRef<'a>),
    Text(String),
}

impl<'a> types::FromSql<'a> for Received<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
        let value = match *ty {
            Type::INT8 => ValueRef::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::INT4 => ValueRef::Integer(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT2 => ValueRef::Integer(i16::from_be_bytes(raw.try_into()?).into()),
            Type::BOOL => ValueRef::Integer((raw != [0]).into()),
            Type::FLOAT8 => ValueRef::Real(f64::from_be_bytes(raw.try_into()?)),
            Type::FLOAT4 => ValueRef::Real(f32::from_be_bytes(raw.try_into()?).into()),
            Type::BYTEA => ValueRef::Blob(raw),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
                match unescaped(std::str::from_utf8(raw)?) {
                    Cow::Borrowed(text) => ValueRef::Text(text.as_bytes()),
                    Cow::Owned(text) => return Ok(Self::Text(text)),
                }
            }
            _ => return Err(format!("values of the type {ty} are not read").into()),
        };
        Ok(Self::Plain(value))
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self::Plain(ValueRef::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The value of a column.
pub(super) fn read<T: FromSql>(row: &tokio_postgres::Row, place: usize) -> Result<T> {
    let received: Received<'_> = row.try_get(place)?;
    let value = match &received {
        Received::Plain(value) => *value,
        Received::Text(text) => ValueRef::Text(text.as_bytes()),
    };
    T::column_result(value).map_err(|error| {
        let name = row.columns().get(place).map_or("", |column| column.name());
        Error::Damaged(format!("column `{name}`: {error}"))
    })
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\0' => written.extend([ESCAPE, '0']),
            ESCAPE => written.extend([ESCAPE, '1']),
            c => written.push(c),
        }
    }
    Cow::Owned(written)
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut read = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => read.push(if chars.next() == Some('0') { '\0' } else { ESCAPE }),
            c => read.push(c),
        }
    }
    Cow::Owned(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text in any::<String>(), odd in "[\0\u{10ffff}01a]{0,12}") {
            for text in [text, odd] {
                let written = escaped(&text).into_owned();
                prop_assert!(!written.contains('\0'));
                prop_assert_eq!(unescaped(&written).into_owned(), text);
            }
        }
    }
}
