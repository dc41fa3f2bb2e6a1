//! HTML inside of Markdown, as far as it hides or shows text.
//!
//! Comments and tags go, and so does what stands in `<code>`, `<pre>`,
//! `<blockquote>` and the like: `<p>a <b>breaking</b> change</p><!-- no -->`
//! reads `a breaking change`.

/// Elements whose text is quoted, retracted or not shown.
const HIDING: [&str; 9] = ["blockquote", "code", "del", "pre", "s", "samp", "script", "strike", "style"];

/// Which hiding elements are open.
#[derive(Debug, Default)]
pub(super) struct Markup {
    /// Opened in a block of HTML, and open until one closes them.
    n_block: usize,
    /// Opened inside of text, and open until the text ends.
    n_inline: usize,
}

impl Markup {
    /// True when text is hidden here.
    pub(super) fn hides(&self) -> bool {
        self.n_block + self.n_inline > 0
    }

    /// The text ends, and with it what was opened inside of it.
    pub(super) fn end_block(&mut self) {
        self.n_inline = 0;
    }

    /// Reads one tag or comment inside of text.
    pub(super) fn take_inline(&mut self, html: &str) {
        count(html, &mut self.n_inline);
    }

    /// Reads a block of HTML and gives back what of it is text; nothing of a block that begins hidden.
    pub(super) fn take_block(&mut self, html: &str) -> String {
        let mut text = String::new();
        let mut rest = html;
        while let Some(open) = memchr::memchr(b'<', rest.as_bytes()) {
            self.show(&rest[..open], &mut text);
            let tag = &rest[open..];
            let end: &[u8] = if tag.starts_with("<!--") { b"-->" } else { b">" };
            // What is not closed is no text either.
            let Some(close) = memchr::memmem::find(tag.as_bytes(), end) else { return text };
            let close = close + end.len();
            count(&tag[..close], &mut self.n_block);
            rest = &tag[close..];
        }
        self.show(rest, &mut text);
        text
    }

    fn show(&self, part: &str, text: &mut String) {
        if self.n_block == 0 {
            text.push_str(part);
        }
    }
}

/// Counts a hiding element that is opened or closed.
fn count(tag: &str, n_open: &mut usize) {
    let inside = tag.trim_start_matches('<');
    let (closing, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
    let name = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !HIDING.iter().any(|hiding| hiding.eq_ignore_ascii_case(name)) || tag.ends_with("/>") {
        return;
    }
    *n_open = if closing { n_open.saturating_sub(1) } else { *n_open + 1 };
}
