//! Rewrites of responses, in nginx's directives.

use sluice_ir::{Replacement, ResponseRewrite, Substitution, SubstitutionPart};
use sluice_pattern::{Subject, pcre};

use crate::conf::{Text, Value, word};
use crate::expression::expression;
use crate::location::module::Module;

/// `proxy_redirect` and the like: from what, to what.
pub(crate) type Replacing = (&'static str, Value, Value);

/// Only `proxy` has them.
pub(crate) fn replacing(response_rewrite: &ResponseRewrite, module: Module) -> Vec<Replacing> {
    let ResponseRewrite {
        redirects,
        cookie_domains,
        cookie_paths,
    } = response_rewrite;
    let all = [
        ("proxy_redirect", redirects),
        ("proxy_cookie_domain", cookie_domains),
        ("proxy_cookie_path", cookie_paths),
    ];
    all.into_iter()
        .filter(|_| module == Module::Proxy)
        .filter_map(|(name, replaced)| Some(one(name, replaced.as_ref()?)))
        .collect()
}

fn one(name: &'static str, replaced: &Replacement) -> Replacing {
    match replaced {
        Replacement::Text { from, to } => {
            let text = |text| expression(text).quoted();
            (name, text(from), text(to))
        }
        Replacement::Pattern {
            pattern,
            any_case,
            to,
            ..
        } => {
            let subject = if *any_case {
                Subject::TextInAnyCase
            } else {
                Subject::Text
            };
            // Alternatives are in a group of their own.
            let written = pcre(pattern, subject, false);
            (name, word(format!("~{written}")), substitution(to).quoted())
        }
    }
}

fn substitution(to: &Substitution) -> Text {
    to.0.iter().fold(Text::default(), |text, part| match part {
        SubstitutionPart::Text(part) => text.append(expression(part)),
        SubstitutionPart::Group(group) => text.group(*group),
    })
}
