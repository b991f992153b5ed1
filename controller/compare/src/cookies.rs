//! `Set-Cookie` (RFC 6265): attributes are the data plane's or the upstream's promise, in any order and case.

use crate::text::of_bytes;

/// A cookie that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) name: String,
    pub(crate) value: Vec<u8>,
    /// In lower case, with their values, sorted.
    attributes: Vec<(String, String)>,
}

impl Cookie {
    /// As user agents read it: nothing is refused.
    pub(crate) fn parse(header: &[u8]) -> Cookie {
        let mut parts = header.split(|byte| *byte == b';');
        let (name, value) = pair(parts.next().unwrap_or_default());
        let attributes = parts.map(pair).filter(|(name, _)| !name.is_empty());
        let mut attributes: Vec<(String, String)> = attributes
            .map(|(name, value)| (of_bytes(name).to_ascii_lowercase(), of_bytes(value)))
            .collect();
        attributes.sort();
        attributes.dedup();
        // The date is a second later with each response, and user agents do not read it beside Max-Age.
        if attributes.iter().any(|(name, _)| name == "max-age") {
            attributes.retain(|(name, _)| name != "expires");
        }
        Cookie {
            name: String::from_utf8_lossy(name).into_owned(),
            value: value.to_vec(),
            attributes,
        }
    }

    /// Attributes in one order.
    pub(crate) fn attributes(&self) -> String {
        let attributes = self.attributes.iter().map(|(name, value)| {
            let value = match name.as_str() {
                "samesite" | "domain" => value.to_ascii_lowercase(),
                _ => value.clone(),
            };
            match value.is_empty() {
                true => name.clone(),
                false => format!("{name}={value}"),
            }
        });
        let attributes: Vec<String> = attributes.collect();
        match attributes.is_empty() {
            true => "no attributes".to_owned(),
            false => attributes.join("; "),
        }
    }
}

fn pair(part: &[u8]) -> (&[u8], &[u8]) {
    let equals = part.iter().position(|byte| *byte == b'=');
    let (name, value) = match equals {
        Some(at) => (part.get(..at), part.get(at + 1..)),
        None => (Some(part), None),
    };
    (
        name.unwrap_or_default().trim_ascii(),
        value.unwrap_or_default().trim_ascii(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_a_set_and_the_value_is_none_of_them() {
        let one = Cookie::parse(b"a=b=c; Path=/; HttpOnly; SameSite=Lax;  ");
        let other = Cookie::parse(b"a=d; samesite=lax;httponly ;path=/");
        assert_eq!(
            (one.name.as_str(), one.value.as_slice()),
            ("a", &b"b=c"[..])
        );
        assert_eq!(one.attributes(), "httponly; path=/; samesite=lax");
        assert_eq!(one.attributes(), other.attributes());
        assert_eq!(Cookie::parse(b"a").attributes(), "no attributes");
    }

    #[test]
    fn a_date_counts_only_without_a_duration() {
        let with = Cookie::parse(b"a=b; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Max-Age=60");
        assert_eq!(with.attributes(), "max-age=60");
        let without = Cookie::parse(b"a=b; Expires=Wed, 21 Oct 2015 07:28:00 GMT");
        assert!(without.attributes().starts_with("expires=Wed"));
    }
}
