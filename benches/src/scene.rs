//! A repository to review: real TypeScript files, and a configuration with rules that ast-grep knows, too.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use tollgate_rules::catalog;

use crate::measure::Setting;

/// Thirty shapes of everyday TypeScript, so that both programs have something to find.
const PATTERNS: [&str; 30] = [
    "console.log($$$)",
    "process.exit($$$)",
    "$A == null",
    "Number($A)",
    "$A != null",
    "JSON.parse($A)",
    "setTimeout($$$)",
    "Buffer.from($$$)",
    "new Date()",
    "process.env.$X",
    "eval($A)",
    "$A.map($$$)",
    "$A.forEach($$$)",
    "parseInt($$$)",
    "Object.assign($$$)",
    "return $A ? $B : $C",
    "typeof $A",
    "$A instanceof $B",
    "delete $A",
    "Math.random()",
    "for (const $A of $B) { $$$ }",
    "JSON.stringify($A)",
    "setInterval($$$)",
    "$A.reduce($$$)",
    "super($$$)",
    "Promise.all($$$)",
    "$A.sort()",
    "$A === undefined",
    "Object.keys($A)",
    "new Promise($$$)",
];

/// A repository in a temporary folder.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// An empty repository.
    pub(crate) fn new() -> io::Result<Self> {
        let scene = Self { folder: tempfile::tempdir()? };
        scene.git(&["init", "-q", "-b", "main"])?;
        Ok(scene)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn git(&self, args: &[&str]) -> io::Result<String> {
        git(self.path(), args)
    }

    pub(crate) fn commit(&self, message: &str) -> io::Result<()> {
        self.git(&["add", "-A"])?;
        self.git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            message,
        ])?;
        Ok(())
    }

    /// Thirty rules for both programs; the embedded ones are switched off.
    pub(crate) fn write_rules(&self) -> io::Result<()> {
        let folder = self.path().join(".tollgate/rules");
        fs::create_dir_all(&folder)?;
        for (number, pattern) in PATTERNS.iter().enumerate() {
            let yaml = format!(
                "id: bench-{number:02}\nlanguage: TypeScript\nseverity: warning\nmessage: found\nrule:\n  pattern: {pattern:?}\n"
            );
            fs::write(folder.join(format!("bench-{number:02}.yml")), yaml)?;
        }
        fs::write(self.path().join("sgconfig.yml"), "ruleDirs: [.tollgate/rules]\n")?;
        let ids: Vec<&str> = catalog::all().iter().map(|rule| rule.id).collect();
        fs::write(self.path().join(".tollgate.toml"), format!("[rules]\ndisable = {ids:?}\n"))
    }
}

/// Runs git and gives its output.
pub(crate) fn git(folder: &Path, args: &[&str]) -> io::Result<String> {
    let output = Command::new("git").current_dir(folder).args(args).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("git {}: {}", args.join(" "), why.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The repository whose TypeScript is the material.
pub(crate) fn corpus(setting: &Setting) -> io::Result<&Path> {
    setting
        .corpus
        .as_deref()
        .ok_or_else(|| io::Error::other("this needs `--corpus DIR`, a repository with TypeScript and history"))
}

/// TypeScript files of the corpus, by path, the first so many of ordinary size.
pub(crate) fn typescript(setting: &Setting, n_files: usize) -> io::Result<Vec<(String, String)>> {
    let corpus = corpus(setting)?;
    let listed = git(corpus, &["ls-tree", "-r", "-z", "--name-only", "HEAD"])?;
    let paths = listed.split('\0').filter(|path| path.ends_with(".ts") && !path.ends_with(".d.ts"));
    let mut files = Vec::new();
    for path in paths {
        if files.len() >= n_files {
            break;
        }
        let text = git(corpus, &["show", &format!("HEAD:{path}")])?;
        if (2_000..200_000).contains(&text.len()) {
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}
