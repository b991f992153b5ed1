//! The input that routes come from, as the engine sees it.
//!
//! ```text
//!   Ingresses (sluice-translate), later Gateways and HTTPRoutes --RouteInput--> route groups, backends, one configuration
//! ```

use std::collections::BTreeSet;
use std::fmt::Debug;

use sluice_ir::{GlobalConfig, Hostname, ServerName};

use crate::age::Seniority;
use crate::assembled::{Assembled, Flags};
use crate::backends::{BackendRef, ReferencePrecedence};
use crate::references::DependencyTracker;
use crate::wildcards::{WildcardHolder, Wildcards};
use crate::{Kind, ObjectCache, ObjectKey, Report, UpstreamOptions};

/// An input that routes come from: its objects and the operator's options, at one moment.
pub trait RouteInput {
    /// Kind of the objects that have routes.
    const KIND: Kind;

    /// Settings that all of these objects share. When they change, everything is translated again.
    type Settings: Clone + Debug + Default + PartialEq;

    /// An object that has routes.
    type Object<'i>
    where
        Self: 'i;

    /// The objects that routes refer to.
    fn cluster(&self) -> &ObjectCache;

    /// Options for upstreams.
    fn upstream_options(&self) -> UpstreamOptions<'_>;

    /// ConfigMaps that claim TCP and UDP ports, as flags name them.
    fn l4_config_maps(&self) -> Vec<&ObjectKey>;

    /// Every port that they claim, served or not: one that comes to be served must not have been an endpoint before.
    fn l4_ports(&self) -> Vec<u16>;

    /// Reads the settings that all objects share.
    fn shared_inputs(&self) -> SharedInputs<Self::Settings>;

    /// Names of all objects that have routes.
    fn keys(&self) -> BTreeSet<ObjectKey>;

    /// An object that has routes, if it is there and this controller's.
    fn membership(
        &self,
        key: &ObjectKey,
        settings: &Self::Settings,
    ) -> Membership<Self::Object<'_>>;

    /// Suffixes of all wildcard hosts that objects name.
    fn wildcards(&self) -> BTreeSet<Hostname>;

    /// The holder of a wildcard host among the objects of this controller.
    fn wildcard_holder(
        &self,
        suffix: &Hostname,
        settings: &Self::Settings,
    ) -> Option<WildcardHolder>;

    /// Builds the servers of a route group. The members are in the order in which they are read.
    fn assemble(
        &self,
        members: Vec<(Seniority, Self::Object<'_>)>,
        with_catch_all: bool,
        shared_inputs: &SharedInputs<Self::Settings>,
        wildcards: &Wildcards,
        tracker: &DependencyTracker<'_>,
    ) -> Assembled;

    /// Applies the flags.
    fn flags(&self, settings: &Self::Settings) -> Flags;
}

/// Inputs that all route groups share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedInputs<S> {
    /// Settings of the input.
    pub settings: S,
    /// Settings of listeners and of everything that they serve.
    pub global: GlobalConfig,
    /// Backends that the operator names.
    pub backend_refs: Vec<(ReferencePrecedence, BackendRef)>,
    /// Reports about the settings.
    pub reports: Vec<Report>,
}

/// An object that has routes, and the servers that it has to do with.
#[derive(Clone, Debug)]
pub struct Member<O> {
    /// Its place in the order in which objects are read.
    pub seniority: Seniority,
    /// The object.
    pub object: O,
    /// Every server that it can make, change, or be kept from.
    pub names: BTreeSet<ServerName>,
}

/// Membership of an object among those that this controller serves.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "taken apart where it is made")]
pub enum Membership<O> {
    /// This controller serves it.
    Ours(Member<O>),
    /// Of a class that another controller serves; its owner should know.
    OtherClass(Report),
    /// Not there, or of a namespace that is not watched.
    None,
}
