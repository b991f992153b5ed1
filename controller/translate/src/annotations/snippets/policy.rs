//! Policies of routes, as snippets change them.

use sluice_ir::Policy;

use super::{Effect, rules};
use crate::annotations::auth_external::spelled;
use crate::global::Globals;
use crate::snippet::client_timeouts;

impl Effect {
    /// The policy of the routes, with what the snippets change of it.
    pub(in crate::annotations) fn policy(
        &mut self,
        mut policy: Policy,
        globals: &Globals,
    ) -> Policy {
        policy.access_log_off |= self.access_log_off;
        policy.client_timeouts = client_timeouts(self.clients);
        self.upstream.apply_to(&mut policy);
        policy.ip_access = self.access.take().unwrap_or(policy.ip_access);
        if let Some(rules) = self.rules.take() {
            policy.waf = policy.waf.map(|waf| rules::with_rules(waf, rules));
        }
        if let Some(authentication) = policy.authentication.as_mut() {
            authentication.satisfy_any |= self.satisfies_any;
            if let Some(passwords) = authentication.passwords.as_mut() {
                passwords.user_headers = std::mem::take(&mut self.user_headers);
                let names = passwords.user_headers.iter().cloned();
                let names = policy.auth_headers.drain(..).chain(names).collect();
                (policy.auth_headers, _) = spelled(names, globals);
            }
        }
        let authentication = policy.authentication.as_mut();
        if let Some(service) = authentication.and_then(|it| it.external.as_mut()) {
            std::mem::take(&mut self.auth_request).apply_to(service);
            let names = self.auth_headers.iter().map(|header| header.name.clone());
            let names = policy.auth_headers.drain(..).chain(names).collect();
            (policy.auth_headers, _) = spelled(names, globals);
            service.upstream_headers.append(&mut self.auth_headers);
        }
        policy
    }
}
