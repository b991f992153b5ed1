//! TLS towards clients: the transport socket of a listener, and the certificates it presents: SDS.

use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::core::v3::{DataSource, TransportSocket, data_source};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::tls_parameters::TlsProtocol;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, SdsSecretConfig, Secret, TlsCertificate, TlsParameters,
};

use sluice_ir::Edge;

use super::DEFAULT_CERTIFICATE;
use super::wire::{ads_awaited, any};
use crate::Certificate;

/// Terminates TLS with the default certificate. A certificate that changes does not touch the listener.
pub(super) fn terminated(edge: &Edge) -> TransportSocket {
    let certificate =
        SdsSecretConfig { name: DEFAULT_CERTIFICATE.to_owned(), sds_config: Some(ads_awaited()) };
    // ingress-nginx: `ssl_protocols TLSv1.2 TLSv1.3`.
    let parameters = TlsParameters {
        tls_minimum_protocol_version: TlsProtocol::TlSv12.into(),
        tls_maximum_protocol_version: TlsProtocol::TlSv13.into(),
        ..TlsParameters::default()
    };
    let protocols = edge.http.http2.then_some("h2").into_iter().chain(["http/1.1"]);
    let common = CommonTlsContext {
        tls_params: Some(parameters),
        tls_certificate_sds_secret_configs: vec![certificate],
        alpn_protocols: protocols.map(str::to_owned).collect(),
        ..CommonTlsContext::default()
    };
    let context =
        DownstreamTlsContext { common_tls_context: Some(common), ..DownstreamTlsContext::default() };
    TransportSocket {
        name: "envoy.transport_sockets.tls".to_owned(),
        config_type: any(context).map(ConfigType::TypedConfig),
    }
}

/// A certificate with its key.
#[must_use]
pub fn secret(name: &str, certificate: &Certificate) -> Secret {
    let certificate = TlsCertificate {
        certificate_chain: inline(&certificate.chain),
        private_key: inline(&certificate.key),
        ..TlsCertificate::default()
    };
    Secret { name: name.to_owned(), r#type: Some(Type::TlsCertificate(certificate)) }
}

fn inline(pem: &str) -> Option<DataSource> {
    Some(DataSource {
        specifier: Some(data_source::Specifier::InlineString(pem.to_owned())),
        ..DataSource::default()
    })
}
