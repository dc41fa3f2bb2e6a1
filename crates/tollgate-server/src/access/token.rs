//! The secret of a server: 32 random bytes in a file of its owner's.
//!
//! The file holds one line, e.g. `q0Zb…43 characters…`, and is made so that it never existed with other rights.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;
use tollgate_engine::failure::{Failure, Kind};

/// How many characters 32 bytes are.
const N_CHARS: usize = 43;

/// The secret that opens the server. It is never shown by `{:?}`.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Takes what a token file holds.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        (bytes.len() == 32 && text.len() == N_CHARS).then(|| Self(text.to_owned()))
    }

    /// Makes a new one.
    pub fn generate() -> Result<Self, Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|problem| no_randomness(&problem.to_string()))?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// True for the same text. How long it takes says nothing about where they differ.
    pub fn matches(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }

    /// The secret itself, for callers that show or send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Reads the token in a file, or makes one there.
pub fn load_or_create(path: &Path) -> Result<Token, Failure> {
    match read(path)? {
        Some(token) => Ok(token),
        None => create(path),
    }
}

/// Puts another token into the file, which ends every session.
pub fn rotate(path: &Path) -> Result<Token, Failure> {
    let fresh = path.with_extension("new");
    match std::fs::remove_file(&fresh) {
        Err(problem) if problem.kind() != ErrorKind::NotFound => return Err(unusable(&fresh, &problem.to_string())),
        _ => {}
    }
    let token = write_new(&fresh)?;
    std::fs::rename(&fresh, path).map_err(|problem| unusable(path, &problem.to_string()))?;
    Ok(token)
}

fn read(path: &Path) -> Result<Option<Token>, Failure> {
    let mut options = OpenOptions::new();
    options.read(true);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(unusable(path, &problem.to_string())),
    };
    check_rights(path, &file)?;
    let mut text = String::new();
    file.take(1024).read_to_string(&mut text).map_err(|problem| unusable(path, &problem.to_string()))?;
    tollgate_engine::redaction::hold(&text);
    match Token::parse(&text) {
        Some(token) => Ok(Some(token)),
        None => Err(unusable(path, "it does not hold a token")),
    }
}

#[cfg(unix)]
fn check_rights(path: &Path, file: &std::fs::File) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt as _;
    let mode = file.metadata().map_err(|problem| unusable(path, &problem.to_string()))?.mode();
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        Err(Failure::new(Kind::Config, format!("others can read the token in `{}`", path.display()))
            .hint(format!("Run `chmod 600 {0}`, or delete it to get a new one.", path.display())))
    }
}

#[cfg(not(unix))]
fn check_rights(_: &Path, _: &std::fs::File) -> Result<(), Failure> {
    Ok(())
}

fn create(path: &Path) -> Result<Token, Failure> {
    match write_new(path) {
        Ok(token) => Ok(token),
        // Another process was first.
        Err(failure) => read(path)?.ok_or(failure),
    }
}

/// Writes a token into a file that was not there, readable for its owner only from the first moment.
fn write_new(path: &Path) -> Result<Token, Failure> {
    let token = Token::generate()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let wrote = options.open(path).and_then(|mut file| {
        file.write_all(format!("{}\n", token.expose()).as_bytes())?;
        file.sync_all()
    });
    wrote.map_err(|problem| unusable(path, &problem.to_string()))?;
    tollgate_engine::redaction::hold(token.expose());
    Ok(token)
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::new(Kind::External, format!("cannot use the token file `{}`: {why}", path.display()))
        .hint("Delete the file to get a new token, or name another one.")
}

fn no_randomness(why: &str) -> Failure {
    Failure::new(Kind::External, format!("the system gives no random numbers: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_token_is_read_again_and_another_one_after_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.token");
        let first = load_or_create(&path).unwrap();
        assert!(load_or_create(&path).unwrap().matches(first.expose()));
        let second = rotate(&path).unwrap();
        assert!(!second.matches(first.expose()));
        assert!(load_or_create(&path).unwrap().matches(second.expose()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn the_token_file_is_private_and_a_readable_one_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.token");
        load_or_create(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(load_or_create(&path).unwrap_err().kind, Kind::Config);
    }

    #[test]
    fn a_file_with_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.token");
        std::fs::write(&path, "hunter2").unwrap();
        assert!(load_or_create(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hunter2");
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let token = Token::generate().unwrap();
        assert!(!format!("{token:?}").contains(token.expose()));
        assert_eq!(token.expose().len(), N_CHARS);
    }
}
