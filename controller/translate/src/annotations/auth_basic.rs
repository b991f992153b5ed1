//! Basic authentication against a Secret.

use sluice_ir::Passwords;

use super::catalogue::{CLOSED, Group, Risk, Scope, Value, annotation};
use super::value::Parsed;
use super::view::View;
use crate::Severity;

pub(super) const GROUP: Group = Group {
    title: "Passwords",
    annotations: &[
        annotation("auth-type", Value::OneOf(&["basic", "digest"]), Risk::Low, Scope::Location)
            .guard()
            .partly("basic; digest closes the paths")
            .nginx(CLOSED),
        annotation("auth-secret", Value::Secret, Risk::Medium, Scope::Location)
            .guard()
            .partly("hashes of bcrypt up to cost 15, apr1, MD5, SHA-1, SHA-256, SHA-512 and DES")
            .nginx(CLOSED),
        annotation("auth-secret-type", Value::OneOf(&["auth-file", "auth-map"]), Risk::Low, Scope::Location)
            .guard()
            .full()
            .nginx(CLOSED),
        annotation("auth-realm", Value::Text, Risk::Medium, Scope::Location).guard().full().nginx(CLOSED),
    ],
};

/// Without a type nobody is asked, whatever the other annotations say.
pub(super) fn passwords(view: &mut View<'_, '_>) -> Option<Passwords> {
    const SECRET: &str = "auth-secret";
    let realm = view.read("auth-realm", realm).unwrap_or_default();
    let by_entry = view.read("auth-secret-type", by_entry).unwrap_or_default();
    let secret = view.text(SECRET);
    let Some(kind) = view.text("auth-type") else {
        if secret.is_some() {
            let reason = "expected an auth-type beside it, got none";
            view.note(SECRET, reason, "nobody is asked for a password, as by ingress-nginx");
        }
        return None;
    };
    match kind {
        "basic" => {}
        "digest" => {
            view.without("auth-type", "expected basic, got digest, which Sluice does not speak", "");
            return None;
        }
        _ => {
            view.refuse("auth-type", "basic");
            return None;
        }
    }
    let Some(secret) = secret else {
        view.without("auth-type", "expected an auth-secret beside it, got none", "");
        return None;
    };
    match view.secrets.users(view.references, &view.namespace, secret, by_entry) {
        Ok((users, listed)) => {
            let unreadable = listed.unreadable;
            if unreadable > 0 {
                let reason = format!(
                    "expected hashes of bcrypt (up to cost 15), apr1, MD5, SHA or DES, got {unreadable} others"
                );
                let field = format!("annotation {SECRET}");
                view.reporter.say(Severity::Warning, field, reason, "their users are not let in");
            }
            Some(Passwords { realm, users })
        }
        Err(fault) => {
            view.without(SECRET, fault, "");
            None
        }
    }
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
    if valid { Ok(text.to_owned()) } else { Err("plain text without quotes, backslashes and dollars".into()) }
}
