use std::fs;

use sluice_translate::{Kind, ObjectKey};

use super::*;

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: NAME\n";

fn service(name: &str) -> String {
    SERVICE.replace("NAME", name)
}

fn object(name: &str) -> ObjectRef {
    ObjectRef {
        kind: Kind::Service,
        key: ObjectKey::new("default", name),
    }
}

fn problems(reading: &Reading) -> Vec<&Problem> {
    let events = reading.events.iter();
    events
        .filter_map(|event| match event {
            Event::Problem(problem) => Some(problem),
            _ => None,
        })
        .collect()
}

#[test]
fn objects_have_a_file_and_a_line() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.yaml");
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: c}\n";
    let text = format!(
        "# first\n{}--- # next\n{}---\n{list}",
        service("a"),
        service("b")
    );
    fs::write(&file, text)?;
    let reading = read_inputs(&[Input::Path(folder.path().to_owned())])?;
    for (name, field, line) in [
        ("a", "", 2),
        ("b", "", 7),
        ("b", "metadata.name", 10),
        ("c", "", 15),
        ("c", "kind", 16),
        ("c", "spec.ports", 15),
    ] {
        let place = reading.places.find(&object(name), field);
        let file = file.display().to_string();
        assert_eq!(place, Some(Location { file, line }), "{name} {field}");
    }
    assert_eq!(reading.places.find(&object("d"), ""), None);
    Ok(())
}

#[test]
fn a_template_is_harmless_in_a_folder_and_not_by_name() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    for (name, text) in [
        (
            "a.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Name }}}\n",
        ),
        (
            "b.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"{{ .Name }}\"\n",
        ),
        ("values.yaml", "replicas: 2\n"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text)?;
        files.push(Input::Path(file));
    }
    let all = read_inputs(&[Input::Path(folder.path().to_owned())])?;
    let problems_of_folder = problems(&all);
    assert_eq!(problems_of_folder.len(), 3);
    for problem in problems_of_folder {
        assert!(problem.harmless && problem.is_foreign, "{problem:?}");
    }
    let named = read_inputs(&files)?;
    assert!(problems(&named).iter().all(|problem| !problem.harmless));
    assert_eq!(problems(&named)[1].line, Some(4));
    let malformed = service("Not_A_Name");
    fs::write(folder.path().join("c.yaml"), malformed)?;
    let all = read_inputs(&[Input::Path(folder.path().to_owned())])?;
    assert!(problems(&all).iter().any(|problem| !problem.harmless));
    Ok(())
}

#[test]
fn no_file_is_read_twice() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("one.yaml");
    fs::write(&file, service("a"))?;
    let inputs = [&file, folder.path(), &file].map(|path| Input::Path(path.to_owned()));
    assert_eq!(problems(&read_inputs(&inputs)?).len(), 0);
    Ok(())
}

/// Wherever the two are, and in whatever order: one of them is not checked.
#[test]
fn an_object_that_another_hides_is_an_error_unless_they_are_the_same() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let [one, two, both, list] =
        ["one.yaml", "two.yaml", "both.yaml", "list.yaml"].map(|name| folder.path().join(name));
    let other = format!("{}spec: {{type: ClusterIP}}\n", service("a"));
    let item = "{apiVersion: v1, kind: Service, metadata: {name: a}";
    fs::write(
        &list,
        format!("kind: List\nitems:\n- {item}}}\n- {item}, spec: {{}}}}\n"),
    )?;
    for (second, harmless) in [(service("a"), true), (other, false)] {
        fs::write(&one, service("a"))?;
        fs::write(&two, format!("\n{second}"))?;
        fs::write(&both, format!("{}---\n{second}", service("a")))?;
        for (paths, hidden, line, kept, kept_line) in [
            (vec![&one, &two], &two, 2, &one, 1),
            (vec![&two, &one], &one, 1, &two, 2),
            (vec![&both], &both, 1, &both, 6),
        ] {
            let inputs = paths.into_iter().map(|path| Input::Path(path.clone()));
            let reading = read_inputs(&inputs.collect::<Vec<_>>())?;
            let problems = problems(&reading);
            assert_eq!(problems.len(), 1, "{problems:?}");
            let problem = problems[0];
            assert_eq!(problem.harmless, harmless, "{problem}");
            assert!(
                problem.is_duplicate && problem.line == Some(line),
                "{problem}"
            );
            assert_eq!(problem.place, hidden.display().to_string());
            let other = format!(" {}:{kept_line}", kept.display());
            assert!(problem.reason.contains(&other), "{problem}");
            let place = reading.places.find(&object("a"), "");
            let file = kept.display().to_string();
            assert_eq!(
                place,
                Some(Location {
                    file,
                    line: kept_line
                })
            );
        }
    }
    let reading = read_inputs(&[Input::Path(list)])?;
    let problem = problems(&reading)[0];
    assert!(!problem.harmless && problem.line == Some(3), "{problem}");
    Ok(())
}

#[test]
fn a_broken_object_in_a_folder_is_an_error() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n";
    let annotations = "  annotations:\n    a: b\n   c: d # {{ .Values.name }}\n";
    fs::write(
        folder.path().join("a.yaml"),
        format!("{ingress}{annotations}"),
    )?;
    fs::write(folder.path().join("values.yaml"), "a: [\n")?;
    fs::write(
        folder.path().join("chart.yaml"),
        format!("{{{{- if .on }}}}\n{ingress}"),
    )?;
    let reading = read_inputs(&[Input::Path(folder.path().to_owned())])?;
    let errors = problems(&reading)
        .into_iter()
        .filter(|problem| !problem.harmless);
    let places: Vec<_> = errors.map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, [folder.path().join("a.yaml").display().to_string()]);
    Ok(())
}

#[test]
fn a_mistyped_path_and_what_has_no_manifests_in_it_are_errors() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let [missing, empty, blank, link] =
        ["no", "empty", "blank.yaml", "link.yaml"].map(|name| folder.path().join(name));
    fs::create_dir(&empty)?;
    fs::write(&blank, "# nothing\n---\n")?;
    std::os::unix::fs::symlink("nowhere", &link)?;
    for (input, reason) in [
        (missing, "no such file"),
        (empty, "no manifests in it"),
        (blank, "nothing in it but"),
        (link, "a link to a file or folder that is not there"),
    ] {
        let error = read_inputs(&[Input::Path(input)])
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains(reason)), "{reason}");
    }
    Ok(())
}

/// The rest is checked, and the check does not pass.
#[test]
fn what_cannot_be_read_in_a_folder_is_an_error_with_its_path() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.yaml"), service("a"))?;
    let link = folder.path().join("b.yaml");
    std::os::unix::fs::symlink("nowhere", &link)?;
    let reading = read_inputs(&[Input::Path(folder.path().to_owned())])?;
    let problems = problems(&reading);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].place, link.display().to_string());
    assert!(!problems[0].harmless && problems[0].reason.starts_with("cannot be read: "));
    assert!(reading.places.find(&object("a"), "").is_some());
    Ok(())
}
