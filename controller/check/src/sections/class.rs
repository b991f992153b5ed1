//! IngressClasses: that the controller has one, and before an installation that its name is free.

use k8s_openapi::api::networking::v1::IngressClass;

use crate::checklist::{Checklist, Section};
use crate::facts::{Before, Facts, Flags};

const SECTION: Section = Section::IngressClass;
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

fn name(class: &IngressClass) -> &str {
    class.metadata.name.as_deref().unwrap_or_default()
}

fn controller(class: &IngressClass) -> &str {
    let spec = class.spec.as_ref();
    let controller = spec.and_then(|spec| spec.controller.as_deref());
    controller.unwrap_or_default()
}

fn is_default(class: &IngressClass) -> bool {
    let annotations = class.metadata.annotations.as_ref();
    let value = annotations.and_then(|all| all.get(DEFAULT));
    value.is_some_and(|value| value == "true")
}

fn names<'a>(classes: impl Iterator<Item = &'a IngressClass>) -> String {
    classes.map(name).collect::<Vec<_>>().join(", ")
}

pub(crate) fn class(facts: &Facts, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    let Ok(flags) = &installation.flags else {
        return;
    };
    let classes = match &facts.classes {
        Ok(classes) => classes,
        Err(error) => return list.unread(SECTION, "IngressClasses", error),
    };
    served(flags, classes, list);
    let defaults = || classes.iter().filter(|class| is_default(class));
    if defaults().count() > 1 {
        list.warning(
            SECTION,
            format!("several IngressClasses are the default: {}", names(defaults())),
            format!("an Ingress without a class gets the newest of them; take the annotation {DEFAULT} off all but one"),
        );
    }
}

fn served(flags: &Flags, classes: &[IngressClass], list: &mut Checklist) {
    let is_ours = |class: &&IngressClass| {
        controller(class) == flags.controller_class
            || flags.class_by_name && name(class) == flags.ingress_class
    };
    let ours = names(classes.iter().filter(is_ours));
    if !ours.is_empty() {
        return list.ok(SECTION, format!("IngressClass {ours} is served"));
    }
    let namesake = classes
        .iter()
        .find(|class| name(class) == flags.ingress_class);
    let message = match namesake {
        Some(class) => format!(
            "IngressClass {} is that of {}, and not of {}",
            name(class),
            controller(class),
            flags.controller_class
        ),
        None => format!(
            "no IngressClass has the controller {}",
            flags.controller_class
        ),
    };
    let advice = "create an IngressClass with this spec.controller (controller.ingressClassResource of the chart), or give the \
                  controller --controller-class; until then only Ingresses with the annotation kubernetes.io/ingress.class are served";
    match flags.without_class {
        true => list.warning(SECTION, message, advice),
        false => list.failure(SECTION, message, advice),
    }
}

/// Helm adopts no object of another release, and two controllers of one class write the same status.
pub(crate) fn free_class(facts: &Before, list: &mut Checklist) {
    let classes = match &facts.classes {
        Ok(classes) => classes,
        Err(error) => return list.unread(SECTION, "IngressClasses", error),
    };
    let Before {
        ingress_class,
        controller_class,
        ..
    } = facts;
    match classes.iter().find(|class| name(class) == ingress_class) {
        Some(class) if controller(class) == controller_class => list.warning(
            SECTION,
            format!("IngressClass {ingress_class} exists, of {controller_class}"),
            "if ingress-nginx still serves it, both would: docs/migration.md moves Ingresses step by step; the chart keeps the class with \
             controller.ingressClassResource.enabled=false",
        ),
        Some(class) => list.failure(
            SECTION,
            format!("IngressClass {ingress_class} is taken by {}", controller(class)),
            "choose another name with controller.ingressClassResource.name (and --ingress-class of this command)",
        ),
        None => list.ok(SECTION, format!("no IngressClass is called {ingress_class}")),
    }
    let others = classes
        .iter()
        .filter(|class| name(class) != ingress_class && controller(class) == controller_class);
    let others = names(others);
    if !others.is_empty() {
        list.warning(
            SECTION,
            format!("IngressClass {others} has the same controller, {controller_class}"),
            "its Ingresses would be served, too; controller.ingressClassResource.controllerValue sets another one",
        );
    }
}
