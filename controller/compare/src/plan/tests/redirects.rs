//! Schemes of lines that do not say one.

use sluice_ir::{Expression, Redirect, RedirectTo};

use super::*;

/// `permanent-redirect` answers whatever the scheme is, and a host without TLS is not asked over it.
#[test]
fn a_redirect_of_both_schemes_says_nothing_of_the_one_that_was_asked() {
    let mut config = config();
    let name = ServerName::parse("moved.test").unwrap();
    let mut moved = route(&name, PathMatch::Prefix("/".to_owned()), "web");
    moved.action = Action::Redirect(Box::new(Redirect {
        status: 301,
        to: RedirectTo::Url(Expression::literal("https://new.test/")),
    }));
    let server = Server {
        routes: vec![moved],
        ..Server::default()
    };
    config.servers.insert(name, Arc::new(server));
    let owner = owner(&config);
    let site = Site {
        config: &config,
        owner: &owner,
    };
    let mut plan = Plan::default();
    for url in ["http://moved.test/x", "http://s.test/s"] {
        plan.add_recorded(Some(&site), recorded(url, "GET", None), &selection());
    }
    let sent = plan.probes.iter().map(|probe| probe.request.to_string());
    let expected = ["GET http://moved.test/x", "GET https://s.test/s"];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

#[test]
fn hosts_that_were_selected_and_have_no_requests_are_known() {
    let selection = Selection {
        hosts: ["a.test", "typo.test"].map(str::to_owned).to_vec(),
        ..selection()
    };
    let plan = of_ingresses(&selection);
    let missing: Vec<&str> = plan.hosts_without_requests(&selection).collect();
    assert_eq!(missing, ["typo.test"]);
    planned(|_, site| {
        assert!(site.has_host("a.test") && site.has_host("x.w.test"));
        assert!(!site.has_host("typo.test"));
    });
}
