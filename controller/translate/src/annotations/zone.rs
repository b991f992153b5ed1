//! Zone preference.

use sluice_syntax::value::Parsed;

use super::view::View;

/// Its row of the catalogue is among Sluice's own.
pub(super) const NAME: &str = "sluice.dev/zone-preference";

pub(super) const VALUES: &[&str] = &["prefer", "off"];

/// `is_usual`: where an Ingress does not say.
pub(super) fn prefer_zone(view: &mut View<'_, '_>, is_usual: bool) -> bool {
    view.read(NAME, preference).unwrap_or(is_usual)
}

fn preference(text: &str) -> Parsed<bool> {
    match text {
        "prefer" => Ok(true),
        "off" => Ok(false),
        _ => Err("prefer or off".into()),
    }
}
