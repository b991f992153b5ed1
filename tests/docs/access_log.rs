//! docs/access-log.md: variables of formats.

use std::fmt::Write;

use anyhow::Result;
use sluice_ir::Variable;
use sluice_translate::global::log_variables;

const ACCESS_LOG: &str = "\
# Access log

<!-- Written by `cargo xtask docs`. -->

With `--access-log` (chart: `controller.accessLog`) each request, and each connection of a TCP port, is a line on the data plane's
standard output (or standard error, if `access-log-path` says so), at most a second late. The keys of the [ConfigMap](configmap.md) are those of ingress-nginx, and so are the formats
where it says none:

```text
$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id
[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time
```

`--log-format json` changes nothing here: it is about Sluice's own lines and the messages of Envoy and nginx
([troubleshooting.md](troubleshooting.md#the-log)); one warning says so where the access log is not JSON.

Values that clients or pods write are escaped: `\"` is `\\x22`, a missing value `-`. For JSON, set `log-format-escape-json: \"true\"` and write the
whole JSON object, with quotes around strings:

```yaml
log-format-escape-json: \"true\"
log-format-upstream: '{\"time\": \"$time_iso8601\", \"client\": \"$remote_addr\", \"request\": \"$request\", \"status\": $status, \"seconds\": $request_time}'
```

Durations are in seconds with three decimals where the table says nothing else, sizes in bytes. Other names of ingress-nginx for the same values work, too
(`$req_id`, `$the_real_ip`, `$best_http_host`). A variable that is not here is reported, and logged as `-`. In Envoy each control
character of a path or header as the client sent it is written as `?`, and any other value ends with a `?` at its first one, with every
escaping; characters beyond ASCII stay as they are. A path or header of 8 KiB or more, which nginx refuses, is logged as the pod got it:
with `rewrite-target` the path is the one after that, and `skip-access-log-urls` leaves none of these out.
Where no Service is asked, `$proxy_upstream_name` is `-` (from Envoy empty with `log-format-escape-json` or `log-format-escape-none`); ingress-nginx
has `upstream-default-backend`. Where Envoy refuses an upgrade, headers of the request are `-`. `$http_x_forwarded_proto` and
`$http_x_forwarded_port` have the values that pods get, and with `forwarded-for-header` `$http_x_forwarded_for` is that header.
";

pub(super) fn page() -> Result<String> {
    let mut page = ACCESS_LOG.to_owned();
    for (key, variables) in log_variables() {
        writeln!(
            page,
            "\n## Variables of `{key}`\n\n| variable | difference |\n|---|---|"
        )?;
        let mut variables: Vec<_> = variables.collect();
        variables.sort_by_key(|variable| variable.name);
        for variable in variables {
            let difference = variable.difference().unwrap_or_else(|| "none".to_owned());
            writeln!(page, "| `${}` | {difference} |", variable.name)?;
        }
        if key == "log-format-upstream" {
            for prefix in ["arg", "cookie"] {
                let difference =
                    format!("Envoy: names of at most {} bytes", Variable::LONGEST_NAME);
                writeln!(page, "| `${prefix}_NAME` | {difference} |")?;
            }
            for prefix in ["http", "sent_http"] {
                writeln!(page, "| `${prefix}_NAME` | none |")?;
            }
            writeln!(
                page,
                "| `$upstream_http_NAME` | the header as the client gets it |"
            )?;
        }
    }
    Ok(page)
}
