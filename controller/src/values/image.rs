//! The default backend's image, whose name their chart has in parts.

use serde_json::{Map, Value};

use super::Conversion;
use super::defaults::default_of;

const PLACE: &str = "defaultBackend.image.repository";

impl Conversion {
    /// `repository`, or `registry/image`; the registry of all images is `global.image.registry`.
    pub(super) fn compose_image(&mut self, theirs: &Map<String, Value>) {
        let given = |path: &str| text_at(theirs, path);
        if let Some(repository) = given(PLACE) {
            self.set(PLACE, PLACE, &repository.into());
            return;
        }
        let part =
            |path: &str| given(path).or_else(|| default_of(path)?.as_str().map(str::to_owned));
        let name = part("defaultBackend.image.image").unwrap_or_default();
        let own = given("defaultBackend.image.registry");
        let registry = own
            .or_else(|| part("global.image.registry"))
            .unwrap_or_default();
        let is_asked_for = self.is_on("defaultBackend.enabled")
            || given("defaultBackend.image.registry").is_some()
            || given("defaultBackend.image.image").is_some();
        let repository = format!("{registry}/{name}");
        // Our chart has the same one.
        if is_asked_for && repository != "registry.k8s.io/defaultbackend-amd64" {
            self.set(PLACE, "defaultBackend.image", &repository.into());
        }
    }
}

fn text_at(theirs: &Map<String, Value>, path: &str) -> Option<String> {
    let mut keys = path.split('.');
    let first = theirs.get(keys.next()?)?;
    let value = keys.try_fold(first, |above, key| above.get(key))?;
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Some(text.to_owned())
}
