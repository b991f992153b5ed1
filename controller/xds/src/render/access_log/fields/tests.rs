use super::*;

const ESCAPINGS: [LogEscaping; 3] = [LogEscaping::Default, LogEscaping::Json, LogEscaping::None];

fn all_fields() -> Vec<LogField> {
    use LogField as F;
    let name = || "x-a".to_owned();
    let named = [
        F::RequestHeader(name()),
        F::RequestHeader("host".to_owned()),
        F::ResponseHeader(name()),
        F::Cookie("a".repeat(Variable::LONGEST_NAME)),
        F::Argument("a".repeat(Variable::LONGEST_NAME)),
    ];
    let of_client = [
        F::RequestLine,
        F::Method,
        F::RequestUri,
        F::Path,
        F::Arguments,
        F::Host,
        F::Scheme,
        F::Protocol,
        F::RequestId,
        F::ForwardedFor,
        F::TlsVersion,
        F::TlsCipher,
        F::TlsName,
        F::ClientSubject,
        F::ClientIssuer,
        F::ClientSerial,
    ];
    let of_others = [
        F::SessionStatus,
        F::UpstreamStatus,
        F::UpstreamBytes,
        F::Backend,
        F::L4Backend,
        F::AlternativeBackend,
        F::BackendNamespace,
        F::BackendService,
        F::BackendPort,
        F::UpstreamAddress,
        F::UpstreamDuration,
        F::Duration,
        F::User,
        F::Hostname,
    ];
    let all = named.into_iter().chain(of_client);
    all.chain(of_others).collect()
}

/// Parts of a value that Envoy and the operator do not write.
fn is_of_others(value: &str) -> bool {
    let attributes = [
        "request.headers",
        "request.method",
        "request.path",
        "request.query",
        "request.scheme",
        "request.url_path",
        "response.headers",
        "server_name",
        "certificate",
    ];
    let keys = [URI, HOST, COOKIE, FORWARDED_FOR, REQUEST_ID, "x-a"].map(noted);
    let mut attributes = attributes
        .into_iter()
        .chain(keys.iter().map(String::as_str));
    attributes.any(|attribute| value.contains(attribute))
}

#[test]
fn text_is_never_an_operator() {
    let parts = [
        LogPart::Text("100% ".to_owned()),
        LogPart::Field(LogField::Status),
    ];
    assert_eq!(line(&parts, LogEscaping::Default), "100%% %RESPONSE_CODE%");
}

#[test]
fn what_others_write_is_looked_at_for_control_characters() {
    for field in all_fields() {
        let operator = of_envoy(&field).unwrap_or_default();
        for unescaped in ["REQ(", "RESP(", "SERVER_NAME", "SUBJECT", "ISSUER"] {
            assert!(!operator.contains(unescaped), "{field:?}: {operator}");
        }
        for reading in readings(&field) {
            let is_known = reading.condition.contains(METHODS);
            let is_ours = !is_of_others(&reading.value.replace("request.method", ""))
                && (is_known || !is_of_others(&reading.value));
            assert_eq!(
                reading.author == Author::Ours,
                is_ours,
                "{field:?}: {reading:?}"
            );
            let is_noted = reading.author == Author::Noted;
            let is_raw = ["request.headers", "request.path", "request.query"]
                .iter()
                .any(|raw| reading.value.contains(raw));
            assert!(!(is_noted && is_raw), "{field:?}: {reading:?}");
        }
    }
}

#[test]
fn nothing_of_others_goes_into_a_line_unless_it_is_known_to_be_there() {
    for field in all_fields() {
        let last = readings(&field).pop();
        let is_always = last.is_some_and(|it| it.condition == "true");
        let may_be = matches!(
            field,
            LogField::Scheme
                | LogField::ForwardedFor
                | LogField::SessionStatus
                | LogField::Duration
        );
        assert_eq!(is_always, may_be, "{field:?}");
    }
}

/// Envoy looks for the end of an operator, whatever quotes it is in.
#[test]
fn an_operator_ends_where_it_should() {
    for field in all_fields() {
        for escaping in ESCAPINGS {
            let operator = operator(&field, escaping);
            let within = operator.strip_prefix("%CEL(");
            let within = within.and_then(|it| it.strip_suffix(")%"));
            assert!(
                !within.unwrap_or_default().contains('%'),
                "{field:?}: {operator}"
            );
        }
    }
}

#[test]
fn a_name_whose_pattern_envoy_refuses_is_no_field() {
    let name = "a".repeat(Variable::LONGEST_NAME + 1);
    for field in [LogField::Cookie(name.clone()), LogField::Argument(name)] {
        assert_eq!(operator(&field, LogEscaping::Default), "-");
    }
}
