//! A page of metrics in Prometheus' text format.

/// One line.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    labels: &'a str,
    /// The value.
    pub(crate) value: f64,
}

/// Lines of one metric of the controller's. What is no such line is passed over.
pub(crate) fn samples<'a>(page: &'a str, name: &'a str) -> impl Iterator<Item = Sample<'a>> {
    page.lines().filter_map(move |line| {
        let rest = line.strip_prefix("nginx_ingress_controller_")?;
        let rest = rest.strip_prefix(name)?;
        let (labels, value) = match rest.strip_prefix('{') {
            // Values of labels may have braces in them.
            Some(rest) => rest.rsplit_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        let value = value.split(' ').next()?.parse().ok()?;
        Some(Sample { labels, value })
    })
}

impl Sample<'_> {
    /// Value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<String> {
        let mut rest = self.labels;
        loop {
            let (found, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if found == name {
                return Some(value);
            }
            rest = after.strip_prefix(',')?;
        }
    }
}

/// A value up to its closing quotation mark, and the text behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_prometheus_writes_them() {
        let page = "\
# HELP nginx_ingress_controller_refused_ingress text
nginx_ingress_controller_refused_ingress{ingress=\"a,b=\\\"} 7\\\\\\n\",namespace=\"shop\"} 1
nginx_ingress_controller_refused_ingress_total 3
nginx_ingress_controller_refused_ingress 2.5 1700000000
nginx_ingress_controller_refused_ingress{broken
";
        let found: Vec<_> = samples(page, "refused_ingress").collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].label("ingress").unwrap(), "a,b=\"} 7\\\n");
        assert_eq!(found[0].label("namespace").unwrap(), "shop");
        assert_eq!(found[0].label("class"), None);
        assert_eq!((found[0].value, found[1].value), (1.0, 2.5));
    }

    #[test]
    fn a_page_of_anything_has_no_samples() {
        for page in [
            "",
            "<html>",
            "nginx_ingress_controller_x{a=\"} 1",
            "\u{0}\n\n{",
        ] {
            for sample in samples(page, "x") {
                assert_eq!(sample.label("a"), None, "{page}");
            }
        }
    }
}
