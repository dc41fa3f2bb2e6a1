//! HTML inside of Markdown, as far as it hides or shows text.
//!
//! Comments and tags go, and so does what stands in `<code>`, `<pre>`,
//! `<blockquote>` and the like: `<p>a <b>breaking</b> change</p><!-- no -->`
//! reads `a breaking change`.

/// Elements whose text is quoted, retracted or not shown.
const HIDING: [&str; 9] = ["blockquote", "code", "del", "pre", "s", "samp", "script", "strike", "style"];

/// What is open.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    /// Hiding elements that were opened in a block of HTML, and are open until one closes them.
    n_block: usize,
    /// Hiding elements that were opened inside of text, and are open until the text ends.
    n_inline: usize,
    /// What ends the comment or the tag that goes on in the next line.
    until: Option<&'static str>,
}

impl Markup {
    /// True when text is hidden here.
    pub(crate) fn hides(&self) -> bool {
        self.n_block + self.n_inline > 0
    }

    /// The text or the block of HTML ends, and with it what was opened inside of it.
    pub(crate) fn end_block(&mut self) {
        self.n_inline = 0;
        self.until = None;
    }

    /// Reads one tag or comment inside of text.
    pub(crate) fn take_inline(&mut self, html: &str) {
        count(html, &mut self.n_inline);
    }

    /// Reads a line of a block of HTML and adds what of it is shown.
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

/// Counts a hiding element that is opened or closed.
fn count(tag: &str, n_open: &mut usize) {
    let inside = tag.trim_start_matches('<');
    let (closing, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
    let name = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !HIDING.iter().any(|hiding| hiding.eq_ignore_ascii_case(name)) {
        return;
    }
    *n_open = if closing { n_open.saturating_sub(1) } else { *n_open + 1 };
}
