//! The repositories of the fake GitHub: real ones, served over smart HTTP by git itself.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::http::{Answer, Request};

/// What a commit does to one name. Names are bytes, as they are to git.
#[derive(Clone, Copy)]
pub(crate) enum File<'a> {
    /// A file and its content.
    Holds(&'a [u8], &'a [u8]),
    /// A symbolic link and where it leads.
    Leads(&'a [u8], &'a [u8]),
    /// A submodule and its commit.
    Module(&'a [u8], &'a str),
    /// From where to where it moves.
    Moves(&'a [u8], &'a [u8]),
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    command
}

/// Runs git and returns its output.
#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    String::from_utf8_lossy(&run(dir, args, b"")).trim_end().to_owned()
}

/// True when git says yes.
pub(crate) fn holds(dir: &Path, args: &[&str]) -> bool {
    command(dir, args).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

#[track_caller]
fn run(dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = command(dir, args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Makes a bare repository that serves single commits and leaves out what a client does not want.
pub(crate) fn create(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q", "--bare", "-b", "main"]);
    for (key, value) in
        [("uploadpack.allowFilter", "true"), ("uploadpack.allowAnySHA1InWant", "true"), ("gc.auto", "0")]
    {
        git(folder, &["config", key, value]);
    }
}

/// What a commit is made of.
pub(crate) struct Commit<'a> {
    pub(crate) message: &'a str,
    /// Its files are those of the parent with these changes.
    pub(crate) files: &'a [File<'a>],
}

/// Puts commits on a reference, one upon the other, and returns the name of the last. They are made in a second of
/// their own, so that equal content elsewhere is another commit.
pub(crate) fn commit(dir: &Path, reference: &str, parent: Option<&str>, second: u64, commits: &[Commit<'_>]) -> String {
    let mut stream = Vec::new();
    let mut say = |bytes: &[u8]| stream.extend_from_slice(bytes);
    let second = 1_700_000_000 + second;
    for (index, Commit { message, files }) in commits.iter().enumerate() {
        say(format!("commit {reference}\ncommitter Ada <ada@example.com> {second} +0000\n").as_bytes());
        say(format!("data {}\n{message}\n", message.len()).as_bytes());
        if let Some(parent) = parent.filter(|_| index == 0) {
            say(format!("from {parent}\n").as_bytes());
        }
        for file in *files {
            match file {
                File::Holds(name, content) => put(&mut say, "100644", name, content),
                File::Leads(name, target) => put(&mut say, "120000", name, target),
                File::Module(name, commit) => say(format!("M 160000 {commit} {}\n", quoted(name)).as_bytes()),
                File::Moves(from, to) => say(format!("R {} {}\n", quoted(from), quoted(to)).as_bytes()),
            }
        }
    }
    run(dir, &["fast-import", "--quiet", "--force"], &stream);
    git(dir, &["rev-parse", reference])
}

fn put(say: &mut impl FnMut(&[u8]), mode: &str, name: &[u8], content: &[u8]) {
    say(format!("M {mode} inline {}\ndata {}\n", quoted(name), content.len()).as_bytes());
    say(content);
    say(b"\n");
}

/// A name as git quotes it, with octal escapes for special characters.
fn quoted(name: &[u8]) -> String {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte);
    let shown =
        name.iter().map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("\\{byte:03o}") });
    format!("\"{}\"", shown.collect::<String>())
}

/// Serves a request of a git client: `path` is `/NAME.git/…` below the folder.
pub(crate) fn backend(folder: &Path, path: &str, request: &Request) -> Answer {
    let mut command = command(folder, &["http-backend"]);
    command.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_ADDR", "127.0.0.1");
    command.env("PATH_INFO", path).env("QUERY_STRING", &request.query).env("REQUEST_METHOD", &request.method);
    let headers = [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ];
    for (header, variable) in headers {
        command.envs(request.header(header).map(|value| (variable, value)));
    }
    command.env("CONTENT_LENGTH", request.body.len().to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let said = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();

    let end = said.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(said.len());
    let mut answer =
        Answer { status: 200, headers: Vec::new(), body: said.get(end + 4..).unwrap_or_default().to_vec() };
    for (name, value) in String::from_utf8_lossy(&said[..end]).lines().filter_map(|line| line.split_once(": ")) {
        if name == "Status" {
            answer.status = value.split(' ').next().and_then(|status| status.parse().ok()).unwrap_or(500);
        } else {
            answer.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    answer
}
