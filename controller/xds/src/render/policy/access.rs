//! Addresses that may come in, and addresses that may not.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::rbac::v3::rbac::Action;
use envoy_types::pb::envoy::config::rbac::v3::{
    Permission, Policy, Principal, Rbac as Rules, permission, principal,
};
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use sluice_ir::{Access, Cidr};

use crate::render::forwarded::range;
use crate::render::wire::extension;

/// What is denied comes first.
pub(super) fn filters(access: &Access) -> Vec<TypedExtensionConfig> {
    let deny = (!access.deny.is_empty()).then(|| filter("deny", Action::Deny, &access.deny));
    let allow = (!access.allow.is_empty()).then(|| filter("allow", Action::Allow, &access.allow));
    deny.into_iter().chain(allow).collect()
}

fn filter(name: &str, action: Action, cidrs: &[Cidr]) -> TypedExtensionConfig {
    let principals = cidrs
        .iter()
        .map(|cidr| Principal { identifier: Some(principal::Identifier::RemoteIp(range(*cidr))) });
    let anything = Permission { rule: Some(permission::Rule::Any(true)) };
    let policy =
        Policy { permissions: vec![anything], principals: principals.collect(), ..Policy::default() };
    let policies = [(name.to_owned(), policy)].into();
    let rules = Rules { action: action.into(), policies, ..Rules::default() };
    extension(name, Rbac { rules: Some(rules), ..Rbac::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_denied_is_denied_before_anybody_is_allowed() {
        let network = Cidr::new("10.0.0.0".parse().unwrap(), 8).unwrap();
        let names =
            |access: &Access| filters(access).into_iter().map(|filter| filter.name).collect::<Vec<_>>();
        assert_eq!(names(&Access { allow: vec![network], deny: vec![network] }), ["deny", "allow"]);
        assert!(names(&Access::default()).is_empty());
    }
}
