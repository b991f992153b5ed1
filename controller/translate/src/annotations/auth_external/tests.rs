use sluice_translate_engine::AddressPolicy;

use super::*;

fn shown(expression: Parsed<Expression>) -> String {
    serde_json::to_value(expression.unwrap())
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

fn read(text: &str) -> Parsed<Expression> {
    ext_auth_url::parse(text, &AddressPolicy::default())
}

fn place(text: &str, parameter: Option<&str>) -> Parsed<Expression> {
    sign_in(text, parameter, |_| None)
}

#[test]
fn a_client_does_not_choose_whom_we_ask() {
    for good in [
        "https://auth.example",
        "https://auth.example/verify?a=$arg_a",
        "http://auth.ns.svc:8080/x",
        "https://$host/oauth2/auth",
        "https://$http_host/oauth2/auth",
        "http://auth.example$request_uri",
    ] {
        assert_eq!(read(good).map(|_| ()), Ok(()), "{good}");
    }
    for bad in [
        "https://invalid..host",
        "http://$arg_a/",
        "http://$http_x_host/",
        "http://$host.evil/",
        "http://$host$arg_a/",
        "http://auth.example$arg_a",
        "http://auth.example:80$uri",
        "$scheme://auth.example",
        "http://127.0.0.1:9901/quitquitquit",
        "http://169.254.169.254/latest",
        "ftp://auth.example",
        "http://a b",
        "http://a\"; deny all;",
        "",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn names_of_a_route_are_behind_the_host() {
    let read = |text| ext_auth_url::parse_of_route(text, &AddressPolicy::default());
    for good in [
        "http://auth.ns.svc/$namespace",
        "https://$host/?$service_name",
        "http://auth.ns.svc:80/$service_port$ingress_name",
    ] {
        assert!(read(good).is_ok(), "{good}");
    }
    for bad in [
        "http://$service_name/",
        "http://auth.$namespace.svc/",
        "http://auth.ns.svc:$service_port/",
        "http://$host$namespace/",
        "http://auth.ns.svc$namespace",
        "$namespace://auth.ns.svc/",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_place_to_sign_in_knows_the_way_back() {
    let back = "$scheme://$http_host$escaped_request_uri";
    assert_eq!(
        shown(place("http://$host/start", None)),
        format!("http://$host/start?rd={back}")
    );
    assert_eq!(
        shown(place("/start?a=b", Some("to"))),
        format!("/start?a=b&to={back}")
    );
    assert_eq!(shown(place("/start?rd=x", None)), "/start?rd=x");
    let back = "https://l.t/?rd=https://$host$uri$is_args$args&s=";
    assert_eq!(
        shown(place(&format!("{back}$server_name$query_string"), None)),
        format!("{back}$host$args")
    );
    // nginx's request to the service has no query of its own.
    assert!(read("http://auth.example/?$args").is_err());
    assert!(place("javascript:alert(1)", None).is_err());
}
