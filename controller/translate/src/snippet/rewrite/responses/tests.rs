use sluice_ir::Forwarded;

use super::*;
use crate::snippet::block::Block;
use crate::snippet::syntax::tree::directives;

pub(super) fn responses(text: &str) -> Result<Vec<DirectResponse>, usize> {
    responses_of(text, true)
}

pub(super) fn responses_of(
    text: &str,
    hosts_are_known: bool,
) -> Result<Vec<DirectResponse>, usize> {
    let all = || -> Result<_, SnippetErrors> {
        let all = directives(text)?;
        let media_types = MediaTypes::read(&all, Block::Location, None)?;
        let hosts = ["shop.old.test", "old.test"].map(|host| Hostname::parse(host).unwrap());
        let forwarded = Forwarded::default();
        let options = RewriteOptions {
            headers: HeaderOptions::new(&forwarded),
            comparable: Comparable::ALL,
            hosts: hosts_are_known.then_some(hosts.as_slice()),
            of_all_servers: false,
            constants: None,
            data_plane: None,
        };
        let mut responses = Responses::new(media_types, options);
        for directive in &all {
            responses.add(directive)?;
        }
        Ok(responses.finish(&[])?.direct_responses)
    };
    all().map_err(|errors| errors.by_line()[0].line)
}

/// Status, `!` for what must not hold, what is asked, and the content.
pub(super) fn shown(text: &str) -> Vec<String> {
    let all = responses(text).unwrap();
    let shown = all.iter().map(|response| {
        let conditions = response.conditions.iter().map(|condition| {
            let sign = if condition.negated { "!" } else { "" };
            format!("{sign}{} ", serde_json::to_string(&condition.test).unwrap())
        });
        let conditions: String = conditions.collect();
        let content = serde_json::to_string(&response.content).unwrap();
        format!("{conditions}{} {content}", response.status)
    });
    shown.collect()
}

#[test]
fn return_has_nginxs_forms() {
    assert_eq!(shown("return 403;"), [r#"403 "page""#]);
    assert_eq!(
        shown("return 200 'so it is';"),
        [r#"200 {"text":{"media_type":"text/html","text":"so it is"}}"#]
    );
    assert_eq!(
        shown("return 200 'a\\n\tb\r\n';"),
        [r#"200 {"text":{"media_type":"text/html","text":"a\n\tb\r\n"}}"#]
    );
    assert_eq!(
        shown("return 200 'hi $host';"),
        [r#"200 {"text":{"media_type":"text/html","text":"hi $host"}}"#]
    );
    // A path that is decoded may end a line of the response, and is encoded again.
    assert_eq!(
        shown("return 301 https://b.test$uri;"),
        [
            r#"301 {"captured":{"of":"path","value":{"matches":"^(/.*)"},"to":{"template":{"scheme":"https","host":"b.test","port":null,"path":"$1"}}}}"#
        ]
    );
    assert_eq!(
        shown("return 302 /y$is_args$args;"),
        [r#"302 {"location":"$scheme://$host/y$is_args$args"}"#]
    );
    assert_eq!(
        shown("return 301 https://b.test$request_uri;"),
        [r#"301 {"location":"https://b.test$request_uri"}"#]
    );
    assert_eq!(
        shown("return $scheme://$host/a;"),
        [r#"302 {"location":"$scheme://$host/a"}"#]
    );
    assert_eq!(
        shown("return 307 /a;"),
        [r#"307 {"location":"$scheme://$host/a"}"#]
    );
    for bad in [
        "return;",
        "return 99;",
        "return 600;",
        "return 444 a;",
        "return a;",
        "return 301 a;",
        "return 301 ftp://a;",
        "return 301 https://b.test$arg_a;",
        "return 301 https://b.test/$1$uri;",
        "return 200 $http_a;",
        "return 200 a b;",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
}

#[test]
fn rewrite_redirects_where_its_pattern_matches() {
    let all = shown("rewrite ^/a/(.*)$ /b/$1 redirect; rewrite x http://b.test:81/$1; return 403;");
    let statuses: Vec<_> = all.iter().map(|it| it.split(' ').next().unwrap()).collect();
    assert_eq!(statuses, ["302", "302", "403"]);
    assert!(all[0].contains(r#""path":"/b/$1""#), "{}", all[0]);
    assert!(
        all[1].contains(r#""host":"b.test","port":81,"path":"/""#),
        "{}",
        all[1]
    );
    for bad in [
        "rewrite ^/a /b;",
        "rewrite ^/a /b twice;",
        "if ($http_a) { rewrite ^/a /b break; }",
        "rewrite ^/a b redirect;",
        "rewrite ^/(a) $1 redirect;",
        "rewrite ^(/.*)$ $1;",
        "rewrite ^/(?!a)b /b redirect;",
        "rewrite ^/a;",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
}

#[test]
fn a_redirect_has_groups_of_the_condition_around_it() {
    let text = "if ($request_uri ~ ^/old/(.*)) { return 301 /new/$1; }\n\
                if ($uri ~* ^/a(/.*)$) { return 302 https://b.test$1$is_args$args; }";
    assert_eq!(
        shown(text),
        [
            r#"301 {"captured":{"of":"request_uri","value":{"matches":"^/old/(.*)"},"to":{"parts":{"scheme":null,"host":null,"port":null,"path":"/new/$1"}}}}"#,
            r#"302 {"captured":{"of":"path","value":{"matches_ignore_case":"^/a(/.*)$"},"to":{"template":{"scheme":"https","host":"b.test","port":null,"path":"$1"}},"keeps_query":true}}"#,
        ]
    );
    // Conditions on variables are beside it.
    let text = "set $a 0; if ($http_a) { set $a 1; } if ($a) { return 403; } if ($uri ~ ^/a/(.*)) { return 301 /b/$1; }";
    let last = shown(text).pop().unwrap();
    assert!(
        last.starts_with(r#"{"header":{"#) && !last.contains(r#"{"path":{"matches"#),
        "{last}"
    );
    // A condition without a pattern leaves the groups as they are.
    let text = "if ($uri ~ ^/(a)) { if ($http_a) { return 301 /b/$1; } }";
    assert!(shown(text)[0].contains(r#"301 {"captured""#));
    for bad in [
        "return 301 /b/$1;",
        "if ($http_a ~ ^(.*)$) { return 301 /b/$1; }",
        "if ($uri !~ ^/(a)) { return 301 /b/$1; }",
        "if ($uri = /a) { return 301 /b/$1; }",
        "if ($uri ~ ^/(a)) { return 200 $1; }",
        "if ($uri ~ ^/(a)) { return 301 /b/$2; }",
        "if ($uri ~ ^/(a)) { rewrite ^/b /c redirect; return 301 /b/$1; }",
        "if ($uri ~ ^/(a)) { if ($http_a ~ b) { return 301 /b/$1; } }",
        "if ($uri ~ ^/(a)) { return 301 https://$1.test/; }",
    ] {
        assert!(responses(bad).is_err(), "{bad}");
    }
}

#[test]
fn nothing_comes_behind_a_path_that_is_changed() {
    let change = "rewrite ^/a/(.*) /$1 break;";
    let before = format!("if ($http_a) {{ return 403; }}\n{change}\nrewrite ^/b /c break;");
    assert_eq!(responses(&before).map(|all| all.len()), Ok(1));
    for behind in [
        "return 403;",
        "if ($http_a) { return 403; }",
        "rewrite ^/a /b redirect;",
    ] {
        assert_eq!(
            responses(&format!("{change}\n{behind}")),
            Err(2),
            "{behind}"
        );
    }
}

/// Conditions, and what they ask.
const COMPARABLE: &[(&str, &str)] = &[
    ("$host = 'a.test'", r#"{"host":{"equals":"a.test"}}"#),
    (
        r"$host ~* ^www\.",
        r#"{"host":{"matches_ignore_case":"^www\\."}}"#,
    ),
    ("$uri = /a", r#"{"path":{"equals":"/a"}}"#),
    ("$uri !~ \\.php$", r#"!{"path":{"matches":"\\.php$"}}"#),
    ("$args = ''", r#"{"query":{"equals":""}}"#),
    (
        "$query_string ~* a=",
        r#"{"query":{"matches_ignore_case":"a="}}"#,
    ),
    (
        "$arg_a != b",
        r#"!{"argument":{"name":"a","value":{"equals":"b"}}}"#,
    ),
    (
        "$arg_a",
        r#"!{"argument":{"name":"a","value":{"equals":""}}} !{"argument":{"name":"a","value":{"equals":"0"}}}"#,
    ),
    ("$cookie_a = b", r#"{"cookie":{"name":"a","value":"b"}}"#),
    ("$scheme = http", r#"{"scheme":{"equals":"http"}}"#),
    (
        "$scheme",
        r#"!{"scheme":{"equals":""}} !{"scheme":{"equals":"0"}}"#,
    ),
    (
        "$request_method !~ ^GET$",
        r#"!{"method":{"matches":"^GET$"}}"#,
    ),
    (
        "$request_uri ~* \"^/a\"",
        r#"{"request_uri":{"matches_ignore_case":"^/a"}}"#,
    ),
    (
        "$http_user_agent ~ bot",
        r#"{"header":{"name":"user-agent","value":{"matches":"bot"}}}"#,
    ),
    (
        "$http_cookie ~* beta=1",
        r#"{"header":{"name":"cookie","value":{"matches_ignore_case":"beta=1"}}}"#,
    ),
    (
        "$remote_addr != 10.0.0.1",
        r#"!{"remote_address":{"equals":"10.0.0.1"}}"#,
    ),
    (
        "$http_x_a",
        r#"!{"header":{"name":"x-a","value":{"equals":""}}} !{"header":{"name":"x-a","value":{"equals":"0"}}}"#,
    ),
];

#[test]
fn conditions_are_those_that_every_data_plane_can_compare() {
    for (condition, test) in COMPARABLE {
        let text = format!("if ({condition}) {{ return 403; }}");
        assert_eq!(shown(&text), [format!("{test} 403 \"page\"")]);
    }
    for bad in [
        "$host ~ (?=a)",
        "$host = A.test",
        "$uri ~ (?=a)",
        "$args = $uri",
        "$binary_remote_addr = 127.0.0.1",
        "$remote_addr ~ (?=1)",
        "$http_upgrade = a",
        "$http_host = a",
        "$HTTP_HOST = a",
        "$uri = /a//b",
        "$uri = /a/../b",
        "$ssl_client_verify = NONE",
        "$a = b",
        "$scheme = $host",
        "-f /etc/passwd",
        "$request_uri ~ (?=a)",
    ] {
        let text = format!("if ({bad}) {{ return 403; }}");
        assert!(responses(&text).is_err(), "{bad}");
    }
    for bad in [
        "if $scheme = http { return 403; }",
        "if ($scheme = http { return 403; }",
        "if () { return 403; }",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
}

#[test]
fn variables_join_conditions() {
    let text = "
        set $block '';
        if ($request_method = POST) { set $Block 1; }
        if ($http_x_a = '') { set $block \"${block}2\"; }
        if ($block = 12) { return 405; }
        if ($block) { return 406 mixed; }";
    let post = r#"{"method":{"equals":"POST"}}"#;
    let none = r#"{"header":{"name":"x-a","value":{"equals":""}}}"#;
    assert_eq!(
        shown(text),
        [
            format!(r#"{post} {none} 405 "page""#),
            format!(r#"!{post} {none} 406 {{"text":{{"media_type":"text/html","text":"mixed"}}}}"#),
            format!(r#"{post} !{none} 406 {{"text":{{"media_type":"text/html","text":"mixed"}}}}"#),
        ]
    );
}

#[test]
fn a_return_ends_its_requests_and_no_others() {
    let text = "if ($scheme = http) { return 403; } if ($scheme = https) { return 404; } return 410; return 411;";
    let statuses: Vec<u16> = responses(text)
        .unwrap()
        .iter()
        .map(|it| it.status)
        .collect();
    assert_eq!(statuses, [403, 404, 410]);
    assert!(responses(text).unwrap()[2].conditions.is_empty());
}

#[test]
fn a_snippet_with_too_many_ways_is_not_followed() {
    let one = |n: usize| format!("if ($http_a{n} = b) {{ set $f{n} 1; }}\n");
    let many: String = (0..20).map(one).collect();
    assert!(responses(&many).is_err());
    let flags: String = (0..20).map(|n| format!("set $f{n} 0;\n")).collect();
    assert!(responses(&format!("{flags}{many}")).is_err());
    let same = "if ($http_a = b) { set $a 1; }\n".repeat(300);
    assert!(responses(&format!("set $a 0; {same} if ($a) {{ return 403; }}")).is_err());
    let returns: String = (0..40)
        .map(|n| format!("if ($http_a{n} = b) {{ return 403; }}\n"))
        .collect();
    assert!(responses(&returns).is_err());
}

#[test]
fn nginxs_own_variables_are_not_set() {
    for bad in [
        "set $limit_rate 1k;",
        "set $args '';",
        "set $Service_Name a;",
        "set $sluice_route a;",
        "set $a $b;",
        "set $host a;",
        "set $geoip2_country_code a;",
        "set $block_ua '';",
        "set $http_a b;",
        "set $a $remote_addr;",
        "set a b;",
        "set $a;",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
}

#[test]
fn headers_belong_to_the_response_of_their_block() {
    let text = "if ($request_method = OPTIONS) { add_header X-A a; return 204; }\n\
                if ($http_b) { return 403; }\nreturn 200;";
    let all = responses(text).unwrap();
    let counts: Vec<_> = all
        .iter()
        .map(|response| {
            response
                .headers
                .as_ref()
                .map(sluice_ir::HeaderModification::size)
        })
        .collect();
    assert_eq!(counts, [Some(1), None, None]);
    assert_eq!(
        responses("if ($http_a) { add_header X-A a; }").map(|all| all.len()),
        Ok(0)
    );
    for bad in [
        "if ($http_a) { add_header X-A a; set $b c; } if ($b) { return 403; }",
        "if ($http_a) { add_header X-A a; rewrite ^/a /b redirect; }",
        "if ($http_a) { add_header X-A a; } return 403;",
        "if ($http_a) { add_header X-A a; } rewrite ^/a /b redirect;",
        "if ($http_a) { add_header X-A a; } set $b 0; if ($http_b) { set $b 1; } if ($b) { return 403; }",
        "if ($http_a) { add_header Location a; }",
    ] {
        assert_eq!(responses(bad), Err(1), "{bad}");
    }
}
