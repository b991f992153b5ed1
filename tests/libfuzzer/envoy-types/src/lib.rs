//! Messages with the names, the paths and the numbers that they have in Envoy's API, as far as `sluice-xds-delta` reads them.

/// A message that only has its name here.
macro_rules! named {
    ($name:ident, $package:literal) => {
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct $name {
            #[prost(string, tag = "1")]
            pub name: String,
        }
        named!(type_url $name, $package);
    };
    (type_url $name:ident, $package:literal) => {
        impl prost::Name for $name {
            const NAME: &'static str = stringify!($name);
            const PACKAGE: &'static str = $package;
            fn type_url() -> String {
                concat!("type.googleapis.com/", $package, ".", stringify!($name)).to_owned()
            }
        }
    };
}

pub mod pb {
    pub mod google {
        pub mod protobuf {
            #[derive(Clone, PartialEq, prost::Message)]
            pub struct Struct {
                #[prost(map = "string, message", tag = "1")]
                pub fields: std::collections::HashMap<String, Value>,
            }

            #[derive(Clone, PartialEq, prost::Message)]
            pub struct Value {
                #[prost(oneof = "value::Kind", tags = "2, 3, 4")]
                pub kind: Option<value::Kind>,
            }
            pub mod value {
                #[derive(Clone, PartialEq, prost::Oneof)]
                pub enum Kind {
                    #[prost(double, tag = "2")]
                    NumberValue(f64),
                    #[prost(string, tag = "3")]
                    StringValue(String),
                    #[prost(bool, tag = "4")]
                    BoolValue(bool),
                }
            }

            #[derive(Clone, PartialEq, prost::Message)]
            pub struct Any {
                #[prost(string, tag = "1")]
                pub type_url: String,
                #[prost(bytes = "vec", tag = "2")]
                pub value: Vec<u8>,
            }
        }
        pub mod rpc {
            #[derive(Clone, PartialEq, prost::Message)]
            pub struct Status {
                #[prost(int32, tag = "1")]
                pub code: i32,
                #[prost(string, tag = "2")]
                pub message: String,
            }
        }
    }
    pub mod envoy {
        pub mod config {
            pub mod cluster {
                pub mod v3 {
                    named!(Cluster, "envoy.config.cluster.v3");
                }
            }
            pub mod core {
                pub mod v3 {
                    named!(TypedExtensionConfig, "envoy.config.core.v3");

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct DataSource {
                        #[prost(oneof = "data_source::Specifier", tags = "3")]
                        pub specifier: Option<data_source::Specifier>,
                    }
                    pub mod data_source {
                        #[derive(Clone, PartialEq, prost::Oneof)]
                        pub enum Specifier {
                            #[prost(string, tag = "3")]
                            InlineString(String),
                        }
                    }

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct Node {
                        #[prost(string, tag = "1")]
                        pub id: String,
                        #[prost(message, optional, tag = "3")]
                        pub metadata: Option<crate::pb::google::protobuf::Struct>,
                        #[prost(oneof = "node::UserAgentVersionType", tags = "7, 8")]
                        pub user_agent_version_type: Option<node::UserAgentVersionType>,
                    }
                    pub mod node {
                        #[derive(Clone, PartialEq, prost::Oneof)]
                        pub enum UserAgentVersionType {
                            #[prost(string, tag = "7")]
                            UserAgentVersion(String),
                            #[prost(message, tag = "8")]
                            UserAgentBuildVersion(super::BuildVersion),
                        }
                    }

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct BuildVersion {
                        #[prost(message, optional, tag = "1")]
                        pub version: Option<SemanticVersion>,
                    }

                    /// It is of `envoy.type.v3`.
                    #[derive(Clone, Copy, PartialEq, prost::Message)]
                    pub struct SemanticVersion {
                        #[prost(uint32, tag = "1")]
                        pub major_number: u32,
                        #[prost(uint32, tag = "2")]
                        pub minor_number: u32,
                        #[prost(uint32, tag = "3")]
                        pub patch: u32,
                    }
                }
            }
            pub mod endpoint {
                pub mod v3 {
                    named!(ClusterLoadAssignment, "envoy.config.endpoint.v3");
                }
            }
            pub mod listener {
                pub mod v3 {
                    named!(Listener, "envoy.config.listener.v3");
                }
            }
            pub mod route {
                pub mod v3 {
                    named!(RouteConfiguration, "envoy.config.route.v3");

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct ScopedRouteConfiguration {
                        #[prost(string, tag = "1")]
                        pub name: String,
                        #[prost(message, optional, tag = "5")]
                        pub route_configuration: Option<RouteConfiguration>,
                    }
                    named!(type_url ScopedRouteConfiguration, "envoy.config.route.v3");
                }
            }
        }
        pub mod extensions {
            pub mod transport_sockets {
                pub mod tls {
                    pub mod v3 {
                        use crate::pb::envoy::config::core::v3::DataSource;

                        #[derive(Clone, PartialEq, prost::Message)]
                        pub struct TlsCertificate {
                            #[prost(message, optional, tag = "1")]
                            pub certificate_chain: Option<DataSource>,
                        }

                        #[derive(Clone, PartialEq, prost::Message)]
                        pub struct Secret {
                            #[prost(string, tag = "1")]
                            pub name: String,
                            #[prost(oneof = "secret::Type", tags = "2")]
                            pub r#type: Option<secret::Type>,
                        }
                        named!(type_url Secret, "envoy.extensions.transport_sockets.tls.v3");

                        pub mod secret {
                            #[derive(Clone, PartialEq, prost::Oneof)]
                            pub enum Type {
                                #[prost(message, tag = "2")]
                                TlsCertificate(super::TlsCertificate),
                            }
                        }
                    }
                }
            }
        }
        pub mod service {
            pub mod discovery {
                pub mod v3 {
                    use std::collections::HashMap;

                    use crate::pb::envoy::config::core::v3::Node;
                    use crate::pb::google::protobuf::Any;
                    use crate::pb::google::rpc::Status;

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct DeltaDiscoveryRequest {
                        #[prost(message, optional, tag = "1")]
                        pub node: Option<Node>,
                        #[prost(string, tag = "2")]
                        pub type_url: String,
                        #[prost(string, repeated, tag = "3")]
                        pub resource_names_subscribe: Vec<String>,
                        #[prost(string, repeated, tag = "4")]
                        pub resource_names_unsubscribe: Vec<String>,
                        #[prost(map = "string, string", tag = "5")]
                        pub initial_resource_versions: HashMap<String, String>,
                        #[prost(string, tag = "6")]
                        pub response_nonce: String,
                        #[prost(message, optional, tag = "7")]
                        pub error_detail: Option<Status>,
                    }

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct DeltaDiscoveryResponse {
                        #[prost(message, repeated, tag = "2")]
                        pub resources: Vec<Resource>,
                        #[prost(string, tag = "4")]
                        pub type_url: String,
                        #[prost(string, tag = "5")]
                        pub nonce: String,
                        #[prost(string, repeated, tag = "6")]
                        pub removed_resources: Vec<String>,
                    }

                    #[derive(Clone, PartialEq, prost::Message)]
                    pub struct Resource {
                        #[prost(string, tag = "1")]
                        pub version: String,
                        #[prost(message, optional, tag = "2")]
                        pub resource: Option<Any>,
                        #[prost(string, tag = "3")]
                        pub name: String,
                    }
                }
            }
        }
    }
}
