//! TLS towards clients: the transport sockets of a listener, and the certificates they present: SDS.

use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::core::v3::{DataSource, TransportSocket, data_source};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::certificate_validation_context::TrustChainVerification;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::{
    CombinedCertificateValidationContext, ValidationContextType,
};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::downstream_tls_context::SessionTicketKeysType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::tls_parameters::TlsProtocol;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, CommonTlsContext, DownstreamTlsContext, SdsSecretConfig, Secret,
    TlsCertificate, TlsParameters,
};

use envoy_types::pb::google::protobuf::BoolValue;
use sluice_ir::{ClientValidation, GlobalConfig, HostTls, SecretId, ServerName, ServerTls};

use super::proto::{ads_awaited, any, seconds, verify_depth};
use super::{DEFAULT_CERTIFICATE, DEFAULT_CERTIFICATE_FOR};
use crate::Certificate;

/// Terminates TLS as a host has it. A certificate that changes does not touch the listener.
pub(super) fn terminated(global: &GlobalConfig, host: &HostTls) -> TransportSocket {
    let own = host.certificate.as_ref().map(SecretId::as_str);
    let default = || default_certificate_name(host.client_validation.as_ref());
    let certificate = SdsSecretConfig {
        name: own.map_or_else(default, str::to_owned),
        sds_config: Some(ads_awaited()),
    };
    let protocols = global
        .http
        .http2
        .then_some("h2")
        .into_iter()
        .chain(["http/1.1"]);
    let common = CommonTlsContext {
        tls_params: Some(parameters(&global.tls, &host.ciphers)),
        tls_certificate_sds_secret_configs: vec![certificate],
        alpn_protocols: protocols.map(str::to_owned).collect(),
        validation_context_type: host.client_validation.as_ref().map(checked),
        ..CommonTlsContext::default()
    };
    // A resumed session has no checked certificate any more.
    let anew = host.client_validation.is_some();
    let context = DownstreamTlsContext {
        common_tls_context: Some(common),
        require_client_certificate: Some(BoolValue { value: false }),
        session_timeout: global
            .tls
            .session_timeout
            .and_then(|session| seconds(session.get().into())),
        disable_stateful_session_resumption: anew,
        session_ticket_keys_type: anew.then_some(
            SessionTicketKeysType::DisableStatelessSessionResumption(true),
        ),
        ..DownstreamTlsContext::default()
    };
    TransportSocket {
        name: "envoy.transport_sockets.tls".to_owned(),
        config_type: any(context).map(ConfigType::TypedConfig),
    }
}

/// Name of the default certificate for hosts that check clients so. What a tenant can break is beside no certificate of others.
pub(super) fn default_certificate_name(clients: Option<&ClientValidation>) -> String {
    clients.map_or_else(
        || DEFAULT_CERTIFICATE.to_owned(),
        |clients| format!("{DEFAULT_CERTIFICATE_FOR}{}", clients.ca.as_str()),
    )
}

/// As in nginx the handshake goes on whatever the certificate is, and the routes say what that means.
fn checked(trust: &ClientValidation) -> ValidationContextType {
    let own = CertificateValidationContext {
        max_verify_depth: verify_depth(trust.depth),
        trust_chain_verification: TrustChainVerification::AcceptUntrusted.into(),
        ..CertificateValidationContext::default()
    };
    ValidationContextType::CombinedValidationContext(CombinedCertificateValidationContext {
        default_validation_context: Some(own),
        validation_context_sds_secret_config: Some(SdsSecretConfig {
            name: trust.ca.as_str().to_owned(),
            sds_config: Some(ads_awaited()),
        }),
        ..CombinedCertificateValidationContext::default()
    })
}

fn parameters(tls: &ServerTls, own: &[String]) -> TlsParameters {
    let lowest = if tls.versions.v1_2 {
        TlsProtocol::TlSv12
    } else {
        TlsProtocol::TlSv13
    };
    let highest = if tls.versions.v1_3 {
        TlsProtocol::TlSv13
    } else {
        TlsProtocol::TlSv12
    };
    TlsParameters {
        tls_minimum_protocol_version: lowest.into(),
        tls_maximum_protocol_version: highest.into(),
        cipher_suites: if own.is_empty() {
            tls.ciphers.clone()
        } else {
            own.to_vec()
        },
        ecdh_curves: tls.curves.clone(),
        ..TlsParameters::default()
    }
}

/// Server names that clients send for a host. A final dot makes no difference.
pub(super) fn sni_names(name: &ServerName) -> [String; 2] {
    [name.to_string(), format!("{name}.")]
}

/// A certificate with its key.
#[must_use]
pub fn secret(name: &str, certificate: &Certificate) -> Secret {
    let certificate = TlsCertificate {
        certificate_chain: inline(&certificate.chain),
        private_key: inline(&certificate.key),
        ..TlsCertificate::default()
    };
    Secret {
        name: name.to_owned(),
        r#type: Some(Type::TlsCertificate(certificate)),
    }
}

fn inline(pem: &str) -> Option<DataSource> {
    Some(DataSource {
        specifier: Some(data_source::Specifier::InlineString(pem.to_owned())),
        ..DataSource::default()
    })
}
