//! The pages that are written from the code, and are never older than it: `UPDATE_DOCS=1` writes them.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_tests::artifacts;
use sluice_translate::annotations::{Annotation, GROUPS, Role, Support};
use sluice_translate::global::KEYS;

#[test]
fn the_pages_say_what_the_code_does() -> Result<()> {
    compare("docs/annotations.md", &annotations()?)?;
    compare("docs/configmap.md", &config_map()?)
}

fn compare(page: &str, made: &str) -> Result<()> {
    let path = artifacts::repository().join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&path, made).with_context(|| page.to_owned());
    }
    let found = fs::read_to_string(&path).with_context(|| page.to_owned())?;
    let differences = StrComparison::new(&found, made);
    ensure!(found == made, "{page} is stale; `cargo xtask docs` writes it\n{differences}");
    Ok(())
}

const ANNOTATIONS: &str = "\
# Annotations

<!-- Written by `cargo xtask docs`. -->

Every annotation of ingress-nginx (`nginx.ingress.kubernetes.io/...`, or another prefix with `--annotations-prefix`), and
what becomes of it. None is ignored: one that is not supported is reported by name, as are values that cannot be read
and names that do not exist. A **guard** decides who may come in: when it cannot be honoured, the paths of its Ingress
answer 503. Annotations whose risk is above `annotations-risk-level` of the ConfigMap (High) are refused the same way.
";

fn annotations() -> Result<String> {
    let mut page = ANNOTATIONS.to_owned();
    for group in GROUPS {
        write!(
            page,
            "\n## {}\n\n| annotation | value | risk | Envoy | nginx |\n|---|---|---|---|---|\n",
            group.title
        )?;
        for annotation in group.annotations {
            let Annotation { value, risk, envoy, nginx, .. } = annotation;
            let (envoy, nginx) = (support(envoy), support(nginx));
            writeln!(page, "| {} | {value} | {risk} | {envoy} | {nginx} |", name(annotation))?;
        }
    }
    Ok(page)
}

fn name(annotation: &Annotation) -> String {
    let mut name = format!("`{}`", annotation.name);
    if annotation.role == Role::Guard {
        name += " **guard**";
    }
    if let Some(other) = annotation.alias_of {
        name += &format!(" (older name of `{other}`)");
    }
    name
}

fn support(support: &Support) -> String {
    match support {
        Support::Full => "supported".to_owned(),
        Support::Partly(difference) | Support::Differs(difference) => format!("partly: {difference}"),
        Support::Needless(reason) => format!("nothing to do: {reason}"),
        Support::Reported(advice) => format!("reported: {advice}"),
    }
}

const CONFIG_MAP: &str = "\
# The ConfigMap

<!-- Written by `cargo xtask docs`. -->

Every key of ingress-nginx's ConfigMap (`--configmap NAMESPACE/NAME`), and what becomes of it. A key that is not
supported is reported by name when it says something other than its default; so is a value that cannot be read, and a
name that does not exist.

| key | default | Envoy |
|---|---|---|
";

fn config_map() -> Result<String> {
    let mut page = CONFIG_MAP.to_owned();
    for key in KEYS {
        let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        writeln!(page, "| `{}` | {default} | {} |", key.name, support(&key.envoy))?;
    }
    Ok(page)
}
