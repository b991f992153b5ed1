//! The page about snippets.

mod sample;

use std::fmt::Write;

use anyhow::Result;

const SNIPPETS: &str = "\
# Snippets

<!-- Written by `cargo xtask docs`. -->

The text of a snippet never gets into a data plane. A `configuration-snippet` or a `server-snippet` is served where the ConfigMap has
`allow-snippet-annotations: \"true\"` and `annotations-risk-level: Critical`, if every directive of it is one of these:

| directive | effect |
|---|---|
| `return CODE`, `return CODE TEXT`, `return [CODE] URL` | a response before passwords, address lists and the redirect to https, but after client certificates; that of a `configuration-snippet` also after preflights (CORS). 444 closes the connection on nginx, and is a status on Envoy. A text has up to 3,500 bytes with its line breaks, and the variables of URLs, `$request_method` and `$remote_addr`. A URL has the variables of [redirects](variables.md), `$is_args$args` behind a path among them; `$uri$is_args$args` is `$request_uri`, `$server_name` is `$host`, and `$uri` in the path of a URL is encoded as URLs are (nginx sends it decoded, and with it ends of lines), on nginx with 301 and 302 alone. In a `location` with a pattern, as long as no other pattern was compared, and in `if ($uri ~ PATTERN)` and `if ($request_uri ~ PATTERN)` its path has `$1` to `$9`, of `$uri` encoded as URLs are, and with `$is_args$args` behind it the query; of `$uri` nginx redirects with 301 and 302 alone. In `if ($host ~ PATTERN)` they are [groups of the host](#groups-of-the-host). |
| `rewrite PATTERN TARGET [redirect \\| permanent]` | a redirect where the pattern matches the path, to a path or a URL with `$1` in its path, `$scheme`, `$host` and `$request_uri`; one to a URL is 302 also without a flag, and with `last` or `break`. The query goes along, unless the target ends with `?`: `$request_uri` needs that, as nginx would put the query behind it once more, and so does a target with a query of its own. `$request_uri` stays as it came; nginx decodes what need not be encoded. `$1` right behind the host, or at the beginning of a path, needs a pattern of which it always begins with a slash (`^(.*)$`, `^/a(/.*)$`); a target `$1/` one that begins with `^(`. |
| `rewrite PATTERN PATH [last \\| break]` | in a `server-snippet`, outside of its locations, behind any `if`, `set` and `return`, up to 16 times, and without a flag as the last one: the path that is looked for, as in nginx, among the paths and locations of the namespace; the access control of the new path applies. On a host of one namespace with a path `/` and without patterns as paths or `app-root`. The new path has to arrive at one path or location, whatever the groups in it are, that does not look at the path itself (`rewrite-target`, `$uri` in conditions and values ...). A new path without groups may have a query (`/public.php?service=host-meta`); on Envoy requests with a query of their own answer 503 then. Not beside responses of the ConfigMap's `server-snippet`. |
| `rewrite PATTERN PATH break`, `last` | in a `configuration-snippet`, after every `if`, `set` and `return`, up to four times: the path that pods get where the pattern matches. It has to reach no further than the path of the Ingress does: any pattern for `/`; for `/api` one that begins with `^/api/`, or `^/api(.*)`, `^/api/?(.*)`, `^(.*)`. Not beside a pattern as path. `last` alone in its snippet is the same, where the new path provably is one of this path of the Ingress, and its pattern does not match again: `rewrite ^/old/(.*)$ /new/$1 last` of `/`, on a host without patterns and without a path below `/new`. A pattern that takes one path (`^/$`) may lead to any other of them: `rewrite ^/$ /home last`. |
| `if (...) { ... }` around `return`, `rewrite`, `set` and `if` | `=` and `!=` on `$cookie_NAME`; those, `~`, `~*`, `!~` and `!~*` on `$host`, `$scheme`, `$request_method`, `$request_uri`, `$uri`, `$args`, `$arg_NAME` and `$http_NAME` (of `$http_host` compare `$host`), and on nginx `$remote_addr`; cookies, parameters, headers and variables alone (`if ($http_x_a)`). `add_header` and `more_set_headers` beside its `return` are of that response alone. |
| `if (...) { add_header ...; more_set_headers ...; expires ...; }` | in a `configuration-snippet`, up to four times, and behind it no `if` but those with `return`: headers of all responses to these requests; of several that hold the last counts, and `add_header` leaves out those around it, as in nginx. `$request_uri` there may have any pattern; Envoy compares the target without double slashes, dot segments and what is needlessly encoded. `ETag` and `Last-Modified`, and `more_set_headers` of `Refresh` and of names with other characters than letters, digits and `-` there on Envoy alone. |
| `set $flag TEXT` | a variable for conditions and `return` that follow; the text may have variables that the snippet has set: `set $flag \"${flag}1\"`. In `if ($host ~ PATTERN)` it may have [groups of the host](#groups-of-the-host); in `if ($uri ~ PATTERN)` and `if ($request_uri ~ PATTERN)` `$1` to `$9` with a text around them, for a URL of `return` that has groups of this pattern alone, and for no condition. |
| `location [= \\| ^~ \\| ~ \\| ~*] PATH { ... }` | in a `server-snippet`: a path that answers itself, with everything here but `location` and headers of requests, and `auth_basic off`, `auth_request off`, `log_not_found`, `log_subrequest`, `rewrite_log`, `open_file_cache`. Requests without a `return` get 404. A pattern may have lookahead that excludes texts, with nothing or `.*` behind it (`location ~ /\\.(?!well-known).*`), as that of a `rewrite`. |
| `location [= \\| ^~ \\| ~ \\| ~*] PATH { ... proxy_pass http://SERVICE.NAMESPACE.svc.cluster.local[:PORT][/PATH]; }` | in a `server-snippet`: a path that leads to pods, where a path of the same Ingress on the host leads to this Service and port over HTTP; otherwise it answers 503, and that is reported. `https://` is for paths with `backend-protocol: HTTPS` and without `proxy-ssl-secret` and `proxy-ssl-server-name`, which nginx does not have there. `rewrite PATTERN PATH break` in it is the path that pods get where the pattern matches, in place of that of the URL, as in nginx: up to four times, with a pattern that provably takes only what the `location` takes (`^/api/...` in `location /api`, or that of the `location` itself); otherwise the `location` answers 503, and that is reported. In a `location` with a pattern the URL has no `/PATH`, as in nginx. `$request_uri` may follow the host and port alone: behind a path nginx would put the whole target there. `http://upstream_balancer` beside `set $proxy_upstream_name NAMESPACE-SERVICE-PORT` is the same. With headers of requests (`proxy_set_header`) and everything of a `location` above; `proxy_read_timeout` and `proxy_send_timeout` in whole seconds, `client_max_body_size`, `proxy_request_buffering`, `proxy_next_upstream`, `limit_rate` and `limit_rate_after` in whole KiB; `proxy_connect_timeout` is that of the path. Pods receive the host of the URL as `Host` unless `proxy_set_header Host $host` says otherwise. As in nginx no annotation applies to it, access control among them; but what the ConfigMap says of all paths does, other than its redirects to https and `custom-http-errors`. A canary gets its share of the Service's requests. Not beside `rewrite` to another path. |
| `location [= \\| ^~ \\| ~ \\| ~*] PATH { internal; proxy_... }` | in a `server-snippet`: 404, as clients get in nginx. What it is for (`auth_request`, `rewrite` to it) is not supported: use `auth-url`. |
| `location [= \\| ^~ \\| ~ \\| ~*] PATH { ... }` | in a `configuration-snippet`: a path within those of the Ingress that answers itself, with `return`, `if`, `set`, headers of a `return`, and `allow all` or `deny all`. nginx nests it, so it comes before everything around it, preflights (CORS) among them; requests without a `return` get 404, with `deny all` 403, before the redirect to https. Not beside `rewrite` with `last`; `location = PATH { rewrite ^ OTHER last; }` alone is `rewrite` of this path. |
| `location @NAME { return ...; }` | in a `server-snippet`: the response to clients without a good certificate, where `auth-tls-error-page` of the same Ingress says `@NAME`. One `return` without conditions; headers and `default_type` are its own, else the server's. |
| `default_type TYPE`, `add_header Content-Type TYPE` | type of the texts; `text/html` without it. The extension of the path comes first, as in nginx: `text/plain` in `location = /robots.txt`, `location /robots.txt`, `location ~ \\.txt$` and `if ($uri = /robots.txt)`. It is that of the location or the condition: below a prefix (`/robots.txt/a`) nginx takes the request's own. `add_header` is for blocks that answer all requests. |
| `allow NETWORK`, `deny NETWORK`, `allow all`, `deny all` | address lists, in their order: the first network that has an address decides; a list of a `location` that denies nobody (`allow all`) does not open what the server denies |
| `satisfy any`, `satisfy all` | in a `configuration-snippet`: as the annotation `satisfy`, which must not be set beside it |
| `more_set_headers \"NAME: VALUE\"`, `add_header NAME VALUE [always]`, `more_clear_headers NAME`, `proxy_hide_header NAME` | headers of responses; `add_header` without `always` is of those without an error (200, 201, 204, 206, 301 to 304, 307, 308), but with `$remote_addr`, `$time_iso8601` or more than 1,200 bytes in its value, or for `ETag`, `Last-Modified` and `Strict-Transport-Security`, of errors, too. `proxy_hide_header` takes a header from pods' responses alone, so it may be set or added anew; `more_clear_headers` takes it from all, but what `add_header` adds. Each word of `more_set_headers` is one header: `X-A: b` without quotes removes `X-A` and `b`, as in nginx. `Strict-Transport-Security` can be set and hidden, and not cleared. `Server` can be set, which no data plane does itself (with ngx_wasm_module nginx does, beside it). |
| `expires TIME`, `expires epoch`, `expires max`, `expires off` | how long responses without an error may be kept: `Cache-Control` and `Expires`, in place of those of pods. With a time from now Envoy sends `Cache-Control` alone, and leaves the pod's own `Expires`: `Cache-Control` takes precedence. Not with `modified`, `@TIME` or a variable, or in an `if` with `return`. |
| `proxy_set_header NAME VALUE` (`grpc_set_header` where `backend-protocol` is gRPC), `more_set_input_headers \"NAME: VALUE\"`, `more_clear_input_headers NAME` | in a `configuration-snippet`: headers of requests to pods; an empty value removes one. `more_set_input_headers` may set what `more_clear_input_headers` has cleared. `$remote_user` (alone, without text around it) is the user of `auth-type: basic`, without `satisfy any`; `$msec` is the time at which the request came |
| `proxy_set_header X-Forwarded-Proto https`, `X-Forwarded-Port 443` | the scheme (`http` or `https`) and the port that pods are told, in place of the client's; nginx would send both lines. `X-Forwarded-Scheme` and `X-Scheme` say the same scheme. |
| `proxy_set_header X-Forwarded-Proto $scheme`, `X-Real-IP $remote_addr`, `Host $host`, `X-Forwarded-For $proxy_add_x_forwarded_for`, `Connection keep-alive` ... | no effect: pods receive these headers anyway. `$http_x_forwarded_proto`, `-port` and `-host` are what `use-forwarded-headers` believes, `$proxy_add_x_forwarded_for` is what `compute-full-forwarded-for` sends; without it pods get the address of the client alone. |
| `auth_request_set $NAME $upstream_http_HEADER` | with `auth-url`: a header of the service's response, for `proxy_set_header NAME $NAME` (alone, without text around it). `add_header Set-Cookie $NAME` of its `Set-Cookie` has no effect: clients get the service's cookies anyway. |
| `limit_rate SIZE`, `limit_rate_after SIZE`, `proxy_ssl_name NAME`, `proxy_ssl_server_name on` | in a `configuration-snippet`: as `limit-rate` and `limit-rate-after` (in whole KiB; Envoy limits from the first byte, and that is reported); the server name (SNI) sent to pods, which without `proxy_ssl_name` is `upstream_balancer`, as in ingress-nginx; `$host` where the Ingress has one host, whose name it is |
| `proxy_ssl_protocols VERSION ...`, `proxy_ssl_ciphers LIST` | in a `configuration-snippet`: as the annotations `proxy-ssl-protocols` and `proxy-ssl-ciphers`, without `proxy-ssl-secret`, which sets them itself. A cipher that neither data plane knows is left out, and that is reported. |
| `proxy_pass_header NAME` | none: pods' responses have their headers anyway. Not of `Date`, `Server`, `X-Pad`, `X-Accel-*` and what `hide-headers` names |
| `limit_req_status CODE`, `limit_conn_status CODE` | in a `configuration-snippet`: the status beyond `limit-rps`, `limit-rpm` and `limit-connections` |
| `grpc_next_upstream`, `grpc_next_upstream_tries`, `grpc_next_upstream_timeout` | in a `configuration-snippet` of an Ingress with `backend-protocol: GRPC` or `GRPCS`: as `proxy-next-upstream` and the like; without it none, as in nginx. In a `server-snippet` pods are tried again as annotations say, and that is reported. |
| `client_header_timeout`, `client_body_timeout`, `send_timeout`, `keepalive_timeout TIME` (up to 10 minutes), `keepalive_time` (up to a day), `keepalive_requests` (up to a million) | in a `server-snippet` of the namespace that a host belongs to, on nginx (of the first request on a connection, where nginx does not know the host yet, `client_header_timeout` is that of all hosts). Envoy has those of the ConfigMap for all hosts, and that is reported. |
| `client_body_timeout`, `send_timeout`, `keepalive_timeout TIME` | in a `configuration-snippet` and in a `location` of a `server-snippet`, on nginx. Envoy has those of the ConfigMap for clients of all paths, and that is reported. `client_header_timeout` is of a server: nginx refuses it here, and the snippet is not served. |
| `client_header_buffer_size SIZE`, `large_client_header_buffers NUMBER SIZE` | in a `server-snippet` of the namespace that a host belongs to: buffers for request headers, up to 1 MiB together. Envoy has the same room on all hosts, 60 KiB or what `large-client-header-buffers` of the ConfigMap says: a snippet that asks for more is served with this difference. |
| `access_log off` | requests are not logged |
| `grpc_buffer_size SIZE` | none; where nginx may be the data plane it is reported, because it has 64 KiB for all paths |
| `tcp_nodelay`, `sendfile`, `client_body_buffer_size`, `proxy_max_temp_file_size`, `chunked_transfer_encoding`, `proxy_cache off`, `proxy_cache_bypass` and others of caches, `etag off`, `gzip off`, `resolver` and others that tune nginx | no effect |
| a directive that sets a default (`proxy_ssl_verify off`) | no effect |
| in a `server-snippet`: directives that ingress-nginx sets in every location (`proxy_read_timeout`, `grpc_read_timeout`, `proxy_set_header`, `client_max_body_size` ...) | none, as there |

## Rules for all snippets

[variables.md](variables.md) lists the variables of values, conditions and URLs. A header is changed by one directive (but for those that are hidden or cleared first)
and is not read by another. It is none of [Sluice's own](#headers-that-snippets-do-not-change), and no other setting of its Ingress or of the ConfigMap
changes it; but `Strict-Transport-Security` takes the place of the ConfigMap's, and `hide-headers` is about those of pods. Address lists of a `configuration-snippet` cannot be combined with those of annotations.

Values of headers have at most 16 queries, arguments, cookies and statuses (`$args`, `$is_args`, `$arg_NAME`, `$cookie_NAME`, `$status`,
`$upstream_status`) in a snippet: each costs Envoy about 15 us for each response.

## Conditions and variables

Conditions compare what nginx compares. A variable of the snippet's own that is not set on some path through the snippet is empty there, as in nginx
(`if ($http_user_agent ~* bot) { set $bot 1; } if ($bot) { return 403; }`). It has to be set on every way (`set $flag 0;` first) in snippets of
the ConfigMap and in a `location` of a `server-snippet`, and where the `server-snippet` of the host or the ConfigMap's `http-snippet` have it, too. Its
name must not be one of nginx's or of ingress-nginx's. A variable that nothing reads does nothing.

In a `configuration-snippet`, `$namespace` and `$ingress_name` are constants; so are `$service_name` and `$service_port` of each path, in an Ingress
with up to 16 Services and ports. They may be in texts, URLs, targets of `rewrite`, `set`, on both sides of `=` and `!=`, and in headers of requests and
responses; an `auth-snippet` has them, too. In an Ingress with one host, `$server_name` in headers of requests, and `$host` and `$server_name` in headers of
responses, are that host, even in a request to a `server-alias` of another Ingress.

### Differences on Envoy

Envoy has normalised a path before it is compared, so there `$request_uri` is compared
with a text that it begins with (`~ ^/old`, `~ ^/old/(.*)`) or is, to `return` something; a URL may end with what is behind the text,
as Envoy has it (`return 301 /new/$1`). `$uri` has none of these limits, but for `\\b` and patterns of more than RE2's size. With `enable-underscores-in-headers`, conditions on headers are
not supported on Envoy. `X-Forwarded-Proto`, `-Port`, `-Host` and `-For` are compared as clients sent them, whatever is believed of them; other
`X-Forwarded-*`, `X-Original-*` and `ssl-client-*` are compared on nginx alone. So is `$scheme` with `use-forwarded-headers`
or `use-proxy-protocol`: it is the connection's, whatever a header says. A header that is missing is empty. Of one
that was sent in several lines nginx compares all with `, ` between, as ingress-nginx does, Envoy with `,`;
of all cookies Envoy compares patterns and texts without blanks, commas and semicolons
(`$http_cookie ~* \"beta=1\"`). Envoy chooses a route without the address of the client, so `$remote_addr` is compared on nginx alone;
`allow` and `deny` do the usual on both.

## server-snippet of an Ingress

Paths below a `location` with `rewrite ... break` and `proxy_pass` are guarded in that location: as in nginx, `$` in its pattern also stands before
a line break at the end, so `/re/admin%0a` is no path below `/re/admin`, and reaches pods as `/admin`.

A `server-snippet` applies to all paths that its namespace has on a host, not to those of other namespaces; the first Ingress of the
namespace decides. Its responses come before those of a `configuration-snippet`. Its address lists apply to paths without any of their
own, its `add_header` to paths that have none. Its locations are found as nginx finds them, among the paths of its namespace; but where there are patterns, a path
or `location` to pods below a `location ^~`, and longer than it, is closed (503) and reported: nginx would compare the patterns first there. With a redirect
of all requests (`permanent-redirect`, `temporal-redirect`) a `configuration-snippet` is not served; a canary has the snippets of its
main Ingress. [annotations.md](annotations.md#limits-of-an-ingress) has the limits.

## server-snippet of the ConfigMap

The ConfigMap's `server-snippet` applies to every namespace on every host, after the Ingress's own, as in ingress-nginx; it needs no
permission. It has no `rewrite` outside of a `location`, no `location @NAME` and no groups of the host, and its `add_header` without `always` also applies to errors,
unless nginx is the only data plane. On Envoy each `return` adds a route to every path: keep them few. On a host that has an Ingress, its
responses and locations also apply to paths that no Ingress has, its headers do not. A host that no Ingress has is served without it,
unless a default backend serves it, which has all of it. Of a `location` with the same text as one of the ConfigMap's,
the ConfigMap's holds, and the snippet of the Ingress is reported; nginx would load neither. As in nginx, a path or `location` of an
Ingress that is longer, exact or a pattern comes before a plain `location` of the ConfigMap. No pod is reached past
`if ($uri ~ PATTERN) { return 403; }`.

## location-snippet of the ConfigMap

The ConfigMap's `location-snippet` is in every location of an Ingress and in that of the default backend, behind the Ingress's own
`configuration-snippet`, as in ingress-nginx: of the same header in `more_set_headers` the ConfigMap's value counts. Not in a `location` of a
`server-snippet`, on pages of `custom-http-errors` or on redirects to a path with a slash. It needs no permission, and has no `rewrite` and no
groups of the host; its `add_header` is as that of `server-snippet`. Address lists of annotations come before its own, and after an allow list nothing else is
evaluated. `custom-headers` and CORS replace its headers. A `configuration-snippet` that cannot be combined with it is not served. It is not
served where `x-forwarded-prefix`, `auth-response-headers` or `limit-rate` set the same, which closes the paths if it may be access control.

## auth-snippet

An `auth-snippet` is served if all of it is `proxy_set_header NAME VALUE` or a default: the request to the service of `auth-url` has
these headers in place of the client's. Values have the variables of `auth-proxy-set-headers`, which must not set the same header.

## Groups of the host

`$1` to `$9` of `if ($host ~ PATTERN)` are computed for each host of the Ingress, so it has hosts without wildcards, and no default
backend. A group in something that is repeated and may be empty (`(a*)*`) is not served, as engines disagree about it. A host that
another Ingress's `server-alias` leads here answers 503 where the pattern matches, and with `set` where the variable is read.

## Headers that snippets do not change

But for the values in the table above: `proxy_set_header` of `Host $host`, `X-Forwarded-Proto`, `X-Forwarded-Scheme`, `X-Scheme` and
`X-Forwarded-Port`, and `add_header Content-Type` beside a `return`.

";

const HARMLESS: &str = "
## Snippets that are not served

All others are reported with the lines that are not supported, and nothing of them is served. One that may be access control closes its paths (503). These directives
close nothing: leaving them out admits no client, forwards no forged header and reveals no hidden one. Unknown directives close:

- a snippet of a location (`configuration-snippet`, `auth-snippet`): the paths of its Ingress;
- `server-snippet`: all paths that its namespace has on its hosts;
- `stream-snippet`, `modsecurity-snippet` (which closes when it may switch the engine on; [waf.md](waf.md) says what of it is served): the
  paths of its Ingress;
- a snippet of the ConfigMap (`server-snippet` and `location-snippet` are served as [above](#snippets), the others are not): the paths of all Ingresses.
";

pub fn page() -> Result<String> {
    let mut page = SNIPPETS.to_owned();
    for (of, names) in sluice_translate::own_headers() {
        writeln!(page, "- of {of}: `{}`", names.join("`, `"))?;
    }
    page += &sample::section()?;
    page += HARMLESS;
    for (title, directives) in sluice_translate::harmless_directives() {
        write!(page, "\n## {title}\n\n")?;
        for (directive, condition) in directives {
            match condition {
                None => writeln!(page, "- `{directive}`")?,
                Some(condition) => writeln!(page, "- `{directive}`, {condition}")?,
            }
        }
    }
    Ok(page)
}
