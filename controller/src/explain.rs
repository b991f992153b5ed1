//! The command `sluice explain`: what becomes of one request, by [`sluice_explain`], and which objects say so.

mod answer;
mod relevance;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sluice_explain::{
    Backend, Explanation, OperatorSnippet, Outcome, Owner, Request, paths_of_host,
};
use sluice_ir::{BackendId, SecretId};
use sluice_kube::is_in_cluster;
use sluice_source::{Collected, Input, Places, Reading, read_inputs};
use sluice_translate::{
    Ingress, Kind, Object, ObjectKey, ObjectRef, Options, Report, RouteOwner, Subject, Translation,
    field_path, ids, translate,
};

use crate::args::{Explain, ExplainOutput, ObjectSource};
use crate::{cluster_events, options, output};
use answer::{Answer, BackendPlaces, LocatedReport, Place, Snippet, WrittenSetting};
use relevance::is_named;

/// Time for finding out which settings have a part in it: each that the host's Ingresses have is left out once.
const SETTINGS_TIME: Duration = Duration::from_secs(10);

/// Reads, explains, prints.
pub(crate) fn explain(args: &Explain) -> anyhow::Result<()> {
    Ok(output::print(&text(args)?)?)
}

fn text(args: &Explain) -> anyhow::Result<String> {
    let request = Request::parse(&args.url, &args.request, &args.header)?;
    let options = options(args);
    let reading: Reading = match args.source.origin(is_in_cluster())? {
        ObjectSource::Files(folder) => read_inputs(&[Input::Path(folder)])?,
        ObjectSource::Kube => cluster_events::read(&args.source, &options)?.into(),
    };
    let objects = Objects {
        collected: reading.events.into_iter().collect(),
        places: reading.places,
    };
    let translation = translate(&objects.collected.resources, &options);
    let explanation = sluice_explain::explain(translation.config(), &request);
    let port = match request.scheme.as_str() {
        "https" => args.listeners.https_port,
        _ => args.listeners.http_port,
    };
    let answer = Answer {
        port,
        ..objects.answer(&request, &explanation, &translation, &options)
    };
    Ok(match args.output {
        ExplainOutput::Text => answer.text(),
        ExplainOutput::Json => serde_json::to_string_pretty(&answer)? + "\n",
    })
}

fn options(args: &Explain) -> Options {
    Options {
        data_plane: Some(args.data_plane.serving()),
        ..options::translation(&args.translation, &args.listeners, [])
    }
}

/// Everything that was read.
struct Objects {
    collected: Collected,
    places: Places,
}

impl Objects {
    fn answer<'a>(
        &'a self,
        request: &Request,
        explanation: &'a Explanation,
        translation: &'a Translation,
        options: &Options,
    ) -> Answer<'a> {
        let snippet = explanation.answered_by.zip(options.configmap.as_ref());
        let snippet = snippet.map(|(snippet, key)| self.snippet(snippet, key));
        let route = explanation.route.as_ref().filter(|it| !it.of_operator);
        let owner = route.and_then(|route| translation.owners().get(&route.id));
        let object = owner.map(|owner| ingress(&owner.object));
        let location = object.as_ref().zip(owner).and_then(|(object, owner)| {
            let field = field_path(&owner.field, &options.annotations_prefix);
            self.places.find(object, &field)
        });
        // Of who serves it, or else of who would like to.
        let asked: Vec<ObjectRef> = match &object {
            Some(object) => vec![object.clone()],
            None => self.naming(&request.host).collect(),
        };
        let served = object.as_ref().and_then(|object| self.ingress(object));
        let served = served.zip(owner);
        let is_asked = |report: &&Report| {
            let concerns = |(ingress, owner): (&Ingress, &RouteOwner)| {
                relevance::concerns(report, &owner.field, ingress, request)
            };
            asked.contains(&report.object) && served.is_none_or(concerns)
        };
        let problems = self.collected.problems.iter();
        let reports = translation.reports().into_iter().filter(is_asked);
        let (settings, is_whole) = self.settings(request, explanation, translation, options);
        Answer {
            request: request.to_string(),
            port: 0,
            ingress: owner.map(|owner| owner.object.to_string()),
            written_path: owner.and_then(|owner| owner.written.clone()),
            paths: paths_of_host(explanation, translation.config(), |route| {
                let owner = translation.owners().get(route)?;
                Some(Owner {
                    written: owner.written.as_deref(),
                    is_of_host: owner.is_of_host(),
                })
            }),
            location,
            snippet,
            settings,
            not_all_tried: !is_whole,
            certificate: explanation.certificate.as_deref().and_then(|id| {
                let key = ids::secret_of(&SecretId::new(id))?;
                self.place(Kind::Secret, &key)
            }),
            backends: self.backends(&explanation.outcome),
            explanation,
            reports: reports
                .map(|report| self.remark(report, &options.annotations_prefix))
                .collect(),
            unread: problems.filter(|problem| !problem.harmless).collect(),
        }
    }

    /// Annotations and keys of the ConfigMap that the request would fare otherwise without.
    fn settings(
        &self,
        request: &Request,
        explanation: &Explanation,
        translation: &Translation,
        options: &Options,
    ) -> (Vec<WrittenSetting>, bool) {
        let (snapshot, server) = (translation.snapshot(), explanation.server_name());
        let subject = Subject {
            inputs: (&self.collected.resources, options),
            snapshot: &snapshot,
            server: server.as_ref(),
            route: explanation.route.as_ref().map(|route| &route.id),
        };
        let end = Instant::now() + SETTINGS_TIME;
        let goes_on = || Instant::now() < end;
        let causes = subject.causes(goes_on, |config| sluice_explain::details(config, request));
        let written = causes.settings.into_iter().map(|setting| WrittenSetting {
            location: self.places.find(&setting.object, &setting.field),
            object: setting.object.to_string(),
            name: setting.name,
            value: setting.value,
        });
        (written.collect(), causes.is_whole)
    }

    /// Services of an outcome, with their EndpointSlices, by the ids of their backends.
    fn backends(&self, outcome: &Outcome) -> BTreeMap<String, BackendPlaces> {
        let all: Vec<&Backend> = match outcome {
            Outcome::Forward {
                backends, canaries, ..
            } => {
                let canaries = canaries.iter().map(|canary| &canary.backend);
                canaries.chain(backends).collect()
            }
            Outcome::Passthrough { backend } => vec![backend],
            Outcome::Respond { .. } | Outcome::Denied | Outcome::Redirect { .. } => Vec::new(),
        };
        let places = all.into_iter().filter_map(|backend| {
            let (service, _) = ids::service_of(&BackendId::new(backend.id.as_str()))?;
            let slices = self.collected.resources.slices_of(&service);
            let slices = slices.filter_map(|key| self.place(Kind::EndpointSlice, &key));
            let places = BackendPlaces {
                service: self.place(Kind::Service, &service),
                endpoint_slices: slices.collect(),
            };
            Some((backend.id.clone(), places))
        });
        places.collect()
    }

    fn place(&self, kind: Kind, key: &ObjectKey) -> Option<Place> {
        let object = ObjectRef {
            kind,
            key: key.clone(),
        };
        Some(Place {
            location: self.places.find(&object, ""),
            object: object.to_string(),
        })
    }

    fn remark<'a>(&self, report: &'a Report, prefix: &str) -> LocatedReport<'a> {
        let field = field_path(&report.field, prefix);
        LocatedReport {
            location: self.places.find(&report.object, &field),
            report,
        }
    }

    fn snippet(&self, snippet: OperatorSnippet, key: &ObjectKey) -> Snippet {
        let object = ObjectRef {
            kind: Kind::ConfigMap,
            key: key.clone(),
        };
        let field = format!("data.{}", snippet.key());
        Snippet {
            object: object.to_string(),
            location: self.places.find(&object, &field),
            field,
        }
    }

    fn ingress(&self, named: &ObjectRef) -> Option<&Ingress> {
        let mut all = self.collected.ingresses.iter();
        all.find_map(|object| match object {
            Object::Ingress(ingress) if object.reference() == *named => Some(ingress.as_ref()),
            _ => None,
        })
    }

    /// Ingresses with a rule for a host.
    fn naming(&self, host: &str) -> impl Iterator<Item = ObjectRef> {
        let all = self.collected.ingresses.iter();
        all.filter(move |object| {
            let Object::Ingress(it) = object else {
                return false;
            };
            let rules = it.spec.as_ref().and_then(|spec| spec.rules.as_ref());
            let mut hosts = rules.into_iter().flatten().map(|rule| rule.host.as_deref());
            hosts.any(|rule| rule.is_some_and(|rule| is_named(rule, host)))
        })
        .map(|object| ingress(&object.key()))
    }
}

fn ingress(key: &ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: Kind::Ingress,
        key: key.clone(),
    }
}

#[cfg(test)]
mod tests;
