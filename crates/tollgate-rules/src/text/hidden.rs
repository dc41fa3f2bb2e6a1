//! Detects invisible characters, bidirectional controls and homoglyphs (Trojan Source).
//!
//! They make the text on the screen differ from the text that the compiler reads.
//! Scripts that need such characters keep them: joiners in Persian or Hindi,
//! variation selectors after emoji, direction marks next to Arabic or Hebrew.

use tollgate_core::diff::LineKind;

use crate::hit::Hit;
use crate::text::File;

const BIDI: &str = "bidi-control";
const BIDI_MARK: &str = "bidi-mark";
const INVISIBLE: &str = "invisible-character";
const MIXED: &str = "mixed-script-identifier";

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (hunk, body) in file.diff.hunks.iter().zip(file.hunk_texts()) {
        if body.bytes.is_ascii() {
            continue;
        }
        for line in file.diff.lines(hunk).filter(|line| line.kind == LineKind::Added && may_hide(line.text)) {
            // Bytes that are no text look like anything.
            let Ok(text) = std::str::from_utf8(line.text).map(std::borrow::Cow::Borrowed) else {
                continue;
            };
            if text.chars().any(|it| it.is_control() && !matches!(it, '\t' | '\r' | '\u{c}' | '\u{1b}')) {
                continue;
            }
            let first = line.new == Some(1);
            for (rule, message) in findings(&text, first, file) {
                if file.enabled(rule) {
                    hits.push(Hit { message: Some(message), ..file.hit(rule, line.new, line.text) });
                }
            }
        }
    }
}

/// Prefilter by first bytes: false for most lines of any script.
fn may_hide(line: &[u8]) -> bool {
    !line.is_ascii()
        && line.windows(2).any(|pair| match pair[0] {
            0xc2 => pair[1] == 0xad,
            0xce..=0xd3 => true,
            0xd8 => pair[1] == 0x9c,
            0xe1 => matches!(pair[1], 0x85 | 0xa0),
            0xe2 => matches!(pair[1], 0x80 | 0x81),
            0xe3 => pair[1] == 0x85,
            0xef => matches!(pair[1], 0xb8 | 0xbb | 0xbe),
            0xf3 => true,
            _ => false,
        })
}

/// The findings in a line, at most one per rule.
fn findings(text: &str, first_line: bool, file: &File<'_>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let class = file.class();
    let tolerant = class.prose || class.translation;
    found.extend(bidi(text, tolerant));
    let visible = found.is_empty();
    if let Some(character) = invisible(text, first_line, tolerant).filter(|_| visible) {
        found.push((INVISIBLE, format!("invisible character {}", name_of(character))));
    }
    if let Some((word, letter)) = (!tolerant && !class.generated).then(|| mixed_word(text)).flatten() {
        let word: String = word.chars().take(24).collect();
        found.push((MIXED, format!("{} in `{word}` looks like a Latin letter", name_of(letter))));
    }
    found
}

fn name_of(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

/// Finds characters that change the direction of text.
fn bidi(text: &str, tolerant: bool) -> Option<(&'static str, String)> {
    let control = text.chars().find(|&character| is_bidi_control(character));
    let mark = text.chars().find(|&character| is_bidi_mark(character));
    let right_to_left = text.chars().any(is_right_to_left);
    if let Some(control) = control {
        let overrides = text.chars().any(|character| matches!(character, '\u{202d}' | '\u{202e}'));
        // In a translation a control next to right-to-left letters affects no code.
        let legitimate = right_to_left && (tolerant || (!overrides && is_balanced(text)));
        return match (legitimate, tolerant) {
            (true, true) => None,
            (true, false) => Some((BIDI_MARK, format!("bidirectional control character {}", name_of(control)))),
            (false, _) => Some((BIDI, format!("bidirectional control character {}", name_of(control)))),
        };
    }
    let mark = mark.filter(|_| !tolerant)?;
    let message = format!("bidirectional mark {}", name_of(mark));
    Some(if right_to_left {
        (BIDI_MARK, message)
    } else {
        (INVISIBLE, format!("invisible character {}", name_of(mark)))
    })
}

fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_bidi_mark(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// True when every embedding and isolate is closed on its line.
fn is_balanced(text: &str) -> bool {
    let (mut embeddings, mut isolates) = (0i32, 0i32);
    for character in text.chars() {
        match character {
            '\u{202a}' | '\u{202b}' | '\u{202d}' | '\u{202e}' => embeddings += 1,
            '\u{202c}' => embeddings -= 1,
            '\u{2066}'..='\u{2068}' => isolates += 1,
            '\u{2069}' => isolates -= 1,
            _ => {}
        }
        if embeddings < 0 || isolates < 0 {
            return false;
        }
    }
    embeddings == 0 && isolates == 0
}

/// The first invisible character without a legitimate use at its position.
fn invisible(text: &str, first_line: bool, tolerant: bool) -> Option<char> {
    let mut before = None;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((index, character)) = characters.next() {
        let after = characters.peek().map(|(_, next)| *next);
        let hides = match character {
            '\u{feff}' => !(tolerant || (first_line && index == 0)),
            '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{180e}' => !tolerant && !is_complex(before) && !is_complex(after),
            '\u{200c}' | '\u{200d}' => is_plain(before) && is_plain(after) && !tolerant,
            '\u{ad}' => is_plain(before) && is_plain(after) && !tolerant,
            '\u{e0000}'..='\u{e007f}' => {
                !matches!(before, Some('\u{1f3f4}' | '\u{e0020}'..='\u{e007e}')) || !is_flag(text)
            }
            '\u{115f}' | '\u{1160}' => !is_hangul(before) && !is_hangul(after),
            '\u{3164}' | '\u{ffa0}' => true,
            '\u{fe00}'..='\u{fe0f}' => !takes_selector(before) && !tolerant || is_selector(before),
            '\u{e0100}'..='\u{e01ef}' => !before.is_some_and(is_han),
            _ => false,
        };
        if hides {
            return Some(character);
        }
        before = Some(character);
    }
    None
}

/// True for emoji flags of regions, the only legitimate use of tag characters.
fn is_flag(text: &str) -> bool {
    text.contains('\u{1f3f4}')
}

fn is_plain(character: Option<char>) -> bool {
    character.is_none_or(|character| character.is_ascii())
}

/// True for scripts that use invisible joiners (Arabic to Khmer, and the other scripts of Asia).
fn is_complex(character: Option<char>) -> bool {
    character.is_some_and(|character| matches!(character, '\u{590}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{3000}'..='\u{9fff}' | '\u{fb1d}'..='\u{fefe}'))
}

fn is_hangul(character: Option<char>) -> bool {
    character.is_some_and(
        |character| matches!(character, '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7ff}' | '\u{a960}'..='\u{a97f}'),
    )
}

fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

fn is_selector(character: Option<char>) -> bool {
    character.is_some_and(|character| matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'))
}

/// True for characters with variation sequences: symbols, emoji, keycaps, Han, Mongolian.
fn takes_selector(character: Option<char>) -> bool {
    character.is_some_and(|character| {
        matches!(character, '0'..='9' | '#' | '*' | '\u{a9}' | '\u{ae}' | '\u{1000}'..='\u{1fff}' | '\u{200d}' | '\u{203c}'..='\u{33ff}')
            || is_han(character)
            || matches!(character, '\u{a840}'..='\u{a87f}' | '\u{1f000}'..='\u{1fbff}' | '\u{ff00}'..='\u{ffef}' | '\u{2070}'..='\u{2bff}')
    })
}

/// A Latin word with a homoglyph from another script, and that letter.
fn mixed_word(text: &str) -> Option<(&str, char)> {
    // Ordinary words of that script on the line mean that the text is written in it;
    // such text appends inflections to Latin names.
    let is_foreign =
        |word: &str| word.chars().count() > 1 && word.chars().all(|letter| is_cyrillic(letter) || is_greek(letter));
    let words = || text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    let in_other_script = words().any(is_foreign);
    words().find_map(|word| {
        let letter = word.chars().find(|letter| is_look_alike(*letter))?;
        let n_latin = word.chars().filter(|letter| letter.is_ascii_alphabetic()).count();
        let others = word.chars().filter(|letter| !letter.is_ascii() && !is_look_alike(*letter)).count();
        let goes_on = word.chars().rev().take_while(|letter| letter.is_ascii_alphabetic()).count() > 0;
        let n_alike = word.chars().filter(|letter| is_look_alike(*letter)).count();
        let poses = n_latin >= 2 && others == 0 && n_latin >= n_alike;
        (poses && (goes_on && word.starts_with(|c: char| c.is_ascii_alphabetic()) || !in_other_script))
            .then_some((word, letter))
    })
}

fn is_cyrillic(letter: char) -> bool {
    matches!(letter, '\u{400}'..='\u{52f}')
}

fn is_greek(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{3ff}')
}

/// True for homoglyphs of Latin letters, except small Greek letters that formulas use.
fn is_look_alike(letter: char) -> bool {
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅУԌοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ".contains(letter)
}

#[cfg(test)]
mod tests {
    use tollgate_core::diff;

    #[track_caller]
    fn check(path: &str, line: &str, expected: &[&str]) {
        let text = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -4,0 +5,1 @@\n+{line}\n");
        let (files, _) = diff::parse(text.into_bytes());
        let hits = crate::text::scan(&files[0], &|_| true);
        let rules: Vec<&str> = hits.iter().map(|hit| hit.rule.as_str()).collect();
        assert_eq!(rules, expected, "{}", line.escape_unicode());
        assert!(hits.iter().all(|hit| hit.line_start == 5));
    }

    /// Attacks that must be found.
    #[test]
    fn hidden_text_is_found() {
        let samples = [
            ("if access != \"user\u{202e} \u{2066}// admin\u{2069} \u{2066}\" {", super::BIDI),
            ("/*\u{202e} } \u{2066}if (admin)\u{2069} \u{2066} begin */", super::BIDI),
            ("x = 1 \u{202a}# y", super::BIDI),
            ("x = 1 \u{202b}# y", super::BIDI),
            ("x = 1 \u{202c}# y", super::BIDI),
            ("x = 1 \u{202d}# y", super::BIDI),
            ("x = 1 \u{2066}# y", super::BIDI),
            ("x = 1 \u{2067}# y", super::BIDI),
            ("x = 1 \u{2068}# y", super::BIDI),
            ("x = 1 \u{2069}# y", super::BIDI),
            ("# שלום \u{202e} x", super::BIDI),
            ("a\u{200e}b = 1", super::INVISIBLE),
            ("a\u{200f}b = 1", super::INVISIBLE),
            ("a\u{61c}b = 1", super::INVISIBLE),
            ("is\u{200b}Admin()", super::INVISIBLE),
            ("is\u{200c}Admin()", super::INVISIBLE),
            ("is\u{200d}Admin()", super::INVISIBLE),
            ("is\u{2060}Admin()", super::INVISIBLE),
            ("x\u{feff} = 1", super::INVISIBLE),
            ("const { timeout,\u{3164}} = req.query", super::INVISIBLE),
            ("x\u{ffa0} = 1", super::INVISIBLE),
            ("x\u{115f} = 1", super::INVISIBLE),
            ("// ok\u{e0049}\u{e0067}\u{e006e}", super::INVISIBLE),
            ("eval(decode('\u{fe01}\u{fe0a}\u{e0101}'))", super::INVISIBLE),
            ("if (p\u{430}ssword)", super::MIXED),
            ("\u{455}cope = 1", super::MIXED),
            ("adm\u{456}n(x)", super::MIXED),
            ("f\u{3bf}o()", super::MIXED),
        ];
        for (line, rule) in samples {
            check("src/a.js", line, &[rule]);
        }
    }

    /// Legitimate text in many languages that must not be reported.
    #[test]
    fn clean_text_in_many_scripts_is_not_reported() {
        let samples = [
            "// Grüße, façade, naïve, žluťoučký kůň",
            "// Привет, мир: метод возвращает JSON",
            "// Вернуть список USB-портов и IPшников",
            "// Καλημέρα κόσμε, Δt και λx",
            "// שלום עולם x = 1",
            "// مرحبا بالعالم x = 1",
            "// می\u{200c}خواهم این را ببینم",
            "// नमस्ते दुनिया क्\u{200d}ष",
            "// สวัสดีชาวโลก",
            "// 你好，世界",
            "// こんにちは世界 葛\u{e0100}城",
            "// 안녕하세요 세계",
            "// Xin chào thế giới",
            "// வணக்கம் உலகம்",
            "// გამარჯობა მსოფლიო",
            "// ❤\u{fe0f} ✔\u{fe0e} 1\u{fe0f}\u{20e3} 👩\u{200d}💻 🏳\u{fe0f}\u{200d}🌈",
            "// 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "let μs = 5; let Δρ = ρ2 - ρ1;",
        ];
        for line in samples {
            check("src/a.js", line, &[]);
        }
    }

    #[test]
    fn direction_marks_next_to_arabic_and_hebrew_are_minor_in_code_and_fine_in_translations() {
        let line = "title: \"\u{2067}שלום\u{2069} x\u{200f}\"";
        check("src/a.js", line, &[super::BIDI_MARK]);
        check("src/locales/he.json", line, &[]);
        check("src/locales/fa.json", "\"x\": \"\u{202b}{name} را\"", &[]);
        check("src/locales/en.json", "\"x\": \"\u{202b}{name}\"", &[super::BIDI]);
    }

    #[test]
    fn a_byte_order_mark_may_begin_a_file() {
        let text = "diff --git a/a.cs b/a.cs\n--- a/a.cs\n+++ b/a.cs\n@@ -0,0 +1,1 @@\n+\u{feff}using System;\n";
        assert_eq!(crate::text::scan(&diff::parse(text.as_bytes().to_vec()).0[0], &|_| true), []);
    }
}
