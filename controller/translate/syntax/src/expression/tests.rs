use super::*;

fn shown(text: &str) -> String {
    serde_json::to_string(&parse(text).unwrap()).unwrap()
}

#[test]
fn variables_stand_between_texts() {
    assert_eq!(
        shown("a-${remote_addr}b$scheme"),
        "\"a-$remote_addrb$scheme\""
    );
    assert_eq!(
        shown("$http_X_User_Id/$cookie_Sid"),
        "\"${header x-user-id}/${cookie Sid}\""
    );
    assert_eq!(shown("plain"), "\"plain\"");
}

#[test]
fn constants_are_text_and_count() {
    let long = "x".repeat(MAX_HEADER_BYTES / 2);
    let constant = |name: &str| match name {
        "service_name" => Some("web"),
        "namespace" => Some(long.as_str()),
        _ => None,
    };
    let read = |text| for_headers_with(text, constant);
    assert_eq!(
        read("a.${service_name}.b").unwrap(),
        Expression::literal("a.web.b")
    );
    assert_eq!(read("$service_name$scheme").unwrap().0.len(), 2);
    assert!(read("$namespace$namespace").is_ok());
    assert!(read("$namespace-$namespace").is_err(), "too long");
    assert!(parse("$service_name").is_err());
}

#[test]
fn an_app_root_is_a_path_of_the_same_host() {
    let shown = |text: &str| serde_json::to_string(&for_app_root(text).unwrap()).unwrap();
    assert_eq!(shown("/a b"), "\"/a%20b\"");
    assert_eq!(
        shown("/${host}/x$uri$is_args$args"),
        "\"/$host/x$request_uri\""
    );
    assert_eq!(shown("$request_uri"), "\"$request_uri\"");
    let hosts = |count: usize| format!("/{}", "$host".repeat(count));
    assert!(for_app_root(&hosts(11)).is_ok() && for_app_root(&hosts(12)).is_err());
    assert!(for_redirects(&hosts(12)).is_err());
    let long = format!("/{}", " ".repeat(MAX_HEADER_BYTES / 3));
    for bad in [
        "",
        "a",
        "$host/a",
        "$scheme",
        "/$uri",
        "/$1",
        "/$",
        "/$remote_addr",
        "/a?b",
        "/$http_a",
        "/$is_arg",
        &long,
    ] {
        assert!(for_app_root(bad).is_err(), "{bad:?}");
    }
}

/// As in nginx: without a query there is no question mark.
#[test]
fn a_url_of_a_redirect_has_the_query() {
    let shown = |text: &str| serde_json::to_string(&for_redirects(text).unwrap()).unwrap();
    for (text, expected) in [
        ("/y$is_args$args", "$scheme://$host/y$is_args$args"),
        ("https://h.test/x?$args", "https://h.test/x?$args"),
        (
            "https://h.test/x?a=1&${query_string}",
            "https://h.test/x?a=1&$args",
        ),
        (
            "https://$http_host$request_uri",
            "https://$host$request_uri",
        ),
        ("$request_uri/", "$scheme://$host$request_uri/"),
        (
            "https://h.test$uri$is_args$args",
            "https://h.test$request_uri",
        ),
    ] {
        assert_eq!(shown(text), format!("{expected:?}"), "{text}");
    }
    for bad in [
        "https://h.test$uri",
        "https://h.test$argsx",
        "$args",
        "/$arg_a",
        "$request_urix",
    ] {
        assert!(for_redirects(bad).is_err(), "{bad}");
    }
    assert!(parse("$args").is_err() && for_ext_auth("$is_args").is_err());
}

#[test]
fn a_body_has_variables_that_every_request_has() {
    let shown = |text: &str| serde_json::to_string(&for_bodies(text).unwrap()).unwrap();
    assert_eq!(
        shown("hi $server_name,\n${remote_addr}?$query_string"),
        r#""hi $host,\n$remote_addr?$args""#
    );
    for bad in [
        "5 $",
        "$request_id",
        "$http_a",
        "$cookie_a",
        "$arg_a",
        "$uri",
        "$1",
    ] {
        assert!(for_bodies(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_cache_key_has_the_whole_header_in_place_of_the_user_in_it() {
    let key = for_cache_key("$remote_user$http_authorization-$host", |_| false).unwrap();
    assert_eq!(
        serde_json::to_string(&key).unwrap(),
        "\"${header authorization}${header authorization}-$host\""
    );
    assert!(for_ext_auth("$remote_user").is_err());
}

#[test]
fn what_no_data_plane_has_is_named() {
    assert!(
        parse("$upstream_addr")
            .unwrap_err()
            .contains("$upstream_addr")
    );
    for bad in ["$", "a$ b", "${}", "${a", "$http_", "a\nb"] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_client_without_the_cookie_of_a_host_does_not_choose_its_own() {
    let host = |text: &str| for_host_with(text, |name| (name == "namespace").then_some("shop"));
    for good in [
        "$cookie_a.example",
        "x-${cookie_a}",
        "$cookie_a.$namespace",
        "$http_a",
    ] {
        assert!(host(good).is_ok(), "{good}");
    }
    for bad in ["$cookie_a", "${cookie_a}", "$cookie_a.$cookie_b"] {
        let error = host(bad).unwrap_err().to_string();
        assert!(error.contains("$cookie_NAME"), "{bad}: {error}");
    }
}

/// Each advice holds: what it names is served there.
#[test]
fn times_have_advice_by_their_names() {
    type Parse = fn(&str) -> Parsed<Expression>;
    let places: [Parse; 6] = [
        parse,
        for_headers,
        for_requests,
        for_all_requests,
        for_responses,
        for_ext_auth,
    ];
    let of_time = "(the time is in headers of requests, $msec or $time_iso8601, and of responses, $time_iso8601)";
    let of_duration = "(durations are in the access log, log-format-upstream, and in metrics)";
    for (name, advice) in [
        ("msec", of_time),
        ("MSEC", of_time),
        ("time_iso8601", of_time),
        ("time_local", of_time),
        ("request_time", of_duration),
        ("upstream_connect_time", of_duration),
        ("upstream_header_time", of_duration),
        ("upstream_response_time", of_duration),
    ] {
        let refused = places
            .iter()
            .filter_map(|parse| parse(&format!("${name}")).err());
        let refused: Vec<String> = refused.map(|it| it.to_string()).collect();
        assert!(refused.len() > 2, "{name}");
        for reason in refused {
            assert!(
                reason.ends_with(&format!("not ${name} {advice}")),
                "{reason}"
            );
        }
    }
    assert!(for_requests("$msec $time_iso8601").is_ok());
    assert!(for_responses("$time_iso8601").is_ok());
    let other = parse("$gzip_ratio").unwrap_err().to_string();
    assert!(other.ends_with("not $gzip_ratio"), "{other}");
}
