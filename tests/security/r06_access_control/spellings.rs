//! What a path means: where it leads once it is decoded and its slashes and dots are resolved, as nginx does before it looks
//! for a location. The recordings of ingress-nginx say the same of those that are there.

use crate::setup::Plane;

/// What a target means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// This path, decoded.
    Path(&'static str),
    /// No path at all.
    Nothing,
}

/// A target as a client writes it.
#[derive(Debug)]
pub(super) struct Spelling {
    pub(super) target: &'static str,
    nginx: Means,
    envoy: Means,
    as_sent: bool,
}

impl Spelling {
    pub(super) fn means(&self, plane: Plane) -> Means {
        if plane == Plane::Nginx {
            self.nginx
        } else {
            self.envoy
        }
    }

    /// Whether an open path arrives at its pod to the letter, whoever serves it. Envoy resolves dots and slashes that are not
    /// encoded, and what needs no encoding is decoded.
    pub(super) fn arrives_as_sent(&self) -> bool {
        self.as_sent
    }
}

/// Arrives as it was sent.
const fn kept(target: &'static str, path: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Means::Path(path),
        envoy: Means::Path(path),
        as_sent: true,
    }
}

const fn mended(target: &'static str, path: &'static str) -> Spelling {
    Spelling {
        as_sent: false,
        ..kept(target, path)
    }
}

/// To Envoy a backslash is a slash.
const fn backslash(target: &'static str, nginx: &'static str, envoy: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Means::Path(nginx),
        envoy: Means::Path(envoy),
        as_sent: false,
    }
}

/// Where dots lead above the root, Envoy stays there.
const fn above(target: &'static str, envoy: &'static str) -> Spelling {
    Spelling {
        nginx: Means::Nothing,
        ..mended(target, envoy)
    }
}

const fn nothing(target: &'static str) -> Spelling {
    Spelling {
        target,
        nginx: Means::Nothing,
        envoy: Means::Nothing,
        as_sent: false,
    }
}

#[rustfmt::skip]
pub(super) const SPELLINGS: &[Spelling] = &[
    kept("/", "/"),
    kept("/x", "/x"),
    kept("/adminx", "/adminx"),
    kept("/ADMIN/x", "/ADMIN/x"),
    kept("/admin", "/admin"),
    kept("/admin/", "/admin/"),
    kept("/admin/x", "/admin/x"),
    kept("/admin?x=%2f..%2f", "/admin"),
    kept("/x?y=/admin%2f..", "/x"),
    mended("//admin", "/admin"),
    mended("/admin//x", "/admin/x"),
    mended("///admin///x", "/admin/x"),
    mended("/./admin", "/admin"),
    mended("/admin/.", "/admin/"),
    mended("/x/../admin", "/admin"),
    mended("/x/..//admin", "/admin"),
    mended("/admin/../x", "/x"),
    mended("/%61dmin", "/admin"),
    mended("/%61%64%6D%69%6e/x", "/admin/x"),
    mended("/x/%2e%2e/admin", "/admin"),
    mended("/x/.%2e/admin/x", "/admin/x"),
    mended("/%2e/admin", "/admin"),
    kept("/admin;x", "/admin;x"),
    kept("/admin;x/y", "/admin;x/y"),
    kept("/admin/;x", "/admin/;x"),
    backslash("/admin\\x", "/admin\\x", "/admin/x"),
    backslash("/x\\..\\admin", "/x\\..\\admin", "/admin"),
    above("/../admin", "/admin"),
    above("/%2e%2e/admin", "/admin"),
    kept("/admin%2fx", "/admin/x"),
    kept("/admin%2Fx", "/admin/x"),
    kept("/admin%2f", "/admin/"),
    kept("/admin%2f%2fx", "/admin/x"),
    kept("/%2fadmin", "/admin"),
    kept("/%2F%2fadmin/x", "/admin/x"),
    kept("/x%2f", "/x/"),
    kept("/group%2fproject/raw%2Ffile?ref=a%2Fb", "/group/project/raw/file"),
    kept("/bucket/http:%2F%2Fa.example%2Fb", "/bucket/http:/a.example/b"),
    mended("/x/..%2fadmin", "/admin"),
    mended("/x/..%2Fadmin/x", "/admin/x"),
    mended("/x%2f..%2fadmin", "/admin"),
    mended("/x%2f%2e%2e/admin", "/admin"),
    mended("/x/%2e%2e%2fadmin", "/admin"),
    mended("/x/..%2f%2fadmin", "/admin"),
    mended("/.%2fadmin", "/admin"),
    mended("/%2e%2fadmin/x", "/admin/x"),
    mended("/admin%2f.", "/admin/"),
    mended("/admin/..%2fx", "/x"),
    mended("/admin%2f..%2fx", "/x"),
    mended("/%41dmin/x", "/Admin/x"),
    kept("/admin%5cx", "/admin\\x"),
    kept("/admin%3bx", "/admin;x"),
    kept("/admin/%3bx", "/admin/;x"),
    kept("/admin%252fx", "/admin%2fx"),
    kept("/admin/%252f..", "/admin/%2f.."),
    kept("/%2561dmin", "/%61dmin"),
    kept("/admin%3fx", "/admin?x"),
    kept("/admin/%3fx", "/admin/?x"),
    kept("/admin%23x", "/admin#x"),
    kept("/admin/%23", "/admin/#"),
    kept("/admin%20x", "/admin x"),
    kept("/admin/%20", "/admin/ "),
    kept("/admin%c3%a9", "/admin\u{e9}"),
    kept("/admin/%C3%A9", "/admin/\u{e9}"),
    kept("/admin/%ff", "/admin/\u{fffd}"),
    kept("/admin/%0a", "/admin/\n"),
    nothing("/%"),
    nothing("/admin%"),
    nothing("/admin%2"),
    nothing("/admin%zz"),
    nothing("/admin%00"),
    nothing("/x%00"),
    nothing("/..%2fadmin"),
    nothing("/%2e%2e%2fadmin"),
    nothing("/x/..%2f..%2fadmin"),
    nothing("/admin%2f..%2f..%2fx"),
];
