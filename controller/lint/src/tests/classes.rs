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
fn a_class_is_named_once() {
    let annotated = ingress("shop", "kubernetes.io/ingress.class: nginx", RULE);
    let of_both = [annotated.clone(), annotated.replace(": nginx}", ": other}")];
    for (manifest, is_remarked) in [
        (annotated.replace("  ingressClassName: nginx\n", ""), false),
        (ingress("shop", "", RULE), false),
    ]
    .into_iter()
    .chain(of_both.map(|manifest| (manifest, true)))
    {
        let finding = only(&manifest);
        assert_eq!(finding.verdict, Verdict::Unchanged, "{manifest}");
        let mut remarks = finding.remarks.iter();
        let is_said = remarks.any(|remark| {
            remark.field == "annotation kubernetes.io/ingress.class"
                && remark.text.starts_with("spec.ingressClassName decides")
        });
        assert_eq!(is_said, is_remarked, "{manifest}: {:?}", finding.remarks);
    }
}
