//! Authentication by name and password against a Secret: basic and digest.

use sluice_ir::{PasswordAuth, PasswordScheme, ReasonCode};
use sluice_syntax::value::Parsed;
use sluice_translate_engine::{Reporter, Severity, UserList};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

/// [`sluice_basic_auth::LONGEST_BCRYPT`] and [`sluice_basic_auth::MOST_ROUNDS`].
const HASHES: &str = "bcrypt (up to cost 13), apr1, MD5, SHA (up to 656000 rounds) or DES";
const SLOW: &str = "for basic, hashes of bcrypt up to cost 13, apr1, MD5, SHA-1, SHA-256 and SHA-512 up to 656000 rounds, and DES; \
                    slower ones are reported, and their users not let in";
const DIGESTS: &str = "user:realm:hash, with a hash of MD5 or SHA-256 in hexadecimal digits";
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
        .full(),
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
pub(super) fn passwords(view: &mut View<'_, '_>) -> Option<PasswordAuth> {
    let realm = view.read("auth-realm", realm).unwrap_or_default();
    let by_entry = view.read("auth-secret-type", by_entry).unwrap_or_default();
    let secret = view.text(SECRET);
    if view.text("auth-type").is_none() {
        // In ingress-nginx no password is asked for then.
        if secret.is_some() {
            view.not_honoured(SECRET, "auth-type is not set", "");
        }
        return None;
    }
    let scheme = view.read("auth-type", scheme)?;
    let Some(secret) = secret else {
        view.not_honoured("auth-type", "auth-secret is not set", "");
        return None;
    };
    match view
        .secrets
        .users(view.references, &view.namespace, secret, scheme, by_entry)
    {
        Ok((users, listed)) => {
            report_unreadable(listed, &mut view.reporter);
            report_realm(&realm, listed, &mut view.reporter);
            Some(PasswordAuth {
                scheme,
                realm,
                users,
                user_headers: Vec::new(),
            })
        }
        Err(error) => {
            view.not_honoured(SECRET, error, "");
            None
        }
    }
}

fn scheme(text: &str) -> Parsed<PasswordScheme> {
    match text {
        "basic" => Ok(PasswordScheme::Basic),
        "digest" => Ok(PasswordScheme::Digest),
        _ => Err("basic or digest".into()),
    }
}

fn report_unreadable(listed: &UserList, reporter: &mut Reporter<'_>) {
    let lines = &listed.unreadable;
    if lines.is_empty() {
        return;
    }
    let (count, shown) = (lines.len(), lines.iter().take(SHOWN));
    let shown = shown.cloned().collect::<Vec<_>>().join(", ");
    let more = if count > SHOWN { ", ..." } else { "" };
    let expected = match listed.file.scheme {
        PasswordScheme::Basic => format!("hashes of {HASHES}"),
        PasswordScheme::Digest => DIGESTS.to_owned(),
    };
    let reason = format!("expected {expected}, got {count} others: {shown}{more}");
    report_users(&reason, "these users cannot log in", reporter);
}

/// The realm is part of the hashes, so a file has users of its realms only.
fn report_realm(realm: &str, listed: &UserList, reporter: &mut Reporter<'_>) {
    let is_digest = listed.file.scheme == PasswordScheme::Digest;
    if is_digest && !listed.realms.contains(realm.as_bytes()) {
        let reason = format!("expected users of the realm {realm:?} (auth-realm), got none");
        report_users(&reason, "nobody can log in", reporter);
    }
}

fn report_users(reason: &str, consequence: &str, reporter: &mut Reporter<'_>) {
    let field = format!("annotation {SECRET}");
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
