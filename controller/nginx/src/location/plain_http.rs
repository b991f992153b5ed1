//! Names at which plain http is not redirected.

use sluice_ir::ServerName;

use crate::conf::{Word, word};

/// Scheme and host of requests over plain http at other names than these; `None` is at every name.
pub(crate) fn but_at(names: &[ServerName]) -> Option<Word> {
    let patterns: Vec<String> = names.iter().map(pattern).collect();
    (!patterns.is_empty()).then(|| word(format!("^http (?!(?:{})$)", patterns.join("|"))))
}

/// A name has nothing but a dot that means something in a pattern.
fn pattern(name: &ServerName) -> String {
    let escaped = |name: &str| name.replace('.', r"\.");
    match name {
        ServerName::CatchAll => ".*".to_owned(),
        ServerName::Exact(host) => escaped(host.as_str()),
        ServerName::Wildcard(suffix) => format!(r"[\w-]+\.{}", escaped(suffix.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_name_is_redirected_and_a_wildcard_is_one_label() {
        assert!(but_at(&[]).is_none());
        let names = ["a.test", "*.b.test"].map(|name| ServerName::parse(name).unwrap());
        let plain = but_at(&names).unwrap().0.to_string();
        assert_eq!(plain, r#""^http (?!(?:a\\.test|[\\w-]+\\.b\\.test)$)""#);
    }
}
