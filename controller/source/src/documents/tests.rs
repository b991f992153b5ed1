use super::*;

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";

#[test]
fn a_bad_document_costs_only_itself() {
    let text = format!(
        "{SERVICE}---\nkind: [\n--- # next\n{}",
        SERVICE.replace("name: a", "name: b")
    );
    let (objects, problems) = parse("x.yaml", &text);
    assert_eq!(objects.len(), 2);
    assert_eq!(problems.len(), 1);
    assert!(!problems[0].is_foreign);
    assert!(
        problems[0]
            .to_string()
            .starts_with("x.yaml:5: expected YAML"),
        "{}",
        problems[0]
    );
}

#[test]
fn a_key_that_is_there_twice_is_named() {
    let (_, problems) = parse("x.yaml", "kind: Service\nkind: Ingress\n");
    let told = problems[0].to_string();
    assert!(told.contains("duplicate mapping key: kind"), "{told}");
    assert!(!told.contains("DuplicateKeyPolicy"), "{told}");
}

#[test]
fn a_text_that_yaml_takes_for_something_else_needs_quotes() {
    for value in ["true", "false", "8", "-8", "8.5", "1e9"] {
        for field in ["annotations", "labels"] {
            let text = SERVICE.replace("{name: a", &format!("{{name: a, {field}: {{a: {value}}}"));
            let (objects, problems) = parse("x.yaml", &text);
            assert_eq!(objects.len(), 0, "{text}");
            let told = problems[0].to_string();
            assert!(told.contains(field), "{told}");
            assert!(
                told.contains("expected a string (put it in quotes); "),
                "{told}"
            );
            let quoted = text.replace(&format!("a: {value}"), &format!("a: \"{value}\""));
            assert_eq!(parse("x.yaml", &quoted).1.len(), 0, "{quoted}");
        }
    }
    let config_map = SERVICE.replace("Service", "ConfigMap") + "data: {a: true}\n";
    let told = parse("x.yaml", &config_map).1[0].to_string();
    assert!(told.contains("(put it in quotes)"), "{told}");
    let (_, problems) = parse("x.yaml", &SERVICE.replace("{name: a}", "{name: [a]}"));
    assert!(
        !problems[0].to_string().contains("quotes"),
        "{}",
        problems[0]
    );
}

#[test]
fn dashes_inside_a_line_end_nothing() {
    let text = format!("# ---\n{SERVICE}  # a --- b\n----\n");
    assert_eq!(split(&text).count(), 1);
}

#[test]
fn a_list_is_its_items() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n";
    assert_eq!(parse("x.yaml", text).0.len(), 1);
}

/// Nanoseconds that this thread has run: other processes do not count.
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Nothing looks at the whole document for each item.
#[test]
fn a_list_costs_its_items_and_not_their_square() {
    let item = "- {apiVersion: v1, kind: Service, metadata: {name: a}}\n";
    let comment = format!("# {}\n", "x ".repeat(500_000));
    let cost = |items: &str, comment: &str| {
        let text = format!("apiVersion: v1\nkind: List\nitems:\n{items}{comment}");
        let began = on_cpu();
        parse("x.yaml", &text);
        on_cpu() - began
    };
    let one = cost(item, &comment);
    let many = cost(&item.repeat(500), "");
    let both = cost(&item.repeat(500), &comment);
    assert!(both < (one + many) * 4, "{one}, {many}, {both}");
}

#[test]
fn an_ingress_of_an_old_version_is_read_with_a_note() {
    let text = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n";
    let (objects, problems) = parse("x.yaml", text);
    assert_eq!(objects.len(), 1);
    assert!(
        problems[0].harmless && problems[0].reason.contains("since Kubernetes 1.22"),
        "{}",
        problems[0]
    );
}

#[test]
fn what_an_ingress_has_no_field_for_is_noted_once() {
    let path = "{path: /, pathType: Exact, backend: {serviceName: a, servicePort: 80}}";
    let text = format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a}}\n\
         spec: {{ingressclass: x, rules: [{{http: {{paths: [{path}]}}}}]}}\n"
    );
    let (objects, problems) = parse("x.yaml", &text);
    assert_eq!(objects.len(), 1);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("backend: expected service, got serviceName"),
        "{said:?}"
    );
    assert!(
        said[1].contains("spec.ingressclass: unknown field; ignored"),
        "{said:?}"
    );
    assert!(problems.iter().all(|problem| problem.harmless));
}

#[test]
fn only_what_names_no_object_or_is_a_template_is_foreign() {
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: NAME}\n";
    let named = |name: &str| ingress.replace("NAME", name);
    for (text, is_foreign) in [
        ("replicas: 2\n".to_owned(), true),
        ("replicas: [\n".to_owned(), true),
        ("apiVersion: v2\nname: chart\n".to_owned(), true),
        (named("{{ .Name }}"), true),
        (named("\"{{ .Name }}\""), true),
        (
            named("\"{{ .Name }}\"").replace("{name", "{namespace: A_B, name"),
            true,
        ),
        (named("A_B"), false),
        (format!("# {{{{docs}}}}\n{}", named("A_B")), false),
        (named("A_B, labels: {a: \"{{ .Name }}\"}"), false),
        (named("a").replace("kind: Ingress\n", ""), false),
        (
            named("a").replace("apiVersion: networking.k8s.io/v1\n", ""),
            false,
        ),
        (format!("# {{{{docs}}}}\n{}spec: [\n", named("a")), false),
    ] {
        let (_, problems) = parse("x.yaml", &text);
        assert_eq!(problems.len(), 1, "{text}");
        assert_eq!(problems[0].is_foreign, is_foreign, "{text}{}", problems[0]);
    }
}

#[test]
fn an_item_that_is_no_object_is_named() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n- 7\n";
    let (objects, problems) = parse("x.yaml", text);
    assert_eq!((objects.len(), problems.len()), (1, 1));
    let told = problems[0].to_string();
    assert!(
        told.starts_with("x.yaml:5: items[1]: kind: expected a Kubernetes object"),
        "{told}"
    );
}

#[test]
fn a_template_says_to_render_it() {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\n";
    for name in ["{{ .Name }}", "'{{ .Name }}'"] {
        let (_, problems) = parse("x.yaml", &text.replace("NAME", name));
        assert!(
            problems[0]
                .reason
                .contains("render it first (helm template)"),
            "{}",
            problems[0]
        );
    }
    let (_, problems) = parse("x.yaml", &text.replace("NAME", "A_B"));
    assert!(!problems[0].reason.contains("helm"), "{}", problems[0]);
}

#[test]
fn an_ingress_of_no_version_that_there_is_is_no_other_kind() {
    for (version, kind, harmless) in [
        ("networking.k8s.io/v2", "Ingress", false),
        ("networking.k8s.io/v1", "ingress", false),
        ("networking.k8s.io/v1", "NetworkPolicy", true),
        ("config.openshift.io/v1", "Ingress", true),
    ] {
        let text = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n");
        let (_, problems) = parse("x.yaml", &text);
        assert_eq!(problems[0].harmless, harmless, "{}", problems[0]);
    }
}

#[test]
fn other_kinds_are_harmless() {
    let (_, problems) = parse(
        "x.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
    );
    assert!(problems[0].harmless);
}
