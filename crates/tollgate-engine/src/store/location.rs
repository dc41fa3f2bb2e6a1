//! The location of the database: a SQLite file, or a PostgreSQL server.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::config::masked;
use crate::failure::{Failure, Kind};
use crate::store::sql::with_causes;

/// The location of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL database.
    Postgres(Box<Address>),
}

/// The address of a PostgreSQL database.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The URL as configured, perhaps with a password.
    url: String,
    config: Config,
    /// The trusted root certificate, instead of the system's.
    root_certificate: Option<PathBuf>,
    /// True when TLS with a verified certificate is required.
    is_verified: bool,
}

impl Location {
    /// Parses `postgres://…`, `sqlite:FILE` or a path.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if is_postgres(text) {
            return Address::parse(text).map(|address| Self::Postgres(Box::new(address)));
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
        if path.is_empty() {
            return Err(Failure::new(Kind::User, "the path of the database is empty")
                .hint("Write `postgres://user@host/database`, or `sqlite:FILE`."));
        }
        if path == text
            && let Some((scheme, _)) = text.split_once("://")
        {
            return Err(Failure::new(Kind::User, format!("`{scheme}` databases are not supported"))
                .hint("Write `postgres://user@host/database`, or `sqlite:FILE`."));
        }
        Ok(Self::File(PathBuf::from(path)))
    }

    /// The path of a file.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }
}

/// True for the URL of a PostgreSQL server.
fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

impl Address {
    fn parse(url: &str) -> Result<Self, Failure> {
        let (mut kept, mut root_certificate, mut is_verified) = (Vec::new(), None, false);
        let (start, query) = url.split_once('?').map_or((url, ""), |(start, query)| (start, query));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) => root_certificate = Some(PathBuf::from(decoded(path)?)),
                // Every mode that requires encryption also verifies the certificate.
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => {
                    is_verified = true;
                    kept.push("sslmode=require");
                }
                _ => kept.push(pair),
            }
        }
        let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        let mut config =
            Config::from_str(&format!("{start}{query}")).map_err(|error| bad(url, &with_causes(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(bad(url, "no host is named"));
        }
        // By default, connections to other machines require TLS, and local ones do not use it.
        if config.get_ssl_mode() == SslMode::Prefer {
            let is_here = config.get_hosts().iter().all(is_this_machine);
            config.ssl_mode(if is_here { SslMode::Disable } else { SslMode::Require });
            is_verified = !is_here;
        }
        if config.get_application_name().is_none() {
            config.application_name("tollgate");
        }
        Ok(Self { url: url.to_owned(), config, root_certificate, is_verified })
    }

    /// The connection parameters.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The trusted root certificate, instead of the system's.
    pub(super) fn root_certificate(&self) -> Option<&Path> {
        self.root_certificate.as_deref()
    }

    /// True when TLS with a verified certificate is required.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// The URL with its password, for a setting or another process.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.url
    }
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Decodes percent-encoding.
fn decoded(text: &str) -> Result<String, Failure> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.ok_or_else(|| bad_percent(text))?);
        rest = tail.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| bad_percent(text))
}

fn bad_percent(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` in the URL of the database is not valid percent-encoding"))
        .hint("Write a `%` as `%25`.")
}

fn bad(url: &str, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not a valid PostgreSQL URL: {problem}", masked(url)))
        .hint("Write it as in `postgres://user:password@host:5432/tollgate?sslmode=require`.")
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(address) => write!(f, "{address}"),
        }
    }
}

impl fmt::Display for Address {
    /// Shows the URL without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.url))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("postgres://ann:s3cret@db.example:5433/toll", "postgres://ann:***@db.example:5433/toll"),
            ("postgresql://ann@db/toll?sslmode=require", "postgresql://ann@db/toll?sslmode=require"),
            ("postgres://db/toll?user=ann&password=s3cret", "postgres://db/toll?user=ann&password=***"),
            ("postgres://ann:p%40ss@db", "postgres://ann:***@db"),
            ("sqlite:/var/lib/toll.db", "/var/lib/toll.db"),
            ("sqlite:///var/lib/toll.db", "/var/lib/toll.db"),
            ("toll.db", "toll.db"),
        ] {
            let location = Location::parse(text).unwrap();
            assert_eq!(location.to_string(), shown);
            assert!(!format!("{location:?}").contains("s3cret"), "{location:?}");
        }
    }

    #[test]
    fn invalid_locations_are_refused() {
        for (text, part) in [
            ("postgres://", "no host is named"),
            ("postgres://db:port/toll", "is not a valid PostgreSQL URL"),
            ("postgres://db/toll?colour=red", "unknown option"),
            ("mysql://db/toll", "`mysql` databases are not supported"),
            ("sqlite:", "path of the database is empty"),
            ("postgres://db/toll?sslrootcert=%zz", "not valid percent-encoding"),
        ] {
            let failure = Location::parse(text).unwrap_err();
            assert!(failure.message.contains(part), "{text}: {}", failure.message);
            assert!(failure.hint.is_some(), "{text}");
        }
    }

    #[test]
    fn verify_full_requires_a_verified_certificate() {
        let Location::Postgres(address) =
            Location::parse("postgres://db/toll?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem").unwrap()
        else {
            panic!("a file")
        };
        assert!(address.is_verified());
        assert_eq!(address.root_certificate(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(address.config().get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn remote_connections_are_encrypted_by_default() {
        for (text, is_encrypted) in [
            ("postgres://localhost/toll", false),
            ("postgres://127.0.0.1/toll", false),
            ("postgres://db.example/toll", true),
            ("postgres://db.example/toll?sslmode=prefer", true),
            ("postgres://db.example/toll?sslmode=disable", false),
            ("postgres://localhost/toll?sslmode=require", true),
        ] {
            let Location::Postgres(address) = Location::parse(text).unwrap() else { panic!("a file") };
            assert_eq!(address.config().get_ssl_mode() == SslMode::Require, is_encrypted, "{text}");
            assert_eq!(address.is_verified(), is_encrypted, "{text}");
        }
    }
}
