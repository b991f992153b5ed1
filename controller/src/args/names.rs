//! Flags that have to be names: `--annotations-prefix`, `--watch-namespace`.

use sluice_syntax::is_dns_name;

/// Without the slash that some write at its end. No annotation can begin with anything but a DNS name.
pub(super) fn annotations_prefix(text: &str) -> Result<String, String> {
    let prefix = text.strip_suffix('/').unwrap_or(text);
    let is_prefix = is_dns_name(&prefix.to_ascii_lowercase());
    is_prefix
        .then(|| prefix.to_owned())
        .ok_or_else(|| "expected a DNS name, such as nginx.ingress.kubernetes.io".to_owned())
}

/// Empty is all, as in ingress-nginx.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let is_name = is_dns_name(text) && !text.contains('.');
    (is_name || text.is_empty())
        .then(|| text.to_owned())
        .ok_or_else(|| "expected a namespace, a DNS label such as team-a".to_owned())
}

impl super::Translation {
    /// The namespace to serve; `None`: all.
    pub(crate) fn watched(&self) -> Option<&str> {
        let watched = self.watch_namespace.as_deref();
        watched.filter(|namespace| !namespace.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Args, Command};

    #[test]
    fn a_prefix_of_annotations_is_one_that_an_object_can_have() {
        let prefix = |flag: &str| {
            let args = Args::parse_from_words(["sluice", "run", flag]).ok()?;
            let Command::Run(run) = args.command else {
                panic!("not `run`")
            };
            Some(run.translation.annotations_prefix)
        };
        for (flag, expected) in [
            ("--annotations-prefix=ours.example", Some("ours.example")),
            ("--annotations-prefix=ours.example/", Some("ours.example")),
            ("--annotations-prefix=Ours", Some("Ours")),
            ("--annotations-prefix=", None),
            ("--annotations-prefix=/", None),
            ("--annotations-prefix=ours.example//", None),
            ("--annotations-prefix=ours example", None),
        ] {
            assert_eq!(prefix(flag).as_deref(), expected, "{flag}");
        }
    }

    #[test]
    fn a_namespace_is_one_that_there_can_be() {
        for (flag, is_taken) in [
            ("--watch-namespace=team-a", true),
            ("--watch-namespace=", true),
            ("--watch-namespace=Foo_x", false),
            ("--watch-namespace=a.b", false),
            ("--watch-namespace=a,b", false),
        ] {
            let args = Args::parse_from_words(["sluice", "run", flag]);
            assert_eq!(args.is_ok(), is_taken, "{flag}");
        }
    }
}
