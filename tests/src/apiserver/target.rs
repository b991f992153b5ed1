//! The target of a request: the parts of its path and query.

use super::kinds::{self, Kind};

/// One kind, in one namespace or all of them, or one object.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    query: Vec<(String, String)>,
}

impl Target {
    /// `None` for a path that the fake does not serve.
    pub(super) fn parse(path: &str, query: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let api_version = match parts.next()? {
            "api" => parts.next()?.to_owned(),
            "apis" => format!("{}/{}", parts.next()?, parts.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, plural, rest @ ..] if *plural != "status" => {
                (Some((*namespace).to_owned()), [&[*plural], rest].concat())
            }
            rest => (None, rest.to_vec()),
        };
        let (plural, rest) = rest.split_first()?;
        let kind = kinds::by_plural(&api_version, plural)?;
        let part = |n: usize| {
            rest.get(n)
                .filter(|part| !part.is_empty())
                .map(|part| (*part).to_owned())
        };
        Some(Target {
            kind,
            namespace,
            name: part(0),
            subresource: part(1),
            query: parameters(query),
        })
    }

    /// A parameter of the query, if it is there and not empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self
            .query
            .iter()
            .find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        matches!(self.parameter(name), Some("true" | "1"))
    }
}

pub(super) fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(key, value)| (decoded(key), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [
                    rest.next().unwrap_or_default(),
                    rest.next().unwrap_or_default(),
                ];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            byte => byte,
        };
        bytes.push(decoded);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fake_apiserver_paths_name_kind_namespace_object_and_subresource() {
        let parsed = |path: &str| {
            let target = Target::parse(path, "").unwrap();
            (
                target.kind.name,
                target.namespace,
                target.name,
                target.subresource,
            )
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(parsed("/api/v1/nodes"), ("Node", None, None, None));
        assert_eq!(
            parsed("/api/v1/namespaces/n"),
            ("Namespace", None, text("n"), None)
        );
        assert_eq!(
            parsed("/api/v1/namespaces/n/pods"),
            ("Pod", text("n"), None, None)
        );
        assert_eq!(
            parsed("/apis/networking.k8s.io/v1/namespaces/n/ingresses/a/status"),
            ("Ingress", text("n"), text("a"), text("status"))
        );
        assert!(Target::parse("/api/v1/unknowns", "").is_none());
    }

    #[test]
    fn fake_apiserver_queries_are_decoded() {
        let target = Target::parse(
            "/api/v1/secrets",
            "fieldSelector=type%21%3Da&watch=true&limit=",
        )
        .unwrap();
        assert_eq!(target.parameter("fieldSelector"), Some("type!=a"));
        assert!(target.is_set("watch"));
        assert_eq!(target.parameter("limit"), None);
    }
}
