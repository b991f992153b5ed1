//! Basic authentication against a Secret.

use sluice_ir::{BasicAuth, ReasonCode};
use sluice_syntax::value::Parsed;
use sluice_translate_engine::{Cause, Reporter, Severity};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

/// [`sluice_basic_auth::LONGEST_BCRYPT`] and [`sluice_basic_auth::MOST_ROUNDS`].
const HASHES: &str = "bcrypt (up to cost 13), apr1, MD5, SHA (up to 656000 rounds) or DES";
const SLOW: &str = "hashes of bcrypt up to cost 13, apr1, MD5, SHA-1, SHA-256 and SHA-512 up to 656000 rounds, and DES; \
                    slower ones are reported, and their users not let in";
/// More places are not named in one report.
const SHOWN: usize = 5;

pub(super) const GROUP: Group = Group {
    title: "Passwords",
    annotations: &[
        annotation(
            "auth-type",
            Value::OneOf(&["basic", "digest"]),
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .partly("basic; with digest, paths answer 503"),
        annotation("auth-secret", Value::Secret, Risk::Medium, Scope::Location)
            .access_control()
            .partly(SLOW),
        annotation(
            "auth-secret-type",
            Value::OneOf(&["auth-file", "auth-map"]),
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
        annotation("auth-realm", Value::Text, Risk::Medium, Scope::Location)
            .access_control()
            .may_be_blank()
            .full(),
    ],
};

const SECRET: &str = "auth-secret";

/// Without a type no password is asked for, whatever the other annotations say.
pub(super) fn passwords(view: &mut View<'_, '_>) -> Option<BasicAuth> {
    let realm = view.read("auth-realm", realm).unwrap_or_default();
    let by_entry = view.read("auth-secret-type", by_entry).unwrap_or_default();
    let secret = view.text(SECRET);
    let Some(kind) = view.text("auth-type") else {
        // In ingress-nginx no password is asked for then.
        if secret.is_some() {
            view.not_honoured(SECRET, "auth-type is not set", "");
        }
        return None;
    };
    if !is_basic(kind, view) {
        return None;
    }
    let Some(secret) = secret else {
        view.not_honoured("auth-type", "auth-secret is not set", "");
        return None;
    };
    match view
        .secrets
        .users(view.references, &view.namespace, secret, by_entry)
    {
        Ok((users, listed)) => {
            report_unreadable(&listed.unreadable, &mut view.reporter);
            Some(BasicAuth { realm, users })
        }
        Err(error) => {
            view.not_honoured(SECRET, error, "");
            None
        }
    }
}

fn is_basic(kind: &str, view: &mut View<'_, '_>) -> bool {
    const NAME: &str = "auth-type";
    match kind {
        "basic" => return true,
        "digest" => {
            let reason = "digest authentication is not supported; use basic";
            view.not_honoured(NAME, Cause::new(ReasonCode::Unsupported, reason), "");
        }
        _ => view.reject(NAME, "basic"),
    }
    false
}

fn report_unreadable(hashes: &[String], reporter: &mut Reporter<'_>) {
    if hashes.is_empty() {
        return;
    }
    let (count, shown) = (hashes.len(), hashes.iter().take(SHOWN));
    let shown = shown.cloned().collect::<Vec<_>>().join(", ");
    let more = if count > SHOWN { ", ..." } else { "" };
    let reason = format!("expected hashes of {HASHES}, got {count} others: {shown}{more}");
    let field = format!("annotation {SECRET}");
    let consequence = "these users cannot log in";
    reporter.report(
        ReasonCode::InvalidRef,
        Severity::Warning,
        field,
        reason,
        consequence,
    );
}

fn by_entry(text: &str) -> Parsed<bool> {
    match text {
        "auth-file" => Ok(false),
        "auth-map" => Ok(true),
        _ => Err("auth-file or auth-map".into()),
    }
}

/// It is quoted, and never read: in ingress-nginx the realm `off` lets everybody in.
fn realm(text: &str) -> Parsed<String> {
    let allowed = |byte: u8| (b' '..=b'~').contains(&byte) && !b"\"\\$".contains(&byte);
    let valid = text.len() <= 256 && text.bytes().all(allowed);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("plain text without quotes, backslashes and dollars".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_slow_hashes_is_so() {
        for text in [HASHES, SLOW] {
            assert!(
                text.contains(&format!("up to cost {}", sluice_basic_auth::LONGEST_BCRYPT)),
                "{text}"
            );
            assert!(
                text.contains(&format!("up to {} rounds", sluice_basic_auth::MOST_ROUNDS)),
                "{text}"
            );
        }
    }
}
