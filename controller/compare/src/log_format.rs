//! Lines in a `log_format` of nginx, read back: the text between two variables ends the value of the first.

/// That of ingress-nginx, which says no host but an upstream.
const INGRESS_NGINX: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $rest"#;
/// `combined` of nginx with the host in front, as Apache's `vhost_combined`.
const HOST_COMBINED: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
/// The same with the host behind.
const COMBINED_HOST: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$host""#;

/// A format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

/// Values of a line by their variables.
pub(crate) type Values<'l> = Vec<(&'l str, String)>;

impl LogFormat {
    /// The formats that are tried where none is named.
    #[must_use]
    pub fn usual() -> Vec<LogFormat> {
        let texts = [INGRESS_NGINX, HOST_COMBINED, COMBINED_HOST];
        texts
            .iter()
            .filter_map(|text| Self::parse(text).ok())
            .collect()
    }

    /// Parses `$host "$request" ...`.
    ///
    /// # Errors
    /// When no request can be read with it: it names no URI, or neither host nor upstream, or two variables touch.
    pub fn parse(text: &str) -> Result<LogFormat, String> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some(after) = rest.strip_prefix('$') else {
                let end = rest.find('$').unwrap_or(rest.len());
                let (literal, others) = rest.split_at(end);
                parts.push(Part::Text(literal.to_owned()));
                rest = others;
                continue;
            };
            let (name, others) = variable(after)?;
            if matches!(parts.last(), Some(Part::Variable(_))) {
                return Err(format!(
                    "expected a text between variables, got \"${name}\" right behind another"
                ));
            }
            parts.push(Part::Variable(name.to_owned()));
            rest = others;
        }
        let format = LogFormat(parts);
        let has = |names: &[&str]| {
            names
                .iter()
                .any(|name| format.variables().any(|it| it == *name))
        };
        if !has(&["request", "request_uri", "uri"]) {
            return Err("expected $request or $request_uri in it".to_owned());
        }
        if !has(&[
            "host",
            "http_host",
            "server_name",
            "best_http_host",
            "proxy_upstream_name",
        ]) {
            return Err("expected $host or $proxy_upstream_name in it".to_owned());
        }
        Ok(format)
    }

    fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// `None`: the line is not in this format.
    pub(crate) fn read<'f>(&'f self, line: &str) -> Option<Values<'f>> {
        let (mut values, mut rest) = (Vec::new(), line);
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Variable(name) => {
                    let end = match parts.peek() {
                        Some(Part::Text(text)) => rest.find(text.as_str())?,
                        Some(Part::Variable(_)) | None => rest.len(),
                    };
                    let (value, others) = rest.split_at(end);
                    values.push((name.as_str(), unescaped(value)));
                    rest = others;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

fn variable(text: &str) -> Result<(&str, &str), String> {
    if let Some(braced) = text.strip_prefix('{') {
        return braced
            .split_once('}')
            .ok_or_else(|| "expected } behind ${".to_owned());
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    match text.split_at(end) {
        ("", _) => Err("expected the name of a variable behind $".to_owned()),
        found => Ok(found),
    }
}

/// nginx writes `"`, `\` and what is not printable as `\xHH`.
fn unescaped(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let code = others
            .get(..3)
            .filter(|code| *first == b'\\' && code.first() == Some(&b'x'))
            .and_then(|code| std::str::from_utf8(code.get(1..)?).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = others.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_by_the_texts_between_its_variables() {
        let format = LogFormat::parse(r#"${host}: "$request" [$http_user_agent]"#).unwrap();
        let values = format.read(r#"a.b: "GET /\x22x HTTP/1.1" [c d]"#).unwrap();
        let expected = [
            ("host", "a.b"),
            ("request", "GET /\"x HTTP/1.1"),
            ("http_user_agent", "c d"),
        ];
        let expected = expected.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(values, expected);
        assert_eq!(format.read("a.b: GET / HTTP/1.1"), None);
    }

    #[test]
    fn a_format_that_says_no_request_is_refused() {
        for (text, reason) in [
            ("$host", "$request"),
            ("$request", "$host"),
            ("$host$request", "between variables"),
            ("$host $", "behind $"),
            ("${host $request", "behind ${"),
        ] {
            let error = LogFormat::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert_eq!(LogFormat::usual().len(), 3);
    }

    proptest! {
        #[test]
        fn any_line_and_any_format_end(format in ".{0,60}", line in ".{0,200}") {
            for format in LogFormat::usual().into_iter().chain(LogFormat::parse(&format).ok()) {
                if let Some(values) = format.read(&line) {
                    prop_assert!(!values.is_empty());
                }
            }
        }
    }
}
