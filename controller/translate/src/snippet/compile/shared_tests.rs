//! Variables that others see, and timeouts that others set.

use std::collections::BTreeSet;

use sluice_translate_engine::Severity;

use super::tests::{compiled, errors, line_of_error};
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
    let said = |text| errors(text, Block::Location)[0].reason.to_string();
    let elsewhere = "`keepalive_requests 5` is not supported: only a server-snippet may have it, outside of its locations";
    assert_eq!(said("keepalive_requests 5;"), elsewhere);
    let too_long = "`send_timeout 1h` is not supported: it may be up to 10 minutes";
    assert_eq!(said("send_timeout 1h;"), too_long);
}

#[test]
fn a_difference_that_loses_something_written_is_a_warning_and_another_way_to_the_same_is_a_note() {
    use Severity::{Note, Warning};
    for (block, text, severity) in [
        (Block::Location, "client_body_timeout 5s;", Warning),
        (Block::Server, "keepalive_requests 5;", Warning),
        (Block::Server, "large_client_header_buffers 8 64k;", Warning),
        (Block::Server, "grpc_next_upstream error;", Warning),
        (
            Block::Location,
            "limit_rate 8k; limit_rate_after 8k;",
            Warning,
        ),
        (
            Block::Location,
            "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            Warning,
        ),
        (Block::Location, "expires 1h;", Note),
        (Block::Location, "add_header X-A $remote_addr;", Note),
    ] {
        let differences = compiled(text, block).unwrap().differences;
        let said: Vec<Severity> = differences.iter().map(|it| it.severity()).collect();
        assert_eq!(said, [severity], "{text}");
    }
}
