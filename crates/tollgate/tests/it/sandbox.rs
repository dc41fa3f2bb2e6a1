//! The sandbox: attempts to break out in each combination of layers, and as an agent through `tollgate serve`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use tollgate_core::board::FeatureId;
use tollgate_engine::agent::attempt_to_break_out;
use tollgate_engine::config::{NetworkWord, Sandbox};
use tollgate_engine::process::sandbox::Layers;

use crate::agents::marked;
use crate::desk::{Desk, GOOD};
use crate::scratch::program;
use crate::server_process::{Server, appears, command, show, tollgate};
use crate::wait::wait_for;

mod leftovers;

/// The layers of this machine. The set-up of the tests installs bubblewrap, so without it the tests do not pass.
#[track_caller]
fn all_layers() -> Layers {
    let layers = Layers::available();
    assert!(layers.are_complete(), "run `scripts/sandbox-setup`; this machine has {:?}", layers.names());
    layers
}

/// The attempts that succeed in a sandbox with these layers.
#[track_caller]
fn broken(layers: Layers) -> Vec<String> {
    let sandbox = Sandbox { layers, ..Sandbox::default() };
    let attempts = attempt_to_break_out(&sandbox, &program(), &[]).unwrap();
    assert!(attempts.len() >= 20, "{attempts:?}");
    attempts.into_iter().filter(|attempt| !attempt.held).map(|attempt| attempt.name).collect()
}

#[test]
fn no_attempt_breaks_out_of_all_layers() {
    assert_eq!(broken(all_layers()), [""; 0]);
}

#[test]
fn bubblewrap_alone_holds_everything_but_nested_namespaces_and_unusual_sockets() {
    let layers = Layers { seccomp: false, ..all_layers() };
    let broken = broken(layers);
    let known = ["make a user namespace", "open a socket that is not watched"];
    assert!(broken.iter().all(|name| known.contains(&name.as_str())), "{broken:?}");
}

#[test]
fn without_bubblewrap_landlock_holds_files_processes_and_tcp() {
    for namespace in [true, false] {
        let layers = Layers { bubblewrap: false, namespace, ..all_layers() };
        let broken = broken(layers);
        // Landlock limits TCP and abstract sockets only, and the test is no server, whose memory is secluded.
        let mut known = vec!["reach another machine", "connect to a socket of the server's"];
        known.extend((!namespace).then_some("read the environment of the server"));
        assert!(broken.iter().all(|name| known.contains(&name.as_str())), "{namespace}: {broken:?}");
    }
}

#[test]
fn without_layers_the_attempts_succeed() {
    let broken = broken(Layers::NONE);
    for name in ["read the server's token", "connect to the server's API", "write the .git of the main checkout"] {
        assert!(broken.iter().any(|broken| broken == name), "{name}: {broken:?}");
    }
}

#[test]
fn doctor_names_the_layers_and_attempts_to_break_out() {
    all_layers();
    let desk = Desk::new("exit 1");
    let text = tollgate(&desk, &["doctor"]).stdout;
    assert!(text.contains("Sandbox of agents and hooks"), "{text}");
    assert!(text.contains("ok    layers           bubblewrap, seccomp; mode `best`"), "{text}");
    assert!(text.contains("attempts to break out, none succeeded"), "{text}");
    let off = Desk::configured("exit 1", "sandbox = 'off'");
    let text = tollgate(&off, &["doctor"]).stdout;
    assert!(text.contains("off; agents run as you"), "{text}");
}

#[test]
fn a_repository_cannot_open_the_sandbox() {
    let desk = Desk::new("exit 1");
    std::fs::write(desk.path("project/.tollgate.toml"), "[sandbox]\nmode = 'off'\n").unwrap();
    let said = tollgate(&desk, &["review"]).expect_refused(2);
    assert!(said.contains("`sandbox` cannot be set in a repository"), "{said}");
}

/// Each line is an attempt: a name, and a command of the shell that succeeds when it breaks out. After `plant:`, the command
/// may succeed on files that are there only inside, and the files outside decide.
///
/// DESK, API, PORT, SERVER, ID and TOLLGATE stand for the places that are aimed at.
const ATTEMPTS: &str = r#"
read the token|cat DESK/data/tollgate/token
read the token by a link|ln -sf DESK/data/tollgate/token link && cat link; s=$?; rm -f link; test $s = 0
list the data folder|ls DESK/data/tollgate | grep -qv agents
read the database|head -c1 DESK/data/tollgate/tollgate.db
read the operator's configuration|cat DESK/config/tollgate/config.toml
append to the operator's configuration|echo '# x' >> DESK/config/tollgate/config.toml
plant: replace the operator's configuration|mkdir -p DESK/config/tollgate && echo > DESK/config/tollgate/config.toml
read a private key|cat DESK/home/.ssh/id_ed25519
plant: write the operator's home|touch DESK/home/planted
read the log-in of another agent|cat DESK/home/.claude/.credentials.json
see the files of the gate|ls DESK/data/tollgate/gate | grep -q .
read another project|cat DESK/other/secret
plant: write another project|touch DESK/other/planted
read an untracked file of the main checkout|cat DESK/project/.env
plant: write the main checkout|touch DESK/project/planted
write the main checkout's git configuration|git config core.fsmonitor /tmp/evil
append to the main checkout's git configuration|echo '# x' >> DESK/project/.git/config
plant: plant a hook|mkdir -p DESK/project/.git/hooks && echo > DESK/project/.git/hooks/post-commit
move the main branch|git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git update-ref refs/heads/main HEAD
read credentials of the repository|git config --get-all http.extraheader || grep -q t0ken DESK/project/.git/config
read credentials of a submodule|grep -q t0ken DESK/project/.git/modules/lib/config
fail to read a submodule|! grep -q worktree DESK/project/.git/modules/lib/config
change a setting of the kernel|: >> /proc/sys/kernel/core_pattern
press a key of the kernel|: >> /proc/sysrq-trigger
make a device|touch /dev/planted
have more shared memory than there is|test $(df --output=size -k /dev/shm | tail -1) -gt 1048576
plant: configure the builds of others|mkdir -p ~/.cargo && echo > ~/.cargo/config.toml
approve by the command line|env -u TOLLGATE_AGENT XDG_CONFIG_HOME=DESK/config XDG_DATA_HOME=DESK/data HOME=DESK/home TOLLGATE feature approve ID --reason because
list projects by the command line|XDG_CONFIG_HOME=DESK/config XDG_DATA_HOME=DESK/data TOLLGATE project list | grep -q DESK
connect to the API|bash -c ': < /dev/tcp/127.0.0.1/PORT'
connect to the API by name|bash -c ': < /dev/tcp/localhost/PORT'
connect to the API by any address|bash -c ': < /dev/tcp/0.0.0.0/PORT'
connect to the API by the proxy|bash -c 'p=${HTTP_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/$p; printf "CONNECT API HTTP/1.1\r\n\r\n" >&3; read -r line <&3; [[ $line == *" 200 "* ]]'
reach cloud metadata by the proxy|bash -c 'p=${HTTP_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/$p; printf "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n" >&3; read -r line <&3; [[ $line == *" 200 "* ]]'
reach a foreign host by the proxy|bash -c 'p=${HTTP_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/$p; printf "CONNECT evil.example:443 HTTP/1.1\r\n\r\n" >&3; read -r line <&3; [[ $line == *" 200 "* ]]'
reach another machine|bash -c 'exec 3<>/dev/udp/192.0.2.1/9'
read the environment of the server|grep -q . /proc/SERVER/environ
read the environment of the guard|grep -q . /proc/1/environ
see the files of the guard|ls /proc/1/root/ | grep -q . || readlink /proc/1/fd/0
signal the server|kill -0 SERVER
kill the guard|kill -9 1 && sleep 0.2 && ! kill -0 1
write the system|touch /usr/planted && rm /usr/planted || { touch /etc/planted && rm /etc/planted; }
read password hashes|grep -q . /etc/shadow
make a user namespace|unshare --user --map-root-user true
mount a file system|mkdir "$TMPDIR/m" && mount -t tmpfs none "$TMPDIR/m" && umount "$TMPDIR/m"
gain rights|grep -q 'NoNewPrivs:.*0' /proc/self/status
keep a capability|grep -q 'CapEff:.*[1-9a-f]' /proc/self/status
see another run|ls -d /tmp/tollgate-agent-* | grep -v "$(dirname "$TMPDIR")" | grep -q .
"#;

#[test]
fn no_agent_breaks_out_of_the_server() {
    all_layers();
    let desk = Desk::configured("exit 1", "sandbox = 'require'");
    let secrets = ["home/.ssh/id_ed25519", "home/.claude/.credentials.json", "other/secret", "project/.env"];
    for (name, text) in secrets.map(|name| (name, "secret=1")) {
        std::fs::create_dir_all(desk.path(name).parent().unwrap()).unwrap();
        std::fs::write(desk.path(name), text).unwrap();
    }
    desk.git(&["config", "http.extraheader", "AUTHORIZATION: basic t0ken"]);
    std::fs::create_dir_all(desk.path("project/.git/modules/lib")).unwrap();
    std::fs::write(desk.path("project/.git/modules/lib/HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = "[core]\n\tworktree = ../../../lib\n[remote \"origin\"]\n\turl = https://me:t0ken@example.com/a\n";
    std::fs::write(desk.path("project/.git/modules/lib/config"), config).unwrap();
    let server = Server::start(&desk);
    let path = desk.path("project").display().to_string();
    server.json(&desk, "POST", "/api/projects", &json!({ "path": path }).to_string(), 201);
    let new = json!({ "title": "Read JSON", "description": "Reads a text." });
    let feature = server.json(&desk, "POST", "/api/projects/1/features", &new.to_string(), 201);
    let id = feature["id"].as_str().unwrap().to_owned();
    // The server is refused even where the operator allows its address.
    let file = desk.path("config/tollgate/config.toml");
    let opened = format!("sandbox = {{ mode = 'require', hosts = ['{}'] }}", server.address);
    let config = std::fs::read_to_string(&file).unwrap().replace("sandbox = 'require'", &opened);
    std::fs::write(&file, &config).unwrap();
    write_attempts(&desk, &server, &id);
    server.json(&desk, "POST", &format!("/api/projects/1/features/{id}/start"), "", 200);
    let attempts = desk.path(&format!("project/.worktrees/{id}/attempts.txt"));
    let text = wait_for("the agent has attempted everything", || {
        std::fs::read_to_string(&attempts).ok().filter(|text| text.ends_with("end\n"))
    });
    let n_attempts = ATTEMPTS.lines().filter(|line| line.contains('|')).count();
    let is_broken = |line: &&str| line.starts_with("broken") && !line.starts_with("broken plant:");
    let broken: Vec<&str> = text.lines().filter(is_broken).collect();
    assert_eq!((broken, text.lines().count()), (Vec::new(), n_attempts + 1), "{text}");
    let shown = wait_for("the gate has decided", || {
        let shown = show(&desk, &id);
        shown["iterations"].as_array().is_some_and(|all| !all.is_empty()).then_some(shown)
    });
    assert_ne!(shown["status"], "verified", "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config);
    for planted in ["home/planted", "other/planted", "project/planted", "project/.git/hooks/post-commit"] {
        assert!(!desk.path(planted).exists(), "{planted}");
    }
    assert!(!desk.path("data/tollgate/agents/1/cargo/config.toml").exists());
    assert_eq!(marked("left-behind-by-the-agent"), Vec::<String>::new());
    // The record of the run names what was refused.
    let output = desk.features(&FeatureId::parse(&id).unwrap()).join("agent-output.md");
    let output =
        wait_for("the output", || std::fs::read_to_string(&output).ok().filter(|text| text.contains("network")));
    assert!(output.contains("refused") && output.contains("evil.example:443"), "{output}");
}

/// Makes the agent one that attempts everything, and then does its work.
fn write_attempts(desk: &Desk, server: &Server, id: &str) {
    let port = server.address.rsplit(':').next().unwrap();
    let mut script = String::from("#!/bin/sh\ncat > /dev/null\n: > attempts.txt\n");
    for (name, command) in ATTEMPTS.lines().filter_map(|line| line.split_once('|')) {
        let command = command
            .replace("TOLLGATE ", &format!("{} ", program().display()))
            .replace("DESK", desk.path("").display().to_string().trim_end_matches('/'))
            .replace("API", &server.address)
            .replace("PORT", port)
            .replace("SERVER", &server.pid().to_string())
            .replace("ID ", &format!("{id} "));
        let name = name.replace('\'', "'\\''");
        script += &format!(
            "if ( {command} ) > /dev/null 2>&1; then echo 'broken {name}'; else echo 'held {name}'; fi >> attempts.txt\n"
        );
    }
    script += "(setsid sh -c 'sleep 1000; true # left-behind-by-the-agent' > /dev/null 2>&1 &)\n";
    script += &format!("echo end >> attempts.txt\necho '{GOOD}' > b.js\necho done\n");
    std::fs::write(desk.path("agent.sh"), script).unwrap();
    std::fs::set_permissions(desk.path("agent.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_folder_that_the_server_inherited_does_not_reach_an_agent() {
    all_layers();
    let script = format!("ls /proc/$$/fd > fds.txt; echo '{GOOD}' > b.js; echo done");
    let desk = Desk::configured(&script, "sandbox = 'require'");
    let own = command(&desk, &[]);
    let mut serve = std::process::Command::new("sh");
    serve.args(["-c", "exec 9< / && exec \"$0\" serve --listen 127.0.0.1:0"]).arg(program());
    serve.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    serve.current_dir(desk.path("project")).stdin(std::process::Stdio::null());
    serve.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let server = Server::of(serve);
    let id = start_feature(&desk, &server);
    let shown = wait_for_the_gate(&desk, &id);
    let seen = std::fs::read_to_string(desk.path(&format!("project/.worktrees/{id}/fds.txt"))).unwrap_or_default();
    assert!(seen.lines().any(|line| line == "1") && !seen.lines().any(|line| line == "9"), "{seen}\n{shown}");
}

#[test]
fn a_sandbox_that_is_required_and_incomplete_starts_no_agent() {
    let sandbox = Sandbox {
        mode: tollgate_engine::config::SandboxMode::Require,
        layers: Layers { bubblewrap: false, ..Layers::ALL },
        ..Sandbox::default()
    };
    let failure = attempt_to_break_out(&sandbox, &program(), &[]).unwrap_err();
    assert!(failure.message.contains("`sandbox` is `require` and a layer is missing"), "{}", failure.message);
    assert!(failure.hint.unwrap().contains("apt-get install bubblewrap"));
}

#[test]
fn an_open_network_is_the_operators_choice() {
    let sandbox = Sandbox { network: NetworkWord::Open, ..Sandbox::default() };
    let attempts = attempt_to_break_out(&sandbox, &program(), &[]).unwrap();
    let has = |name: &str| attempts.iter().any(|attempt| attempt.name == name && !attempt.held);
    assert!(has("connect to the server's API"), "{attempts:?}");
    assert!(!has("read the server's token"), "{attempts:?}");
}

/// Works with git as agents do: stages, renames, commits, stashes, rebases and looks around.
const GIT_WORK: &str = r#"
git config --global user.name agent
git config --global user.email agent@example.com
test -z "$(git status --porcelain)"
git mv a.js d.js
echo 'export const two = 2;' > c.js
git add c.js
git commit -q -m 'one of the agent'
echo 'export const three = 3;' > e.js
git add e.js
git stash -q
test ! -e e.js
git stash pop -q
git commit -q -m 'two of the agent'
git rebase -q --force-rebase main
git tag of-the-agent
git branch other-of-the-agent
git log --oneline main..HEAD | grep -c 'of the agent' | grep -qx 2
git gc -q
git diff --stat main HEAD
"#;

/// Runs the agent on a feature until its gate has decided; returns the feature's id and what is shown of it.
fn decided(desk: &Desk) -> (String, serde_json::Value) {
    let server = Server::start(desk);
    let id = start_feature(desk, &server);
    let shown = wait_for_the_gate(desk, &id);
    (id, shown)
}

/// Adds the project and a feature, and starts it.
fn start_feature(desk: &Desk, server: &Server) -> String {
    let path = desk.path("project").display().to_string();
    server.json(desk, "POST", "/api/projects", &json!({ "path": path }).to_string(), 201);
    let new = json!({ "title": "Read JSON", "description": "Reads a text." });
    let feature = server.json(desk, "POST", "/api/projects/1/features", &new.to_string(), 201);
    let id = feature["id"].as_str().unwrap().to_owned();
    server.json(desk, "POST", &format!("/api/projects/1/features/{id}/start"), "", 200);
    id
}

fn wait_for_the_gate(desk: &Desk, id: &str) -> serde_json::Value {
    wait_for("the gate has decided", || {
        let shown = show(desk, id);
        let is_decided = shown["iterations"].as_array().is_some_and(|all| !all.is_empty());
        (is_decided || !shown["paused"].is_null()).then_some(shown)
    })
}

#[test]
fn an_agent_stages_commits_stashes_and_rebases_on_its_own_branch() {
    all_layers();
    let desk = Desk::configured(&format!("{GIT_WORK}\necho '{GOOD}' > b.js; echo done"), "sandbox = 'require'");
    let main = desk.git(&["rev-parse", "main"]);
    let (id, shown) = decided(&desk);
    let branch = shown["branchName"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
    let log = desk.git(&["log", "--format=%s", &format!("main..{branch}")]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(subjects.len(), 3, "{shown}");
    assert_eq!(subjects[1..], ["two of the agent", "one of the agent"]);
    let tree = desk.path(&format!("project/.worktrees/{id}"));
    assert_eq!(desk.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(desk.git_in(&tree, &["ls-tree", "--name-only", "HEAD"]), "b.js\nc.js\nd.js\ne.js");
    // Nothing else of the agent's git directory is left.
    assert_eq!(desk.git(&["rev-parse", "main"]), main);
    assert_eq!(desk.git(&["for-each-ref", "--format=%(refname)"]), format!("refs/heads/{branch}\nrefs/heads/main"));
    desk.git(&["fsck", "--strict"]);
}

/// Commits, waits to be killed, and goes on where it was.
const COMMITS_AND_WAITS: &str = r#"
git config --global user.name agent
git config --global user.email agent@example.com
if test -z "$(git log --format=%s main..HEAD)"; then
  git commit -q --allow-empty -m 'before the crash'
  echo x > waiting
  sleep 1000
fi
"#;

#[test]
fn commits_of_an_agent_whose_server_was_killed_are_on_the_branch_of_the_next_run() {
    all_layers();
    let desk =
        Desk::configured(&format!("{COMMITS_AND_WAITS}\necho '{GOOD}' > b.js; echo done"), "sandbox = 'require'");
    let server = Server::start(&desk);
    let id = start_feature(&desk, &server);
    appears(&desk.path(&format!("project/.worktrees/{id}/waiting")));
    server.kill();
    let server = Server::start(&desk);
    let shown = wait_for_the_gate(&desk, &id);
    drop(server);
    let branch = shown["branchName"].as_str().unwrap();
    let log = desk.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!((log.lines().count(), log.lines().next_back()), (2, Some("before the crash")), "{shown}");
}

/// What an agent does to the git directory that it has, to reach the repository's: each line must fail.
const TAMPERING: &str = r#"
touch DESK/project/.git/hooks/x
echo > DESK/project/.git/hooks/pre-commit
rm -rf DESK/project/.git/hooks
echo '[core] fsmonitor = /tmp/evil' >> DESK/project/.git/config
git config core.fsmonitor /tmp/evil
mv DESK/project/.git/config DESK/project/.git/config.old
git update-ref refs/heads/main $(git -c user.name=a -c user.email=a@b commit-tree -m x HEAD^{tree})
git branch -f main HEAD
echo $(git rev-parse HEAD) > DESK/project/.git/refs/heads/main
rm DESK/project/.git/refs/heads/main
touch DESK/project/.git/base-objects/x
rm -rf DESK/project/.git/base-objects/pack
echo 'gitdir: /tmp/evil' > .git
rm .git
mv .git .git.old
git cat-file -e OTHER
"#;

/// What an agent leaves in the objects of its git directory, so that the server could trip over it.
const PLANTED: &str = r#"
git config --global user.name agent
git config --global user.email agent@example.com
objects=DESK/project/.git/objects
blob=$(git rev-parse HEAD:a.js)
mkdir -p $objects/$(echo $blob | cut -c1-2)
echo garbage > $objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)
ln -s DESK/data/tollgate/token $objects/pack/pack-0123456789012345678901234567890123456789.pack
ln -s DESK/other/.git/objects/aa $objects/aa
echo DESK/other/.git/objects >> $objects/info/alternates
git commit -q --allow-empty -m 'of the agent'
"#;

#[test]
fn an_agent_cannot_reach_the_repository_through_its_git_directory() {
    all_layers();
    let desk = Desk::configured("exit 1", "sandbox = 'require'");
    std::fs::create_dir(desk.path("other")).unwrap();
    desk.git_in(&desk.path("other"), &["init", "-q"]);
    std::fs::write(desk.path("other/secret"), "secret of another project\n").unwrap();
    let other = desk.git_in(&desk.path("other"), &["hash-object", "-w", "secret"]);
    let root = desk.path("").display().to_string().trim_end_matches('/').to_owned();
    let mut script = String::from("#!/bin/sh\ncat > /dev/null\n: > attempts.txt\n");
    for line in TAMPERING.lines().filter(|line| !line.is_empty()) {
        let command = line.replace("DESK", &root).replace("OTHER", &other);
        let name = command.replace('\'', "'\\''");
        script += &format!("if ( {command} ) > /dev/null 2>&1; then echo '{name}' >> attempts.txt; fi\n");
    }
    script += &format!("{}\necho '{GOOD}' > b.js; echo done\n", PLANTED.replace("DESK", &root));
    std::fs::write(desk.path("agent.sh"), script).unwrap();
    let before = |name: &str| std::fs::read(desk.path(name)).unwrap();
    let (main, config) = (desk.git(&["rev-parse", "main"]), before("project/.git/config"));
    let (id, shown) = decided(&desk);
    let tree = desk.path(&format!("project/.worktrees/{id}"));
    assert_eq!(std::fs::read_to_string(tree.join("attempts.txt")).unwrap(), "", "these succeeded");
    assert_eq!(desk.git_in(&tree, &["log", "-1", "--format=%s", "HEAD~1"]), "of the agent", "{shown}");
    assert_eq!((desk.git(&["rev-parse", "main"]), before("project/.git/config")), (main, config));
    assert!(!desk.path("project/.git/hooks/x").exists() && !desk.path("project/.git/hooks/pre-commit").exists());
    assert_eq!(desk.git(&["show", "main:a.js"]), "export const one = 1;");
    desk.git(&["fsck", "--strict"]);
    let status = std::process::Command::new("git").args(["cat-file", "-e", &other]).current_dir(&tree).status();
    assert!(!status.unwrap().success(), "an object of another project is in the repository");
}

/// Commits a tree that has the other project's file by its name alone.
const STEALS: &str = r#"
git config --global user.name agent
git config --global user.email agent@example.com
tree=$(printf '100644 blob OTHER\tstolen.txt\n' | git mktree --missing)
commit=$(git commit-tree $tree -p HEAD -m 'of the agent' < /dev/null)
echo DESK/other/.git/objects >> DESK/project/.git/objects/info/alternates
git update-ref HEAD $commit
echo done
"#;

#[test]
fn a_commit_with_objects_of_another_project_is_refused_and_its_files_are_kept() {
    all_layers();
    let desk = Desk::configured("exit 1", "sandbox = 'require'");
    std::fs::create_dir(desk.path("other")).unwrap();
    desk.git_in(&desk.path("other"), &["init", "-q"]);
    std::fs::write(desk.path("other/secret"), "secret of another project\n").unwrap();
    let other = desk.git_in(&desk.path("other"), &["hash-object", "-w", "secret"]);
    let root = desk.path("").display().to_string().trim_end_matches('/').to_owned();
    let script = STEALS.replace("DESK", &root).replace("OTHER", &other);
    std::fs::write(desk.path("agent.sh"), format!("#!/bin/sh\nset -e\ncat > /dev/null\n{script}")).unwrap();
    let (_, shown) = decided(&desk);
    assert!(shown["error"].to_string().contains("the commits that the agent made in"), "{shown}");
    let branch = shown["branchName"].as_str().unwrap();
    assert_eq!(desk.git(&["rev-parse", branch]), desk.git(&["rev-parse", "main"]));
}

#[test]
fn the_log_in_of_an_agent_is_in_memory_and_on_no_disk() {
    all_layers();
    let desk = Desk::configured("exit 1", "sandbox = 'require'");
    std::fs::create_dir(desk.path("bin")).unwrap();
    let claude = desk.path("bin/claude");
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\nreadlink ~/.claude/.credentials.json > link.txt\n\
         cat ~/.claude/.credentials.json > log_in.txt\ndf --output=fstype /run/keys | tail -1 > kind.txt\n\
         echo '{GOOD}' > b.js\n\
         echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}}'\n"
    );
    std::fs::write(&claude, script).unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(desk.path("home/.claude")).unwrap();
    std::fs::write(desk.path("home/.claude/.credentials.json"), "{}\n").unwrap();
    let path = format!("{}:{}", desk.path("bin").display(), std::env::var("PATH").unwrap());
    let mut serve = command(&desk, &["serve", "--listen", "127.0.0.1:0", "--agent", "claude"]);
    serve.env("PATH", path);
    let server = Server::of(serve);
    let id = start_feature(&desk, &server);
    let shown = wait_for_the_gate(&desk, &id);
    let seen = ["link.txt", "log_in.txt", "kind.txt"]
        .map(|name| std::fs::read_to_string(desk.path(&format!("project/.worktrees/{id}/{name}"))).unwrap_or_default());
    assert_eq!(seen, ["/run/keys/0\n", "{}\n", "tmpfs\n"], "{shown}");
}
