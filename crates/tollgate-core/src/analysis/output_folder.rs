//! Folders whose files a tool writes: installed packages, compiled output, vendored dependencies.
//!
//! A name alone is a weak sign, because people also call their own packages `dist`, `build`, `target`, `pods` or `vendor`.
//! It counts where a tool reserves the name, at the root for files of the kind that the tool puts there, and beside the
//! manifest of the tool:
//!
//! ```text
//! web/node_modules/a/index.js     reserved
//! dist/index.js                   at the root
//! ios/Pods/A/a.swift              where `ios/Podfile` exists
//! src/test/java/org/a/dist/A.java never
//! ```

use crate::analysis::path_parts::{Folder, PathParts, kinds_of};
use crate::language::Language;

/// The number of manifests that are looked up for one path.
const MAX_MANIFESTS: usize = 8;

/// A folder that tools write, by its name in lower case.
struct Output {
    folder: &'static [u8],
    /// Manifests beside the folder that prove it.
    manifests: &'static [&'static str],
    /// The files that count without a manifest where the folder is at the root.
    at_root: fn(&Step<'_>) -> bool,
    /// The files that count beside a manifest.
    beside: fn(&Step<'_>) -> bool,
}

const OUTPUTS: &[Output] = &[
    Output { folder: b"dist", manifests: &["package.json"], at_root: is_bundle, beside: is_bundle },
    Output {
        folder: b"build",
        manifests: &["build.gradle", "build.gradle.kts", "pubspec.yaml"],
        at_root: never,
        beside: always,
    },
    Output { folder: b"target", manifests: &["Cargo.toml", "pom.xml", "build.sbt"], at_root: never, beside: always },
    Output { folder: b"pods", manifests: &["Podfile"], at_root: is_pod, beside: always },
    Output { folder: b"carthage", manifests: &["Cartfile"], at_root: never, beside: always },
    Output { folder: b"vendor", manifests: &["go.mod", "composer.json"], at_root: is_vendored, beside: always },
    Output { folder: b"third_party", manifests: &[], at_root: is_vendored, beside: never },
    Output { folder: b"third-party", manifests: &[], at_root: is_vendored, beside: never },
    Output { folder: b"godeps", manifests: &[], at_root: is_vendored, beside: never },
];

/// A folder of a path.
struct Step<'a> {
    /// The path as written.
    path: &'a [u8],
    /// Where the folder begins in the path.
    start: usize,
    /// Its name in lower case.
    name: &'a [u8],
    /// The path below it, in lower case.
    below: &'a [u8],
}

/// True for files below a folder that a tool reserves or, at the root, writes by convention.
pub(super) fn is_output(name: &PathParts<'_>) -> bool {
    let at_root = |step: &Step<'_>| step.start == 0 && outputs(step).any(|output| (output.at_root)(step));
    name.is_below(Folder::Output) && steps(name).any(|step| is_reserved(&step) || at_root(&step))
}

/// The manifests of which one must exist for this path to be the output of a tool; none when no folder could be one.
#[must_use]
pub fn manifests_of_output(path: &[u8]) -> Vec<Vec<u8>> {
    let name = PathParts::new(path);
    if !name.is_below(Folder::Output) {
        return Vec::new();
    }
    let beside = |step: Step<'_>| {
        let outputs = OUTPUTS.iter().filter(move |output| output.folder == step.name);
        let found = outputs.filter(|output| (output.beside)(&step)).flat_map(|output| output.manifests);
        found.map(|manifest| [&path[..step.start], manifest.as_bytes()].concat()).collect::<Vec<_>>()
    };
    steps(&name).flat_map(beside).take(MAX_MANIFESTS).collect()
}

fn outputs<'a>(step: &Step<'a>) -> impl Iterator<Item = &'static Output> + use<'a> {
    let name = step.name;
    OUTPUTS.iter().filter(move |output| output.folder == name)
}

/// The folders of a path up to the first test folder, whose content is written by hand.
fn steps<'a>(name: &'a PathParts<'_>) -> impl Iterator<Item = Step<'a>> {
    let (path, lower) = (name.path(), name.lower_path());
    let folders = memchr::memchr_iter(b'/', name.folders()).scan(0, |start, slash| {
        let step = Step { path, start: *start, name: &lower[*start..slash], below: &lower[slash + 1..] };
        *start = slash + 1;
        Some(step)
    });
    folders.take_while(|step| kinds_of(step.name) & Folder::Tests as u8 == 0)
}

/// True for folders that package managers, bundlers and code generators reserve.
fn is_reserved(step: &Step<'_>) -> bool {
    match step.name {
        b"node_modules" | b"bower_components" | b"jspm_packages" | b"__pycache__" | b"__generated__" | b".next"
        | b".nuxt" => true,
        // Plugins and releases are bundles of their own; patches are written by hand.
        b".yarn" => [&b"cache/"[..], b"plugins/", b"releases/", b"sdks/", b"unplugged/"]
            .iter()
            .any(|folder| step.below.starts_with(folder)),
        // `vendor/github.com/…` is Go's layout, `vendor/bundle` is Bundler's.
        b"vendor" => {
            let first = step.below.split(|&byte| byte == b'/').next().unwrap_or_default();
            let is_folder = first.len() < step.below.len();
            step.below == b"modules.txt" || is_folder && (first == b"bundle" || is_host(first))
        }
        _ => false,
    }
}

/// True for host names in import paths: `github.com`, `k8s.io`.
fn is_host(name: &[u8]) -> bool {
    [&b".com"[..], b".org", b".io", b".net", b".dev", b".in"].iter().any(|end| name.ends_with(end))
}

fn always(_: &Step<'_>) -> bool {
    true
}

fn never(_: &Step<'_>) -> bool {
    false
}

/// True for files that bundlers write. HTML and data beside them are often written by hand.
fn is_bundle(step: &Step<'_>) -> bool {
    const ENDS: &[&[u8]] = &[b".js", b".mjs", b".cjs", b".css", b".map", b".d.ts", b".d.mts", b".d.cts", b".wasm"];
    ENDS.iter().any(|end| step.below.ends_with(end)) && !is_project(step)
}

/// True for the folder of CocoaPods, which writes its name with a capital.
fn is_pod(step: &Step<'_>) -> bool {
    step.path.starts_with(b"Pods/")
}

/// True for code in languages whose dependencies are copied into the repository.
fn is_vendored(step: &Step<'_>) -> bool {
    // Bundler reserves `vendor/bundle`; other Ruby code is written by hand, such as the engines of an application.
    use Language::{C, Cpp, Css, Go, JavaScript, Php, Rust};
    let language = Language::of_path(step.below);
    matches!(language, Some(C | Cpp | Css | Go | JavaScript | Php | Rust)) && !is_project(step)
}

/// True for the layout of a project of its own, and for copies that are maintained here.
fn is_project(step: &Step<'_>) -> bool {
    let first = step.below.split(|&byte| byte == b'/').next().unwrap_or_default();
    matches!(first, b"src" | b"app" | b"pages" | b"components" | b"engines" | b"forked" | b"patched" | b"patches")
        || kinds_of(first) & Folder::Tests as u8 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        assert_eq!(is_output(&PathParts::new(path.as_bytes())), expected, "{path}");
    }

    #[test]
    fn reserved_folders_count_anywhere_but_in_fixtures() {
        for path in [
            "web/node_modules/a/index.js",
            "a/__pycache__/b.pyc",
            "src/__generated__/query.ts",
            ".yarn/releases/yarn-4.cjs",
            "staging/vendor/github.com/a/b.go",
            "vendor/modules.txt",
            "x/vendor/bundle/ruby/a.rb",
        ] {
            check(path, true);
        }
        for path in [
            "tests/fixtures/node_modules/a/index.js",
            "test/dist/a.js",
            ".yarn/patches/a.patch",
            ".yarn/versions/a.yml",
            "vendor/github.com",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn output_at_the_root_counts_for_the_files_that_tools_write() {
        for path in ["dist/index.js", "dist/css/a.css.map", "vendor/a.go", "vendor/x/y.php", "Pods/A/a.m"] {
            check(path, true);
        }
        for path in [
            "dist/rpm/a.spec",
            "dist/index.html",
            "dist/a.py",
            "dist/src/a.js",
            "vendor/models.py",
            "vendor/engines/billing/app/models/q.rb",
            "vendor/engines/billing/app/assets/q.js",
            "vendor/lib/billing.rb",
            "vendor/src/App.js",
            "vendor/Orders.java",
            "vendor/assets/icons.svg",
            "third_party/forked/a.go",
            "third_party/OWNERS",
            "pods/a.go",
            "build/lib.sh",
            "target/a.rs",
        ] {
            check(path, false);
        }
    }

    // Issue 17: a Java test below `…/cli/dist/` was skipped, and the change was approved.
    #[test]
    fn source_files_in_a_source_tree_are_never_output_by_a_folder_name() {
        for path in [
            "quarkus/tests/integration/src/test/java/org/keycloak/it/cli/dist/StartCommandDistTest.java",
            "quarkus/dist/src/main/content/bin/kc.sh",
            "src/main/java/com/acme/vendor/VendorService.java",
            "src/app/generated/handler.ts",
            "pkg/kubelet/apis/pods/pods.go",
            "src/sentry/build/main.py",
            "lib/third_party/client.rb",
            "src/target/index.js",
        ] {
            check(path, false);
        }
    }

    #[track_caller]
    fn check_manifests(path: &str, expected: &str) {
        let manifests = manifests_of_output(path.as_bytes());
        let manifests = manifests.iter().map(|path| String::from_utf8_lossy(path).into_owned());
        assert_eq!(manifests.collect::<Vec<_>>().join(" "), expected, "{path}");
    }

    #[test]
    fn the_manifest_beside_a_folder_tells_the_output_of_a_tool() {
        check_manifests("packages/A/dist/index.js", "packages/A/package.json");
        check_manifests("packages/a/dist/index.html", "");
        check_manifests("target/a.rs", "Cargo.toml pom.xml build.sbt");
        check_manifests("app/build/a.java", "app/build.gradle app/build.gradle.kts app/pubspec.yaml");
        check_manifests("ios/Pods/A/a.swift", "ios/Podfile");
        check_manifests("api/vendor/a/b.php", "api/go.mod api/composer.json");
        check_manifests("src/test/java/a/dist/A.js", "");
        check_manifests("src/main.rs", "");
    }

    #[test]
    fn a_deep_path_has_few_manifests() {
        assert_eq!(manifests_of_output(&b"target/".repeat(500)).len(), MAX_MANIFESTS);
    }
}
