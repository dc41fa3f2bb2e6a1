//! Detects timeouts and rate limits removed from a remaining call or handler.

use crate::change::syntax;
use crate::change::view::{Reporter, View, patterns, squeeze};

patterns! {
    ARGUMENT ["imeout", "IMEOUT", "max_", "MAX_", "Max_"] = r"(?i),\s*(?:timeout|read_timeout|connect_timeout|max_(?:retries|size|length|bytes))\s*[=:]\s*[\w.]+";
    MARK ["imit", "hrottle", "imeout"] = concat!(
        r"^\s*(?:@(?:\w+\.)*(?:rate_?limit\w*|throttle\w*|limit|RateLimit\w*|Throttle\w*)\b|(?:app",
        r"|router)\.use\(.*(?i:rate_?limit|limiter|throttle)|throttle_classes = |\[EnableRateLimiting",
        r"|\.(?:timeout|with_timeout|setTimeout|connect_timeout)\(.*\)$|rate_limit )",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays() && file.is_source()) {
        for block in file.blocks.iter().filter(|block| block.len() <= 200) {
            let n_added = file.added_in(block).count();
            for index in
                block.clone().filter(|&index| file.lines[index].is_removed() && !file.lines[index].is_comment())
            {
                let text = &file.lines[index].text;
                let cut = ARGUMENT.is_match(text) && !syntax::is_declaration(&file.lines[index]) && {
                    let rest = squeeze(&ARGUMENT.cut(text));
                    n_added <= 20 && file.added_in(block).any(|line| squeeze(&line.text) == rest)
                };
                let dropped = n_added == 0 && block.len() == 1 && MARK.is_match(text);
                if (cut || dropped) && !view.adds(text) {
                    reporter.report(file, index..index + 1, None);
                }
            }
        }
    }
}
