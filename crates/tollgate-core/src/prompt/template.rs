//! Request templates with variables in braces.
//!
//! ```text
//! Title: {featureTitle}
//!
//! {gitDiff}
//!
//! Answer in {{braces}}.
//! ```
//!
//! Variables are replaced in one pass and values are never expanded again, so a diff with `{gitDiff}` in it stays as it
//! is. An unknown name stays, too, and is reported. `{{` and `}}` stand for a brace.

/// The names that are replaced.
pub const VARIABLES: [&str; 4] = ["featureTitle", "featureDescription", "gitDiff", "featureSpec"];

/// The required variable.
const CHANGE: &str = "gitDiff";

/// Why a template is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is blank.
    #[error("a prompt must not be empty")]
    Empty,
    /// The template lacks the change.
    #[error("the template must contain `{{gitDiff}}`, or the reviewer would not see the change")]
    NoChange,
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text that stays.
    Text(&'a str),
    /// A name that is replaced.
    Variable(&'a str),
    /// An unknown name, without the braces.
    Unknown(&'a str),
}

/// Validates a template.
pub fn check(template: &str) -> Result<(), TemplateError> {
    if template.trim().is_empty() {
        return Err(TemplateError::Empty);
    }
    if !tokens(template).contains(&Token::Variable(CHANGE)) {
        return Err(TemplateError::NoChange);
    }
    Ok(())
}

/// Replaces the variables of a part of a template.
pub(super) fn expand_tokens(tokens: &[Token<'_>], value: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Text(plain) => text.push_str(plain),
            Token::Variable(name) => text.push_str(&value(name)),
            Token::Unknown(name) => text.extend(["{", name, "}"]),
        }
    }
    text
}

/// The unknown names, each once.
pub(super) fn unknown(tokens: &[Token<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for token in tokens {
        if let Token::Unknown(name) = token
            && !names.iter().any(|known| known == name)
        {
            names.push((*name).to_owned());
        }
    }
    names
}

/// Splits a template before the change.
pub(super) fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> (&'t [Token<'a>], &'t [Token<'a>]) {
    let at = tokens.iter().position(|token| *token == Token::Variable(CHANGE)).unwrap_or(tokens.len());
    tokens.split_at(at)
}

/// Tokenizes a template.
pub(super) fn tokens(template: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        if !before.is_empty() {
            tokens.push(Token::Text(before));
        }
        let (token, length) = at_brace(from);
        tokens.push(token);
        rest = &from[length..];
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest));
    }
    tokens
}

/// The token at a brace, and its length.
fn at_brace(text: &str) -> (Token<'_>, usize) {
    if text.starts_with("{{") || text.starts_with("}}") {
        return (Token::Text(&text[..1]), 2);
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.bytes().skip(1).take_while(is_part).count();
    let closed = text.as_bytes().get(1 + length) == Some(&b'}');
    let name = text.get(1..=length).filter(|name| closed && name.starts_with(|first: char| !first.is_ascii_digit()));
    let name = name.filter(|_| text.starts_with('{'));
    match name {
        Some(name) if VARIABLES.contains(&name) => (Token::Variable(name), name.len() + 2),
        Some(name) => (Token::Unknown(name), name.len() + 2),
        // A brace of another kind, as in JSON or code.
        None => (Token::Text(&text[..1]), 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The template with its variables replaced, and the unknown names.
    fn expand(template: &str, value: &dyn Fn(&str) -> String) -> (String, Vec<String>) {
        let tokens = tokens(template);
        (expand_tokens(&tokens, value), unknown(&tokens))
    }

    #[track_caller]
    fn check_expand(template: &str, expected: &str, names: &[&str]) {
        let (text, unknown) = expand(template, &|name| format!("<{name} {{gitDiff}}>"));
        assert_eq!(text, expected);
        assert_eq!(unknown, names);
    }

    #[test]
    fn values_are_never_expanded_again() {
        check_expand("{featureTitle}:{gitDiff}", "<featureTitle {gitDiff}>:<gitDiff {gitDiff}>", &[]);
    }

    #[test]
    fn unknown_names_stay_and_are_reported_once() {
        check_expand("{title} {gitdiff} {title}", "{title} {gitdiff} {title}", &["title", "gitdiff"]);
    }

    #[test]
    fn doubled_braces_stand_for_one() {
        check_expand("{{gitDiff}} {{{featureSpec}}}", "{gitDiff} {<featureSpec {gitDiff}>}", &[]);
    }

    #[test]
    fn braces_of_code_stay_as_they_are() {
        for text in ["{ \"a\": 1 }", "{", "}", "{}", "{a", "{a b}", "{1}", "if x { y }"] {
            check_expand(text, text, &[]);
        }
    }

    #[test]
    fn a_template_without_the_change_is_refused() {
        assert_eq!(check(" \n"), Err(TemplateError::Empty));
        for template in ["Review this", "{{gitDiff}}", "{gitdiff}", "{featureTitle}"] {
            assert_eq!(check(template), Err(TemplateError::NoChange), "{template}");
        }
        assert_eq!(check("{gitDiff}"), Ok(()));
        insta::assert_snapshot!(
            TemplateError::NoChange,
            @"the template must contain `{gitDiff}`, or the reviewer would not see the change"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_comes_back(text in "[{}a-z \n]{0,30}") {
            let escaped = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(expand(&escaped, &|_| "value".to_owned()), (text, Vec::new()));
        }
    }
}
