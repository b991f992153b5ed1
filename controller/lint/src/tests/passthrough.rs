//! `ssl-passthrough` in nginx.

use super::*;

const ANNOTATION: &str = "nginx.ingress.kubernetes.io/ssl-passthrough: 'true'";

fn finding_beside(settings: &str, data_plane: DataPlane) -> Finding {
    let folder = tempfile::tempdir().unwrap();
    let manifests = ingress("tls", ANNOTATION, RULE) + &config_map(settings);
    fs::write(folder.path().join("in.yaml"), manifests).unwrap();
    let options = Options {
        class_is_implied: true,
        ssl_passthrough: true,
        configmap: Some(sluice_translate::ObjectKey::new("sluice", "settings")),
        data_plane: Some(data_plane),
        ..Options::default()
    };
    let findings = examine(read_once(folder.path()).unwrap(), &options, Extent::Part);
    findings.ingresses[0].clone()
}

#[test]
fn passthrough_in_nginx_says_which_module_it_needs() {
    let says_so = |finding: &Finding| {
        let mut remarks = finding.remarks.iter();
        remarks.any(|remark| remark.text.contains("libnginx-mod-stream"))
    };
    let of_nginx = finding_beside("", DataPlane::Nginx);
    assert_eq!(of_nginx.verdict, Verdict::Unchanged);
    assert!(says_so(&of_nginx), "{of_nginx:?}");
    assert!(!says_so(&finding_beside("", DataPlane::Envoy)));
}

/// As the renderer of nginx, which closes its host.
#[test]
fn passthrough_in_nginx_is_closed_beside_headers_with_the_address_of_the_client() {
    let headers = "use-forwarded-headers: 'true'";
    let closed = finding_beside(headers, DataPlane::Nginx);
    assert_eq!((closed.verdict, closed.closed), (Verdict::NotAtAll, true));
    let text = "ssl-passthrough beside use-forwarded-headers and without use-proxy-protocol: not served by the nginx data plane; \
                affected paths answer 503";
    assert_eq!(closed.remarks[0].text, text);
    for (settings, data_plane) in [
        (headers, DataPlane::Envoy),
        (
            "use-forwarded-headers: 'true', use-proxy-protocol: 'true'",
            DataPlane::Nginx,
        ),
    ] {
        let finding = finding_beside(settings, data_plane);
        assert_eq!(
            (finding.verdict, finding.closed),
            (Verdict::Unchanged, false),
            "{settings}"
        );
    }
}
