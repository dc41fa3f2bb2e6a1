//! The project folder with concurrent writers, and with interrupted writes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use insta::assert_snapshot;
use tempfile::TempDir;
use tollgate_core::board::{Document, FeatureId};
use tollgate_engine::board::folder::watch::Watcher;
use tollgate_engine::board::folder::{Attachment, DEFAULT_NAME, Folder};

/// A project with features as files.
struct Project {
    dir: TempDir,
    folder: Folder,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(dir.path(), DEFAULT_NAME).unwrap();
        Self { dir, folder }
    }

    fn with(name: &str, json: &str) -> Self {
        let project = Self::new();
        project.put(name, json);
        project
    }

    /// Writes a card as another program, long ago.
    fn put(&self, name: &str, json: &str) {
        let path = self.card(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, json).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(DEFAULT_NAME).join(name)
    }

    fn card(&self, name: &str) -> PathBuf {
        self.path("features").join(name).join("feature.json")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.card(name)).unwrap()
    }

    /// The names in a feature's folder.
    fn names(&self, name: &str) -> Vec<String> {
        names(&self.path("features").join(name))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn id(name: &str) -> FeatureId {
    FeatureId::parse(name).unwrap()
}

#[test]
fn hard_files_come_back_byte_for_byte_and_are_not_even_written() {
    let big = format!(r#"{{"id":"a","gitDiff":"{}"}}"#, "+ line\\n".repeat(600_000));
    let samples = [
        "{\"id\":\"a\"}",
        "{\r\n    \"id\": \"a\",\r\n    \"x\": {}\r\n}\r\n",
        "\u{feff}{ \"z\":1e+21,\"id\":\"a\",\"cut\":\"\\ud83d\",\"n\":[-0,1E400] }\n\n",
        "{\n\t\"id\": \"\\u0061\",\n\t\"nul\": \"\\u0000\"\n}",
        &big,
    ];
    for sample in samples {
        let project = Project::with("a", sample);
        let before = project.folder.stamp("a").unwrap();
        let held = project.folder.update(&id("a"), &|card| card.set_text("id", "a")).unwrap();
        assert!(project.text("a") == sample && held.document.as_str() == sample);
        assert_eq!(project.folder.stamp("a"), Some(before));
        project.folder.update(&id("a"), &|card| card.set_text("status", "verified")).unwrap();
        project
            .folder
            .update(&id("a"), &|card| {
                card.remove("status");
                Ok(())
            })
            .unwrap();
        assert!(project.text("a") == sample);
        assert_eq!(project.names("a"), ["feature.json"]);
    }
}

#[test]
fn features_are_found_by_name_and_broken_ones_are_named() {
    let project = Project::with("b", r#"{"id":"b","title":"B"}"#);
    project.put("a", r#"{"id":"a"}"#);
    project.put("cut", "{\n  \"id\": \"cut\",\n  \"tit");
    project.put("emptied", "");
    project.put("nameless", "{}");
    project.put("other", r#"{"id":"a"}"#);
    project.put("twice", r#"{"id":"twice","status":"backlog","status":"verified"}"#);
    project.put("bad name", r#"{"id":"bad name"}"#);
    project.put(".hidden", "{}");
    fs::create_dir(project.path("features/none")).unwrap();
    fs::create_dir_all(project.path("features/folder/feature.json")).unwrap();
    fs::write(project.path("features/README.md"), "Hello").unwrap();
    let (held, broken) = project.folder.scan().unwrap();
    let held: Vec<&str> = held.iter().map(|held| held.id.as_str()).collect();
    assert_eq!(held, ["a", "b"]);
    let broken: Vec<String> = broken.iter().map(|broken| format!("{}: {}", broken.name, broken.why)).collect();
    assert_snapshot!(broken.join("\n"), @r#"
    bad name: its name cannot be used: it has a character other than `A-Z`, `a-z`, `0-9`, `_` and `-`
    cut: `feature.json`: line 3, column 7: expected `"`
    emptied: `feature.json`: it is empty
    folder: `feature.json`: it is not a plain file
    nameless: `feature.json`: it has no `id`
    none: `feature.json`: it is missing
    other: `feature.json`: its `id` is `a`, which is not the name of its folder
    twice: `feature.json`: it has the key `status` twice
    "#);
    assert_eq!(project.folder.read(&id("nowhere")), Ok(None));
    assert_eq!(project.folder.read(&id("cut")).unwrap_err().name, "cut");
}

#[test]
fn a_broken_card_is_never_overwritten() {
    for broken in ["", "{\"id\":\"a\",", "[]", r#"{"id":"b"}"#, "{}", r#"{"id":"a","x":1,"x":2}"#] {
        let project = Project::with("a", broken);
        let failure = project.folder.update(&id("a"), &|card| card.set_text("status", "verified")).unwrap_err();
        assert!(failure.message.contains("feature.json"), "{failure}");
        assert!(project.folder.create(&id("a"), &Document::parse(br#"{"id":"a"}"#).unwrap()).is_err());
        assert_eq!(project.text("a"), broken);
        assert_eq!(project.names("a"), ["feature.json"]);
    }
}

#[test]
fn an_invalid_edit_leaves_the_card_unchanged() {
    let project = Project::with("a", r#"{"id":"a"}"#);
    let failure = project.folder.update(&id("a"), &|card| card.set_raw("x", "{")).unwrap_err();
    assert!(failure.message.ends_with("what was to be written is refused: line 1, column 2: expected a key in quotes"));
    assert_eq!(project.text("a"), r#"{"id":"a"}"#);
    assert!(project.folder.update(&id("b"), &|_| Ok(())).unwrap_err().message.contains("no feature `b`"));
}

/// A canary outside of the project, which must be neither read nor written.
fn outside() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("a/feature.json"), r#"{"id":"a","canary":1}"#).unwrap();
    dir
}

#[track_caller]
fn check_link(project: &Project, outside: &TempDir) {
    let status = |card: &mut Document| card.set_text("status", "verified");
    assert!(project.folder.update(&id("a"), &status).is_err());
    assert!(project.folder.read(&id("a")).is_err());
    assert!(project.folder.create(&id("a"), &Document::parse(br#"{"id":"a"}"#).unwrap()).is_err());
    if let Ok((held, _)) = project.folder.scan() {
        assert_eq!(held, []);
    }
    assert_eq!(fs::read_to_string(outside.path().join("a/feature.json")).unwrap(), r#"{"id":"a","canary":1}"#);
    assert_eq!(names(&outside.path().join("a")), ["feature.json"]);
}

#[test]
fn links_are_refused_wherever_they_stand() {
    let (project, away) = (Project::new(), outside());
    fs::remove_dir(project.path("features")).unwrap();
    symlink(away.path(), project.path("features")).unwrap();
    check_link(&project, &away);
    let failure = Folder::open(project.dir.path(), DEFAULT_NAME).unwrap_err();
    assert!(failure.message.ends_with("features` is a symbolic link, which is not followed"), "{failure}");

    let (project, away) = (Project::new(), outside());
    symlink(away.path().join("a"), project.path("features/a")).unwrap();
    check_link(&project, &away);

    let (project, away) = (Project::with("a", "{}"), outside());
    fs::remove_file(project.card("a")).unwrap();
    symlink(away.path().join("a/feature.json"), project.card("a")).unwrap();
    check_link(&project, &away);

    let project = tempfile::tempdir().unwrap();
    symlink(outside().path(), project.path().join(DEFAULT_NAME)).unwrap();
    assert!(Folder::make(project.path(), DEFAULT_NAME).is_err());
}

#[test]
fn a_linked_file_beside_the_card_is_replaced_and_not_followed() {
    let (project, away) = (Project::with("a", r#"{"id":"a"}"#), outside());
    let link = project.path("features/a/agent-output.md");
    symlink(away.path().join("a/feature.json"), &link).unwrap();
    assert!(project.folder.head(&id("a"), Attachment::LastOutput, 100).is_err());
    assert!(project.folder.append(&id("a"), Attachment::LastOutput, b"x").is_err());
    project.folder.write(&id("a"), Attachment::LastOutput, b"done").unwrap();
    assert_eq!(fs::read(&link).unwrap(), b"done");
    assert_eq!(fs::read_to_string(away.path().join("a/feature.json")).unwrap(), r#"{"id":"a","canary":1}"#);
}

#[test]
fn a_pipe_in_the_place_of_a_card_does_not_block() {
    let project = Project::with("a", "{}");
    fs::remove_file(project.card("a")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, project.card("a"), fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let broken = project.folder.read(&id("a")).unwrap_err();
    assert_eq!(broken.why, "`feature.json`: it is not a plain file");
}

#[test]
fn a_card_keeps_its_rights() {
    let project = Project::with("a", r#"{"id":"a"}"#);
    for mode in [0o600, 0o664] {
        fs::set_permissions(project.card("a"), fs::Permissions::from_mode(mode)).unwrap();
        project.folder.update(&id("a"), &|card| card.set_raw("mode", &mode.to_string())).unwrap();
        assert_eq!(fs::metadata(project.card("a")).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn a_feature_is_made_once_and_deleted_without_loss() {
    let project = Project::new();
    let card = Document::new([("id", "\"a\""), ("title", "\"A\"")]).unwrap();
    let held = project.folder.create(&id("a"), &card).unwrap();
    assert_eq!((held.document.as_str(), project.text("a").as_str()), (card.as_str(), card.as_str()));
    assert!(project.folder.create(&id("a"), &card).unwrap_err().message.contains("a feature `a` already"));
    assert!(project.folder.create(&id("b"), &card).is_err());
    project.folder.delete(&id("a")).unwrap();
    assert_eq!(project.folder.read(&id("a")), Ok(None));
    project.folder.create(&id("a"), &card).unwrap();
    project.folder.delete(&id("a")).unwrap();
    assert_eq!(names(&project.path(".trash")), ["a-1", "a-2"]);
    assert_eq!(fs::read_to_string(project.path(".trash/a-1/feature.json")).unwrap(), card.as_str());
    assert!(project.folder.delete(&id("a")).is_err());
}

#[test]
fn files_beside_the_card_are_written_whole_and_read_in_part() {
    let project = Project::with("a", r#"{"id":"a"}"#);
    let (folder, a) = (&project.folder, id("a"));
    assert_eq!(folder.head(&a, Attachment::Review(1), 10).unwrap(), None);
    folder.write(&a, Attachment::Review(1), b"first").unwrap();
    folder.write(&a, Attachment::Review(1), b"second").unwrap();
    folder.write(&a, Attachment::Diff(1), b"+a").unwrap();
    folder.append(&a, Attachment::Output(2), b"one ").unwrap();
    folder.append(&a, Attachment::Output(2), b"two").unwrap();
    assert_eq!(folder.head(&a, Attachment::Review(1), 3).unwrap().unwrap(), b"sec");
    assert_eq!(folder.tail(&a, Attachment::Output(2), 5).unwrap().unwrap(), b"e two");
    assert_eq!(folder.tail(&a, Attachment::Output(2), 50).unwrap().unwrap(), b"one two");
    let expected = ["agent-output-iteration-2.md", "code-review-iteration-1.diff", "code-review-iteration-1.md"];
    assert_eq!(project.names("a")[..3], expected);
}

#[test]
fn one_server_works_on_a_project() {
    let project = Project::new();
    let lock = project.folder.lock().unwrap();
    let second = Folder::open(project.dir.path(), DEFAULT_NAME).unwrap();
    let failure = second.lock().unwrap_err();
    let expected = format!("process {} already works on the features of ", std::process::id());
    assert!(failure.message.starts_with(&expected), "{failure}");
    drop(lock);
    second.lock().unwrap();
}

#[test]
fn a_project_that_is_not_there_is_not_made_by_looking() {
    let dir = tempfile::tempdir().unwrap();
    let failure = Folder::open(dir.path(), DEFAULT_NAME).unwrap_err();
    assert!(failure.message.starts_with("there is no folder `"), "{failure}");
    assert_eq!(names(dir.path()), Vec::<String>::new());
    for name in ["", ".", "..", "a/b", "../x", "/etc"] {
        assert!(Folder::open(dir.path(), name).is_err() && Folder::make(dir.path(), name).is_err(), "{name}");
    }
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn steps_and_settings_are_read_and_foreign_keys_preserved() {
    let project = Project::new();
    assert_eq!(project.folder.steps(), (Vec::new(), Vec::new()));
    assert_eq!(project.folder.settings().unwrap(), None);
    fs::write(project.path("pipeline.json"), r#"{"version":1,"steps":[{"id":"step_a","name":"Docs"},{}]}"#).unwrap();
    let (steps, notes) = project.folder.steps();
    assert_eq!((steps[0].name.as_str(), notes.len()), ("Docs", 1));

    let settings = "{\r\n\t\"theme\" : \"dark\",\r\n\t\"n\": 1e+21\r\n}\r\n";
    fs::write(project.path("settings.json"), settings).unwrap();
    let prompts = r#"{"reviewSystemPrompt":{"enabled":false,"value":""}}"#;
    let edit = |found: &mut Document| found.set_at(&["promptCustomization", "codeReview"], prompts);
    project.folder.update_settings(&edit).unwrap();
    let written = fs::read_to_string(project.path("settings.json")).unwrap();
    assert!(written.starts_with(settings.trim_end_matches("\r\n}\r\n")), "{written}");
    assert!(written.ends_with("\r\n\t}\r\n}\r\n"), "{written}");

    fs::remove_file(project.path("settings.json")).unwrap();
    project.folder.update_settings(&edit).unwrap();
    let written = fs::read_to_string(project.path("settings.json")).unwrap();
    assert!(written.starts_with("{\n  \"version\": 1,\n  \"promptCustomization\": {\n    \"codeReview\""), "{written}");
}

/// The number of rounds of the stress tests: `TOLLGATE_CHAOS=200` is the full run.
fn n_rounds(usual: usize) -> usize {
    std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[expect(clippy::print_stdout, reason = "the figures of a hard test are read by people")]
fn say(figures: &str) {
    println!("{figures}");
}

/// Names the project to a child process of this test program.
const CHILD: &str = "TOLLGATE_TEST_FOLDER";

/// Runs one of the tests below in a child process.
fn child(test: &str, project: &Project) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, project.dir.path());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A card of a realistic size; `n` is the number of the write.
fn large_card(n: usize) -> String {
    let filling = char::from(b'a' + u8::try_from(n % 26).unwrap()).to_string().repeat(400_000);
    format!("{{\n  \"id\": \"a\",\n  \"n\": {n},\n  \"filling\": \"{filling}\"\n}}")
}

/// The child process: writes a card and a review until it is killed.
fn write_until_killed(project: &Path) {
    let folder = Folder::open(project, DEFAULT_NAME).unwrap();
    for n in 0.. {
        let card = Document::parse(large_card(n).as_bytes()).unwrap();
        let edit = |found: &mut Document| {
            found.set_raw("n", card.raw("n").unwrap())?;
            found.set_raw("filling", card.raw("filling").unwrap())
        };
        folder.update(&id("a"), &edit).unwrap();
        folder.write(&id("a"), Attachment::Review(1), large_card(n).as_bytes()).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_old_or_new_files_and_its_temporary_files_are_swept() {
    if let Some(project) = std::env::var_os(CHILD) {
        return write_until_killed(Path::new(&project));
    }
    let project = Project::with("a", &large_card(0));
    let review = project.path("features/a/code-review-iteration-1.md");
    let (mut n_torn, mut n_left) = (0, 0);
    let rounds = n_rounds(25);
    for round in 0..rounds {
        let test = "folder::a_killed_writer_leaves_old_or_new_files_and_its_temporary_files_are_swept";
        let mut writer = child(test, &project).spawn().unwrap();
        let mut last = project.folder.stamp("a");
        for _ in 0..=round % 4 {
            // The writer is running when the card changes.
            let start = Instant::now();
            while project.folder.stamp("a") == last {
                assert!(start.elapsed() < Duration::from_secs(60), "the writer does nothing");
                std::thread::yield_now();
            }
            last = project.folder.stamp("a");
        }
        let moment = Instant::now() + Duration::from_micros(u64::try_from(round * 397 % 5000).unwrap());
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        for path in [&project.card("a"), &review] {
            let text = fs::read_to_string(path).unwrap_or_else(|_| large_card(0));
            let n = Document::parse(text.as_bytes()).ok().and_then(|card| card.number("n"));
            n_torn += usize::from(n.is_none_or(|n| large_card(usize::try_from(n).unwrap()) != text));
        }
        n_left += project.names("a").iter().filter(|name| name.starts_with(".tollgate-")).count();
        drop(project.folder.lock().unwrap());
        let names = project.names("a");
        assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    }
    say(&format!("{rounds} kills: {n_torn} torn files, {n_left} left-overs swept"));
    assert_eq!(n_torn, 0);
}

/// How another program writes a file.
#[derive(Clone, Copy)]
enum Style {
    Rename,
    Truncate,
}

/// Reads the card, increments a field and writes it back, as Automaker does: without a lock.
fn count(card: &Path, style: Style, rounds: usize) {
    for n in 1..=rounds {
        let mut value = loop {
            let text = fs::read_to_string(card).unwrap();
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
                break value;
            }
        };
        value["theirs"] = n.into();
        let text = serde_json::to_string_pretty(&value).unwrap();
        match style {
            Style::Truncate => fs::write(card, text).unwrap(),
            Style::Rename => {
                let beside = card.with_extension("tmp");
                fs::write(&beside, text).unwrap();
                fs::rename(&beside, card).unwrap();
            }
        }
    }
}

fn check_second_writer(style: Style) {
    let filling = "x".repeat(20_000);
    let text = format!("{{\n  \"id\": \"a\",\n  \"theirs\": 0,\n  \"filling\": \"{filling}\",\n  \"n\": 1e+21\n}}");
    let project = Project::with("a", &text);
    let rounds = n_rounds(25) * 20;
    let (card, seen) = (project.card("a"), std::cell::Cell::new(0));
    let other = std::thread::spawn(move || count(&card, style, rounds));
    let mut ours = 0_i64;
    let mut write = |project: &Project| {
        ours += 1;
        let edit = |card: &mut Document| {
            // We never revert a write of the other program.
            let theirs = card.number("theirs").unwrap();
            assert!(theirs >= seen.get(), "{theirs} after {}", seen.get());
            seen.set(theirs);
            card.set_raw("ours", &ours.to_string())
        };
        project.folder.update(&id("a"), &edit).unwrap();
        ours
    };
    while !other.is_finished() {
        write(&project);
    }
    other.join().unwrap();
    let ours = write(&project);
    let card = project.folder.read(&id("a")).unwrap().unwrap().document;
    assert_eq!(card.number("ours"), Some(ours));
    assert_eq!(card.number("theirs"), Some(i64::try_from(rounds).unwrap()));
    assert_eq!((card.text("filling"), card.number("n")), (Some(filling), None));
    assert_eq!(project.names("a"), ["feature.json"]);
    say(&format!("{rounds} writes of another program beside {ours} of ours: nothing lost"));
}

#[test]
fn no_write_is_lost_beside_a_program_that_renames_files() {
    check_second_writer(Style::Rename);
}

#[test]
fn no_write_is_lost_beside_a_program_that_truncates_files() {
    check_second_writer(Style::Truncate);
}

#[test]
fn our_writers_take_turns_on_a_card() {
    let project = Project::with("a", r#"{"id":"a"}"#);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = project.dir.path();
            scope.spawn(move || {
                let folder = Folder::open(path, DEFAULT_NAME).unwrap();
                for n in 0..25 {
                    let edit = |card: &mut Document| card.set_raw(&format!("{writer}-{n}"), "1");
                    folder.update(&id("a"), &edit).unwrap();
                }
            });
        }
    });
    let card = project.folder.read(&id("a")).unwrap().unwrap().document;
    assert_eq!(card.keys().count(), 101);
}

/// The child process: writes with a limit on the size of files.
fn write_without_room(project: &Path) {
    let folder = Folder::open(project, DEFAULT_NAME).unwrap();
    let failure = folder.update(&id("a"), &|card| card.set_raw("n", "7")).unwrap_err();
    assert!(failure.message.contains("cannot write") && failure.hint.is_some(), "{failure}");
    folder.write(&id("a"), Attachment::Review(1), large_card(1).as_bytes()).unwrap_err();
    folder.write(&id("a"), Attachment::Review(2), b"small").unwrap();
    let card = large_card(0).replace("\"a\"", "\"b\"");
    folder.create(&id("b"), &Document::parse(card.as_bytes()).unwrap()).unwrap_err();
}

#[test]
fn without_room_the_old_file_stays() {
    if let Some(project) = std::env::var_os(CHILD) {
        return write_without_room(Path::new(&project));
    }
    let project = Project::with("a", &large_card(0));
    let child = child("folder::without_room_the_old_file_stays", &project);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "sh"]).arg(child.get_program());
    limited.args(child.get_args()).env(CHILD, project.dir.path());
    let output = limited.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(project.text("a") == large_card(0));
    assert_eq!(project.names("a"), ["code-review-iteration-2.md", "feature.json"]);
    assert_eq!(names(&project.path("features")), ["a"]);
}

#[test]
fn changes_of_other_programs_are_noticed() {
    let project = Project::with("a", r#"{"id":"a"}"#);
    let folder = Arc::new(Folder::open(project.dir.path(), DEFAULT_NAME).unwrap());
    // The polling interval is so long that only a notification can report the change.
    let (watcher, changes) = Watcher::start(folder, Duration::from_secs(3600)).unwrap();
    let expect = |name: &str| {
        loop {
            let change = changes.recv_timeout(Duration::from_secs(60)).unwrap();
            assert_eq!(change.note, None);
            if change.names.contains(name) {
                return;
            }
        }
    };
    project.put("a", r#"{"id":"a","title":"A"}"#);
    expect("a");
    project.put("b", r#"{"id":"b"}"#);
    expect("b");
    project.folder.update(&id("a"), &|card| card.set_text("status", "verified")).unwrap();
    expect("a");
    project.folder.delete(&id("a")).unwrap();
    expect("a");
    drop(watcher);
    assert!(changes.recv().is_err());
}
