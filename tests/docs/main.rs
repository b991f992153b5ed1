//! The pages that are written from the code, and are never older than it: `UPDATE_DOCS=1` writes them.

mod access_log;
mod commands;
mod flags;
mod quickstart;
mod scripts;
mod snippets;
mod system;
mod variables;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_filter_config::Plain;
use sluice_ir::ReasonCode;
use sluice_tests::artifacts;
use sluice_tests::recordings::file::Recording;
use sluice_tests::recordings::rules::Rules;
use sluice_translate::annotations::{Annotation, GROUPS, Role};
use sluice_translate::global::KEYS;
use sluice_translate::{LIMITS, Limit, Support, Supports};

#[test]
fn the_pages_say_what_the_code_does() -> Result<()> {
    compare("docs/annotations.md", &annotations()?)?;
    compare("docs/configmap.md", &config_map()?)?;
    compare("docs/access-log.md", &access_log::page()?)?;
    compare("docs/flags.md", &flags::page()?)?;
    compare("docs/hash-variables.md", &hash_variables()?)?;
    compare("docs/snippets.md", &snippets::page()?)?;
    compare("docs/variables.md", &variables::page()?)?;
    compare("docs/system.md", &system::page()?)
}

#[test]
fn every_command_has_its_flags_documented() -> Result<()> {
    flags::every_command_is_there()
}

#[test]
fn reason_codes_are_documented_with_their_condition() -> Result<()> {
    let page = fs::read_to_string(artifacts::repository().join("docs/reports.md"))?;
    for code in ReasonCode::ALL {
        let row = format!("| `{code}` | {:?} | {}", code.condition(), code.meaning());
        let page = page.replace("[limit](limits.md)", "limit");
        ensure!(page.contains(&row), "docs/reports.md has no row {row}");
    }
    Ok(())
}

/// The pages of all data planes, and of each that has rules of its own.
#[test]
fn pages_of_differences_list_the_rules_of_recordings() -> Result<()> {
    const HEAD: &str = "| difference |\n|---|\n";
    let folder = artifacts::repository().join("tests/recordings");
    let requests = ["matrix.json", "hostile.json"].map(|file| requests(&folder.join(file)));
    let requests: usize = requests.into_iter().sum::<Result<_>>()?;
    let said = format!("{},{:03} requests", requests / 1000, requests % 1000);
    let page = fs::read_to_string(artifacts::repository().join("docs/differences.md"))?;
    ensure!(
        page.contains(&said),
        "docs/differences.md does not say {said}"
    );
    let rules = folder.join("accepted.toml");
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for rule in Rules::read(&rules)?.rules {
        let of = rule.data_plane.map(|name| format!("-{name}"));
        let page = format!("docs/differences{}.md", of.unwrap_or_default());
        writeln!(pages.entry(page).or_default(), "| {} |", rule.reason)?;
    }
    for (path, table) in pages {
        let page = fs::read_to_string(artifacts::repository().join(&path)).context(path.clone())?;
        let (before, rest) = page.split_once(HEAD).context("no table of the rules")?;
        let (_, after) = rest.split_once("\n\n").context("the table does not end")?;
        compare(&path, &format!("{before}{HEAD}{table}\n{after}"))?;
    }
    Ok(())
}

fn requests(recording: &Path) -> Result<usize> {
    let cases = Recording::read(recording)?.cases;
    Ok(cases.iter().map(|case| case.requests.len()).sum())
}

/// Nobody looks for these where the tests are.
#[test]
fn cases_that_do_not_pass_are_told_to_users() -> Result<()> {
    let page = fs::read_to_string(artifacts::repository().join("docs/differences.md"))?;
    for file in ["", "-envoy", "-nginx", "-kong"] {
        let file = artifacts::repository().join(format!("tests/cases/expected-failures{file}.txt"));
        let listed = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let ids = listed
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(' '));
        let missing: Vec<&str> = ids
            .map(|(id, _)| id)
            .filter(|id| !page.contains(id))
            .collect();
        ensure!(
            missing.is_empty(),
            "docs/differences.md does not say that {missing:?} fail"
        );
    }
    Ok(())
}

fn compare(page: &str, made: &str) -> Result<()> {
    let path = artifacts::repository().join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&path, made).with_context(|| page.to_owned());
    }
    let found = fs::read_to_string(&path).with_context(|| page.to_owned())?;
    let differences = StrComparison::new(&found, made);
    ensure!(
        found == made,
        "{page} is stale; `cargo xtask docs` writes it\n{differences}"
    );
    Ok(())
}

const ANNOTATIONS: &str = "\
# Annotations

<!-- Written by `cargo xtask docs`. -->

Every annotation of ingress-nginx (`nginx.ingress.kubernetes.io/...`, or another prefix with `--annotations-prefix`), and
what becomes of it. None is ignored: one that is not supported is reported by name, as are values that cannot be read
and names that do not exist. **Access control** decides who may come in: when it cannot be honoured, the paths of its Ingress
answer 503. Annotations whose risk is above `annotations-risk-level` of the ConfigMap (High) are refused the same way.
What ingress-nginx does not have stands under \"Sluice's own\", with its whole name. \"Variables that Sluice supports\" are listed by
place in [variables.md](variables.md).
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
            let Annotation {
                value,
                risk,
                supports,
                ..
            } = annotation;
            let (envoy, nginx) = columns(supports);
            writeln!(
                page,
                "| {} | {value} | {risk} | {envoy} | {nginx} |",
                name(annotation)
            )?;
        }
    }
    page += LIMITS_HEAD;
    for Limit { what, most, beyond } in LIMITS {
        writeln!(page, "| {what} | {most} | {beyond} |")?;
    }
    Ok(page)
}

const LIMITS_HEAD: &str = "
## Limits of an Ingress

What is beyond one of these is reported with the field that it stands in and with the limit. It costs nobody else anything.

| of | at most | beyond |
|---|---|---|
";

fn name(annotation: &Annotation) -> String {
    let mut name = format!("`{}`", annotation.name);
    match annotation.role {
        Role::AccessControl => name += " **access control**",
        Role::Snippet => {
            name += " **access control**, unless it holds nothing but what docs/snippets.md lists";
        }
        Role::Narrows(strictest) => name += &format!(" (a value that cannot be read: {strictest})"),
        Role::Plain | Role::Paths => {}
    }
    if let Some(other) = annotation.alias_of {
        name += &format!(" (older name of `{other}`)");
    }
    name
}

fn columns(supports: &Supports) -> (String, String) {
    (support(&supports.envoy), support(&supports.nginx))
}

fn support(support: &Support) -> String {
    match support {
        Support::Full => "supported".to_owned(),
        Support::Partly(difference) | Support::Differs(difference) => {
            format!("partly: {difference}")
        }
        Support::NotNeeded(reason) => format!("nothing to do: {reason}"),
        Support::Unsupported(advice) => format!("reported: {advice}"),
    }
}

const CONFIG_MAP: &str = "\
# The ConfigMap

<!-- Written by `cargo xtask docs`. -->

Every key of ingress-nginx's ConfigMap (`--configmap NAMESPACE/NAME`), and what becomes of it. A key that is not
supported is reported by name when it says something other than its default; so is a value that cannot be read, and a
name that does not exist. [variables.md](variables.md) lists the variables that values may have.

Deleted while the controller runs, it goes on holding as it was last, as in ingress-nginx, and that is reported. A controller that
starts without it serves with the defaults, as ingress-nginx does, and reports an error: what the ConfigMap closed is open then.

| key | default | Envoy | nginx |
|---|---|---|---|
";

fn config_map() -> Result<String> {
    let mut page = CONFIG_MAP.to_owned();
    for key in KEYS.iter() {
        let default = if key.default.is_empty() {
            String::new()
        } else {
            format!("`{}`", key.default)
        };
        let (envoy, nginx) = columns(&key.supports);
        writeln!(page, "| `{}` | {default} | {envoy} | {nginx} |", key.name)?;
    }
    Ok(page)
}

const HASH_VARIABLES: &str = "\
# Variables of upstream-hash-by

<!-- Written by `cargo xtask docs`. -->

What `upstream-hash-by` may be made of, beside letters, digits, `-` and `_`. In nginx each is the variable of that name;
in Envoy the filter makes it from what the table says. A variable that a request does not have adds nothing to the key,
as in nginx. Any other variable, captures of a regular expression (`$1`) among them, is reported and adds nothing.

| variable | in Envoy |
|---|---|
| `$arg_NAME` | the first parameter of that name in `:path`, not decoded |
| `$cookie_NAME` | the first cookie of that name |
| `$http_NAME` | the request header, `_` for `-`; `$http_host` is `:authority` |
";

fn hash_variables() -> Result<String> {
    let mut page = HASH_VARIABLES.to_owned();
    for variable in Plain::ALL {
        writeln!(page, "| `${}` | {} |", variable.name(), source(*variable))?;
    }
    Ok(page)
}

/// The source of a variable in the filter (`filter/core/src/request/variables.rs`).
fn source(variable: Plain) -> &'static str {
    match variable {
        Plain::Args | Plain::QueryString => "`:path`, behind the `?`",
        Plain::BinaryRemoteAddr => "`source.address`, 4 or 16 bytes",
        Plain::ContentLength => "the header `content-length`",
        Plain::ContentType => "the header `content-type`",
        Plain::DocumentUri | Plain::Uri => {
            "`:path` before the `?`, decoded, without dots and double slashes"
        }
        Plain::Host => "`:authority` in lower case, without its port",
        Plain::Https => "`on` when there is a `connection.tls_version`",
        Plain::IsArgs => "`?` when `:path` has a query",
        Plain::RemoteAddr => "the address of `source.address`",
        Plain::RemotePort => "the port of `source.address`",
        Plain::Request => "`:method`, `:path` and `request.protocol`",
        Plain::RequestMethod => "`:method`",
        Plain::RequestUri => "`:path`",
        Plain::Scheme => "`https` when there is a `connection.tls_version`, else `http`",
        Plain::ServerAddr => "the address of `destination.address`",
        Plain::ServerName => "the name of the virtual host",
        Plain::ServerPort => "the port of `destination.address`",
        Plain::ServerProtocol => "`request.protocol`, with `HTTP/2.0` for `HTTP/2`",
        Plain::SslServerName => "`connection.requested_server_name`",
    }
}
