//! Detects Dockerfile instructions that make images unreproducible or insecure.

use tollgate_core::diff::Status;

use crate::hit::Hit;
use crate::text::File;
use crate::text::file_class::is_dockerfile;
use crate::text::secrets::{is_placeholder, is_words};
use crate::text::statement::{HunkLine, hunk_lines};

const LATEST: &str = "docker-latest-tag";
const ADD_URL: &str = "docker-add-url";
const PIPE: &str = "docker-curl-pipe-shell";
const CHMOD: &str = "docker-chmod-777";
const SECRET: &str = "docker-secret-in-env";
const ROOT: &str = "docker-root-user";
const TLS: &str = "docker-tls-check-off";
const SUDO: &str = "docker-sudo";

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    if !is_dockerfile(file.path()) || file.diff.n_added == 0 || file.class().generated {
        return;
    }
    let whole = file.diff.status == Status::Added;
    for hunk in &file.diff.hunks {
        let lines = hunk_lines(file.diff, hunk);
        let mut stages: Vec<String> = Vec::new();
        let mut instruction = String::new();
        let mut continues = false;
        for line in &lines {
            let text = line.text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if !continues {
                instruction = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            }
            continues = text.ends_with('\\');
            let rule = violation(&instruction, text, &stages, whole);
            if let Some(rule) = rule.filter(|rule| line.added && file.enabled(rule)) {
                hits.push(hit(file, rule, line));
            }
            stages.extend(stage(text));
        }
        if whole {
            hits.extend(last_user(file, &lines));
        }
    }
}

fn hit(file: &File<'_>, rule: &str, line: &HunkLine<'_>) -> Hit {
    let hit = file.hit(rule, Some(line.number), line.text.as_bytes());
    match (rule, env_secret(line.text.trim())) {
        (SECRET, Some(name)) => Hit { evidence: format!("{name}=…"), ..hit },
        _ => hit,
    }
}

/// The first rule that a line of an instruction violates.
fn violation(instruction: &str, text: &str, stages: &[String], whole: bool) -> Option<&'static str> {
    match instruction {
        "FROM" => is_moving(text, stages, whole).then_some(LATEST),
        "ADD" => is_unchecked_add(text).then_some(ADD_URL),
        "ENV" | "ARG" => env_secret(text).map(|_| SECRET),
        // A hunk may begin inside a long `RUN`.
        "COPY" | "LABEL" | "CMD" | "ENTRYPOINT" | "USER" | "EXPOSE" | "VOLUME" | "WORKDIR" | "HEALTHCHECK" => None,
        _ => run(text),
    }
}

fn run(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',', '[', ']'])).collect();
    let command = |name: &str| words.iter().position(|word| *word == name);
    let downloads = command("curl").or_else(|| command("wget"));
    let insecure = |word: &&str| matches!(*word, "-k" | "--insecure" | "--no-check-certificate") || is_k_flag(word);
    if downloads
        .is_some_and(|at| words[at..].iter().take_while(|word| !matches!(**word, "|" | "&&" | ";")).any(insecure))
    {
        return Some(TLS);
    }
    if pipes_to_shell(&words, downloads) {
        return Some(PIPE);
    }
    let opens = |word: &&str| matches!(*word, "777" | "0777" | "a+rwx" | "ugo+rwx");
    if command("chmod").is_some_and(|at| words[at..].iter().skip(1).take(3).any(opens)) {
        return Some(CHMOD);
    }
    let starts = |at: usize| at == 0 || matches!(words[at - 1], "RUN" | "&&" | ";" | "||");
    let sudo = command("sudo").filter(|at| starts(*at));
    sudo.map(|_| SUDO)
}

/// True for bundled short options of curl with `k` among them, such as `-fsSkL`.
fn is_k_flag(word: &&str) -> bool {
    word.strip_prefix('-').is_some_and(|flags| {
        (2..=6).contains(&flags.len()) && flags.contains('k') && flags.chars().all(|flag| "fsSLkvgI".contains(flag))
    })
}

fn pipes_to_shell(words: &[&str], downloads: Option<usize>) -> bool {
    let Some(from) = downloads else { return false };
    let Some(pipe) = words[from..].iter().position(|word| *word == "|") else { return false };
    let mut target = words[from + pipe + 1..].iter().filter(|word| !matches!(**word, "sudo" | "-E"));
    let chained = words[from..from + pipe].iter().any(|word| matches!(*word, "&&" | ";"));
    let shell = target
        .next()
        .is_some_and(|word| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "ash" | "dash")));
    shell && !chained
}

/// True when an image has no pinned version.
fn is_moving(text: &str, stages: &[String], whole: bool) -> bool {
    let Some(image) = text.split_whitespace().skip(1).find(|word| !word.starts_with("--")) else { return false };
    if image.contains(['$', '@', '\\']) || image.eq_ignore_ascii_case("scratch") {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(':') {
        Some((_, tag)) => tag == "latest",
        // A name without a tag can be a build stage, which only the whole file shows.
        None => (whole || image.contains('/')) && !stages.iter().any(|stage| stage.eq_ignore_ascii_case(image)),
    }
}

/// The stage name of `FROM … AS name`.
fn stage(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let from = words.first().is_some_and(|word| word.eq_ignore_ascii_case("from"));
    let at = words.iter().position(|word| word.eq_ignore_ascii_case("as"))?;
    words.get(at + 1).filter(|_| from).map(|name| (*name).to_owned())
}

fn is_unchecked_add(text: &str) -> bool {
    let mut words = text.split_whitespace().skip(1);
    let checked = text.contains("--checksum=");
    let url = words.find(|word| !word.starts_with("--")).unwrap_or_default();
    (url.starts_with("http://") || url.starts_with("https://")) && !checked && !url.ends_with(".git")
}

/// The name of a secret with a value: `ENV API_KEY=…`.
fn env_secret(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let rest = if first.eq_ignore_ascii_case("env") || first.eq_ignore_ascii_case("arg") {
        text[first.len()..].trim()
    } else {
        text
    };
    let (name, value) = match rest.split_once('=') {
        Some((name, value)) => (name.trim(), value.split_whitespace().next().unwrap_or_default()),
        None => rest.split_once(char::is_whitespace)?,
    };
    let value = value.trim().trim_matches(['"', '\'']);
    let upper = name.to_ascii_uppercase();
    let secret =
        ["PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "SECRET_KEY", "PRIVATE_KEY"];
    let named = secret.iter().any(|end| upper.ends_with(end));
    let other = is_placeholder(value.as_bytes()) || is_words(value.as_bytes()) || value.contains(['/', '(', '\\']);
    let real = value.len() >= 6 && !other;
    (named && real && !name.contains(char::is_whitespace)).then_some(name)
}

/// Reports a file whose last `USER` is root.
fn last_user(file: &File<'_>, lines: &[HunkLine<'_>]) -> Option<Hit> {
    let user =
        |line: &&HunkLine<'_>| line.text.trim_start().get(..5).is_some_and(|head| head.eq_ignore_ascii_case("user "));
    let last = lines.iter().rfind(user)?;
    let name = last.text.split_whitespace().nth(1).unwrap_or_default();
    let root = matches!(name.split(':').next(), Some("root" | "0"));
    (root && last.added && file.enabled(ROOT)).then(|| file.hit(ROOT, Some(last.number), last.text.as_bytes()))
}
