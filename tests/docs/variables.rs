//! docs/variables.md: nginx's variables by place.

use std::fmt::Write;

use anyhow::Result;
use sluice_translate::PLACES;

const HEAD: &str = "\
# Variables

<!-- Written by `cargo xtask docs`. -->

nginx's variables that Sluice supports, by the place where they stand. Any other variable is reported with the setting that has it. Other
names for the same values work, too: `$the_real_ip` and `$binary_remote_addr` (`$remote_addr`), `$best_http_host` (`$http_host`), `$req_id`
(`$request_id`), `$pass_access_scheme` (`$scheme`), `$pass_port` and `$pass_server_port` (`$server_port`), `$document_uri` (`$uri`). A hyphen of a
header is `_` in `$http_NAME`. `$host` has no port, `$http_host` has the one that the client wrote.

| place | variables |
|---|---|
";

const TAIL: &str = "\
| `log-format-upstream`, `log-format-stream`, `log-format-escape-json` | see [access-log.md](access-log.md) |

`$remote_user` in `auth-cache-key` is read as `$http_authorization`, of which it is a part. On Envoy conditions on `$request_uri` have to begin
with `^`, and with `enable-underscores-in-headers` there are none on headers ([snippets.md](snippets.md)).

A value of a response header in a snippet has up to 16 variables, and names of parameters and cookies in it up to 48 bytes. On Envoy `$upstream_addr`
and `$upstream_status` are of the last endpoint that was tried, `$time_iso8601` is in UTC, `$request_uri` is [normalised](differences-envoy.md), and several
`Cookie` lines are one with commas between; in headers and in `upstream-vhost` `$host` is as the client wrote it, with its port. Everywhere
`proxy_set_header Host $host` leaves the `Host` as it is, with its port.
";

pub(super) fn page() -> Result<String> {
    let mut page = HEAD.to_owned();
    for place in PLACES {
        let variables = place.variables().map(|name| format!("`${name}`"));
        let variables: Vec<String> = variables.collect();
        writeln!(page, "| {} | {} |", place.title, variables.join(", "))?;
    }
    Ok(page + TAIL)
}
