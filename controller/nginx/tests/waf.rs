//! Firewalls: whose rules are around whom, and an nginx without the module.

use std::sync::Arc;

use sluice_ir::waf::{Action as RuleAction, Directive, SettingValue, Token};
use sluice_ir::{
    Action, Backend, BackendId, Config, GlobalConfig, HttpRoute, PathMatch, Policy, Server,
    ServerName, Waf,
};
use sluice_nginx::{ModSecurity, Rendered, Settings, render};

mod common;

/// The one that core rules have here.
const CORE_ID: u32 = 942_100;
const WITHOUT_CORE_RULES: &str = "SecRuleRemoveById 900000-999999 9000000-9999999\n";

fn module(core_rules: &[&str]) -> ModSecurity {
    ModSecurity {
        module: "modsecurity.so".into(),
        core_rules: core_rules.iter().map(Into::into).collect(),
        core_ids: Some([CORE_ID].into()),
        unicode_map: None,
    }
}

/// Serves hosts a, b ... each with these firewalls on paths of their own.
fn rendered(hosts: &[&[Waf]], modsecurity: Option<ModSecurity>) -> Rendered {
    rendered_under(None, hosts, modsecurity)
}

/// The same under a firewall of the operator's for all.
fn rendered_under(
    everywhere: Option<Waf>,
    hosts: &[&[Waf]],
    modsecurity: Option<ModSecurity>,
) -> Rendered {
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
        global: GlobalConfig {
            waf: everywhere,
            ..GlobalConfig::default()
        },
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

fn with(actions: &[RuleAction]) -> Directive {
    Directive::Action(actions.to_vec())
}

fn word(name: &'static str, value: &str) -> RuleAction {
    RuleAction::Word(name, Token::new(value).unwrap())
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
    let removes = format!("{WITHOUT_CORE_RULES}SecRuleEngine On");
    assert_eq!(parsed(&rendered, &removes), 1);
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
fn rules_of_a_location_and_those_of_all_are_not_removed_with_the_core_rules() {
    let rules = |ids: &[&str]| {
        ids.iter()
            .map(|id| with(&[word("id", id)]))
            .collect::<Vec<_>>()
    };
    let everywhere = own(&rules(&["900500", "1000", "9999999"]));
    let own = own(&rules(&["900110", "7"]));
    let hosts: [&[Waf]; 3] = [&[core()], &[core()], &[own]];
    let rendered = rendered_under(Some(everywhere), &hosts, Some(module(&["core.conf"])));
    assert_eq!(rendered.unsupported, []);
    let removes = "SecRuleRemoveById 900000-900109 900111-900499 900501-999999 9000000-9999998\n";
    assert_eq!(parsed(&rendered, removes), 1);
    assert_eq!(parsed(&rendered, "SecRuleRemoveById"), 1);
}

/// Rules, and whether they mean the same with removed core rules around them: default actions and markers of those stay.
fn rules_of_others() -> Vec<(bool, Vec<Directive>)> {
    let default = |action| Directive::DefaultAction(vec![word("phase", "2"), action]);
    let marker = |name| Directive::Marker(Token::new(name).unwrap());
    let skip = || with(&[word("id", "8"), word("skipAfter", "END")]);
    vec![
        (true, Vec::new()),
        (
            true,
            vec![with(&[word("id", "8"), RuleAction::Flag("deny")])],
        ),
        (
            true,
            vec![with(&[word("id", "942101"), RuleAction::Flag("deny")])],
        ),
        (true, vec![skip(), with(&[word("id", "9")]), marker("END")]),
        (false, vec![default(RuleAction::Flag("deny"))]),
        (false, vec![default(RuleAction::Flag("drop"))]),
        (false, vec![default(RuleAction::Flag("pass"))]),
        (
            false,
            vec![with(&[word("id", "8"), RuleAction::Flag("block")])],
        ),
        (false, vec![with(&[word("id", &CORE_ID.to_string())])]),
        (false, vec![skip()]),
        (false, vec![marker("END"), skip()]),
        (false, vec![skip(), marker("OTHER")]),
    ]
}

#[test]
fn core_rules_are_around_rules_that_mean_the_same_with_them_and_around_no_others() {
    let module = || Some(module(&["core.conf"]));
    for (is_same, rules) in rules_of_others() {
        let [other, everywhere] = [(); 2].map(|()| own(&rules));
        for (case, everywhere, other) in
            [("own", None, other), ("of all", Some(everywhere), own(&[]))]
        {
            let count = |hosts: &[&[Waf]]| {
                let rendered = rendered_under(everywhere.clone(), hosts, module());
                parsed(&rendered, "Include core.conf")
            };
            let other = std::slice::from_ref(&other);
            let of_hosts = count(&[&[core()], &[core()], other]);
            let of_paths = count(&[&[core(), core(), other[0].clone()]]);
            let expected = if is_same { 1 } else { 2 };
            assert_eq!(
                (of_hosts, of_paths),
                (expected, expected),
                "{case}: {rules:?}"
            );
            // Nobody is without them.
            let (of_hosts, of_paths) =
                (count(&[&[core()], &[core()]]), count(&[&[core(), core()]]));
            assert_eq!((of_hosts, of_paths), (1, 1), "{case}: {rules:?}");
        }
    }
}

#[test]
fn core_rules_that_the_operator_has_for_all_are_parsed_once() {
    for (_, rules) in rules_of_others() {
        let everywhere = Waf {
            core_rules: true,
            ..own(&rules)
        };
        let hosts: [&[Waf]; 2] = [&[core()], &[own(&[]), own(&rules)]];
        let rendered = rendered_under(Some(everywhere), &hosts, Some(module(&["core.conf"])));
        assert_eq!(parsed(&rendered, "Include core.conf"), 1, "{rules:?}");
        assert_eq!(parsed(&rendered, "SecRuleRemoveById"), 0, "{rules:?}");
    }
}

#[test]
fn core_rules_that_cannot_be_removed_are_around_those_alone_that_have_them() {
    let around = |core_ids: Option<&[u32]>| {
        let count = |hosts: &[&[Waf]]| {
            let module = ModSecurity {
                core_ids: core_ids.map(|ids| ids.iter().copied().collect()),
                ..module(&["core.conf"])
            };
            parsed(&rendered(hosts, Some(module)), "Include core.conf")
        };
        [
            count(&[&[core()], &[core()], &[own(&[])]]),
            count(&[&[core(), core(), own(&[])]]),
            count(&[&[core(), core()], &[core()]]),
        ]
    };
    assert_eq!(around(None), [2, 2, 1]);
    // Of the operator's own, which are not removed with them.
    for id in [1000, 899_999, 1_000_000, 8_999_999, 10_000_000] {
        assert_eq!(around(Some(&[CORE_ID, id])), [2, 2, 1], "{id}");
    }
    for id in [900_000, 999_999, 9_000_000, 9_999_999] {
        assert_eq!(around(Some(&[id])), [1, 1, 1], "{id}");
    }
}

#[test]
fn core_rules_of_locations_come_before_rules_of_all_wherever_they_are_parsed() {
    let rules = [with(&[word("id", "8")])];
    let order = |everywhere: Waf, hosts: &[&[Waf]]| {
        let rendered = rendered_under(Some(everywhere), hosts, Some(module(&["core.conf"])));
        let place = |text: &str| {
            let mut files = rendered.files.rules();
            let (name, _) = files.find(|(_, rules)| rules.contains(text)).unwrap();
            rendered.text.find(name).unwrap()
        };
        let http_has_both = rendered.text.find("server {").unwrap();
        let (core, all) = (place("Include core.conf"), place("id:8"));
        (core < http_has_both).then_some(core < all)
    };
    let (one, two): ([&[Waf]; 1], [&[Waf]; 2]) = ([&[core()]], [&[core()], &[core()]]);
    // In a location: what is around it comes behind.
    assert_eq!(order(own(&rules), &one), None);
    assert_eq!(order(own(&rules), &two), Some(true));
    let has_them = Waf {
        core_rules: true,
        ..own(&rules)
    };
    assert_eq!(order(has_them, &one), Some(false));
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
