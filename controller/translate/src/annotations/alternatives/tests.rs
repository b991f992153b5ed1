use super::*;
use crate::annotations::GROUPS;

fn advice(directive: &str, data_plane: DataPlane) -> String {
    alternatives(
        &[vec![directive.to_owned()]],
        Some(data_plane),
        AdviceFor::Ingresses,
    )
}

#[test]
fn everything_that_is_named_is_there_and_served_by_one_of_the_data_planes() {
    for (directive, all) in OTHERS {
        assert!(all.iter().all(|one| one.is_honoured(None)), "{directive}");
    }
}

#[test]
fn a_directive_that_is_called_like_an_annotation_or_a_key_needs_no_entry() {
    for data_plane in [DataPlane::Envoy, DataPlane::Nginx] {
        for name in [
            "proxy_connect_timeout",
            "proxy_read_timeout",
            "proxy_send_timeout",
        ] {
            assert_eq!(
                advice(name, data_plane),
                format!("{} for {name}", name.replace('_', "-"))
            );
        }
        assert_eq!(
            advice("gzip_types", data_plane),
            "gzip-types of the ConfigMap for gzip_types"
        );
    }
    for (directive, _) in OTHERS {
        let own = by_name(&directive.replace('_', "-")).map(Alternative::words);
        assert_ne!(
            own,
            Some(directive.replace('_', "-")),
            "{directive} would be found by its name"
        );
    }
}

#[test]
fn nothing_is_advised_that_the_data_plane_does_not_serve() {
    assert_eq!(advice("proxy_http_version", DataPlane::Envoy), "");
    assert_eq!(
        advice("proxy_http_version", DataPlane::Nginx),
        "proxy-http-version for proxy_http_version"
    );
    assert_eq!(advice("sub_filter", DataPlane::Nginx), "");
}

#[test]
fn a_header_is_advised_where_the_setting_takes_its_value() {
    for (directive, expected) in [
        (
            "add_header X-A $request_id",
            "add-headers of the ConfigMap for add_header",
        ),
        ("add_header X-A $msec always", ""),
        (
            "more_set_headers X-A:$host",
            "add-headers of the ConfigMap for more_set_headers",
        ),
        ("more_set_headers X-A:$request_time", ""),
        (
            "proxy_set_header X-A $msec",
            "proxy-set-headers of the ConfigMap for proxy_set_header",
        ),
        ("proxy_set_header X-A $request_time", ""),
        ("more_set_input_headers X-A:$request_time", ""),
    ] {
        assert_eq!(usual_advice(directive), expected, "{directive}");
    }
}

fn usual_advice(directive: &str) -> String {
    let words: Vec<String> = directive.split(' ').map(str::to_owned).collect();
    alternatives(&[words], None, AdviceFor::Ingresses)
}

#[test]
fn a_counterpart_may_depend_on_the_arguments() {
    for (directive, expected) in [
        (
            "add_header Access-Control-Allow-Origin *",
            "enable-cors for add_header Access-Control-*",
        ),
        (
            "if ($remote_addr = 10.0.0.1)",
            "denylist-source-range or deny for if ($remote_addr ...)",
        ),
        (
            "if ( $remote_addr = 10.0.0.1 )",
            "denylist-source-range or deny for if ($remote_addr ...)",
        ),
        (
            "if ($http_x_forwarded_proto = http)",
            "force-ssl-redirect (with use-forwarded-headers of the ConfigMap) for if ($http_x_forwarded_proto ...)",
        ),
        (
            "proxy_set_header X-Original-URI $request_uri",
            "proxy-add-original-uri-header of the ConfigMap for proxy_set_header X-Original-URI",
        ),
        (
            "proxy_set_header X-Forwarded-Proto $http_x_forwarded_proto",
            "use-forwarded-headers of the ConfigMap for proxy_set_header X-Forwarded-*",
        ),
        (
            "proxy_set_header X-Real-IP $http_x_real_ip",
            "forwarded-for-header of the ConfigMap for proxy_set_header X-Real-IP",
        ),
        ("satisfy any", "the annotation satisfy"),
        (
            "grpc_read_timeout 60s",
            "proxy-read-timeout for grpc_read_timeout",
        ),
        (
            "absolute_redirect off",
            "relative-redirects for absolute_redirect",
        ),
        ("proxy_pass http://b", "a path of an Ingress for proxy_pass"),
        (
            "set_real_ip_from 10.0.0.0/8",
            "proxy-real-ip-cidr with enable-real-ip of the ConfigMap for set_real_ip_from",
        ),
        ("if ($a)", ""),
    ] {
        assert_eq!(usual_advice(directive), expected, "{directive}");
    }
}

#[test]
fn a_counterpart_of_headers_depends_on_the_header() {
    for (directive, expected) in [
        (
            "proxy_set_header X-Client-IP $remote_addr",
            "proxy-set-headers of the ConfigMap for proxy_set_header",
        ),
        (
            "proxy_set_header Host $other",
            "upstream-vhost for proxy_set_header Host",
        ),
        (
            "real_ip_header CF-Connecting-IP",
            "forwarded-for-header with enable-real-ip of the ConfigMap for real_ip_header",
        ),
    ] {
        assert_eq!(usual_advice(directive), expected, "{directive}");
    }
}

#[test]
fn a_condition_may_have_a_counterpart_in_another_variable() {
    for (directive, expected) in [
        (
            "if ($http_host = a.test)",
            "if ($host ...) for if ($http_host ...)",
        ),
        ("if ($http_hostile = a)", ""),
        (
            "if ( $request_uri ~ a )",
            "if ($uri ...), the path without its query, or if ($args ...), the query alone, for if ($request_uri ...)",
        ),
    ] {
        assert_eq!(usual_advice(directive), expected, "{directive}");
    }
}

#[test]
fn buffers_of_nginx_are_nothing_to_envoy() {
    for directive in BUFFERS {
        assert!(
            not_needed(directive, Some(DataPlane::Envoy)).is_some(),
            "{directive}"
        );
        assert_eq!(not_needed(directive, Some(DataPlane::Nginx)), None);
        assert_eq!(not_needed(directive, None), None);
    }
    assert_eq!(not_needed("ssl_ciphers", Some(DataPlane::Envoy)), None);
}

#[test]
fn directives_with_the_same_counterpart_are_named_together_and_once() {
    let directives = [
        "deny",
        "more_clear_headers",
        "proxy_hide_header",
        "deny",
        "if",
    ]
    .map(|directive| vec![directive.to_owned()]);
    assert_eq!(
        alternatives(&directives, None, AdviceFor::Ingresses),
        "denylist-source-range or allowlist-source-range for deny; \
         hide-headers of the ConfigMap for more_clear_headers, proxy_hide_header"
    );
}

#[test]
fn the_configmap_is_told_of_no_annotation() {
    let all = OTHERS.iter().map(|(directive, _)| *directive);
    let all = all.chain(["proxy_read_timeout", "gzip_types", "satisfy"]);
    for directive in all {
        let words: Vec<String> = directive.split(' ').map(str::to_owned).collect();
        let said = alternatives(&[words], None, AdviceFor::ConfigMap);
        let names = GROUPS.iter().flat_map(|group| group.annotations);
        let mut names = names.map(|annotation| annotation.name);
        let is_said = |name: &str| said == format!("the annotation {name}");
        assert!(!names.any(is_said), "{directive}: {said}");
    }
    let words = |text: &str| vec![vec![text.to_owned()]];
    let advice = |text: &str| alternatives(&words(text), None, AdviceFor::ConfigMap);
    assert_eq!(advice("rewrite"), "");
    assert_eq!(
        advice("more_set_headers"),
        "add-headers of the ConfigMap for more_set_headers"
    );
}
