//! The filter chain of a connection, by the name in its handshake: a matcher beside the chains, which do not name their hosts.
//!
//! Envoy updates a matcher in place and drains only connections of chains that differ, so a new host of a chain drains nobody.

use envoy_types::pb::envoy::extensions::matching::common_inputs::network::v3::{
    DirectSourceIpInput, ServerNameInput,
};
use envoy_types::pb::envoy::extensions::matching::input_matchers::ip::v3::Ip;
use envoy_types::pb::google::protobuf::StringValue;
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::single_predicate::Matcher as Condition;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, SinglePredicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_tree::TreeType;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{
    MatcherList, MatcherTree, MatcherType, OnMatch,
};
use sluice_ir::{GlobalConfig, ServerName};

use super::listener::believed_peers;
use super::proto::xds_extension;
use super::tls;
use crate::server_name_matcher::{DomainMatcher, ServerNameMatcher};

/// A chain, and the names in handshakes that lead to it.
pub(super) struct ChainNames {
    pub(super) chain: String,
    pub(super) server_names: Vec<String>,
}

impl ChainNames {
    pub(super) fn new<'a>(chain: &str, hosts: impl IntoIterator<Item = &'a ServerName>) -> Self {
        ChainNames {
            chain: chain.to_owned(),
            server_names: hosts.into_iter().flat_map(tls::sni_names).collect(),
        }
    }
}

/// The matcher of a listener. Envoy closes connections that it leads nowhere.
///
/// `others`: the chain of all other names, and of clients without one.
pub(super) fn matcher(
    global: &GlobalConfig,
    chains: Vec<ChainNames>,
    others: Option<&str>,
) -> Matcher {
    let named = by_name(chains, others);
    let Some(peers) = believed_peers(global) else {
        return named;
    };
    let believed = Ip {
        cidr_ranges: peers,
        stat_prefix: "proxy_peers".to_owned(),
    };
    let predicate = SinglePredicate {
        input: Some(xds_extension("direct_source_ip", DirectSourceIpInput {})),
        matcher: Some(Condition::CustomMatch(xds_extension("peers", believed))),
    };
    let peer = FieldMatcher {
        predicate: Some(Predicate {
            match_type: Some(MatchType::SinglePredicate(predicate)),
        }),
        on_match: Some(then(Then::Matcher(Box::new(named)))),
    };
    let list = MatcherList {
        matchers: vec![peer],
    };
    Matcher {
        matcher_type: Some(MatcherType::MatcherList(list)),
        ..Matcher::default()
    }
}

fn by_name(chains: Vec<ChainNames>, others: Option<&str>) -> Matcher {
    let domain_matchers = chains.into_iter().map(|names| DomainMatcher {
        domains: names.server_names,
        on_match: Some(chain(&names.chain)),
    });
    let names = ServerNameMatcher {
        domain_matchers: domain_matchers.collect(),
    };
    let tree = MatcherTree {
        input: Some(xds_extension("server_name", ServerNameInput {})),
        tree_type: Some(TreeType::CustomMatch(xds_extension("server_names", names))),
    };
    Matcher {
        on_no_match: others.map(chain).map(Box::new),
        matcher_type: Some(MatcherType::MatcherTree(tree)),
    }
}

fn chain(name: &str) -> OnMatch {
    let name = StringValue {
        value: name.to_owned(),
    };
    then(Then::Action(xds_extension("filter-chain-name", name)))
}

fn then(on_match: Then) -> OnMatch {
    OnMatch {
        on_match: Some(on_match),
        ..OnMatch::default()
    }
}
