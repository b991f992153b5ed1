//! Snippets by hand: of a server, and of all its locations.

/// The same of hosts whose paths are patterns.
pub(super) const WRITTEN_BESIDE_PATTERNS: &[(&str, &str)] = &[
    ("", "rewrite ^(/shop)$ $1/ redirect;"),
    (
        "location ~ \"^/a b\" { return 410; }\nlocation ~ ^/shop/x.php\\W { return 404; }",
        "",
    ),
    // Longer locations below a guard leave it where it is, before all patterns.
    (
        "location ^~ /shop { deny all; }\nlocation /shop/zz { return 404; }\nlocation ^~ /shop/s { return 410; }",
        "",
    ),
    (
        "location ^~ /metrics { deny all; }\nlocation /metrics/zz { return 404; }\nlocation ~ ^/m { return 410; }",
        "if ($http_x_key) { return 405; }",
    ),
    (
        "",
        "rewrite ^/shop/(.*)$ /new/$1 redirect; if ($http_x_key) { rewrite ^/(s|S)hop /all-$1 permanent; return 403; }",
    ),
    (
        "rewrite \\.(php|asp) https://old.test:8443/$1/x; rewrite ^/metrics$ http://metrics.test/;",
        "return 404;",
    ),
    (
        "rewrite ^([^.]*[^/.])$ $1/ permanent;\nlocation ~ ^/metrics(/|$) { deny all; }",
        "if ($http_x_key) { return 403; }",
    ),
    (
        "",
        "if ($request_method = POST) { rewrite /a\\b /posted redirect; }",
    ),
    (
        "",
        "location ~ \\.php$ { return 403; } location ~* /(shop|short)/(.*) { return 301 /b$2$1; } if ($http_x_key) { return 410; }",
    ),
];

/// The same of hosts with one path, in which locations are nested.
pub(super) const WRITTEN_IN_ROOT: &[(&str, &str)] = &[
    ("", "location /metrics { return 403; }"),
    (
        "",
        "location = /metrics { deny all; } if ($http_x_key) { return 410; }",
    ),
    (
        "",
        "location /shop { } location /shop/a { return 401; } location = /x.php { return 404; }",
    ),
    (
        "",
        "location /shop { return 410; } location ~ \\.php$ { deny all; } location ^~ /metrics { return 403; } location = / { allow all; }",
    ),
    (
        "",
        "add_header X-Outer 1; location ~* ^/shop/(.+) { add_header X-Inner 2; return 302 https://a.test/$1$is_args$args; } location /short { add_header X-Inner 3; } location /metrics { return 302 /there; }",
    ),
    (
        "",
        "location /shop { if ($http_x_key = secret) { return 403; } if ($arg_x) { return 410; } } return 405;",
    ),
    (
        "if ($http_x_key = secret) { return 403; }\nlocation /shop/s { return 410; }\nlocation ~ metricsfoo { return 404; }",
        "location /metrics { return 401; } location /shop { deny all; } set $a 0; if ($arg_x) { set $a 1; } if ($a) { return 405; }",
    ),
];

/// Each is served on every data plane.
pub(super) const WRITTEN: &[(&str, &str)] = &[
    ("", "if ($http_x_key != secret) { return 403; }"),
    // nginx compares decoded paths.
    (
        "location ~ \\.php$ { deny all; }\nlocation ~ \"^/a b\" { return 410; }\nlocation ~ ^/shop/[^a-z?] { return 404; }\n\
         location ~* \"^/SHOP/x[.]php[?]\" { return 405; }\nlocation ~ ^/shop/\\W { deny all; }",
        "",
    ),
    (
        "location ~ ^/shop/a.b { deny all; }",
        "rewrite ^/shop/(.*)b$ /new/$1 break;",
    ),
    (
        "location ^~ /metrics { deny all; }\nlocation /metrics/zz { return 404; }\nlocation ~ ^/m { return 410; }",
        "",
    ),
    // Lookahead, in the case of its location and in any.
    (
        "location ~ ^/shop/(?!A|x\\.p).* { deny all; }\nlocation ~* ^/(?!shop|METRICS(/|$)).+ { return 410; }\nlocation ~ /\\.(?!well).* { return 404; }",
        "if ($http_x_key) { return 403; }",
    ),
    (
        "rewrite ^/(?!shop)(.+)$ /new/$1 redirect;",
        "rewrite ^/shop/(?!a)(.*)$ https://a.test/$1 permanent;",
    ),
    ("", "if ($cookie_key = '') { return 403; }"),
    (
        "",
        "if ($http_x_forwarded_proto != 'https') { return 403; }",
    ),
    ("if ($http_x_forwarded_for) { return 403; }", ""),
    (
        "location = /metrics { internal; proxy_pass http://127.0.0.1:9; proxy_pass_request_body off; }\nlocation /shop { internal; }",
        "if ($http_x_key) { return 403; }",
    ),
    ("", "allow 127.0.0.1; deny 127.0.0.0/8;"),
    ("allow 127.0.0.2; deny 127.0.0.0/8; allow all;", ""),
    (
        "",
        "allow 127.0.0.2; deny 127.0.0.0/30; allow 127.0.0.0/8; deny all;",
    ),
    (
        "location /metrics { allow 127.0.0.0/31; deny 127.0.0.0/8; deny 10.0.0.0/8; return 410; }",
        "allow 10.0.0.0/8; deny 0.0.0.0/1;",
    ),
    (
        "location /metrics { if ($http_x_forwarded_port !~ ^443$) { return 403; } return 410; }",
        "if ($http_x_forwarded_host = '') { return 404; }",
    ),
    ("", "if ($uri = '/a b') { return 403; }"),
    ("", "if ($uri = /shop/a) { return 403; } deny 10.0.0.0/8;"),
    ("", "if ($uri ~ \\.php$) { return 403; }"),
    ("", "if ($uri !~* ^/(shop|a.b)/?) { return 404; }"),
    ("", "if ($args ~ (^|&)x=/b$) { return 403; }"),
    ("", "if ($query_string != a.php) { return 404; }"),
    ("", "if ($arg_x = /b) { return 403; }"),
    (
        "if ($arg_X !~ ^/[a-c]$) { return 404; }",
        "if ($arg_y) { return 403; }",
    ),
    (
        "",
        "if ($uri ~ ^/shop/([^/]+)$) { return 301 /new/$1; } if ($uri ~* /(metrics)(.*)$) { return 302 https://b.test/$1$2$is_args$args; }",
    ),
    (
        "set $flag 0; if ($http_x_key) { set $flag 1; } if ($flag) { return 410; } if ($uri ~ ^(/.*)\\.php) { return 301 http://$host$1; }",
        "if ($http_x_key) { return 403; } return 404;",
    ),
    (
        "",
        "set $a ''; if ($http_x_key) { set $A 1; } if ($request_method = POST) { set $a ${a}2; } if ($a = 12) { return 405; }",
    ),
    (
        "set $to https://a.test; if ($http_x_key) { set $to http://b.test:81; } if ($arg_x) { return 302 $to/there; }",
        "if ($uri ~ ^/shop/([^/.]+)$) { set $rest $1; return 301 /new/${rest}; } if ($http_x_key) { return 403; }",
    ),
    (
        "",
        "if ($uri ~ ^/(shop|short)/(.+)\\.php$) { set $a /$2/$1; return 302 https://c.test$a$is_args$args; } set $e ''; if ($arg_y) { return 302 https://d.test/x$e; }",
    ),
    (
        "set $it ''; if ($host ~ ^s([0-9]+)\\.test$) { set $it $1; } if ($it = '') { return 410; } if ($http_x_key) { return 302 https://n$it.test/there; }",
        "",
    ),
    (
        "",
        "if ($http_x_key) { return 301 /y$is_args$args; } if ($arg_y) { return 302 https://h.test/x?$args; }",
    ),
    (
        "if ($uri ~ ^/shop/) { return 301 https://h.test$uri; } if ($uri ~ ^/(metrics|x)) { return 302 $scheme://$host$uri/; }",
        "if ($http_x_key) { return 403; }",
    ),
    (
        "location ~ ^/sho(p/.*)$ { if ($request_method = POST) { return 405; } return 301 /new/$1$is_args$args; }\nlocation /metrics { rewrite ^/metrics/(.*)$ /m/$1 permanent; rewrite ^ https://m.test/x redirect; }",
        "if ($http_x_key) { return 403; }",
    ),
    (
        "location ~ ^/(shop|metrics) { default_type text/plain; if ($http_x_key) { return 200 \"hi $host:\\n$request_method $scheme$is_args$args 100%\"; } if ($cookie_key) { return 403 'not $remote_addr'; } }",
        "",
    ),
    (
        "if ($http_x_key = secret) { return 403; }\nrewrite ^/metrics$ /shop/m last;\nrewrite ^/robots /shop/r?a=b&c last;\nrewrite ^/metrics/(.*)$ /other/$1 last;\nrewrite \\.JSON$ /deny/x;\nlocation /deny { deny all; }\nlocation = /shop/m { return 410; }",
        "if ($cookie_key = key) { return 403; }",
    ),
    (
        "rewrite ^/shop/a /m/a last;\nrewrite ^/(metricsfoo|SHOP/a)$ /shop/$1 break;\nlocation /metrics { deny all; }\nlocation ^~ /m/ { default_type text/plain; return 200 m; }",
        "allow 127.0.0.0/8; deny all;",
    ),
    ("", "allow 127.0.0.0/8; deny all;"),
    (
        "deny 127.0.0.0/8;",
        "allow 10.0.0.0/8; allow 127.0.0.0/8; deny all;",
    ),
    ("deny all;", ""),
    (
        "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
        "if ($http_x_key) { return 403; }",
    ),
    ("location = /shop/a { return 404; }", ""),
    ("location /shop/a { deny all; }", ""),
    (
        "location ^~ /sho { return 404; }\nlocation /shop/a { deny all; }",
        "",
    ),
    (
        "location ~ \\.php$ { deny all; }\nlocation ^~ /shop/s { return 404; }",
        "",
    ),
    ("location ~* ^/(shop|metrics) { deny all; }", ""),
    (
        "location /metrics { allow 10.0.0.0/8; deny all; }\nlocation = /metrics { return 204; }",
        "",
    ),
    (
        "location ~ /\\. { deny all; }\ndeny 10.0.0.0/8;",
        "if ($http_x_key) { return 403; }",
    ),
    (
        "if ($http_x_key = secret) { return 403; }\nlocation = /shop/a { if ($request_method = POST) { return 405; } }",
        "",
    ),
    ("location /SHOP { return 404; }", ""),
    (
        "",
        "rewrite ^/shop/(.*)$ /new/$1 redirect; if ($http_x_key) { rewrite ^/(s|S)hop /all-$1 permanent; return 403; }",
    ),
    (
        "rewrite \\.(php|asp) https://old.test:8443/$1/x; rewrite ^/metrics$ http://metrics.test/;",
        "return 404;",
    ),
    (
        "",
        "rewrite ^(/shop)$ $1/ redirect; rewrite ^([^.]*[^/.])$ $1/ permanent;",
    ),
    (
        "",
        "if ($http_x_key) { return 403; } rewrite ^/shop/(.*)$ /new/$1 break;",
    ),
    (
        "rewrite ^/metrics$ $scheme://$host/m redirect; rewrite \\.php$ https://old.test/x? permanent;",
        "rewrite \"(?i)^/SHOP(/.*)$\" https://old.test$1? last; if ($http_x_key) { rewrite ^(.+)$ https://$host:8443$1 permanent; }",
    ),
    ("", "rewrite ^(.*)$ /all$1 break;"),
    (
        "location ~ \\.php$ { deny all; }\nlocation /shop/s { return 404; }",
        "rewrite ^/metrics$ /shop permanent; rewrite /shop/?(.*) /$1/x break;",
    ),
    (
        "add_header X-Outer server always;",
        "add_header X-Outer a; if ($request_method = POST) { add_header X-Outer b; add_header X-Inner c; add_header Content-Length 0; return 204; } if ($http_x_key) { add_header X-Inner d; add_header X-Outer e always; return 403; } if ($cookie_key) { return 302 /there; }",
    ),
    (
        "",
        "if ($http_x_key) { add_header X-Inner d; } if ($uri ~ ^/shop) { add_header X-Outer e always; add_header X-Inner f; } if ($cookie_key = key) { return 403; }",
    ),
    (
        "add_header X-Outer server always;",
        "set $flag 0; if ($http_x_key) { set $flag 1; } if ($request_method = POST) { set $flag ${flag}1; } add_header X-Inner a always; if ($flag = 11) { add_header X-Inner b; add_header X-Inner $request_method; }",
    ),
    (
        "add_header X-Outer server always;",
        "if ($arg_x) { add_header X-Inner $http_x_key; } if ($cookie_key) { return 302 /there; }",
    ),
    (
        "location = /robots.txt { log_not_found off; return 200 \"User-agent: *\\nDisallow: /\\n\"; }\nlocation = /a.JSON { default_type text/plain; return 200 [1]; }\nlocation /metrics { default_type text/plain; return 404 'no\tmetrics'; }",
        "return 503 '<p>\nback at 9 \"o\\'clock\"\\r\n</p>';",
    ),
];
