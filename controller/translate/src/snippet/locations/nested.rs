//! `location` blocks of a `configuration-snippet`: nginx nests them in the location of the path, and they have no pods.
//!
//! nginx chooses one of them before it runs what is around them, so they are conditions in front of all that:
//!
//! ```text
//!   location /metrics { return 403; }          if ($uri ~ ^/metrics) { return 403; }
//!   location = /a { add_header X-A b; }        if ($uri = /a) { add_header X-A b; return 404; }
//!   location ~* \.php$ { deny all; }           if ($uri ~* \.php$) { return 403; }
//! ```

use sluice_ir::RegexScope;

use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::locations::{LocationPath, MAX_LOCATIONS};
use crate::snippet::syntax::tree::Directive;

const NAME: &str = "location";
const NOT_FOUND: &str = "404";
const FORBIDDEN: &str = "403";

/// One of them.
struct Nested {
    path: LocationPath,
    condition: Directive,
}

/// The conditions that are locations, and the directives around them.
pub(in crate::snippet) fn split(
    all: Vec<Directive>,
) -> Result<(Vec<Directive>, Vec<Directive>), SnippetErrors> {
    let (found, around): (Vec<_>, Vec<_>) = all.into_iter().partition(is_one);
    let Some(first) = found.first() else {
        return Ok((Vec::new(), around));
    };
    if let (Some(rewrite), [_], []) = (as_rewrite(first), found.as_slice(), around.as_slice()) {
        return Ok((Vec::new(), vec![rewrite]));
    }
    first.at_most(found.len(), MAX_LOCATIONS, "locations")?;
    // It looks for a location once more.
    if let Some(rewrite) = around.iter().find(|it| looks_again(it)) {
        let reason = "rewrite to another location is not supported beside a nested location";
        return Err(rewrite.because(reason).into());
    }
    let mut errors = SnippetErrors::default();
    let mut nested: Vec<Nested> = Vec::new();
    for directive in &found {
        let Some(one) = errors.take(nested_location(directive))? else {
            continue;
        };
        if nested
            .iter()
            .any(|other| other.path.is_duplicate_of(&one.path))
        {
            return Err(SnippetError::new(directive.line, "duplicate location").into());
        }
        nested.push(one);
    }
    errors.check()?;
    let conditions = in_order(nested).ok_or_else(|| {
        let reason = "location ^~ is not supported beside patterns and a longer location below it";
        first.because(reason)
    })?;
    Ok((conditions, around))
}

fn is_one(directive: &Directive) -> bool {
    directive.name() == NAME && directive.block.is_some()
}

/// `location = /a { rewrite ^ /b last; }` alone: `rewrite ^/a$ /b last`.
fn as_rewrite(location: &Directive) -> Option<Directive> {
    let words = location.words();
    let LocationPath::Exact(path) = LocationPath::parse(words.get(1..)?)? else {
        return None;
    };
    let [rewrite] = location.block.as_deref()? else {
        return None;
    };
    let words = rewrite.words();
    let (["rewrite", "^" | ".*" | "^.*$" | "^(.*)$", to, "last"], None) =
        (words.as_slice(), &rewrite.block)
    else {
        return None;
    };
    let pattern = format!("^{}$", sluice_pattern::escape(&path));
    let words = ["rewrite", &pattern, *to, "last"].map(str::to_owned);
    (!to.contains('$')).then(|| rewrite.without_block(words.to_vec()))
}

fn looks_again(directive: &Directive) -> bool {
    let words = directive.words();
    words.first() == Some(&"rewrite")
        && !matches!(words.last(), Some(&("break" | "redirect" | "permanent")))
}

fn nested_location(directive: &Directive) -> Result<Nested, SnippetErrors> {
    let unsupported = || directive.unsupported();
    let words = directive.words();
    let path = LocationPath::parse(words.get(1..).unwrap_or_default());
    let path = path.ok_or_else(unsupported)?;
    let (operator, operand) = match &path {
        LocationPath::Exact(text) => ("=", text.clone()),
        LocationPath::PrefixBeforePatterns(text) | LocationPath::Prefix(text) => {
            ("~", format!("^{}", sluice_pattern::escape(text)))
        }
        LocationPath::Pattern(regex) if regex.scope == RegexScope::AnywhereInAnyCase => {
            ("~*", regex.pattern.clone())
        }
        LocationPath::Pattern(regex) => ("~", regex.pattern.clone()),
    };
    let condition = ["if", "($uri", operator, &format!("{operand})")].map(str::to_owned);
    let block = block(directive)?;
    let condition = directive.in_other_words(condition.to_vec(), block);
    Ok(Nested { path, condition })
}

/// The block as one that answers all its requests: those that no `return` does are not found, as there are no files. Access is asked
/// for behind every `return`.
fn block(location: &Directive) -> Result<Vec<Directive>, SnippetErrors> {
    let all = location.block.as_deref().unwrap_or_default();
    let is_access = |it: &&Directive| matches!(it.name(), "allow" | "deny");
    let status = status(all.iter().filter(is_access))?;
    let mut block: Vec<_> = all.iter().filter(|it| !is_access(it)).cloned().collect();
    let is_answered = block.iter().any(|it| it.name() == "return");
    if !is_answered {
        let words = ["return", status].map(str::to_owned);
        block.push(location.without_block(words.to_vec()));
    }
    Ok(block)
}

/// Status of a block that answers no request itself. An address is not compared here, so the first line that does is the one that
/// is not supported; a second line for all only where there is none.
fn status<'a>(access: impl Iterator<Item = &'a Directive>) -> Result<&'static str, SnippetError> {
    let access: Vec<_> = access.collect();
    let is_for_all = |it: &&&Directive| matches!(it.words().as_slice(), [_, "all"]);
    let of_addresses = access.iter().find(|it| !is_for_all(it));
    match (of_addresses.or(access.get(1)), access.first()) {
        (Some(other), _) => Err(other.unsupported()),
        (None, Some(first)) if first.name() == "deny" => Ok(FORBIDDEN),
        (None, _) => Ok(NOT_FOUND),
    }
}

/// As nginx finds them: exact, then patterns, then the longest prefix. `None`: no order is theirs.
fn in_order(nested: Vec<Nested>) -> Option<Vec<Directive>> {
    let has_patterns = nested
        .iter()
        .any(|it| matches!(it.path, LocationPath::Pattern(_)));
    let plain: Vec<String> = nested
        .iter()
        .filter_map(|it| plain_prefix(&it.path))
        .collect();
    let is_below = |text: &str| {
        let is_longer = |other: &String| other.len() > text.len() && other.starts_with(text);
        plain.iter().any(is_longer)
    };
    let mut ordered = Vec::new();
    for (position, Nested { path, condition }) in nested.into_iter().enumerate() {
        let length = path.prefix().map_or(0, str::len);
        let rank = match &path {
            LocationPath::Exact(_) => (0, position),
            LocationPath::PrefixBeforePatterns(text) if has_patterns && is_below(text) => {
                return None;
            }
            LocationPath::PrefixBeforePatterns(_) if has_patterns => (1, usize::MAX - length),
            LocationPath::Pattern(_) => (2, position),
            LocationPath::PrefixBeforePatterns(_) | LocationPath::Prefix(_) => {
                (3, usize::MAX - length)
            }
        };
        ordered.push((rank, condition));
    }
    ordered.sort_by_key(|(rank, _)| *rank);
    Some(
        ordered
            .into_iter()
            .map(|(_, condition)| condition)
            .collect(),
    )
}

fn plain_prefix(path: &LocationPath) -> Option<String> {
    match path {
        LocationPath::Prefix(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::syntax::tree::directives;

    fn shown(text: &str) -> Result<Vec<String>, SnippetErrors> {
        let (conditions, around) = split(directives(text)?)?;
        let shown = |all: &[Directive]| {
            let all = all.iter().map(|it| it.words.join(" "));
            all.collect::<Vec<_>>().join("; ")
        };
        let conditions = conditions.iter().map(|it| {
            let block = it.block.as_deref().unwrap_or_default();
            format!("{} {{ {} }}", it.words.join(" "), shown(block))
        });
        Ok(conditions.chain([shown(&around)]).collect())
    }

    #[test]
    fn locations_are_conditions_in_the_order_in_which_nginx_finds_them() {
        let text = "more_set_headers 'X-A: b';\nlocation /a { return 401; }\nlocation /a/b.c { deny all; }\n\
                    location ~* \\.php$ { allow all; }\nlocation = /x { add_header X-B c; }\nlocation ^~ /s { if ($args) { return 400; } }\n\
                    location /css { }";
        let expected = [
            "if ($uri = /x) { add_header X-B c; return 404 }",
            "if ($uri ~ ^/s) { if ($args); return 404 }",
            "if ($uri ~* \\.php$) { return 404 }",
            "if ($uri ~ ^/a/b\\.c) { return 403 }",
            "if ($uri ~ ^/css) { return 404 }",
            "if ($uri ~ ^/a) { return 401 }",
            "more_set_headers X-A: b",
        ];
        assert_eq!(shown(text).unwrap(), expected);
    }

    #[test]
    fn without_locations_nothing_is_another() {
        assert_eq!(shown("rewrite ^ /a;").unwrap(), ["rewrite ^ /a"]);
    }

    #[test]
    fn a_location_that_only_leads_on_is_a_rewrite() {
        let text = "location = /robots.txt { rewrite ^ /robots last; }";
        assert_eq!(
            shown(text).unwrap(),
            ["rewrite ^/robots\\.txt$ /robots last"]
        );
        let beside = format!("{text} location /a {{ }}");
        assert!(shown(&beside).is_ok_and(|all| all.len() == 3));
    }

    /// Of all orders of the three.
    #[test]
    fn an_address_is_what_is_wrong_and_not_the_line_for_all() {
        for (access, wrong) in [
            (
                "allow 10.0.0.0/24;\ndeny all;",
                "line 2: `allow 10.0.0.0/24`",
            ),
            (
                "deny all;\nallow 10.0.0.0/24;",
                "line 3: `allow 10.0.0.0/24`",
            ),
            ("deny 10.0.0.1;\nallow all;", "line 2: `deny 10.0.0.1`"),
            ("allow all;\ndeny ::1;", "line 3: `deny ::1`"),
            (
                "allow ::1;\nallow 10.0.0.1;\ndeny all;",
                "line 2: `allow ::1`",
            ),
            ("deny all;\ndeny all;", "line 3: `deny all`"),
        ] {
            let text = format!("location /admin {{\n{access} }}");
            let errors = shown(&text).unwrap_err().reason(|_| String::new());
            assert!(errors.starts_with(wrong), "{text}: {errors}");
        }
    }

    #[test]
    fn what_nginx_would_find_otherwise_is_refused() {
        for bad in [
            "location /a { return 403; } location ^~ /a { return 404; }",
            "location /a { allow 192.0.2.1; deny all; }",
            "location /a { deny 192.0.2.1; }",
            "location @a { return 403; }",
            "location /a { return 403; } rewrite ^ /b last;",
            "location /a { return 403; } rewrite ^ /b;",
            "location ^~ /a { return 403; } location /a/b { return 404; } location ~ c { return 400; }",
            "location ~ (?=a) { return 403; }",
        ] {
            assert!(shown(bad).is_err(), "{bad}");
        }
    }
}
