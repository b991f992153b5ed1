//! Hosts and paths: many Ingresses to one set of servers.
//!
//! ```text
//!   Ingresses --order.rs--> oldest first --mod.rs--> Draft of each host --draft.rs--> Server
//!                                          claims       \-- patterns.rs, when one path of the host is a pattern
//! ```
//!
//! Ingresses are read oldest first; the first to claim a path of a host has it. Every host that an Ingress names
//! exists, even without a path.

mod backend;
mod canary;
mod certificates;
mod claim;
mod draft;
mod names;
mod passthrough;
mod patterns;
mod tenancy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressRule};
use sluice_ir::{BackendId, HostTls, Hostname, LocationId, Mirror, Place, Server, ServerName};

use crate::annotations::{Annotations, Context, Copied, auth_external};
use crate::backends::{Named, Origin, Port, Rank, Terms, Turn, Use, Uses, service_address};
use crate::claims::Seniority;
use crate::global::Globals;
use crate::object::{key_of, shortened};
use crate::path::{self, PathType};
use crate::references::Seen;
use crate::report::Reporter;
use crate::secrets::Secrets;
use crate::{Kind, ObjectKey, ObjectRef, Options, Report, Severity};
use canary::Candidate;
pub(crate) use canary::{Offer, settle};
use claim::{Author, Claim};
use draft::Draft;
pub(crate) use names::{components, names};

/// More rules than this in one Ingress are refused: R5 of the security rules.
const MOST_RULES: usize = 1000;

/// The API server's own limit for the annotations of one object: keys and values together, in bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// Collects the servers of some Ingresses.
struct Assembly<'a> {
    drafts: BTreeMap<ServerName, Draft>,
    /// Each with the server that it is another name of, in the order in which they were asked for.
    aliases: Vec<(ServerName, ServerName, ObjectRef)>,
    canaries: Vec<Candidate>,
    uses: Uses,
    secrets: Secrets,
    reports: Vec<Report>,
    fallback: Option<&'a BackendId>,
    globals: &'a Globals,
    options: &'a Options,
    seen: &'a Seen<'a>,
}

/// Every server, whose locations they are, and who is asked where pods are missing; and all that they need.
pub(crate) struct Assembled {
    pub(crate) servers: BTreeMap<ServerName, Server>,
    pub(crate) owners: Owners,
    pub(crate) error_services: BTreeMap<LocationId, ErrorService>,
    pub(crate) tls: BTreeMap<ServerName, HostTls>,
    pub(crate) passthrough: BTreeMap<Hostname, BackendId>,
    pub(crate) named: Vec<(Rank, Named)>,
    pub(crate) offers: Vec<(Rank, Offer)>,
    pub(crate) secrets: Secrets,
    pub(crate) reports: Vec<Report>,
}

/// Who is asked when the pods of a location are missing, and what it is told.
#[derive(Clone, Debug)]
pub(crate) struct ErrorService {
    pub(crate) backend: BackendId,
    /// Who is asked when it has no pods itself.
    pub(crate) next: Option<BackendId>,
    pub(crate) place: Place,
}

/// Which Ingress each location is from. Those of flags and those that follow from others are from none.
pub(crate) type Owners = BTreeMap<LocationId, ObjectKey>;

/// Builds the servers of these Ingresses, which are in the order in which they are read. The catch-all server is there
/// when somebody names it, and on demand.
pub(crate) fn assemble<'a>(
    ingresses: impl IntoIterator<Item = (Seniority, &'a Ingress)>,
    with_catch_all: bool,
    fallback: Option<&BackendId>,
    context: Context<'_>,
) -> Assembled {
    let Context { seen, options, globals } = context;
    let drafts = with_catch_all.then(|| (ServerName::CatchAll, Draft::default())).into_iter().collect();
    let (aliases, canaries, reports) = (Vec::new(), Vec::new(), Vec::new());
    let (uses, secrets) = (Uses::new(&globals.transport), Secrets::default());
    let mut assembly =
        Assembly { drafts, aliases, canaries, uses, secrets, reports, fallback, globals, options, seen };
    for (seniority, ingress) in ingresses {
        assembly.uses.turn(Turn::Ingress(seniority));
        assembly.add(ingress);
    }
    assembly.finish()
}

/// The Service that a flag names, for requests that nobody else wants.
pub(crate) fn default_backend(options: &Options, globals: &Globals, uses: &mut Uses) -> Option<BackendId> {
    let service = options.default_backend_service.clone()?;
    let object = ObjectRef { kind: Kind::Service, key: service.clone() };
    let usage = Use { object, field: "--default-backend-service".to_owned(), as_canary: false };
    let attempts = globals.retries.attempts;
    let terms = Terms { transport: &globals.transport, balance: &globals.balance, attempts, routes: true };
    Some(uses.name(Origin::Service(service, Port::First), terms, usage))
}

impl Assembly<'_> {
    fn add(&mut self, ingress: &Ingress) {
        let Some(spec) = &ingress.spec else { return };
        let object = ObjectRef { kind: Kind::Ingress, key: key_of(&ingress.metadata) };
        if let Some((field, reason)) = unfit(ingress, self.options) {
            self.report(&object).say(Severity::Error, field, reason, "Ingress not served");
            return;
        }
        let reporter = Reporter::new(object.clone(), &mut self.reports);
        let context = Context { seen: self.seen, options: self.options, globals: self.globals };
        let annotations = Annotations::of(ingress, context, &mut self.secrets, reporter);
        if annotations.refused {
            return;
        }
        let tls = spec.tls.as_deref().unwrap_or_default().into();
        let mut author = Author { object, annotations: Arc::new(annotations), tls };
        self.add_mirror(&mut author);
        self.add_question(&mut author);
        if let Some(rules) = author.annotations.canary.clone() {
            self.add_canary(ingress, &author, &rules);
            return;
        }
        let default = spec.default_backend.as_ref().and_then(|backend| {
            let field = "spec.defaultBackend";
            self.lead(backend, &author, field).map(|lead| Claim::root(lead, &author, field.to_owned()))
        });
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.is_empty() {
            self.catch_all(default.clone(), &author);
        }
        for (position, rule) in rules.iter().enumerate() {
            self.add_rule(rule, &format!("spec.rules[{position}]"), &author, default.as_ref());
        }
    }

    fn catch_all(&mut self, default: Option<Claim>, author: &Author) {
        let Some(default) = default else { return };
        let draft = self.drafts.entry(ServerName::CatchAll).or_default();
        if draft.default.is_none() {
            draft.default = Some(default);
        } else {
            let reason = "expected one default backend, got another of an older Ingress before";
            let field = "spec.defaultBackend";
            self.report(&author.object).warn_as_before(field, reason, "default backend not used");
        }
    }

    fn add_rule(&mut self, rule: &IngressRule, field: &str, author: &Author, default: Option<&Claim>) {
        let host = rule.host.as_deref().unwrap_or_default();
        let Ok(name) = ServerName::parse(host) else {
            let reason = format!("expected a DNS name, got {:?}", shortened(host));
            self.report(&author.object).say(
                Severity::Error,
                format!("{field}.host"),
                reason,
                "rule not served",
            );
            return;
        };
        // The first Ingress of a host decides where its unmatched paths go.
        if name != ServerName::CatchAll && !self.drafts.contains_key(&name) {
            self.drafts.insert(name.clone(), Draft { default: default.cloned(), ..Draft::default() });
        }
        self.take_host(&name, author);
        let closed;
        let author = if self.take_clients(&name, author) {
            author
        } else {
            closed = author.closed();
            &closed
        };
        let paths = rule.http.as_ref().map(|http| http.paths.as_slice()).unwrap_or_default();
        if author.annotations.paths_unreadable {
            return;
        }
        for (position, path) in paths.iter().enumerate() {
            self.add_path(&name, path, &format!("{field}.http.paths[{position}]"), author);
        }
    }

    /// What an Ingress says about a host as a whole; the first that says something has said it.
    fn take_host(&mut self, name: &ServerName, author: &Author) {
        self.take_namespace(name, author);
        if self.is_stranger(name, author) {
            return self.say_stranger(name, author);
        }
        self.take_tls(name, author);
        self.take_passthrough(name, author);
        self.take_ciphers(name, author);
        let Author { annotations, object, .. } = author;
        let draft = self.drafts.entry(name.clone()).or_default();
        draft.from_to_www |= annotations.host.from_to_www;
        if draft.app_root.is_none() {
            draft.app_root.clone_from(&annotations.host.app_root);
        }
        draft.prefers_its_ciphers = draft.prefers_its_ciphers.or(annotations.host.prefers_its_ciphers);
        // The catch-all server has every name that no other one has.
        if *name != ServerName::CatchAll && !self.aliases.iter().any(|(_, server, _)| server == name) {
            let aliases = annotations.host.aliases.iter();
            self.aliases.extend(aliases.map(|alias| (alias.clone(), name.clone(), object.clone())));
        }
    }

    fn add_path(&mut self, name: &ServerName, path: &HTTPIngressPath, field: &str, author: &Author) {
        let read = || -> Result<_, String> {
            Ok((path::checked(path.path.as_deref())?, PathType::parse(&path.path_type)?))
        };
        let (text, kind) = match read() {
            Ok(read) => read,
            Err(reason) => {
                let field = format!("{field}.path");
                self.report(&author.object).say(Severity::Error, field, reason, "path not served");
                return;
            }
        };
        if let Some(claim) = self.drafts.get(name).and_then(|draft| draft.claim(text, kind)) {
            let reason = format!("expected a path of its own, got one that {} has had before", claim.owner);
            let field = format!("{field}.path");
            self.report(&author.object).warn_as_before(field, reason, "path not used");
            return;
        }
        if let Some(lead) = self.lead(&path.backend, author, &format!("{field}.backend")) {
            let claim =
                Claim { kind, path: text.to_owned(), ..Claim::root(lead, author, format!("{field}.path")) };
            self.drafts.entry(name.clone()).or_default().claims.push(claim);
        }
    }

    /// The policy of an Ingress names the backend that gets the copies.
    fn add_mirror(&mut self, author: &mut Author) {
        let Some(copied) = author.annotations.mirror.clone() else { return };
        let Copied { target, host, bodiless } = copied;
        let backend = self.target(&target, author, "mirror-target");
        let address = service_address(&target, self.seen, self.options);
        let annotations = Arc::make_mut(&mut author.annotations);
        Arc::make_mut(&mut annotations.policy).mirror = Some(Mirror { backend, host, address, bodiless });
    }

    /// A service of the cluster is asked at its pods.
    fn add_question(&mut self, author: &mut Author) {
        let guard = author.annotations.policy.guard.as_ref();
        let Some(target) = guard.and_then(|guard| guard.question.as_ref()).and_then(auth_external::target)
        else {
            return;
        };
        let is_known = target.service().is_some_and(|(key, _)| self.seen.has_service(&key));
        let backend = is_known.then(|| self.target(&target, author, "auth-url"));
        let annotations = Arc::make_mut(&mut author.annotations);
        let guard = Arc::make_mut(&mut annotations.policy).guard.as_mut();
        if let Some(question) = guard.and_then(|guard| guard.question.as_mut()) {
            question.backend = backend;
        }
    }

    fn report(&mut self, object: &ObjectRef) -> Reporter<'_> {
        Reporter::new(object.clone(), &mut self.reports)
    }

    fn finish(mut self) -> Assembled {
        let offers = self.offers();
        let passthrough = self.passthrough();
        let mut servers = BTreeMap::new();
        let mut counterparts = BTreeMap::new();
        let (mut owners, mut error_services) = (Owners::new(), BTreeMap::new());
        let mut tls = BTreeMap::new();
        for (name, draft) in self.drafts {
            tls.extend(draft.tls.clone().map(|host| (name.clone(), host)));
            if draft.from_to_www {
                counterparts.extend(draft::counterpart(&name, self.globals));
            }
            let finished = draft.finish(&name, self.fallback, self.globals, &mut self.reports);
            // Not `append`: that makes the whole map anew, for each host.
            owners.extend(finished.owners);
            error_services.extend(finished.error_services);
            servers.insert(name, finished.server);
        }
        add_aliases(&mut servers, self.aliases, &mut self.reports);
        let aliases: BTreeSet<ServerName> =
            servers.values().flat_map(|server| server.aliases.iter().cloned()).collect();
        for (name, server) in counterparts {
            if !aliases.contains(&name) {
                servers.entry(name).or_insert(server);
            }
        }
        let tls = certificates::by_name(tls, &servers, self.seen);
        let Assembly { uses, secrets, reports, .. } = self;
        Assembled {
            servers,
            owners,
            error_services,
            tls,
            passthrough,
            named: uses.named,
            offers,
            secrets,
            reports,
        }
    }
}

/// One that another host has, by its name or as an alias before, is not used.
fn add_aliases(
    servers: &mut BTreeMap<ServerName, Server>,
    aliases: Vec<(ServerName, ServerName, ObjectRef)>,
    reports: &mut Vec<Report>,
) {
    for (alias, server, owner) in aliases {
        if servers.contains_key(&alias) || servers.values().any(|server| server.aliases.contains(&alias)) {
            let reason = format!("expected a name of its own, got {alias}, which is another host's");
            let field = "annotation server-alias";
            Reporter::new(owner, reports).warn_as_before(field, reason, "alias not used");
        } else if let Some(server) = servers.get_mut(&server) {
            server.aliases.push(alias);
        }
    }
}

/// Why an Ingress is not served at all.
fn unfit(ingress: &Ingress, options: &Options) -> Option<(&'static str, String)> {
    let spec = ingress.spec.as_ref()?;
    if options.disable_catch_all && spec.default_backend.is_some() {
        let reason = "expected no default backend (--disable-catch-all is on)".to_owned();
        return Some(("spec.defaultBackend", reason));
    }
    let rules = spec.rules.as_ref().map(Vec::len).unwrap_or_default();
    if rules > MOST_RULES {
        return Some(("spec.rules", format!("expected at most {MOST_RULES} rules, got {rules}")));
    }
    let annotations = ingress.metadata.annotations.iter().flatten();
    let size: usize = annotations.map(|(key, value)| key.len() + value.len()).sum();
    // Something in there may guard access: what is not read is not served.
    let reason = || format!("expected at most {MOST_ANNOTATIONS} bytes, got {size}");
    (size > MOST_ANNOTATIONS).then(|| ("metadata.annotations", reason()))
}
