//! Identifies a repository and a branch across clones and over time.
//!
//! A repository is identified by the URL of its `origin` without scheme, user and `.git`, so that all clones share one
//! name; without an origin, by its directory. A password in the URL is dropped.
//!
//! ```text
//! git@github.com:owner/name.git      → github.com/owner/name
//! https://me:secret@host:8443/a/b    → host:8443/a/b
//! ```

use std::path::Path;

use super::{Local, Range, Trigger};

/// The maximum size of a configuration file.
const MAX_CONFIG: u64 = 1024 * 1024;

impl Local {
    /// The name of the repository; `None` outside of one.
    #[must_use]
    pub fn identity(&self) -> Option<String> {
        let common_dir = &self.repository.as_ref()?.common_dir;
        let origin = self.origin(common_dir).and_then(|url| address(&url));
        Some(origin.unwrap_or_else(|| {
            let folder = common_dir.canonicalize().unwrap_or_else(|_| common_dir.clone());
            let tree = folder.file_name().is_some_and(|name| name == ".git").then(|| folder.parent()).flatten();
            tree.unwrap_or(&folder).display().to_string()
        }))
    }

    /// The branch under review and the scope of the review, to find earlier reviews by.
    ///
    /// `None` for a patch and on a detached `HEAD`.
    #[must_use]
    pub(crate) fn line_of_work(&self) -> Option<(String, String)> {
        let repository = self.repository.as_ref()?;
        let branch = repository.branch.as_deref();
        let (branch, scope) = match (&self.trigger, &self.range) {
            (Trigger::Patch { .. }, _) => return None,
            (Trigger::Staged, _) => (branch, "staged".to_owned()),
            (Trigger::Worktree, _) => (branch, "worktree".to_owned()),
            // A range that ends at `HEAD` belongs to the current branch, under any name.
            (Trigger::Range(text), Some(Range::Between(_, end) | Range::SinceFork(_, end)))
                if repository.head.as_ref() != repository.revisions.get(1) =>
            {
                (Some(end.as_str()), text.clone())
            }
            (Trigger::Range(text), _) => (branch, text.clone()),
            (Trigger::Default, _) => (branch, "branch".to_owned()),
        };
        Some((format!("branch {}", branch?), scope))
    }

    /// The URL of the origin, from the configuration file if it is plain, from git otherwise.
    fn origin(&self, common_dir: &Path) -> Option<String> {
        let file = common_dir.join("config");
        let small = std::fs::metadata(&file).is_ok_and(|file| file.len() <= MAX_CONFIG);
        match std::fs::read_to_string(&file).ok().filter(|_| small).map(|text| plain_origin(&text)) {
            Some(OriginConfig::Known(url)) => url,
            Some(OriginConfig::Unclear) | None => {
                let answer = self.git.ask(&["config", "--null", "--get", "remote.origin.url"]).ok()?;
                let url = answer.stdout.split(|&byte| byte == 0).next().unwrap_or_default();
                (!url.is_empty()).then(|| String::from_utf8_lossy(url).into_owned())
            }
        }
    }
}

/// The origin in a configuration file, read without git.
#[derive(Debug, PartialEq, Eq)]
enum OriginConfig {
    Known(Option<String>),
    /// The file has syntax that only git understands.
    Unclear,
}

fn plain_origin(config: &str) -> OriginConfig {
    let mut inside = false;
    let mut url = None;
    for line in config.lines().map(str::trim) {
        if line.to_ascii_lowercase().starts_with("[include") {
            return OriginConfig::Unclear;
        }
        if line.starts_with('[') {
            inside = line == "[remote \"origin\"]";
            let odd = !inside && line.to_ascii_lowercase().starts_with("[remote") && line.contains("origin");
            if odd {
                return OriginConfig::Unclear;
            }
        } else if let Some((key, value)) = line.split_once('=').filter(|_| inside)
            && key.trim().eq_ignore_ascii_case("url")
        {
            if url.is_some() || value.contains(['"', '\\', '#', ';']) {
                return OriginConfig::Unclear;
            }
            url = Some(value.trim().to_owned());
        }
    }
    OriginConfig::Known(url)
}

/// The name of a repository by its URL; `None` for a local path.
fn address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
    let (host, path) = match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => return None,
        Some(_) => rest.split_once('/')?,
        // `host:path`, unless a slash comes first or the host is a Windows drive letter.
        None => rest.split_once(':').filter(|(host, _)| !host.contains('/') && host.len() > 1)?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(address(url).as_deref(), expected, "{url}");
    }

    #[test]
    fn all_ways_to_write_an_address_give_one_name() {
        for url in [
            "git@github.com:owner/name.git",
            "ssh://git@GitHub.com/owner/name.git",
            "https://github.com/owner/name",
            "https://github.com/owner/name.git/",
        ] {
            check(url, Some("github.com/owner/name"));
        }
    }

    #[test]
    fn a_name_never_holds_a_password() {
        check("https://me:secret@host:8443/a/b.git", Some("host:8443/a/b"));
        check("https://x-token@host/a", Some("host/a"));
    }

    #[test]
    fn a_local_path_gives_no_name() {
        for url in ["/srv/git/a.git", "../a", "file:///srv/a.git", "C:\\git\\a", "", "https://host/"] {
            check(url, None);
        }
    }

    #[test]
    fn a_plain_config_is_read_and_others_are_left_to_git() {
        let known = |url: &str| OriginConfig::Known(Some(url.to_owned()));
        assert_eq!(
            plain_origin("[core]\n\turl = x\n[remote \"origin\"]\n\tURL = git@h:a/b\n\tfetch = y\n"),
            known("git@h:a/b")
        );
        assert_eq!(plain_origin("[remote \"fork\"]\n\turl = x\n"), OriginConfig::Known(None));
        for config in [
            "[include]\n\tpath = x\n",
            "[remote \"origin\"]\n\turl = \"x\"\n",
            "[remote \"origin\"]\n\turl = x\n\turl = y\n",
            "[remote \"origin\"] ; mine\n\turl = x\n",
        ] {
            assert_eq!(plain_origin(config), OriginConfig::Unclear, "{config}");
        }
    }
}
