//! Reading of input, writing of output, and the look of the terminal. No other module prints.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use tollgate_core::path::percent_encode;
use tollgate_core::report::terminal::{Look, Paint};
use tollgate_core::visible::visible;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::PatchSource;

use super::{CliContext, Color, failure};

/// The number of columns without a terminal.
const PLAIN_WIDTH: usize = 100;

/// Prints data. A closed pipe is not a failure, as in `tollgate … | head`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(failure::cannot_write("standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a message to standard error, with control characters escaped.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// Prints data, or writes it to a file atomically.
pub(crate) fn deliver(context: &CliContext, text: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file {
        Some(path) if path != Path::new("-") => {
            let path = context.resolve(path);
            refuse_links_of_repository(context, &path)?;
            // A link, a device or a pipe given as an argument is written through, not replaced.
            if is_special(&path) { write_into(&path, text) } else { write_file(&path, text) }
        }
        _ => print(text),
    }
}

/// Fails if the way to a file leads through a link that the repository holds: whoever committed it decides where it leads.
pub(crate) fn refuse_links_of_repository(context: &CliContext, path: &Path) -> Result<(), Failure> {
    let links: Vec<&Path> = path.ancestors().filter(|part| part.is_symlink()).collect();
    if links.is_empty() {
        return Ok(());
    }
    let Ok(repository) = context.repository() else { return Ok(()) };
    for link in links {
        let folder = link.parent().and_then(|folder| folder.canonicalize().ok());
        let (Some(folder), Some(name), Some(root)) = (folder, link.file_name(), repository.root()) else { continue };
        let inside = folder.join(name);
        let tracked = match inside.strip_prefix(root) {
            Ok(inside) => !repository.is_untracked(&inside.to_string_lossy())?,
            Err(_) => false,
        };
        if tracked {
            return Err(failure::link_of_repository(&path.display().to_string(), &link.display().to_string()));
        }
    }
    Ok(())
}

/// Fails if a file cannot be written, before the work for its content is done.
pub(crate) fn can_write(path: &Path) -> Result<(), Failure> {
    let try_it = || match path {
        _ if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ if is_special(path) => Ok(()),
        _ => temporary(path).map(drop),
    };
    try_it().map_err(|error| failure::cannot_write(&path.display().to_string(), &error))
}

/// Creates a temporary file in the same directory.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such folder"));
    }
    tempfile::Builder::new().prefix(".tollgate-").tempfile_in(folder)
}

/// True for a link, a device or a pipe, which a rename would destroy (`/dev/null` for the whole machine).
fn is_special(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|entry| !entry.is_file() && !entry.is_dir())
}

fn write_into(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| failure::cannot_write(&path.display().to_string(), &error))
}

/// Writes a file atomically, by a temporary file and a rename. A symbolic link is replaced and not followed: in a
/// repository it is untrusted.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let mut file = temporary(path)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        readable_by_all(file.path())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| failure::cannot_write(&path.display().to_string(), &error))
}

/// Makes a file world-readable: temporary files are private, reports are not.
#[cfg(unix)]
fn readable_by_all(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a file, or standard input for `-`, and returns its display name.
pub(crate) fn open_input(path: &Path) -> Result<(String, Box<dyn io::Read>), Failure> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| failure::cannot_read(&name, &error))?;
    Ok((name, Box::new(file)))
}

/// Opens a patch, or standard input for `-`.
pub(crate) fn patch_source(path: &Path) -> Result<PatchSource, Failure> {
    if path == Path::new("-") {
        return Ok(PatchSource::new(io::stdin()));
    }
    let name = path.display().to_string();
    std::fs::File::open(path).map(PatchSource::new).map_err(|error| failure::cannot_read(&name, &error))
}

/// Fails if two flags read standard input, because the second would get nothing.
pub(crate) fn standard_input_once<'a>(
    inputs: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
) -> Result<(), Failure> {
    let mut standard = inputs.into_iter().filter(|(_, path)| *path == Some(Path::new("-"))).map(|(flag, _)| flag);
    match (standard.next(), standard.next()) {
        (Some(one), Some(other)) => Err(failure::standard_input_twice(one, other)),
        _ => Ok(()),
    }
}

/// Reads a file, or standard input for `-`, up to a limit.
pub(crate) fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let (name, source) = open_input(path)?;
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failure::cannot_read(&name, &error))?;
    if bytes.len() as u64 > limit {
        return Err(failure::too_large(&name, limit));
    }
    Ok(bytes)
}

/// Stops all child processes and exits on Ctrl-C.
pub(crate) fn end_cleanly_on_ctrl_c() {
    // Without a handler, Ctrl-C ends the program too, but leaves git running.
    let _ = ctrlc::set_handler(|| {
        tollgate_engine::process::stop_all();
        // Clears the progress line.
        let cleared = if io::stderr().is_terminal() { "\r\u{1b}[2K" } else { "\n" };
        let _ = writeln!(io::stderr().lock(), "{cleared}interrupted");
        std::process::exit(130);
    });
}

pub(crate) fn print_failure(failure: &Failure) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "error: {}", visible(&failure.message));
    if let Some(hint) = &failure.hint {
        let _ = writeln!(stderr, "hint: {}", visible(hint));
    }
}

/// The look of standard output: colors, width, links.
pub(crate) fn look(context: &CliContext, root: Option<&Path>, verbose: bool) -> Look {
    let terminal = io::stdout().is_terminal();
    let colour = match context.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if is_set("NO_COLOR") => false,
        Color::Auto if is_set("CLICOLOR_FORCE") => true,
        Color::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    };
    let links = terminal && colour && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    Look {
        paint: Paint { colour, unicode: unicode(), root: root.filter(|_| links).map(address) },
        width: width(),
        verbose,
        only_new: false,
    }
}

/// True if a variable is set and neither empty nor `0`, by the conventions of `NO_COLOR` and `CLICOLOR_FORCE`.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

fn width() -> usize {
    let from_env = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let from_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    from_env.filter(|width| *width > 0).or_else(from_terminal).unwrap_or(PLAIN_WIDTH).clamp(30, 120)
}

/// False only if the locale names another encoding than UTF-8.
fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.is_empty() || locale.contains("utf") || !(locale == "c" || locale == "posix" || locale.contains("iso"))
}

fn address(root: &Path) -> String {
    let path = root.to_string_lossy();
    let steps: Vec<String> = path.split(['/', '\\']).map(percent_encode).collect();
    format!("file://{}", steps.join("/"))
}
