use super::*;

fn set(name: &str, value: Option<&str>, whose: Whose) -> Action {
    Action::Set {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        whose,
    }
}

fn delete(kind: Option<Kind>, name: Option<&str>) -> Action {
    Action::Delete(kind, name.map(str::to_owned))
}

#[test]
fn sentences_are_understood() {
    let scale = |count| Action::Scale("echo".to_owned(), count);
    let class = "kubernetes.io/ingress.class";
    let settings = vec![
        ("scale echo to 2", vec![scale(2)]),
        ("scale echo 2 to 4 in steps", vec![scale(3), scale(4)]),
        (
            "set canary-weight=50",
            vec![set("canary-weight", Some("50"), Whose::Unsaid)],
        ),
        (
            "set rewrite-target=/$2 on main",
            vec![set(
                "rewrite-target",
                Some("/$2"),
                Whose::Ingress("main".into()),
            )],
        ),
        (
            "set hsts=false in the ConfigMap",
            vec![set("hsts", Some("false"), Whose::ConfigMap)],
        ),
        (
            "set configmap hsts=false",
            vec![set("hsts", Some("false"), Whose::ConfigMap)],
        ),
        (
            "remove spec.tls",
            vec![set("spec.tls", None, Whose::Unsaid)],
        ),
        (
            "remove annotation canary",
            vec![set("canary", None, Whose::Unsaid)],
        ),
        (
            "replace annotation by ingressClassName=nginx",
            vec![
                set(class, None, Whose::Unsaid),
                set("ingressClassName", Some("nginx"), Whose::Unsaid),
            ],
        ),
        (
            "replace secret s by tls for b.example",
            vec![Action::Describe(
                "s".into(),
                Secret::Words("tls for b.example".into()),
            )],
        ),
    ];
    understood(settings);
}

#[test]
fn sentences_about_objects_are_understood() {
    let scale = |count| Action::Scale("echo".to_owned(), count);
    let objects = vec![
        ("delete secret", vec![delete(Some(Kind::Secret), None)]),
        (
            "delete secret foo.com",
            vec![delete(Some(Kind::Secret), Some("foo.com"))],
        ),
        (
            "delete auth service",
            vec![delete(Some(Kind::Service), Some("auth"))],
        ),
        ("delete main", vec![delete(None, Some("main"))]),
        ("delete it", vec![Action::DeleteIt]),
        (
            "create ExternalName service ext",
            vec![Action::Create(Kind::Service, "ext".into())],
        ),
        (
            "scale echo to 0; wait 0.5 s",
            vec![scale(0), Action::Wait(Duration::from_millis(500))],
        ),
    ];
    understood(objects);
}

fn understood(sentences: Vec<(&str, Vec<Action>)>) {
    for (text, expected) in sentences {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn another_sentence_is_named() {
    for text in [
        "paint echo blue",
        "scale echo",
        "delete the big red button",
        "set canary",
    ] {
        assert_eq!(
            parse(text),
            Err(format!("the action {text:?} is not understood"))
        );
    }
}
