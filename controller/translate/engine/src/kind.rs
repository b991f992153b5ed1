//! The kinds of objects that Sluice reads.

use std::fmt;

use serde::Serialize;

/// Expands a macro with every kind: its name, its group and version as manifests write them, and its scope. This is the only
/// list of kinds.
macro_rules! for_each_kind {
    ($expand:ident) => {
        $expand! {
            /// core/v1
            ConfigMap, "v1", Namespaced;
            /// discovery.k8s.io/v1
            EndpointSlice, "discovery.k8s.io/v1", Namespaced;
            /// networking.k8s.io/v1
            Ingress, "networking.k8s.io/v1", Namespaced;
            /// networking.k8s.io/v1
            IngressClass, "networking.k8s.io/v1", Cluster;
            /// core/v1
            Namespace, "v1", Cluster;
            /// core/v1, of which only the metadata is read
            Pod, "v1", Namespaced;
            /// core/v1
            Secret, "v1", Namespaced;
            /// core/v1
            Service, "v1", Namespaced;
        }
    };
}
pub(crate) use for_each_kind;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $api_version:literal, $scope:ident;)*) => {
        /// The kinds of [`Object`](crate::Object).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Kind { $($(#[$doc])* $kind),* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// The kind as manifests name it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Kind::$kind => stringify!($kind)),* }
            }

            /// Its group and version, as manifests write them.
            #[must_use]
            pub fn api_version(self) -> &'static str {
                match self { $(Kind::$kind => $api_version),* }
            }

            fn scope(self) -> Scope {
                match self { $(Kind::$kind => Scope::$scope),* }
            }
        }
    };
}
for_each_kind!(kinds);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

impl Kind {
    /// True if its objects are in namespaces.
    #[must_use]
    pub fn is_namespaced(self) -> bool {
        self.scope() == Scope::Namespaced
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
