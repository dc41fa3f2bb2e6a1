//! Copying to the clipboard, and downloads.

use std::path::PathBuf;

use serde_json::json;

use crate::pages::browser::Browser;

impl Browser {
    /// The text on the clipboard.
    #[track_caller]
    pub(crate) fn clipboard(&self) -> String {
        self.string("navigator.clipboard.readText()")
    }

    /// Grants the permissions for clipboard and downloads without a prompt.
    pub(crate) fn allow_to_carry(&self) {
        let origin = format!("http://{}", self.address);
        let allowed = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": origin });
        self.must("Browser.grantPermissions", allowed);
        self.must("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        std::fs::create_dir_all(self.driver.downloads()).unwrap();
        let behaviour = json!({ "behavior": "allow", "downloadPath": self.driver.downloads() });
        self.must("Browser.setDownloadBehavior", behaviour);
    }

    /// Waits for a file to be downloaded whole; its name and its text.
    #[track_caller]
    pub(crate) fn downloaded(&self) -> (String, String) {
        let mut found: Option<PathBuf> = None;
        self.wait(|| {
            let files = std::fs::read_dir(self.driver.downloads()).unwrap().flatten().map(|entry| entry.path());
            let is_whole = |path: &PathBuf| path.extension().is_none_or(|ending| ending != "crdownload");
            let visible = |path: &PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
            found = files.filter(|path| visible(path)).find(is_whole);
            found.is_some()
        });
        let path = found.unwrap_or_else(|| panic!("nothing is downloaded\n{}", self.situation()));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), text)
    }
}
