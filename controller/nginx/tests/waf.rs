//! Firewalls: whose rules are around whom, and an nginx without the module.

use std::sync::Arc;

use sluice_ir::waf::{Action as RuleAction, Directive, SettingValue, Token};
use sluice_ir::{
    Action, Backend, BackendId, Config, GlobalConfig, HttpRoute, PathMatch, Policy, Server,
    ServerName, Waf,
};
use sluice_nginx::{ModSecurity, Rendered, Settings, render};

mod common;

fn module(core_rules: &[&str]) -> ModSecurity {
    ModSecurity {
        module: "modsecurity.so".into(),
        core_rules: core_rules.iter().map(Into::into).collect(),
        unicode_map: None,
    }
}

/// Serves hosts a, b ... each with these firewalls on paths of their own.
fn rendered(hosts: &[&[Waf]], modsecurity: Option<ModSecurity>) -> Rendered {
    let id = BackendId::new("default/shop/80");
    let server = |(number, wafs): (usize, &&[Waf])| {
        let name = ServerName::parse(&format!("h{number}.test")).unwrap();
        let route = |(number, waf): (usize, &Waf)| {
            let policy = Policy {
                waf: Some(waf.clone()),
                ..Policy::default()
            };
            let path = PathMatch::Exact(format!("/{number}"));
            HttpRoute::new(&name, path, Action::to(id.clone()), Arc::new(policy))
        };
        let server = Server {
            routes: wafs.iter().enumerate().map(route).collect(),
            ..Server::default()
        };
        (name.clone(), Arc::new(server))
    };
    let config = Config {
        global: GlobalConfig::default(),
        servers: hosts.iter().enumerate().map(server).collect(),
        backends: [(id.clone(), Arc::new(Backend::default()))]
            .into_iter()
            .collect(),
        ..Config::default()
    };
    let settings = Settings {
        modsecurity,
        ..common::settings()
    };
    render(&config, &settings)
}

fn core() -> Waf {
    Waf {
        core_rules: true,
        ..own(&[])
    }
}

fn own(rules: &[Directive]) -> Waf {
    let on = Directive::Setting("SecRuleEngine", SettingValue::new("On").unwrap());
    let rules = std::iter::once(on).chain(rules.iter().cloned());
    Waf {
        rules: rules.collect(),
        ..Waf::default()
    }
}

fn recommended() -> Waf {
    Waf {
        recommended: true,
        ..Waf::default()
    }
}

/// Number of times that a file with this text in it is parsed.
fn parsed(rendered: &Rendered, text: &str) -> usize {
    let files = rendered
        .files
        .rules()
        .filter(|(_, rules)| rules.contains(text));
    files
        .map(|(name, _)| rendered.text.matches(name).count())
        .sum()
}

#[test]
fn core_rules_are_parsed_once_for_all_hosts() {
    let wafs = [core(), core()];
    let rendered = rendered(&[&wafs, &wafs, &[own(&[])]], Some(module(&["core.conf"])));
    assert_eq!(rendered.unsupported, []);
    assert_eq!(parsed(&rendered, "Include core.conf"), 1);
    assert_eq!(
        parsed(
            &rendered,
            "SecRuleRemoveById 900000-999999\nSecRuleEngine On"
        ),
        1
    );
    assert_eq!(rendered.text.matches("modsecurity on;").count(), 5);
}

#[test]
fn one_host_has_its_core_rules_for_itself() {
    let rendered = rendered(
        &[&[core(), core()], &[own(&[])]],
        Some(module(&["core.conf"])),
    );
    assert_eq!(parsed(&rendered, "Include core.conf"), 1);
    assert_eq!(parsed(&rendered, "SecRuleRemoveById"), 0);
}

#[test]
fn own_rules_with_ids_of_the_core_rules_are_not_removed() {
    let id = |id: &str| RuleAction::Word("id", Token::new(id).unwrap());
    let rules = [
        Directive::Action(vec![id("900110")]),
        Directive::Action(vec![id("7")]),
    ];
    let hosts: [&[Waf]; 3] = [&[core()], &[core()], &[own(&rules)]];
    let rendered = rendered(&hosts, Some(module(&["core.conf"])));
    assert_eq!(
        parsed(&rendered, "SecRuleRemoveById 900000-900109 900111-999999\n"),
        1
    );
}

#[test]
fn default_actions_that_reject_are_not_mixed_with_those_of_the_core_rules() {
    let rejects = own(&[Directive::DefaultAction(vec![RuleAction::Flag("deny")])]);
    let hosts: [&[Waf]; 3] = [&[core()], &[core()], std::slice::from_ref(&rejects)];
    let apart = rendered(&hosts, Some(module(&["core.conf"])));
    assert_eq!(parsed(&apart, "Include core.conf"), 2);
    let together = rendered(&[&[core(), core(), rejects]], Some(module(&["core.conf"])));
    assert_eq!(parsed(&together, "Include core.conf"), 2);
}

#[test]
fn recommended_settings_are_around_those_that_all_have_them() {
    let count = |hosts: &[&[Waf]]| {
        let rendered = rendered(hosts, Some(module(&[])));
        parsed(&rendered, "SecRuleEngine DetectionOnly")
    };
    let two = [recommended(), recommended()];
    assert_eq!(count(&[&two, &two]), 1);
    assert_eq!(count(&[&two, &two, &[own(&[])]]), 2);
    assert_eq!(count(&[&[recommended(), recommended(), own(&[])]]), 2);
}

#[test]
fn without_the_module_a_firewall_that_rejects_closes_its_route() {
    let closes = |waf: Waf, modsecurity| {
        let rendered = rendered(&[&[waf]], modsecurity);
        assert_eq!(
            rendered.text.contains("modsecurity"),
            rendered.unsupported.is_empty()
        );
        let closes: Vec<bool> = rendered
            .unsupported
            .iter()
            .map(|what| what.closes)
            .collect();
        (closes, rendered.text.contains("\n      return 503;\n    }"))
    };
    assert_eq!(closes(own(&[]), None), (vec![true], true));
    assert_eq!(closes(recommended(), None), (vec![false], false));
    assert_eq!(closes(recommended(), Some(module(&[]))), (vec![], false));
    let (missing, is_closed) = closes(core(), Some(module(&["core.conf"])));
    assert!(missing.is_empty() && !is_closed);
}

#[test]
fn without_the_core_rules_a_firewall_that_rejects_closes_its_route() {
    let rendered = rendered(&[&[core()]], Some(module(&[])));
    assert!(rendered.unsupported[0].closes && rendered.text.contains("\n      return 503;\n    }"));
}
