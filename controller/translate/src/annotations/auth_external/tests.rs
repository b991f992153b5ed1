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
fn a_place_to_sign_in_knows_the_way_back() {
    let back = "$scheme://$http_host$escaped_request_uri";
    assert_eq!(
        shown(sign_in("http://$host/start", None)),
        format!("http://$host/start?rd={back}")
    );
    assert_eq!(
        shown(sign_in("/start?a=b", Some("to"))),
        format!("/start?a=b&to={back}")
    );
    assert_eq!(shown(sign_in("/start?rd=x", None)), "/start?rd=x");
    assert!(sign_in("javascript:alert(1)", None).is_err());
}
