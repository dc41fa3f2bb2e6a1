use std::cell::Cell;
use std::fs;

use super::*;

const BASE: &str = "{\"a\":1,\"b\":1}";
const OURS: &str = "{\"a\":2,\"b\":1}";
const THEIRS: &str = "{\"a\":1,\"b\":3}";

/// A directory with one file.
struct Scene {
    dir: tempfile::TempDir,
    handle: DirHandle,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), BASE).unwrap();
        let handle = DirHandle::open(dir.path()).unwrap();
        Self { dir, handle }
    }

    /// Writes as a program that renames a new file over the old one.
    fn rename_over(&self, text: &str) {
        fs::write(self.dir.path().join("theirs"), text).unwrap();
        fs::rename(self.dir.path().join("theirs"), self.dir.path().join("file")).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir.path().join("file")).unwrap()
    }

    fn n_files(&self) -> usize {
        fs::read_dir(self.dir.path()).unwrap().count()
    }

    /// Reads, lets another program act, and then tries to replace the file.
    fn beaten_by(&self, between: impl FnOnce()) -> bool {
        let (before, after) = (load(&self.handle, "file", PATIENCE).unwrap(), document(OURS));
        let mut temp = TempFile::write(&self.handle, &before, &after, true).unwrap();
        between();
        matches!(put(&mut temp, "file", &before, &after, ReplaceMode::Exchange).unwrap(), ReplaceResult::Beaten(None))
    }
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

fn set_a(document: &mut Document) -> Result<(), EditError> {
    document.set_raw("a", "2").map_err(EditError::Refused)
}

#[test]
fn files_are_renamed_where_exchange_is_unsupported() {
    for way in [ReplaceMode::Rename, ReplaceMode::Exchange] {
        let scene = Scene::new();
        let loaded = update(&scene.handle, "file", &set_a, way).unwrap();
        assert_eq!((scene.text().as_str(), loaded.document.as_str(), scene.n_files()), (OURS, OURS, 1));
        assert_eq!(loaded.hash, hash(OURS.as_bytes()));
        assert_eq!(Some(loaded.stamp), scene.handle.stamp(None, "file"));
    }
}

#[test]
fn an_edit_is_repeated_on_a_concurrent_write() {
    for way in [ReplaceMode::Rename, ReplaceMode::Exchange] {
        let (scene, n_edits) = (Scene::new(), Cell::new(0));
        let edit = |document: &mut Document| {
            n_edits.set(n_edits.get() + 1);
            if n_edits.get() == 1 {
                scene.rename_over(THEIRS);
            }
            set_a(document)
        };
        update(&scene.handle, "file", &edit, way).unwrap();
        assert_eq!((scene.text().as_str(), n_edits.get(), scene.n_files()), ("{\"a\":2,\"b\":3}", 2, 1));
    }
}

#[test]
fn a_write_at_the_last_moment_is_restored() {
    let scene = Scene::new();
    assert!(scene.beaten_by(|| scene.rename_over(THEIRS)));
    assert_eq!((scene.text().as_str(), scene.n_files()), (THEIRS, 1));
}

#[test]
fn a_program_writing_into_the_old_file_keeps_writing_into_it() {
    let scene = Scene::new();
    let mut writer = None;
    assert!(scene.beaten_by(|| writer = Some(fs::File::create(scene.dir.path().join("file")).unwrap())));
    writer.unwrap().write_all(THEIRS.as_bytes()).unwrap();
    assert_eq!((scene.text().as_str(), scene.n_files()), (THEIRS, 1));
}

#[test]
fn an_identical_concurrent_write_is_no_conflict() {
    let scene = Scene::new();
    assert!(!scene.beaten_by(|| scene.rename_over(BASE)));
    assert_eq!((scene.text().as_str(), scene.n_files()), (OURS, 1));
}

#[test]
fn a_write_over_our_version_and_the_one_before_are_both_kept() {
    let scene = Scene::new();
    let (before, after) = (load(&scene.handle, "file", PATIENCE).unwrap(), document(OURS));
    let mut temp = TempFile::write(&scene.handle, &before, &after, true).unwrap();
    // The other program wrote `b` before our exchange and `c` after it, when it could see only our version.
    scene.rename_over(THEIRS);
    assert!(scene.handle.exchange(&temp.name, "file").unwrap());
    scene.rename_over("{\"a\":2,\"b\":1,\"c\":4}");
    let first = content(&scene.handle, &temp.name).ok();
    let ReplaceResult::Beaten(Some((base, theirs))) = put_back(&mut temp, "file", &after, first).unwrap() else {
        panic!("nothing is carried over");
    };
    drop(temp);
    assert_eq!((scene.text().as_str(), scene.n_files()), ("{\"a\":2,\"b\":1,\"c\":4}", 1));
    let mut merged = document(&scene.text());
    merged.adopt(&base, &theirs);
    set_a(&mut merged).unwrap();
    assert_eq!(merged.as_str(), "{\"a\":2,\"b\":3,\"c\":4}");
}

#[test]
fn a_new_file_does_not_replace_one_that_is_there() {
    let scene = Scene::new();
    assert!(!create(&scene.handle, "file", &document(OURS)).unwrap());
    assert!(create(&scene.handle, "new", &document(OURS)).unwrap());
    assert_eq!((scene.text().as_str(), scene.n_files()), (BASE, 2));
}

#[test]
fn a_link_planted_at_the_last_moment_is_kept_and_not_followed() {
    let scene = Scene::new();
    let (file, target) = (scene.dir.path().join("file"), scene.dir.path().join("target"));
    fs::write(&target, THEIRS).unwrap();
    assert!(scene.beaten_by(|| {
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
    }));
    assert!(file.is_symlink());
    assert_eq!((fs::read_to_string(&target).unwrap().as_str(), scene.n_files()), (THEIRS, 2));
    assert!(matches!(update(&scene.handle, "file", &set_a, ReplaceMode::Exchange), Err(EditError::Link)));
}

#[test]
fn a_file_deleted_at_the_last_moment_is_not_created_again() {
    let scene = Scene::new();
    let (before, after) = (load(&scene.handle, "file", PATIENCE).unwrap(), document(OURS));
    let mut temp = TempFile::write(&scene.handle, &before, &after, true).unwrap();
    fs::remove_file(scene.dir.path().join("file")).unwrap();
    assert!(put(&mut temp, "file", &before, &after, ReplaceMode::Exchange).is_err());
    drop(temp);
    assert_eq!(scene.n_files(), 0);
}
