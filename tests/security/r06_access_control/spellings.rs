//! The meaning of a path: its decoded form with slashes and dots resolved, as nginx does before it looks for a route. The
//! recordings of ingress-nginx agree for those that are there.

use crate::setup::Plane;

/// The meaning of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// This path, decoded.
    Path(&'static str),
    /// No path at all.
    Nothing,
}

/// A target as a client writes it.
#[derive(Debug)]
pub(super) struct Spelling {
    pub(super) target: &'static str,
    nginx: Meaning,
    envoy: Meaning,
    as_sent: bool,
}

impl Spelling {
    pub(super) fn meaning(&self, plane: Plane) -> Meaning {
        if plane == Plane::Nginx {
            self.nginx
        } else {
            self.envoy
        }
    }

    /// Returns `true` if the target of an open path reaches the pod unchanged on every data plane. Envoy resolves dots and
    /// slashes that are not encoded, and decodes characters that need no encoding.
    pub(super) fn arrives_as_sent(&self) -> bool {
        self.as_sent
    }
}

/// Arrives as it was sent.
const fn unchanged(target: &'static str, path: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Meaning::Path(path),
        envoy: Meaning::Path(path),
        as_sent: true,
    }
}

const fn normalized(target: &'static str, path: &'static str) -> Spelling {
    Spelling {
        as_sent: false,
        ..unchanged(target, path)
    }
}

/// To Envoy a backslash is a slash.
const fn backslash(target: &'static str, nginx: &'static str, envoy: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Meaning::Path(nginx),
        envoy: Meaning::Path(envoy),
        as_sent: false,
    }
}

/// Dots that lead above the root; Envoy stays there.
const fn above_root(target: &'static str, envoy: &'static str) -> Spelling {
    Spelling {
        nginx: Meaning::Nothing,
        ..normalized(target, envoy)
    }
}

const fn invalid(target: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Meaning::Nothing,
        envoy: Meaning::Nothing,
        as_sent: false,
    }
}

#[rustfmt::skip]
pub(super) const SPELLINGS: &[Spelling] = &[
    unchanged("/", "/"),
    unchanged("/x", "/x"),
    unchanged("/adminx", "/adminx"),
    unchanged("/ADMIN/x", "/ADMIN/x"),
    unchanged("/admin", "/admin"),
    unchanged("/admin/", "/admin/"),
    unchanged("/admin/x", "/admin/x"),
    unchanged("/admin?x=%2f..%2f", "/admin"),
    unchanged("/x?y=/admin%2f..", "/x"),
    normalized("//admin", "/admin"),
    normalized("/admin//x", "/admin/x"),
    normalized("///admin///x", "/admin/x"),
    normalized("/./admin", "/admin"),
    normalized("/admin/.", "/admin/"),
    normalized("/x/../admin", "/admin"),
    normalized("/x/..//admin", "/admin"),
    normalized("/admin/../x", "/x"),
    normalized("/%61dmin", "/admin"),
    normalized("/%61%64%6D%69%6e/x", "/admin/x"),
    normalized("/x/%2e%2e/admin", "/admin"),
    normalized("/x/.%2e/admin/x", "/admin/x"),
    normalized("/%2e/admin", "/admin"),
    unchanged("/admin;x", "/admin;x"),
    unchanged("/admin;x/y", "/admin;x/y"),
    unchanged("/admin/;x", "/admin/;x"),
    backslash("/admin\\x", "/admin\\x", "/admin/x"),
    backslash("/x\\..\\admin", "/x\\..\\admin", "/admin"),
    above_root("/../admin", "/admin"),
    above_root("/%2e%2e/admin", "/admin"),
    unchanged("/admin%2fx", "/admin/x"),
    unchanged("/admin%2Fx", "/admin/x"),
    unchanged("/admin%2f", "/admin/"),
    unchanged("/admin%2f%2fx", "/admin/x"),
    unchanged("/%2fadmin", "/admin"),
    unchanged("/%2F%2fadmin/x", "/admin/x"),
    unchanged("/x%2f", "/x/"),
    unchanged("/group%2fproject/raw%2Ffile?ref=a%2Fb", "/group/project/raw/file"),
    unchanged("/bucket/http:%2F%2Fa.example%2Fb", "/bucket/http:/a.example/b"),
    normalized("/x/..%2fadmin", "/admin"),
    normalized("/x/..%2Fadmin/x", "/admin/x"),
    normalized("/x%2f..%2fadmin", "/admin"),
    normalized("/x%2f%2e%2e/admin", "/admin"),
    normalized("/x/%2e%2e%2fadmin", "/admin"),
    normalized("/x/..%2f%2fadmin", "/admin"),
    normalized("/.%2fadmin", "/admin"),
    normalized("/%2e%2fadmin/x", "/admin/x"),
    normalized("/admin%2f.", "/admin/"),
    normalized("/admin/..%2fx", "/x"),
    normalized("/admin%2f..%2fx", "/x"),
    normalized("/%41dmin/x", "/Admin/x"),
    unchanged("/admin%5cx", "/admin\\x"),
    unchanged("/admin%3bx", "/admin;x"),
    unchanged("/admin/%3bx", "/admin/;x"),
    unchanged("/admin%252fx", "/admin%2fx"),
    unchanged("/admin/%252f..", "/admin/%2f.."),
    unchanged("/%2561dmin", "/%61dmin"),
    unchanged("/admin%3fx", "/admin?x"),
    unchanged("/admin/%3fx", "/admin/?x"),
    unchanged("/admin%23x", "/admin#x"),
    unchanged("/admin/%23", "/admin/#"),
    unchanged("/admin%20x", "/admin x"),
    unchanged("/admin/%20", "/admin/ "),
    unchanged("/admin%c3%a9", "/admin\u{e9}"),
    unchanged("/admin/%C3%A9", "/admin/\u{e9}"),
    unchanged("/admin/%ff", "/admin/\u{fffd}"),
    unchanged("/admin/%0a", "/admin/\n"),
    invalid("/%"),
    invalid("/admin%"),
    invalid("/admin%2"),
    invalid("/admin%zz"),
    invalid("/admin%00"),
    invalid("/x%00"),
    invalid("/..%2fadmin"),
    invalid("/%2e%2e%2fadmin"),
    invalid("/x/..%2f..%2fadmin"),
    invalid("/admin%2f..%2f..%2fx"),
];
