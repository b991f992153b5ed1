//! Response headers under conditions. nginx sends no line whose value is empty, so the lines that not all responses have are
//! variables, which conditions set. `expires` takes a variable, too.

use askama::filters::Safe;
use sluice_ir::{Expires, GlobalConfig, HttpRoute};

use crate::conf::{Quoted, Text, Value, value};
use crate::location::direct_response::If;
use crate::location::headers::{AddedLine, ResponseHeaders, directive_of};

/// Name and value of a line, and whether errors have it.
type HeaderLine = (Quoted, Quoted, bool);

/// Variable of `expires`.
const EXPIRES: &str = "sluice_expires";

/// Variables of lines.
pub(crate) struct ConditionalHeaders {
    /// Values where no condition holds.
    pub(crate) base: Vec<(String, Value)>,
    /// Variable with what `expires` says, where not all say the same.
    pub(crate) expires: Option<&'static str>,
    /// The last whose conditions hold decides.
    pub(crate) variants: Vec<Variant>,
}

/// Lines of some responses.
pub(crate) struct Variant {
    pub(crate) conditions: Vec<If>,
    /// The flags of all conditions, one for each.
    pub(crate) all: String,
    pub(crate) lines: Vec<(String, Value)>,
}

/// True if one replaces headers of pods, which nginx does for all responses or for none.
pub(crate) fn replaces(route: &HttpRoute, global: &GlobalConfig) -> bool {
    if route.header_variants.is_empty() {
        return false;
    }
    let base = base(route, global);
    let hidden = |headers: ResponseHeaders| headers.hidden.into_iter().map(|name| name.0);
    let base: Vec<_> = hidden(base).collect();
    variants(route, global).any(|headers| !hidden(headers).eq(base.iter().cloned()))
}

impl ConditionalHeaders {
    /// With variables in place of those lines that differ.
    pub(crate) fn new(
        route: &HttpRoute,
        global: &GlobalConfig,
        clients: &mut ResponseHeaders,
    ) -> Option<Self> {
        if replaces(route, global) {
            return None;
        }
        let (sets, kept): (Vec<Vec<HeaderLine>>, Vec<Expires>) = variants(route, global)
            .map(|it| (header_lines(it.lines), it.expires.unwrap_or(Expires::Off)))
            .unzip();
        if sets.is_empty() {
            return None;
        }
        let own = header_lines(std::mem::take(&mut clients.lines));
        let own_kept = clients.expires.unwrap_or(Expires::Off);
        let differing = split(&own, &sets, &mut clients.lines);
        let varies = kept.iter().any(|it| *it != own_kept);
        let all_values = |set: &[HeaderLine], kept: Expires| {
            let mut all = values(&differing, set);
            let expires = (EXPIRES.to_owned(), value(directive_of(kept)));
            all.extend(varies.then_some(expires));
            all
        };
        let of_variants = route.header_variants.iter().zip(sets.iter().zip(&kept));
        let variants = of_variants.rev().map(|(variant, (set, kept))| Variant {
            conditions: variant.conditions.iter().map(If::new).collect(),
            all: "1".repeat(variant.conditions.len()),
            lines: all_values(set, *kept),
        });
        Some(ConditionalHeaders {
            base: all_values(&own, own_kept),
            expires: varies.then_some(EXPIRES),
            variants: variants.collect(),
        })
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        let conditions = self.variants.iter().flat_map(|it| &it.conditions);
        let operands = conditions.map(|condition| &condition.operand);
        let lines = self.variants.iter().flat_map(|it| &it.lines);
        let values = lines.chain(&self.base).map(|(_, value)| value);
        operands
            .map(|word| &word.0)
            .chain(values.map(|value| &value.0))
            .all(|it| it.fits())
    }
}

fn header_lines(lines: Vec<AddedLine>) -> Vec<HeaderLine> {
    let all = lines.into_iter();
    all.map(|line| (line.name.0, line.value.0, line.always))
        .collect()
}

/// Writes the lines: those that not all sets have with variables, which come back.
fn split(
    own: &[HeaderLine],
    sets: &[Vec<HeaderLine>],
    lines: &mut Vec<AddedLine>,
) -> Vec<(String, HeaderLine)> {
    let mut all = own.to_vec();
    for line in sets.iter().flatten() {
        if !all.contains(line) {
            all.push(line.clone());
        }
    }
    let mut differing = Vec::new();
    for line in all {
        if own.contains(&line) && sets.iter().all(|set| set.contains(&line)) {
            lines.push(added(line.0, Safe(line.1), line.2));
            continue;
        }
        let variable = format!("sluice_header_{}", differing.len());
        let value = Text::default().variable(&variable).quoted();
        lines.push(added(line.0.clone(), value, line.2));
        differing.push((variable, line));
    }
    differing
}

/// Values of variables where a set is sent.
fn values(differing: &[(String, HeaderLine)], set: &[HeaderLine]) -> Vec<(String, Value)> {
    let one = |(variable, line): &(String, HeaderLine)| {
        let value = match set.contains(line) {
            true => Safe(line.1.clone()),
            false => Text::default().quoted(),
        };
        (variable.clone(), value)
    };
    differing.iter().map(one).collect()
}

fn added(name: Quoted, value: Value, always: bool) -> AddedLine {
    AddedLine {
        name: Safe(name),
        value,
        always,
    }
}

fn base(route: &HttpRoute, global: &GlobalConfig) -> ResponseHeaders {
    let headers = ResponseHeaders::for_location(route, global);
    headers.unwrap_or_else(|| ResponseHeaders::for_server(global))
}

fn variants<'a>(
    route: &'a HttpRoute,
    global: &'a GlobalConfig,
) -> impl Iterator<Item = ResponseHeaders> + 'a {
    route.header_variants.iter().map(|variant| {
        let headers = ResponseHeaders::for_response(&variant.headers, &route.policy, global);
        headers.unwrap_or_else(|| ResponseHeaders::for_server(global))
    })
}
