//! The sandbox policy of one run: what an agent, a reviewer or a hook may read, write and reach.
//!
//! An agent sees its work tree, its scratch folder, the tools of the system and of the operator, and a home of its own
//! with a copy of its log-in. The operator's home, other projects, and the store, configuration and token of this program
//! are not there. Of the repository it may read what git needs, without credentials in its configuration.
//!
//! Sessions and caches outlive a run in a state folder of the project, to which the private home has links:
//!
//! ```text
//! <scratch>/home/.claude/.credentials.json -> /run/keys/0, a copy of the operator's in memory
//! <scratch>/home/.claude/projects          -> <data>/agents/<project>/claude-projects
//! <scratch>/home/.cache                    -> <data>/agents/<project>/cache
//! ```

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::preset::codex_provider::CodexProvider;
use super::scratch_folder::ScratchFolder;
use super::{Agent, Preset, Program, Role};
use crate::config::{NetworkWord, Sandbox, SandboxMode};
use crate::process::sandbox::proxy::{self, AllowedHost, Proxy};
use crate::process::sandbox::{Bind, KEY_FOLDER, Keys, Layers, MAX_KEY_BYTES, Network, Policy, ResourceLimits, system};
use crate::tree::{self, Entry};

/// The largest file of a log-in.
const MAX_LOG_IN: u64 = 4 << 20;
/// The largest git configuration.
const MAX_GIT_CONFIG: u64 = 4 << 20;

/// Public package registries, which builds fetch from.
const REGISTRIES: &[&str] = &[
    "index.crates.io",
    "static.crates.io",
    "crates.io",
    "static.rust-lang.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "nodejs.org",
    "jsr.io",
    "npm.jsr.io",
    "pypi.org",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "sum.golang.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "rubygems.org",
    "index.rubygems.org",
    "api.nuget.org",
    "repo.packagist.org",
    "hex.pm",
    "repo.hex.pm",
];

/// Folders of a home that outlive a run: caches of build tools. The folders around them hold configuration, by which one
/// agent would start programs in the runs of others.
const CACHES: &[(&str, &str)] = &[
    (".cache", "cache"),
    (".cargo/git", "cargo/git"),
    (".cargo/registry", "cargo/registry"),
    (".gradle/caches", "gradle/caches"),
    (".m2/repository", "m2/repository"),
    (".npm/_cacache", "npm/_cacache"),
    ("go/pkg/mod", "go/pkg/mod"),
];

/// The most submodules whose configuration is shown to an agent.
const MAX_MODULES: usize = 1000;
/// The depth to which they are looked for; their names may have slashes.
const MAX_MODULE_DEPTH: usize = 12;

/// Sections of a git configuration that hold credentials, or that name other files.
const SECRET_SECTIONS: &[&str] =
    &["credential", "http", "url", "include", "includeif", "sendemail", "github", "gitlab"];

/// The layers that hold for an agent.
pub(crate) fn layers(agent: &Agent) -> Layers {
    let mut layers = Layers::available().and(agent.sandbox.layers);
    if agent.sandbox.mode == SandboxMode::Off {
        layers = Layers { namespace: layers.namespace, ..Layers::NONE };
    }
    if !agent.namespace {
        layers = Layers { bubblewrap: false, namespace: false, ..layers };
    }
    if nests(agent) && !layers.bubblewrap {
        // It cannot make its own sandbox below landlock, and its own is then the better one.
        layers.landlock = false;
    }
    layers
}

/// True for an agent that makes a sandbox of its own.
fn nests(agent: &Agent) -> bool {
    agent.program == Program::Preset(Preset::Codex)
}

/// The inputs of a policy.
pub(crate) struct Confinement<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) role: Role,
    pub(crate) area: &'a ScratchFolder,
    pub(crate) program: &'a Path,
    /// The working directory.
    pub(crate) folder: &'a Path,
    /// Further files to read.
    pub(crate) readable: &'a [PathBuf],
    /// Files and folders that it sees in the place of others.
    pub(crate) binds: &'a [Bind],
    /// The folder in which sessions and caches are kept.
    pub(crate) state: Option<&'a Path>,
    /// Reads our environment.
    pub(crate) look_up: &'a dyn Fn(&str) -> Option<OsString>,
}

/// What a run is confined to.
#[derive(Default)]
pub(crate) struct Confined {
    pub(crate) policy: Policy,
    /// The agent's log-in, for files in memory.
    pub(crate) keys: Keys,
    /// The way out of a closed network.
    pub(crate) proxy: Option<Proxy>,
    /// Variables that name the operator's tools.
    pub(crate) tools: Vec<(&'static str, OsString)>,
}

impl Confinement<'_> {
    /// Makes the policy of the run, starts its proxy, and fills the private home.
    pub(crate) fn apply(&self) -> io::Result<Confined> {
        let sandbox = &self.agent.sandbox;
        let home = (self.look_up)("HOME").map(PathBuf::from);
        let own = |path: &String| expand(path, home.as_deref());
        let mut tools = system::tools(self.look_up);
        let mut policy = Policy {
            readable: std::mem::take(&mut tools.folders),
            writable: vec![self.area.root().to_owned()],
            limits: ResourceLimits {
                memory_bytes: sandbox.memory_mib.map(|mib| mib << 20).or_else(most_of_memory),
                processes: Some(sandbox.processes),
            },
            hidden: self.hidden(home.as_deref()),
            binds: self.binds.to_vec(),
            nests: nests(self.agent),
            ..Policy::default()
        };
        policy.readable.extend(system::parts_of(self.program));
        policy.readable.extend(self.named_files());
        policy.readable.extend(self.readable.iter().cloned());
        policy.readable.extend(sandbox.read.iter().filter_map(own));
        policy.writable.extend(sandbox.write.iter().filter_map(own).filter(|path| path.exists()));
        if self.role != Role::Reviewer {
            policy.writable.push(self.folder.to_owned());
            self.share_git(&mut policy)?;
            self.link_state(&mut policy)?;
        }
        let mut keys = Keys::default();
        if self.agent.key.is_none() && self.role != Role::Hook {
            self.hand_over_log_in(home.as_deref(), &mut keys)?;
        }
        let proxy = self.open_network(&mut policy)?;
        policy.readable.retain(|path| path.exists());
        Ok(Confined { policy, keys, proxy, tools: tools.variables })
    }

    /// Files and folders of this program, and the usual places of credentials.
    fn hidden(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let place = |variable: &str, usual: &str| {
            let set = (self.look_up)(variable).map(PathBuf::from);
            set.or_else(|| home.map(|home| home.join(usual))).map(|folder| folder.join("tollgate"))
        };
        let own = [place("XDG_CONFIG_HOME", ".config"), place("XDG_DATA_HOME", ".local/share")];
        let secrets =
            [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".netrc", ".git-credentials"];
        let secrets = home.into_iter().flat_map(|home| secrets.map(|name| home.join(name)));
        self.agent.sandbox.hidden.iter().cloned().chain(own.into_iter().flatten()).chain(secrets).collect()
    }

    /// The files that the command line of the user's own agent names, as `sh /opt/agent.sh`.
    fn named_files(&self) -> Vec<PathBuf> {
        let Program::Command(command) = &self.agent.program else { return Vec::new() };
        let paths = command.iter().skip(1).map(PathBuf::from);
        paths.filter(|path| path.is_absolute() && path.is_file() && !system::is_of_system(path)).collect()
    }

    /// Lets git read the repository of a work tree, with a copy of its configuration that holds no credentials.
    fn share_git(&self, policy: &mut Policy) -> io::Result<()> {
        let Some((git_dir, common)) = git_dirs(self.folder) else { return Ok(()) };
        let home = (self.look_up)("HOME").map(PathBuf::from);
        let config = common.join("config");
        if let Ok(Entry::File { content, .. }) = tree::read(&common, b"config", MAX_GIT_CONFIG) {
            let text = without_credentials(&String::from_utf8_lossy(&content), home.as_deref());
            policy.readable.extend(hook_folder(&text));
            self.area.write("git-config", &text)?;
            policy.binds.push(Bind::readable(self.area.root().join("git-config"), config));
        }
        let mut configs = module_configs(&common.join("modules"));
        if git_dir != common {
            configs.extend(module_configs(&git_dir.join("modules")));
        }
        if configs.len() > MAX_MODULES {
            return Err(io::Error::other(format!("the repository has more than {MAX_MODULES} submodules")));
        }
        for (number, config) in configs.into_iter().enumerate() {
            let text = match tree::read_own(&config, MAX_GIT_CONFIG) {
                Ok(Entry::File { content, .. }) => without_credentials(&String::from_utf8_lossy(&content), None),
                Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => String::new(),
            };
            let name = format!("module-config-{number}");
            self.area.write(&name, &text)?;
            policy.binds.push(Bind::readable(self.area.root().join(name), config));
        }
        if self.binds.is_empty() && !common.starts_with(self.folder) {
            policy.readable.push(common);
        }
        let global = home.as_ref().and_then(|home| tree::read_own(&home.join(".gitconfig"), MAX_GIT_CONFIG).ok());
        if let Some(Entry::File { content, .. }) = global {
            let text = without_credentials(&String::from_utf8_lossy(&content), home.as_deref());
            policy.readable.extend(hook_folder(&text));
            self.area.write("home/.gitconfig", &text)?;
        }
        Ok(())
    }

    /// Links sessions and caches of the private home to the state folder.
    fn link_state(&self, policy: &mut Policy) -> io::Result<()> {
        let Some(state) = self.state else { return Ok(()) };
        let sessions = match &self.agent.program {
            Program::Preset(preset) if self.role == Role::Implementer => preset.session_folders(),
            Program::Preset(_) | Program::Command(_) => &[],
        };
        for (name, kept) in CACHES.iter().chain(sessions) {
            let kept = state.join(kept);
            std::fs::create_dir_all(&kept)?;
            let link = self.area.home().join(name);
            link.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::os::unix::fs::symlink(&kept, link)?;
            policy.writable.push(kept);
        }
        Ok(())
    }

    /// Hands the agent's own log-in over: as links to files in memory, or as copies where bubblewrap is missing. The home
    /// is new, so nothing in it can lead elsewhere.
    fn hand_over_log_in(&self, home: Option<&Path>, keys: &mut Keys) -> io::Result<()> {
        let Program::Preset(preset) = &self.agent.program else { return Ok(()) };
        let (Some(home), variables) = (home, preset.homes()) else { return Ok(()) };
        for (variable, usual, name) in preset.log_in_files() {
            let folder = (self.look_up)(variable).filter(|_| variables.contains(variable)).map(PathBuf::from);
            let file = folder.unwrap_or_else(|| home.join(usual)).join(name);
            if let Ok(Entry::File { content, .. }) = tree::read_own(&file, MAX_LOG_IN) {
                let copy = self.area.home().join(usual).join(name);
                copy.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                let n_bytes = keys.0.iter().map(Vec::len).sum::<usize>() + content.len();
                if self.agent.has_mounts() && n_bytes <= MAX_KEY_BYTES / 2 {
                    std::os::unix::fs::symlink(Path::new(KEY_FOLDER).join(keys.0.len().to_string()), &copy)?;
                    keys.0.push(content);
                } else {
                    std::fs::write(&copy, content)?;
                }
            }
        }
        Ok(())
    }

    /// Starts the proxy that a closed network leads to.
    fn open_network(&self, policy: &mut Policy) -> io::Result<Option<Proxy>> {
        let sandbox = &self.agent.sandbox;
        if sandbox.network == NetworkWord::Open {
            return Ok(None);
        }
        let allowed = if sandbox.network == NetworkWord::None { Vec::new() } else { self.allowed_hosts(sandbox) };
        let loopback = allowed.iter().filter_map(AllowedHost::loopback_port);
        let loopback = loopback.filter(|port| !proxy::is_own_port(*port)).collect();
        let socket = self.area.root().join("proxy.sock");
        let upstream = ["HTTPS_PROXY", "https_proxy"].iter().find_map(|name| (self.look_up)(name)?.into_string().ok());
        let proxy = Proxy::start(&socket, allowed, upstream.filter(|url| url.starts_with("http://")))?;
        policy.network = Network::Closed { proxy: Some(socket), loopback };
        Ok(Some(proxy))
    }

    fn allowed_hosts(&self, sandbox: &Sandbox) -> Vec<AllowedHost> {
        let preset = match &self.agent.program {
            Program::Preset(preset) => Some(*preset),
            Program::Command(_) => None,
        };
        let mut names: Vec<&str> = sandbox.hosts.iter().map(String::as_str).collect();
        let mut hosts = Vec::new();
        if self.role != Role::Hook {
            names.extend(preset.map(Preset::hosts).unwrap_or_default());
            // Variables that the operator hands on may name a service, as the presets' own do.
            let variables = preset.map(Preset::address_variables).unwrap_or_default().iter().copied();
            let variables = variables.chain(self.agent.environment.iter().map(String::as_str));
            let urls = variables.filter_map(|name| (self.look_up)(name)?.into_string().ok());
            hosts.extend(urls.filter_map(|url| AllowedHost::of_url(&url)));
            if preset == Some(Preset::Codex) {
                hosts.extend(CodexProvider::read(self.look_up).addresses().filter_map(AllowedHost::of_url));
            }
        }
        if sandbox.registries && self.role != Role::Reviewer {
            names.extend(REGISTRIES);
        }
        hosts.extend(names.into_iter().filter_map(AllowedHost::parse));
        hosts
    }
}

/// The hosts that a run asked for, in one line; `None` when there were none.
pub(crate) fn network_note(proxy: Option<&Proxy>) -> Option<String> {
    let requests = proxy?.requests();
    let shown = |allowed: bool| {
        let some = requests.iter().filter(|request| request.allowed == allowed);
        some.map(|request| format!("{} ({})", request.host, request.n_times)).collect::<Vec<_>>().join(", ")
    };
    let (reached, refused) = (shown(true), shown(false));
    Some(match (reached.is_empty(), refused.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("reached {reached}"),
        (true, false) => format!("refused {refused}; allow hosts with `sandbox.hosts`"),
        (false, false) => format!("reached {reached}; refused {refused}; allow hosts with `sandbox.hosts`"),
    })
}

/// A path of the configuration, with the operator's home for `~`.
fn expand(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

/// The git directory that a work tree shares with its repository.
pub(crate) fn common_git_dir(folder: &Path) -> Option<PathBuf> {
    git_dirs(folder).map(|(_, common)| common)
}

/// The git directory of a work tree, and the one that it shares with its repository.
fn git_dirs(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let read = |folder: &Path, name: &str| match tree::read(folder, name.as_bytes(), 16 * 1024) {
        Ok(Entry::File { content, .. }) => String::from_utf8(content).ok(),
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => None,
    };
    let direct = folder.join(".git");
    if std::fs::symlink_metadata(&direct).is_ok_and(|metadata| metadata.is_dir()) {
        return Some((direct.clone(), direct));
    }
    let text = read(folder, ".git")?;
    let git_dir = folder.join(text.trim_end().strip_prefix("gitdir: ")?).canonicalize().ok()?;
    // The agent writes the `.git` file, so only a true entry of a repository is believed.
    let common = git_dir.join(read(&git_dir, "commondir")?.trim_end()).canonicalize().ok()?;
    let is_entry = git_dir.parent() == Some(&common.join("worktrees")) && common.join("objects").is_dir();
    is_entry.then_some((git_dir, common))
}

/// The configuration files of submodules below a folder `modules`.
fn module_configs(modules: &Path) -> Vec<PathBuf> {
    let mut configs = Vec::new();
    let mut pending = vec![(modules.to_owned(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || depth > MAX_MODULE_DEPTH {
            continue;
        }
        if folder.join("HEAD").exists() {
            configs.extend(
                ["config", "config.worktree"].map(|name| folder.join(name)).into_iter().filter(|it| it.exists()),
            );
            pending.push((folder.join("modules"), depth + 1));
        } else {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| (entry.path(), depth + 1)));
        }
    }
    configs
}

/// The folder of hooks that a git configuration names, when it lies outside of the repository.
fn hook_folder(config: &str) -> Option<PathBuf> {
    let values = config.lines().filter_map(|line| line.split_once('='));
    let mut values = values.filter(|(key, _)| key.trim().eq_ignore_ascii_case("hookspath"));
    let path = PathBuf::from(values.next_back()?.1.trim().trim_matches('"'));
    (path.is_absolute() && path.components().count() > 2).then_some(path)
}

/// A git configuration without sections and values that hold credentials or name other files; `~` in the path of hooks is
/// replaced by the operator's home, which is not the home inside.
fn without_credentials(text: &str, home: Option<&Path>) -> String {
    let mut kept = String::new();
    let mut is_secret = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(section) = trimmed.strip_prefix('[') {
            let name: String = section.chars().take_while(|character| character.is_ascii_alphanumeric()).collect();
            is_secret = SECRET_SECTIONS.contains(&name.to_ascii_lowercase().as_str());
        }
        let key = trimmed.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let is_key = ["token", "password", "secret", "extraheader", "askpass"].iter().any(|word| key.contains(word));
        if is_secret || is_key {
            continue;
        }
        match (home, line.split_once("~/")) {
            (Some(home), Some((before, rest))) if key.trim() == "hookspath" => {
                kept.push_str(&format!("{before}{}/{rest}", home.display()));
            }
            _ => kept.push_str(&without_user(line)),
        }
        kept.push('\n');
    }
    kept
}

/// A line without the user and password of an address.
fn without_user(line: &str) -> String {
    let Some((scheme, rest)) = line.split_once("://") else { return line.to_owned() };
    let end = rest.find(['/', '"', ' ']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => line.to_owned(),
    }
}

/// Three quarters of the machine's memory, for one process.
fn most_of_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok())?;
    Some(kib.saturating_mul(1024) / 4 * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_variables(_name: &str) -> Option<OsString> {
        None
    }

    fn has(paths: &[PathBuf], path: impl AsRef<Path>) -> bool {
        paths.iter().any(|known| known == path.as_ref())
    }

    fn confinement<'a>(agent: &'a Agent, role: Role, area: &'a ScratchFolder, folder: &'a Path) -> Confinement<'a> {
        let program = Path::new("/bin/sh");
        Confinement {
            agent,
            role,
            area,
            program,
            folder,
            readable: &[],
            binds: &[],
            state: None,
            look_up: &no_variables,
        }
    }

    #[test]
    fn an_implementer_writes_its_tree_and_a_reviewer_only_its_scratch_folder() {
        let (area, temp) = (ScratchFolder::new().unwrap(), tempfile::tempdir().unwrap());
        let agent = Agent::command("play", vec!["sh".to_owned()]);
        let policy = |role| confinement(&agent, role, &area, temp.path()).apply().unwrap().policy;
        assert!(has(&policy(Role::Implementer).writable, temp.path()));
        std::fs::remove_file(area.root().join("proxy.sock")).unwrap();
        let reviewer = policy(Role::Reviewer);
        assert_eq!(reviewer.writable, [area.root()]);
        assert!(matches!(reviewer.network, Network::Closed { .. }));
    }

    #[test]
    fn an_agent_with_a_sandbox_of_its_own_is_not_put_below_landlock() {
        let mut agent = Agent::preset(Preset::Codex);
        agent.sandbox.layers.bubblewrap = false;
        assert!(!layers(&agent).protect_files());
    }

    #[test]
    fn missing_layers_are_named_unless_the_operator_has_no_sandbox() {
        let mut agent = Agent::command("play", vec!["sh".to_owned()]);
        agent.sandbox.layers = Layers::NONE;
        assert_eq!(agent.missing_layers(), Layers::NONE.missing());
        assert!(!agent.has_mounts());
        agent.sandbox.mode = SandboxMode::Off;
        assert_eq!(agent.missing_layers(), [""; 0]);
    }

    #[test]
    fn the_log_in_is_handed_over_in_memory_and_sessions_are_kept_in_the_state_folder() {
        let (area, temp) = (ScratchFolder::new().unwrap(), tempfile::tempdir().unwrap());
        let home = temp.path().join("home");
        std::fs::create_dir_all(home.join(".claude")).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".claude/.credentials.json"), "{}").unwrap();
        std::fs::write(home.join(".claude/settings.json"), "{}").unwrap();
        let look_up = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
        let (agent, state) = (Agent::preset(Preset::Claude), temp.path().join("state"));
        let confinement = Confinement {
            look_up: &look_up,
            state: Some(&state),
            ..confinement(&agent, Role::Implementer, &area, temp.path())
        };
        let Confined { policy, keys, .. } = confinement.apply().unwrap();
        let log_in = area.home().join(".claude/.credentials.json");
        if agent.has_mounts() {
            assert_eq!(std::fs::read_link(log_in).unwrap(), Path::new(KEY_FOLDER).join("0"));
            assert_eq!((keys.0, format!("{:?}", Keys::default())), (vec![b"{}".to_vec()], "Keys(0)".to_owned()));
        } else {
            assert_eq!((std::fs::read(log_in).unwrap(), keys.0.len()), (b"{}".to_vec(), 0));
        }
        assert!(!area.home().join(".claude/settings.json").exists());
        assert_eq!(std::fs::read_link(area.home().join(".claude/projects")).unwrap(), state.join("claude-projects"));
        assert!(has(&policy.writable, state.join("claude-projects")) && !has(&policy.writable, &state));
        assert!(!policy.readable.iter().any(|path| path.starts_with(&home)), "{policy:?}");
        assert!(has(&policy.hidden, home.join(".ssh")));
    }

    #[test]
    fn the_service_of_a_preset_is_reached_and_one_on_this_machine_by_its_port() {
        let area = ScratchFolder::new().unwrap();
        let look_up = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "http://127.0.0.1:8123/v1".into());
        let agent = Agent::preset(Preset::Claude);
        let confinement =
            Confinement { look_up: &look_up, ..confinement(&agent, Role::Reviewer, &area, Path::new("/nonexistent")) };
        let Confined { policy, .. } = confinement.apply().unwrap();
        let Network::Closed { loopback, .. } = policy.network else { panic!() };
        assert_eq!(loopback, [8123]);
    }

    #[test]
    fn credentials_are_left_out_of_a_git_configuration() {
        let text = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://me:t0ken@example.com/a.git\n\
            [credential]\n\thelper = store\n[http \"https://example.com\"]\n\textraheader = AUTHORIZATION: basic x\n\
            [includeIf \"gitdir:~/\"]\n\tpath = x\n[user]\n\tname = Ada\n\ttoken = x\n[core]\n\thooksPath = ~/hooks\n";
        let expected = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\
            [user]\n\tname = Ada\n[core]\n\thooksPath = /srv/me/hooks\n";
        let cleaned = without_credentials(text, Some(Path::new("/srv/me")));
        assert_eq!(cleaned, expected);
        assert_eq!(hook_folder(&cleaned), Some("/srv/me/hooks".into()));
    }

    #[test]
    fn the_configuration_of_every_submodule_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let modules = temp.path().join("modules");
        for name in ["lib", "vendor/deep", "lib/modules/inner"] {
            std::fs::create_dir_all(modules.join(name)).unwrap();
            std::fs::write(modules.join(name).join("HEAD"), "").unwrap();
            std::fs::write(modules.join(name).join("config"), "").unwrap();
        }
        let mut found = module_configs(&modules);
        found.sort();
        assert_eq!(found, ["lib/config", "lib/modules/inner/config", "vendor/deep/config"].map(|it| modules.join(it)));
        assert_eq!(module_configs(&temp.path().join("none")), Vec::<PathBuf>::new());
    }

    #[test]
    fn configuration_of_build_tools_does_not_outlive_a_run() {
        let (area, temp) = (ScratchFolder::new().unwrap(), tempfile::tempdir().unwrap());
        let agent = Agent::command("play", vec!["sh".to_owned()]);
        let confinement =
            Confinement { state: Some(temp.path()), ..confinement(&agent, Role::Implementer, &area, temp.path()) };
        confinement.apply().unwrap();
        for name in [".cargo", ".gradle", ".m2", ".npm", "go"] {
            std::fs::write(area.home().join(name).join("config"), "").unwrap();
        }
        std::fs::write(area.home().join(".cargo/registry/a.crate"), "").unwrap();
        let kept: Vec<bool> =
            ["cargo", "gradle", "m2", "npm", "go"].map(|name| temp.path().join(name).join("config").exists()).to_vec();
        assert_eq!((kept, temp.path().join("cargo/registry/a.crate").exists()), (vec![false; 5], true));
    }

    #[test]
    fn a_git_file_that_points_elsewhere_opens_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("tree");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(temp.path().join("secrets/objects")).unwrap();
        std::fs::write(temp.path().join("secrets/commondir"), ".").unwrap();
        std::fs::write(folder.join(".git"), format!("gitdir: {}/secrets\n", temp.path().display())).unwrap();
        assert_eq!(common_git_dir(&folder), None);
    }
}
