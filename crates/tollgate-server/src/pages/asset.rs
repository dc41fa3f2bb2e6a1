//! Scripts and styles, part of the program.
//!
//! Their address has the hash of them all in it, so a browser keeps them for ever and a new version has new ones. A
//! program built for debugging reads them from the folder, so that a change shows at once.

use std::borrow::Cow;
use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::problem::{self, Problem};

macro_rules! assets {
    ($($name:literal,)*) => {
        &[$(($name, include_bytes!(concat!("../../../../web/assets/", $name)))),*]
    };
}

/// Every file of `web/assets`.
const ASSETS: &[(&str, &[u8])] = assets! {
    "api.js",
    "app.js",
    "board-acts.js",
    "board-add.js",
    "board.css",
    "board.js",
    "dialog.js",
    "diff.css",
    "diff.js",
    "feature-edit.js",
    "feature-output.js",
    "feature.css",
    "feature.js",
    "finding.css",
    "fragment.js",
    "home.js",
    "icon.svg",
    "keys.js",
    "live.js",
    "palette.js",
    "prompts.js",
    "reviews.css",
    "reviews.js",
    "settings.css",
    "settings.js",
    "style.css",
    "toast.js",
    "trends.css",
};

/// Where the assets of this program are, without a slash at the end.
pub(crate) fn base() -> &'static str {
    static BASE: OnceLock<String> = OnceLock::new();
    BASE.get_or_init(|| {
        let mut hash = Sha256::new();
        for (name, content) in ASSETS {
            hash.update(name);
            hash.update(content);
        }
        let hash: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/{hash}")
    })
}

/// Serves one asset. The hash is ignored: a page of an older version gets the current file.
pub(crate) async fn get(Path((_, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let kind = kind(&name).ok_or_else(problem::no_such_path)?;
    let content = content(&name).ok_or_else(problem::no_such_path)?;
    let keep = if cfg!(debug_assertions) { "no-cache" } else { "public, max-age=31536000, immutable" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static(keep)),
    ];
    Ok((headers, content).into_response())
}

fn content(name: &str) -> Option<Cow<'static, [u8]>> {
    let (_, content) = ASSETS.iter().find(|(known, _)| *known == name)?;
    #[cfg(debug_assertions)]
    if let Ok(now) = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets").join(name))
    {
        return Some(Cow::Owned(now));
    }
    Some(Cow::Borrowed(content))
}

fn kind(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_there_has_a_kind_and_asks_nobody_else() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        assert!(ASSETS.iter().map(|(name, _)| *name).eq(names.iter().map(String::as_str)), "{names:?}");
        for name in names {
            assert!(kind(&name).is_some(), "{name}");
            let text = String::from_utf8(content(&name).unwrap().into_owned()).unwrap();
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for foreign in ["http:", "https://", "eval(", "innerHTML", "@import", "//cdn"] {
                assert!(!text.contains(foreign), "{name} has `{foreign}`");
            }
        }
    }
}
