//! How much is published, for the log.

use sluice_ir::{Config, ServerName};
use sluice_translate::{Options, Resources, left_to_others};
use tracing::{info, warn};

/// Numbers that were logged last: of hosts and of backends.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Option<(usize, usize)>);

impl Sizes {
    /// Logs those of a configuration, unless they are as before: under churn there are many publications a minute.
    pub(crate) fn log(&mut self, config: &Config, resources: &Resources, options: &Options) {
        let Config {
            servers, backends, ..
        } = config;
        let others = usize::from(servers.get(&ServerName::CatchAll).is_some());
        let sizes = (servers.len() - others, backends.len());
        if self.0.replace(sizes) != Some(sizes) {
            let (hosts, backends) = (counted(sizes.0, "host"), counted(sizes.1, "backend"));
            info!("published {hosts}, {backends}");
            if sizes.0 == 0
                && let Some(count) = left_to_others(resources, options)
            {
                warn!("{}", none_is_ours(count, options));
            }
        }
    }
}

/// Most of the time a flag is not what its owner thinks.
fn none_is_ours(count: usize, options: &Options) -> String {
    let Options {
        ingress_class,
        controller_class,
        watch_namespace,
        ..
    } = options;
    let namespace = watch_namespace.as_ref();
    let namespace = namespace.map(|it| format!(", --watch-namespace {it}"));
    format!(
        "none of {} is this controller's: see --ingress-class {ingress_class}, --controller-class {controller_class}{}",
        match count {
            1 => "1 Ingress".to_owned(),
            count => format!("{count} Ingresses"),
        },
        namespace.unwrap_or_default()
    )
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_leave_every_ingress_to_others_are_named() {
        let options = Options {
            ingress_class: "zzz".to_owned(),
            watch_namespace: Some("shop".to_owned()),
            ..Options::default()
        };
        let expected = "none of 2 Ingresses is this controller's: see --ingress-class zzz, --controller-class \
                        k8s.io/ingress-nginx, --watch-namespace shop";
        assert_eq!(none_is_ours(2, &options), expected);
    }
}
