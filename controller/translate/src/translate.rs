//! Translation of everything, and of some Ingresses alone.

use sluice_translate_engine as engine;
use sluice_translate_engine::{Changes, Ingress, Seniority};

use crate::ingresses::{Ingresses, member};
use crate::settings::Settings;
use crate::{Options, Resources};

/// The configuration that comes of Ingresses, and the reports about what could not be honoured.
pub type Translation = engine::Translation<Settings>;

/// Translates everything. Pure and total.
#[must_use]
pub fn translate(resources: &Resources, options: &Options) -> Translation {
    let mut translation = Translation::default();
    translation.update(&Changes::everything(), &Ingresses::new(resources, options));
    translation
}

/// Translates some Ingresses as if there were no others, and all together. They are ours, and in the order in which they
/// are read.
pub(crate) fn translate_these<'a>(
    ingresses: impl IntoIterator<Item = (Seniority, &'a Ingress)>,
    resources: &Resources,
    options: &Options,
) -> Translation {
    let members = ingresses
        .into_iter()
        .map(|(seniority, ingress)| member(seniority, ingress))
        .collect();
    Translation::from_members(members, &Ingresses::new(resources, options))
}

#[cfg(test)]
mod tests;
