//! R6: rules of a web application firewall that cannot be enforced close their paths, and nobody else's. None of their text is
//! configuration.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(firewall_that_cannot_be_enforced_closes_its_paths_alone);

/// Rules that may reject requests, with something that ModSecurity would do to others.
const HOSTILE: &[&str] = &[
    "SecRuleEngine On\nSecRule ARGS \"@inspectFile /bin/sh\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny,exec:/bin/sh\"",
    "SecRuleEngine On\nSecRuleScript /tmp/x.lua \"id:1,deny\"",
    "SecRuleEngine On\nSecRemoteRules key https://rules.test/",
    "SecRuleEngine On\nInclude /etc/passwd",
    "SecRuleEngine On\nSecTmpDir /etc",
    "SecRuleEngine On\nSecRule ENV:HOME \"@beginsWith /\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS \"@streq %{ENV.HOME}\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,redirect:https://evil.test\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny,initcol:ip=%{REMOTE_ADDR}\"",
    "SecRuleEngine On\nSecRule ARGS \"50%\" \"id:1,deny,msg:'50%'\"",
    "SecRuleEngine On\nSecAction \"id:1,pass,msg:'\\\\\"'\"",
    "SecRuleEngine On'; } location /x { return 200; } #",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny",
    "SecAction \"id:1,pass,ctl:ruleEngine=On,ctl:unheardOf=1\"",
];

async fn firewall_that_cannot_be_enforced_closes_its_paths_alone(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let host = |number: usize| format!("h{number}.test");
    let mut all: Vec<_> = HOSTILE
        .iter()
        .enumerate()
        .map(|(number, rules)| {
            let ingress = Ingress::new(OWNER, &format!("h{number}"))
                .host(&host(number))
                .annotation("enable-modsecurity", "true")
                .annotation("modsecurity-snippet", rules);
            ingress.path("/", "web", 80).to_json()
        })
        .collect();
    let open = |namespace: &str, name: &str, host: &str| {
        let ingress = Ingress::new(namespace, name).host(host);
        ingress.path("/open", "web", 80).to_json()
    };
    all.push(open(OWNER, "beside", &host(0)));
    all.push(open(FOREIGN, "foreign", "last.test"));
    all.push(snippets_permitted());
    tenants.write("all.yaml", &all)?;
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(snippet_flags()).start().await?;
    sluice.wait_for_status("last.test", "/open", 200).await?;
    for (number, rules) in HOSTILE.iter().enumerate() {
        let answer = sluice.get(&host(number), "/").await?;
        ensure!(answer.status == 503, "{rules}: {}", answer.status);
    }
    let beside = sluice.get(&host(0), "/open").await?;
    ensure!(beside.status == 200, "another Ingress: {}", beside.status);
    sluice.stop()
}
