//! Variables that others see, and timeouts that others set.

use std::collections::BTreeSet;

use super::tests::{compiled, line_of_error};
use crate::snippet::block::Block;
use crate::snippet::difference::Difference;

#[test]
fn others_see_the_variables_of_a_snippet() {
    let unset = "if ($http_a) { set $A 1; } if ($a) { return 403; }";
    let names = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(" ");
    for (block, text, set, read_unset) in [
        (Block::Location, unset, "a", "a"),
        (Block::Server, unset, "a", "a"),
        (Block::Server, "set $b 1;", "b", ""),
        (
            Block::Location,
            "set $a 0; if ($http_a) { set $a 1; } if ($a) { return 403; }",
            "a",
            "",
        ),
    ] {
        let all = compiled(text, block).unwrap().variables;
        let shown = (names(&all.set), names(&all.read_unset));
        assert_eq!(shown, (set.to_owned(), read_unset.to_owned()), "{text}");
    }
    // The server around a location, or that of somebody else, may have set it.
    let within = format!("location /a {{\n{unset} }}");
    assert_eq!(line_of_error(&within, Block::Server), Some(2));
    // A variable that a directive of another kind reads has another source there.
    let twice =
        "set $user a;\nauth_request_set $user $upstream_http_x_user;\nproxy_set_header X-A $user;";
    assert_eq!(line_of_error(twice, Block::Location), Some(1));
}

#[test]
fn timeouts_of_clients_are_those_of_a_location_on_nginx_alone() {
    let text = "send_timeout 5s; keepalive_timeout 10; client_body_timeout 1m;";
    let differences = |block| compiled(text, block).unwrap().differences;
    let of = |difference| [difference].into();
    for block in [Block::Location, Block::LocationOfServer] {
        assert_eq!(differences(block), of(Difference::ClientTimeouts));
    }
    assert_eq!(differences(Block::Server), of(Difference::Connections));
    for bad in [
        "send_timeout $a;",
        "send_timeout 1;send_timeout 1;",
        "keepalive_requests 5;",
    ] {
        assert_eq!(line_of_error(bad, Block::Location), Some(1), "{bad}");
    }
}
