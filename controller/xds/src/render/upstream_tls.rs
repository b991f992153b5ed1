//! TLS towards pods.

use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::core::v3::{DataSource, TransportSocket, data_source};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::{
    CombinedCertificateValidationContext, ValidationContextType,
};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::subject_alt_name_matcher::SanType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::tls_parameters::TlsProtocol;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, CommonTlsContext, SdsSecretConfig, Secret, SubjectAltNameMatcher,
    TlsCertificate, TlsParameters, UpstreamTlsContext,
};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use sluice_ir::{Protocol, SecretId, SecretValue, UpstreamTls, Verify};

use super::proto::{ads_awaited, any, verify_depth};

/// Nothing is verified and no name is sent unless the settings say so.
pub(super) fn socket(tls: &UpstreamTls, protocol: Protocol) -> TransportSocket {
    let common = CommonTlsContext {
        tls_params: Some(parameters(tls)),
        tls_certificate_sds_secret_configs: tls.certificate.iter().map(from_ads).collect(),
        validation_context_type: tls.verify.as_ref().map(verification),
        alpn_protocols: if protocol == Protocol::Http2 {
            vec!["h2".to_owned()]
        } else {
            Vec::new()
        },
        ..CommonTlsContext::default()
    };
    let context = UpstreamTlsContext {
        common_tls_context: Some(common),
        sni: tls.server_name.clone().unwrap_or_default(),
        ..UpstreamTlsContext::default()
    };
    TransportSocket {
        name: "envoy.transport_sockets.tls".to_owned(),
        config_type: any(context).map(ConfigType::TypedConfig),
    }
}

fn parameters(tls: &UpstreamTls) -> TlsParameters {
    let versions = tls.versions;
    let lowest = if versions.v1_2 {
        TlsProtocol::TlSv12
    } else {
        TlsProtocol::TlSv13
    };
    let highest = if versions.v1_3 {
        TlsProtocol::TlSv13
    } else {
        TlsProtocol::TlSv12
    };
    TlsParameters {
        tls_minimum_protocol_version: lowest.into(),
        tls_maximum_protocol_version: highest.into(),
        cipher_suites: tls.ciphers.clone(),
        ..TlsParameters::default()
    }
}

/// The authorities come by SDS, the name and the depth do not.
fn verification(verify: &Verify) -> ValidationContextType {
    let name = StringMatcher {
        match_pattern: Some(MatchPattern::Exact(verify.name.clone())),
        ignore_case: true,
    };
    let name = SubjectAltNameMatcher {
        san_type: SanType::Dns.into(),
        matcher: Some(name),
        ..Default::default()
    };
    let own = CertificateValidationContext {
        match_typed_subject_alt_names: vec![name],
        max_verify_depth: verify_depth(verify.depth),
        ..CertificateValidationContext::default()
    };
    ValidationContextType::CombinedValidationContext(CombinedCertificateValidationContext {
        default_validation_context: Some(own),
        validation_context_sds_secret_config: Some(from_ads(&verify.ca)),
        ..CombinedCertificateValidationContext::default()
    })
}

fn from_ads(id: &SecretId) -> SdsSecretConfig {
    SdsSecretConfig {
        name: id.as_str().to_owned(),
        sds_config: Some(ads_awaited()),
    }
}

/// A certificate or its authorities, as SDS has it.
#[must_use]
pub fn named_secret(name: &str, value: &SecretValue) -> Secret {
    let content = match value {
        SecretValue::Certificate { chain, key } => Type::TlsCertificate(TlsCertificate {
            certificate_chain: inline(chain),
            private_key: inline(key.reveal()),
            ..TlsCertificate::default()
        }),
        SecretValue::Authorities {
            certificates,
            revoked,
        } => Type::ValidationContext(CertificateValidationContext {
            trusted_ca: inline(certificates),
            crl: revoked.as_deref().and_then(inline),
            ..CertificateValidationContext::default()
        }),
    };
    Secret {
        name: name.to_owned(),
        r#type: Some(content),
    }
}

fn inline(pem: &str) -> Option<DataSource> {
    let specifier = Some(data_source::Specifier::InlineString(pem.to_owned()));
    Some(DataSource {
        specifier,
        ..DataSource::default()
    })
}
