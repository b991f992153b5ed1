//! Headers within an `if`, for the response of its `return`.
//!
//! nginx inherits no `add_header` into a block that has one, and all of `more_set_headers`.

use sluice_ir::{Filter, HeaderModification, HeaderName, STATUSES_WITHOUT_ERROR};

use super::auth_variables::AuthVariables;
use super::changes::{HeaderChanges, HeaderOptions};
use crate::snippet::block::Block;
use crate::snippet::error::SnippetErrors;
use crate::snippet::syntax::tree::Directive;

/// Headers of a block's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::snippet) struct BlockHeaders {
    changes: HeaderModification,
    /// It has `add_header`, whatever the status.
    adds: bool,
    /// One is without `always`.
    differs: bool,
}

const EXPIRES: &str = "expires";

/// True if a directive is a header of a block.
pub(in crate::snippet) fn is_one(directive: &Directive) -> bool {
    matches!(
        directive.name(),
        "add_header" | "more_set_headers" | EXPIRES
    )
}

impl BlockHeaders {
    /// The headers of a block that answers; `None`: it has none.
    pub(in crate::snippet) fn read(
        block: &[Directive],
        options: HeaderOptions<'_>,
    ) -> Result<Option<Self>, SnippetErrors> {
        let all: Vec<&Directive> = block.iter().filter(|it| is_one(it)).collect();
        let Some(first) = all.first() else {
            return Ok(None);
        };
        if let Some(expires) = all.iter().find(|it| it.name() == EXPIRES) {
            return Err(expires.unsupported().into());
        }
        // Headers of what goes on would be those of pods' responses.
        let is_plain = |it: &&Directive| !is_one(it) && it.name() != "return";
        let status = block.iter().find_map(status);
        let (Some(status), None) = (status, block.iter().find(is_plain)) else {
            return Err(first.unsupported().into());
        };
        let is_sent = |directive: &Directive| {
            let words = directive.words();
            let is_added = words.first() != Some(&"add_header")
                || words.get(3) == Some(&"always")
                || STATUSES_WITHOUT_ERROR.contains(&status);
            is_added && !(status == 204 && is_about_content(&words))
        };
        BlockHeaders::new(block, is_sent, options).map(Some)
    }

    /// The headers of a block that has nothing else: those of whatever response its requests get.
    pub(in crate::snippet) fn alone(
        block: &[Directive],
        options: HeaderOptions<'_>,
    ) -> Result<Self, SnippetErrors> {
        BlockHeaders::new(block, |_| true, options)
    }

    fn new(
        block: &[Directive],
        is_sent: impl Fn(&Directive) -> bool,
        options: HeaderOptions<'_>,
    ) -> Result<Self, SnippetErrors> {
        let mut headers = HeaderChanges::new(AuthVariables::default(), options);
        let mut errors = SnippetErrors::default();
        let all = || block.iter().filter(|it| is_one(it));
        for directive in all().filter(|it| is_sent(it)) {
            let words = directive.words();
            let added = headers.add(&words, Block::LocationOfServer);
            errors.take(added.ok_or_else(|| directive.unsupported()))?;
            headers.check_size(directive)?;
        }
        errors.check()?;
        let differs = !headers.differences.is_empty();
        let (filters, _) = headers.finish(block)?;
        Ok(BlockHeaders {
            changes: modification(&filters),
            adds: all().any(|it| it.name() == "add_header"),
            differs,
        })
    }

    /// Headers that take the place of those of pods.
    pub(in crate::snippet) fn replaced(&self) -> impl Iterator<Item = &HeaderName> {
        let set = self.changes.set.iter().map(|header| &header.name);
        set.chain(&self.changes.remove)
    }

    /// nginx would not send them with errors.
    pub(in crate::snippet) fn differs(&self) -> bool {
        self.differs
    }

    /// All headers of the response: these, and what the block inherits from around it.
    pub(in crate::snippet) fn within(self, around: &[Filter]) -> HeaderModification {
        let mut all = modification(around);
        if self.adds {
            all.add.clear();
        }
        all.followed_by(self.changes)
    }
}

pub(in crate::snippet) fn modification(filters: &[Filter]) -> HeaderModification {
    let headers = filters.iter().find_map(Filter::response_headers);
    headers.cloned().unwrap_or_default()
}

/// `return CODE ...`, `return URL`
fn status(directive: &Directive) -> Option<u16> {
    match directive.words().as_slice() {
        ["return", status, ..] => Some(status.parse().unwrap_or(302)),
        _ => None,
    }
}

/// A response without content needs no type and no length of it; nginx sends none that `more_set_headers` says.
fn is_about_content(words: &[&str]) -> bool {
    let is_one = |name: &str| {
        ["content-type", "content-length"]
            .iter()
            .any(|one| name.trim().eq_ignore_ascii_case(one))
    };
    match words {
        ["add_header", name, ..] => is_one(name),
        ["more_set_headers", fields @ ..] => fields
            .iter()
            .all(|field| field.split_once(':').is_some_and(|(name, _)| is_one(name))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::Forwarded;

    use super::*;
    use crate::snippet::syntax::tree::directives;

    fn read(block: &str) -> Result<Option<BlockHeaders>, SnippetErrors> {
        let forwarded = Forwarded::default();
        let options = HeaderOptions::new(&forwarded);
        BlockHeaders::read(&directives(block).unwrap(), options)
    }

    fn names(block: &str, around: &str) -> Vec<String> {
        let around = read(&format!("{around} return 200;")).unwrap();
        let around = around.map(|it| vec![Filter::ResponseHeaders(it.changes)]);
        let all = read(block)
            .unwrap()
            .unwrap()
            .within(&around.unwrap_or_default());
        let set = all
            .set
            .iter()
            .map(|header| format!("={}", header.name.as_str()));
        let added = all
            .add
            .iter()
            .map(|added| format!("+{}", added.header.name.as_str()));
        set.chain(added).collect()
    }

    #[test]
    fn a_block_inherits_what_nginx_lets_it_inherit() {
        let around = "add_header X-A a; more_set_headers 'X-B: b';";
        for (block, all) in [
            ("add_header X-C c; return 200;", &["=X-B", "+X-C"][..]),
            (
                "more_set_headers 'X-C: c'; return 200;",
                &["=X-B", "=X-C", "+X-A"],
            ),
            ("add_header X-C c; return 403;", &["=X-B"]),
            ("add_header X-C c always; return 403;", &["=X-B", "+X-C"]),
            (
                "add_header Content-Type text/plain; add_header Content-Length 0; return 204;",
                &["=X-B"],
            ),
            (
                "more_set_headers 'Content-Type: text/plain' 'Content-Length: 0'; return 204;",
                &["=X-B", "+X-A"],
            ),
        ] {
            assert_eq!(names(block, around), all, "{block}");
        }
        assert_eq!(read("return 200;").unwrap(), None);
    }

    #[test]
    fn headers_are_those_of_a_response() {
        for bad in [
            "add_header X-A a;",
            "add_header X-A a; set $b 1; return 204;",
            "add_header X-A a; if ($b) { return 204; } return 403;",
            "add_header Content-Type text/plain; return 200 a;",
            "add_header X-A $upstream_cache_status; return 204;",
            "more_set_headers 'Location: a'; return 204;",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
