//! Faults of pods.

use serde_json::json;

use super::{Case, PAGE, forbidden, installed, pod, read, replace};
use crate::Controller as Replica;
use crate::{Section, Status};

pub(super) const CASES: [Case; 20] = [
    (
        Section::Controller,
        Status::Failure,
        "no pod of a controller",
        "--pre",
        |facts| facts.installation = Err("no pod of a controller".to_owned()),
    ),
    (
        Section::Controller,
        Status::Failure,
        "no pod of the controller is ready: controller-0",
        "describe",
        |facts| {
            installed(facts).controllers[0].pod = pod("controller", "False");
        },
    ),
    (
        Section::Controller,
        Status::Failure,
        "(CrashLoopBackOff: back-off; last Error with exit code 1, 7 restarts)",
        "logs",
        |facts| {
            let mut pod = pod("controller", "False");
            let status = json!([{
                "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 7,
                "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off" } },
                "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
            }]);
            pod.status.as_mut().unwrap().container_statuses = read(status);
            installed(facts).controllers[0].pod = pod;
        },
    ),
    (
        Section::Controller,
        Status::Warning,
        "1 of 2 pods of the controller not ready",
        "describe",
        |facts| {
            let metrics = Ok(PAGE.to_owned());
            let pod = pod("controller", "False");
            installed(facts).controllers.push(Replica { pod, metrics });
        },
    ),
    (
        Section::Controller,
        Status::Warning,
        "flags could not be read: --x",
        "version",
        |facts| installed(facts).flags = Err("--x".to_owned()),
    ),
    (
        Section::Controller,
        Status::Warning,
        "metrics of pod controller-0 could not be read",
        "pods/proxy",
        |facts| {
            installed(facts).controllers[0].metrics = forbidden();
        },
    ),
    (
        Section::Controller,
        Status::Warning,
        "the controller is 0.2.0, this program is 0.1.0",
        "same version",
        |facts| replace(facts, "0.1.0", "0.2.0"),
    ),
    (
        Section::Controller,
        Status::Warning,
        "several versions: 0.1.0, 0.2.0",
        "rollout",
        |facts| {
            let metrics = Ok(PAGE.replace("0.1.0", "0.2.0"));
            let pod = pod("controller", "True");
            installed(facts).controllers.push(Replica { pod, metrics });
        },
    ),
    (
        Section::Controller,
        Status::Warning,
        "no controller is the leader",
        "Lease",
        |facts| replace(facts, "\"l\"} 1", "\"l\"} 0"),
    ),
    (
        Section::Controller,
        Status::Warning,
        "2 controllers think",
        "clocks",
        |facts| {
            let again = installed(facts).controllers[0].clone();
            installed(facts).controllers.push(again);
        },
    ),
    (
        Section::DataPlanes,
        Status::Warning,
        "pods of the data plane could not",
        "may read",
        |facts| installed(facts).data_planes = forbidden(),
    ),
    (
        Section::DataPlanes,
        Status::Warning,
        "no pod of a data plane in edge",
        "dataPlane",
        |facts| {
            installed(facts).data_planes = Ok(Vec::new());
            replace(facts, "\"1.40.0\"} 1", "\"\"} 0");
        },
    ),
    (
        Section::DataPlanes,
        Status::Failure,
        "no pod of the controller, which runs its data plane itself, is ready",
        "describe",
        |facts| {
            let installation = installed(facts);
            installation.flags.as_mut().unwrap().runs_data_plane = true;
            installation.controllers[0].pod = pod("controller", "False");
        },
    ),
    (
        Section::DataPlanes,
        Status::Warning,
        "does not say its version",
        "Envoy 1.40",
        |facts| replace(facts, "\"1.40.0\"} 1", "\"\"} 1"),
    ),
    (
        Section::DataPlanes,
        Status::Failure,
        "no pod of the data plane is ready",
        "describe",
        |facts| {
            installed(facts).data_planes = Ok(vec![pod("data-plane", "False")]);
        },
    ),
    (
        Section::DataPlanes,
        Status::Warning,
        "1 of 2 pods of the data plane not ready",
        "describe",
        |facts| {
            installed(facts)
                .data_planes
                .as_mut()
                .unwrap()
                .push(pod("data-plane", "False"));
        },
    ),
    (
        Section::DataPlanes,
        Status::Failure,
        "0 of 1 data plane connected",
        "certificates",
        |facts| replace(facts, "\"1.40.0\"} 1", "\"\"} 0"),
    ),
    (
        Section::DataPlanes,
        Status::Failure,
        "1 of 2 data planes connected",
        "certificates",
        |facts| {
            installed(facts)
                .data_planes
                .as_mut()
                .unwrap()
                .push(pod("data-plane", "True"));
        },
    ),
    (
        Section::DataPlanes,
        Status::Warning,
        "Envoy 1.39.2 is not",
        "1.40",
        |facts| replace(facts, "1.40.0", "1.39.2"),
    ),
    (
        Section::DataPlanes,
        Status::Failure,
        "Envoy 1.39.0 takes what a client writes behind `Upgrade: tcp`",
        "use Envoy 1.40",
        |facts| replace(facts, "1.40.0", "1.39.0"),
    ),
];
