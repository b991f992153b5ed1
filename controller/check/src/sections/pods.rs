//! Pods: if they are ready, and if not, why.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use crate::checklist::{Checklist, Section};
use crate::discovery::is_ready;
use crate::output::plural;

pub(super) fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// Pods that are not ready, each with the kubelet's reason.
pub(super) fn unready<'a>(pods: impl Iterator<Item = &'a Pod>) -> Vec<String> {
    let unready = pods.filter(|pod| !is_ready(pod));
    let told = unready.map(|pod| match reason(pod) {
        Some(reason) => format!("{} ({reason})", name(pod)),
        None => name(pod).to_owned(),
    });
    told.collect()
}

/// Says of which pods how many are ready. There is one.
pub(super) fn readiness<'a>(
    (section, what): (Section, &str),
    pods: impl Iterator<Item = &'a Pod> + Clone,
    namespace: &str,
    list: &mut Checklist,
) {
    let (count, unready) = (pods.clone().count(), unready(pods));
    let all = plural(count, "pod");
    let advice =
        format!("kubectl -n {namespace} describe pod and kubectl -n {namespace} logs say why");
    match unready.len() {
        0 => list.ok(section, format!("{all} of {what} in {namespace}: ready")),
        bad if bad == count => list.failure(
            section,
            format!("no pod of {what} is ready: {}", unready.join(", ")),
            advice,
        ),
        bad => list.warning(
            section,
            format!("{bad} of {all} of {what} not ready: {}", unready.join(", ")),
            advice,
        ),
    }
}

fn reason(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = || {
        let all = [&status.init_container_statuses, &status.container_statuses];
        all.into_iter().flatten().flatten()
    };
    let of_now = containers().find_map(|container| waiting(container.state.as_ref()?));
    let of_before = containers().find_map(ended);
    let phase = || status.phase.clone().filter(|phase| phase != "Running");
    match (of_now, of_before) {
        (Some(now), Some(before)) => Some(format!("{now}; {before}")),
        (now, before) => now.or(before).or_else(phase),
    }
}

fn waiting(state: &ContainerState) -> Option<String> {
    let waiting = state.waiting.as_ref()?;
    let words = [waiting.reason.as_deref(), waiting.message.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(": "))
}

fn ended(container: &ContainerStatus) -> Option<String> {
    let last = container.last_state.as_ref()?.terminated.as_ref()?;
    let reason = last.reason.as_deref().unwrap_or("ended");
    Some(format!(
        "last {reason} with exit code {}, {} restarts",
        last.exit_code, container.restart_count
    ))
}
