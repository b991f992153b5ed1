use super::*;

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\n";

struct Folder(tempfile::TempDir, Index);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::new(folder.path());
        Folder(folder, index)
    }

    fn write(&mut self, file: &str, text: &str) -> Vec<Event> {
        let path = self.0.path().join(file);
        // A new file each time, as editors write: a new inode is a new fingerprint.
        let fresh = self.0.path().join(".fresh");
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
        let mut events = Vec::new();
        self.1
            .read(&path, Fingerprint::from_path(&path).unwrap(), &mut events);
        events
    }
}

fn service(name: &str) -> String {
    SERVICE.replace("NAME", name)
}

#[test]
fn only_what_differs_is_said() {
    let mut folder = Folder::new();
    assert_eq!(
        folder
            .write("a.yaml", &format!("{}---\n{}", service("a"), service("b")))
            .len(),
        2
    );
    let events = folder.write("a.yaml", &service("a"));
    assert_eq!(
        events,
        [Event::Delete(Kind::Service, ObjectKey::new("default", "b"))]
    );
}

#[test]
fn a_file_that_breaks_keeps_its_objects() {
    let mut folder = Folder::new();
    folder.write("a.yaml", &service("a"));
    let events = folder.write("a.yaml", "kind: [");
    assert!(
        matches!(events.as_slice(), [Event::Problem(_)]),
        "{events:?}"
    );
    assert!(
        folder.write("a.yaml", &service("a")).is_empty(),
        "it was there all the time"
    );
}

#[test]
fn the_first_file_has_the_object_and_the_second_takes_over() {
    let mut folder = Folder::new();
    folder.write("a.yaml", &service("a"));
    let events = folder.write("b.yaml", &service("a"));
    assert!(
        matches!(events.as_slice(), [Event::Problem(problem)] if problem.harmless),
        "{events:?}"
    );
    let mut events = Vec::new();
    let path = folder.0.path().join("a.yaml");
    folder.1.forget(&path, &mut events);
    assert!(matches!(events.as_slice(), [Event::Apply(_)]), "{events:?}");
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let error = read_once(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(
        format!("{error:#}").starts_with("--manifests /nowhere/at/all: "),
        "{error:#}"
    );
}

/// The folder as seen from here.
fn relative(folder: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    up.join(folder.strip_prefix("/").unwrap())
}

#[tokio::test]
async fn a_file_of_a_relative_folder_is_gone_when_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let _files = Files::follow(&relative(folder.path()), sender, &Tasks::default()).unwrap();
    assert_eq!(events.recv().await.unwrap().last(), Some(&Event::Ready));
    for _ in 0..3 {
        std::fs::write(&file, service("a")).unwrap();
        assert!(matches!(
            events.recv().await.unwrap().as_slice(),
            [Event::Apply(_)]
        ));
        std::fs::remove_file(&file).unwrap();
        let gone = [Event::Delete(Kind::Service, ObjectKey::new("default", "a"))];
        assert_eq!(events.recv().await.unwrap(), gone);
    }
}

#[test]
fn an_object_that_is_in_a_file_twice_is_noted_and_the_last_is_used() {
    let mut folder = Folder::new();
    let last = format!("{}spec: {{type: ClusterIP}}\n", service("a"));
    let events = folder.write("a.yaml", &format!("{}---\n{last}", service("a")));
    let [Event::Problem(problem), Event::Apply(Object::Service(used))] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert!(
        problem.harmless
            && problem
                .reason
                .starts_with("Service default/a is in this file")
    );
    assert!(!used.spec().is_empty(), "{used:?}");
}

#[test]
fn a_folder_without_a_manifest_is_named_and_one_with_a_broken_one_is_not() {
    let mut folder = Folder::new();
    let place = folder.0.path().to_owned();
    let Some(Event::Problem(problem)) = nothing_in(&place, &[]) else {
        panic!("nothing is said")
    };
    assert!(!problem.harmless);
    assert_eq!(problem.place, place.display().to_string());
    let foreign = folder.write("values.yaml", "replicas: 3\n");
    assert!(nothing_in(&place, &foreign).is_some(), "{foreign:?}");
    for text in ["kind: [", &service("a")] {
        let events = folder.write("a.yaml", text);
        assert_eq!(nothing_in(&place, &events), None, "{text}");
    }
}
