//! Rights of the controller's account, and of whoever installs.

use crate::checklist::{Checklist, Section};
use crate::facts::{Before, Facts, Read};
use crate::permissions::Right;

const SECTION: Section = Section::Rights;

pub(crate) fn rights(facts: &Facts, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    let account = &installation.account;
    let advice = "restore the chart's ClusterRoles, Roles and bindings: helm upgrade, or kubectl apply -k; a wrong serviceAccountName \
                  looks the same";
    compare(
        &installation.rights,
        &format!("{account} may do what the controller does"),
        &format!("{account} may not"),
        advice,
        list,
    );
}

pub(crate) fn rights_to_install(facts: &Before, list: &mut Checklist) {
    compare(
        &facts.rights,
        "this account may install the chart",
        "this account may not",
        "install with an account that may, such as one with the ClusterRole cluster-admin; rights that the chart grants are needed, too",
        list,
    );
}

/// One failure for all that is missing: they are lost together.
fn compare(
    rights: &[(Right, Read<bool>)],
    complete: &str,
    incomplete: &str,
    advice: &str,
    list: &mut Checklist,
) {
    let missing = rights.iter().filter(|(_, allowed)| *allowed == Ok(false));
    let missing: Vec<String> = missing.map(|(right, _)| right.to_string()).collect();
    let unread = rights
        .iter()
        .find_map(|(_, allowed)| allowed.as_ref().err());
    if !missing.is_empty() {
        list.failure(
            SECTION,
            format!("{incomplete}: {}", missing.join(", ")),
            advice,
        );
    }
    match unread {
        Some(error) => list.warning(
            SECTION,
            format!("rights could not be asked for: {error}"),
            "run it with an account that may create subjectaccessreviews.authorization.k8s.io",
        ),
        None if missing.is_empty() && !rights.is_empty() => list.ok(SECTION, complete),
        None => {}
    }
}
