//! Strips HTML from Markdown: comments, tags, and the text of `<code>`, `<pre>`, `<blockquote>` and similar elements.
//!
//! `<p>a <b>breaking</b> change</p><!-- no -->` reads `a breaking change`.

/// Elements whose text is quoted, retracted or not shown.
const HIDING: [&str; 9] = ["blockquote", "code", "del", "pre", "s", "samp", "script", "strike", "style"];

/// The open hiding elements.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    /// Hiding elements opened in a block of HTML, open until they are closed.
    n_block: usize,
    /// Hiding elements opened inside of text, open until the text ends.
    n_inline: usize,
    /// The end of a comment or a tag that continues on the next line.
    until: Option<&'static str>,
}

impl Markup {
    /// True when text is hidden here.
    pub(crate) fn hides(&self) -> bool {
        self.n_block + self.n_inline > 0
    }

    /// Ends the block, and with it the elements opened inside of it.
    pub(crate) fn end_block(&mut self) {
        self.n_inline = 0;
        self.until = None;
    }

    /// Reads one tag or comment inside of text.
    pub(crate) fn take_inline(&mut self, html: &str) {
        count(html, &mut self.n_inline);
    }

    /// Reads a line of a block of HTML and appends its visible text.
    pub(crate) fn take_line(&mut self, line: &str, shown: &mut String) {
        let mut rest = line;
        loop {
            if let Some(end) = self.until {
                let Some(at) = memchr::memmem::find(rest.as_bytes(), end.as_bytes()) else { return };
                rest = &rest[at + end.len()..];
                self.until = None;
            }
            let open = memchr::memchr(b'<', rest.as_bytes());
            if self.n_block == 0 {
                shown.push_str(&rest[..open.unwrap_or(rest.len())]);
            }
            let Some(open) = open else { return };
            rest = &rest[open + 1..];
            self.until = Some(if rest.starts_with("!--") { "-->" } else { ">" });
            count(rest, &mut self.n_block);
        }
    }
}

/// Counts the opening or closing tag of a hiding element.
fn count(tag: &str, n_open: &mut usize) {
    let inside = tag.trim_start_matches('<');
    let (closing, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
    let name = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !HIDING.iter().any(|hiding| hiding.eq_ignore_ascii_case(name)) {
        return;
    }
    *n_open = if closing { n_open.saturating_sub(1) } else { *n_open + 1 };
}
