//! Guards: early exits and checks in front of other code.
//!
//! ```text
//! -    if (!user.isAdmin) return res.sendStatus(403);
//!      await remove(req.params.id);
//! ```

use std::ops::Range;

use tollgate_core::diff::LineKind;

use crate::change::path::Language;
use crate::change::syntax;
use crate::change::view::{File, View, names, patterns};

patterns! {
    CONDITION ["if", "unless"] = r"^(?:if|unless)\b";
    TRAILING [" if ", " unless "] = r"^(?:return|raise|redirect\w*|head|render|abort|throw)\b.* (?:if|unless) ";
    EXIT ["return", "throw", "raise", "abort", "panic", "bail!", "ensure!", "die", "exit", "redirect", "render", "head", "halt", "next("] = r"\b(?:return|throw|raise|abort\w*|panic!?|bail!|ensure!|die|exit|redirect\w*|render|head|halt)\b|\bnext\(";
    CHECKS = concat!(
        r"!|\bnot\b|\bunless\b|\b[Nn]ull\b|\bnil\b|\bNone\b|\bundefined\b|<|>|\blen\(|\blength\b",
        r"|(?i:is_?empty|blank\?|present\?)|(?i:valid)",
    );
    NARROWS ["assert "] = r"^assert isinstance\(|^assert \w+(?:\.\w+)* is not None$";
    PRESENT ["null", "undefined", "nil", "None"] = r"(?:!==? ?(?:null|undefined|nil)|is not None|!= nil)[):{ ]*(?:return|$)";
    ERROR = r"\b(?:err|error|e|ex|exc|ok)\b";
    CALL ["alid", "ALID", "erify", "ERIFY", "nsure", "NSURE", "uthor", "UTHOR", "uthentic", "UTHENTIC", "heck", "HECK", "equire", "EQUIRE", "ssert", "SSERT"] = concat!(
        r"^(?:await |self\.|this\.|\$this->)*(?:\w+(?:\.|::|->))*(?i:validate|verify|ensure|authorize",
        r"|authorise|authenticate|check_?(?:permission|access|auth|valid|bounds|csrf|role|owner|token",
        r"|signature)|require_?(?:login|admin|auth|permission|role|owner|non_?null|not_?null)",
        r"|assert_?(?:not_?null|permission|can|valid))\w*!?[ (].*",
    );
    ASSERT ["assert", "Preconditions", "checkNotNull", "require"] = concat!(
        r"^(?:assert(?:_eq|_ne)?!\(|assert[ (]|Preconditions\.check\w+\(|checkNotNull\(|requireNotNull\(",
        r"|require\(\w+ ?[!<>=.])",
    );
    MARK ["@", "[", "before_action", "protect_from_forgery", "load_and_authorize", "permission_classes", ".use("] = concat!(
        r"^(?:@(?:\w+\.)*(?:login_required|permission_required|user_passes_test|staff_member_required",
        r"|require_\w+|requires_\w+|jwt_required|auth_required|authenticated|csrf_protect|PreAuthorize",
        r"|PostAuthorize|Secured|RolesAllowed|UseGuards|Authorized|admin_required)\b|\[(?:Authorize",
        r"|ValidateAntiForgeryToken|RequirePermission)\b|before_action :(?:authenticate|authorize|require",
        r"|check|verify|ensure)\w*|protect_from_forgery|load_and_authorize_resource|permission_classes = ",
        r"|(?:app|router)\.use\((?:\w+\.)*(?i:csrf|helmet|auth|require|ensure|verify|is|protect)\w*)",
    );
    AUTH = concat!(
        r"(?i)is_?(?:admin|owner|staff|super_?user|moderator|authorized|authenticated|logged_?in)|permission",
        r"|\bauthori[sz]|unauthori[sz]ed|forbidden|access_?denied|\bauthenticat|csrf|login_required",
        r"|(?:not_?)?logged_?in\b|\bcan_?(?:edit|delete|view|read|write|manage|access|update|create)\b",
        r"|has_?(?:role|permission|access|scope)|\b40[13]\b|signature|PreAuthorize|Secured|RolesAllowed",
        r"|UseGuards|AntiForgery|jwt_required|auth_required|protect_from_forgery|require_?(?:login|admin",
        r"|auth|user)",
    );
}

/// A guard that the change removes.
pub(crate) struct Guard {
    /// The lines of the guard, all removed.
    pub(crate) lines: Range<usize>,
    /// True for an authorization check.
    pub(crate) is_auth: bool,
}

/// The guards that a change removes from a file while the guarded code stays.
pub(crate) fn removed<'v>(view: &'v View<'_>, file: &'v File<'_>) -> Vec<Guard> {
    if !file.stays() || !file.is_source() {
        return Vec::new();
    }
    let mut guards = Vec::new();
    // With added lines in the block the guard was rewritten, which the reviewer sees in the diff.
    for block in file.blocks.iter().filter(|block| file.added_in(block).next().is_none()) {
        let mut index = block.start;
        while index < block.end {
            match guard_at(file, index).filter(|guard| is_gone(view, file, guard)) {
                Some(guard) => {
                    index = guard.lines.end;
                    guards.push(guard);
                }
                None => index += 1,
            }
        }
    }
    guards
}

fn guard_at(file: &File<'_>, index: usize) -> Option<Guard> {
    let line = file.lines.get(index).filter(|line| line.is_removed() && !line.is_comment())?;
    let text = line.text.trim();
    if MARK.is_match(text) {
        return Some(Guard { lines: index..index + 1, is_auth: AUTH.is_match(text) });
    }
    if NARROWS.is_match(text) {
        return None;
    }
    let ruby_or_perl = file.language == Language::Ruby && TRAILING.is_match(text);
    let conditional = CONDITION.is_match(text);
    let call = (CALL.is_match(text) && text.ends_with([')', ';', '?', '!'])) || ASSERT.is_match(text);
    if !(ruby_or_perl || conditional || call) || syntax::in_test(file, index) {
        return None;
    }
    let lines = syntax::removed_statement(file, index)?;
    if lines.len() > 6 {
        return None;
    }
    let whole: String = file.lines[lines.clone()].iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    if conditional {
        let body = file.lines[lines.clone()].iter().skip(1).map(|line| line.text.trim());
        let first = body.clone().find(|text| !text.is_empty() && *text != "{");
        let exits = EXIT.is_match(text) || first.is_some_and(|first| EXIT.is_match(first)) && body.count() <= 4;
        if !exits
            || !(CHECKS.is_match(text) || AUTH.is_match(&whole))
            || ERROR.is_match(text)
            || (PRESENT.is_match(text) && !whole.contains("throw"))
        {
            return None;
        }
    }
    Some(Guard { is_auth: AUTH.is_match(&whole), lines })
}

/// True when the change does not add the guard elsewhere and the guarded code stays.
fn is_gone(view: &View<'_>, file: &File<'_>, guard: &Guard) -> bool {
    let head = &file.lines[guard.lines.start];
    let text = head.text.trim();
    let after = file.lines.get(guard.lines.end..file.near(guard.lines.start).end).unwrap_or_default();
    let Some(next) = after.iter().find(|line| !line.is_blank()) else { return false };
    let guarded = next.kind == LineKind::Context && next.indent() == head.indent() && !syntax::is_closer(next);
    if !guarded || syntax::is_branch(&next.text) {
        return false;
    }
    let body = &file.lines[guard.lines.start + 1..guard.lines.end];
    if view.adds_similar(text) || body.iter().any(|line| line.text.trim().len() > 24 && view.adds(&line.text)) {
        return false;
    }
    // The checks of a removed setting go with it.
    if names(text).any(|name| name.len() > 3 && !is_word(name) && view.loses_name(name)) {
        return false;
    }
    let subjects: Vec<&str> = names(text).filter(|name| name.len() > 2 && !is_word(name)).collect();
    if subjects.iter().all(|name| view.adds_name(name)) {
        return false;
    }
    // The guard must concern code that stays.
    guard.is_auth
        || MARK.is_match(text)
        || subjects
            .iter()
            .any(|name| after.iter().any(|line| !line.is_removed() && names(&line.text).any(|other| other == *name)))
}

/// True for keywords and built-in names.
fn is_word(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "return",
        "throw",
        "raise",
        "not",
        "null",
        "nil",
        "None",
        "undefined",
        "true",
        "false",
        "True",
        "False",
        "unless",
        "new",
        "this",
        "self",
        "len",
        "length",
        "await",
        "and",
        "assert",
        "require",
        "public",
        "isset",
        "empty",
    ];
    WORDS.contains(&name)
}
