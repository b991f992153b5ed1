//! Ingresses and their classes.

use super::*;

#[test]
fn an_ingress_of_another_class_is_neither_good_nor_bad() {
    let manifest =
        ingress("shop", "", RULE).replace("ingressClassName: nginx", "ingressClassName: traefik");
    let findings = findings(&manifest);
    assert_eq!(findings.ingresses[0].verdict, Verdict::OtherClass);
    assert!(!findings.fail(FailOn::Error));
    let remarks = &findings.ingresses[0].remarks;
    assert!(
        !remarks
            .iter()
            .any(|remark| remark.text.contains("--ingress-class")),
        "{remarks:?}"
    );
}

#[test]
fn an_ingress_nginx_of_another_class_is_told_how_to_be_judged() {
    let annotations = "nginx.ingress.kubernetes.io/ssl-redirect: \"false\"";
    let manifest = ingress("shop", annotations, RULE);
    let findings =
        findings(&manifest.replace("ingressClassName: nginx", "ingressClassName: modsec"));
    let remarks = &findings.ingresses[0].remarks;
    assert!(
        remarks
            .iter()
            .any(|remark| remark.text.ends_with("--ingress-class \"modsec\"")),
        "{remarks:?}"
    );
}

#[test]
fn an_ingress_with_its_class_in_both_places_is_told_which_one_decides() {
    let both = ingress("shop", "kubernetes.io/ingress.class: nginx", RULE);
    for (manifest, expected) in [
        (both.replace("  ingressClassName: nginx\n", ""), None),
        (ingress("shop", "", RULE), None),
        (
            both.clone(),
            Some("not needed beside spec.ingressClassName"),
        ),
        (
            both.replace(": nginx}", ": other}"),
            Some("not the class of spec.ingressClassName, which decides"),
        ),
    ] {
        let finding = only(&manifest);
        assert_eq!(finding.verdict, Verdict::Unchanged, "{manifest}");
        let mut remarks = finding.remarks.iter();
        let said = remarks.find(|remark| remark.field == "annotation kubernetes.io/ingress.class");
        let said = said.and_then(|remark| remark.text.split(';').next());
        assert_eq!(said, expected, "{manifest}");
    }
}
