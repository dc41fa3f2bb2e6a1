//! The parts of the system that every sandboxed process sees, and the tools of the operator's home.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders of the system, which are readable.
pub(crate) const FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap", "/proc"];

/// Devices, which are also writable.
pub(crate) const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Files of the system with secrets, which matter when the operator is root.
pub(crate) const SECRETS: &[&str] = &[
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
];

/// Variables with the place of a toolchain, and its usual place in the home.
const TOOLCHAINS: &[(&str, Option<&str>)] = &[
    ("ANDROID_HOME", None),
    ("BUN_INSTALL", None),
    ("GOROOT", None),
    ("JAVA_HOME", None),
    ("NVM_DIR", None),
    ("PYENV_ROOT", Some(".pyenv")),
    ("RUSTUP_HOME", Some(".rustup")),
    ("VIRTUAL_ENV", None),
];

/// Folders of the home with programs that installers link to from a folder of the PATH.
const INSTALLED: &[&str] = &[
    ".local/lib",
    ".local/share/claude",
    ".local/share/cursor-agent",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
];

/// Folders beside a `bin` of the PATH that its programs need.
const BESIDE_BIN: &[&str] = &["include", "lib", "lib64", "libexec", "share"];

/// The tools of the operator: folders to read, and variables that name them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tools {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

/// Finds the operator's tools; `look_up` reads our environment.
pub(crate) fn tools(look_up: &dyn Fn(&str) -> Option<OsString>) -> Tools {
    let mut tools = Tools::default();
    let home = look_up("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let path = look_up("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        if is_of_system(&folder) || Some(&folder) == home.as_ref() {
            continue;
        }
        let prefix = folder.parent().filter(|_| folder.ends_with("bin"));
        // `~/.local/share` holds the data of every program, and the home itself all the rest.
        let is_shared = |prefix: &Path| Some(prefix) == home.as_deref() || prefix.ends_with(".local");
        for name in BESIDE_BIN.iter().filter(|_| prefix.is_some_and(|prefix| !is_shared(prefix))) {
            tools.folders.extend(prefix.map(|prefix| prefix.join(name)));
        }
        tools.folders.push(folder);
    }
    for (variable, usual) in TOOLCHAINS {
        let usual = || home.as_ref().zip(*usual).map(|(home, usual)| home.join(usual).into_os_string());
        if let Some(place) = look_up(variable).or_else(usual).filter(|place| Path::new(place).is_dir()) {
            tools.folders.push(place.clone().into());
            tools.variables.push((variable, place));
        }
    }
    tools.folders.extend(home.iter().flat_map(|home| INSTALLED.iter().map(|name| home.join(name))));
    tools.folders.retain(|folder| folder.is_dir());
    tools.folders.sort();
    tools.folders.dedup();
    tools
}

/// The files that a program consists of: itself, the file that it is a link to, and the package around that.
pub(crate) fn parts_of(program: &Path) -> Vec<PathBuf> {
    let mut parts = vec![program.to_owned()];
    if let Ok(real) = program.canonicalize() {
        let is_modules = |folder: &&Path| folder.file_name().is_some_and(|name| name == "node_modules");
        parts.extend(real.ancestors().filter(is_modules).last().map(Path::to_owned));
        parts.push(real);
    }
    parts.retain(|part| !is_of_system(part));
    parts.dedup();
    parts
}

/// True for a path below a folder of the system.
pub(crate) fn is_of_system(path: &Path) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_what_the_path_and_the_toolchains_name_and_nothing_else_of_the_home() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        for name in [".rustup", ".cargo/bin", ".cargo/registry", ".local/bin", ".local/share/uv", ".ssh", "node/bin"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::create_dir_all(home.join("node/lib")).unwrap();
        let path = format!("/usr/bin:bin:{0}/.cargo/bin:{0}/.local/bin:{0}/node/bin:{0}/gone/bin", home.display());
        let look_up = |name: &str| match name {
            "HOME" => Some(home.into()),
            "PATH" => Some(path.clone().into()),
            _ => None,
        };
        let tools = tools(&look_up);
        let found = tools.folders.iter().map(|folder| folder.strip_prefix(home).unwrap().to_string_lossy());
        let expected = [".cargo/bin", ".local/bin", ".local/share/uv", ".rustup", "node/bin", "node/lib"];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(tools.variables, [("RUSTUP_HOME", home.join(".rustup").into_os_string())]);
    }

    #[test]
    fn a_linked_program_comes_with_its_package() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let package = home.join("lib/node_modules/agent/bin");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("cli.js"), "").unwrap();
        std::os::unix::fs::symlink(package.join("cli.js"), home.join("agent")).unwrap();
        let expected = [home.join("agent"), home.join("lib/node_modules"), package.join("cli.js")];
        assert_eq!(parts_of(&home.join("agent")), expected);
        assert!(parts_of(Path::new("/bin/sh")).is_empty(), "it is the system's");
    }
}
