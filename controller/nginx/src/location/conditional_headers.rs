//! Response headers under conditions. nginx sends no line whose value is empty, so the lines that not all responses have are
//! variables, which conditions set. `expires` takes a variable, too. A header of pods that only some of them replace is always hidden,
//! and sent again from the module's variable, which is empty where a condition has said so.

use askama::filters::Safe;
use sluice_ir::{Expires, GlobalConfig, HttpRoute};

use crate::conf::{Quoted, Text, Value, value, word};
use crate::context::RenderContext;
use crate::location::direct_response::If;
use crate::location::response_headers::{
    AddedLine, HIDDEN_BY_DEFAULT, ResponseHeaders, directive_of,
};

/// Name and value of a line, and whether errors have it.
type HeaderLine = (Quoted, Quoted, bool);

/// Variable of `expires`.
const EXPIRES: &str = "sluice_expires";
/// `$sluice_pod_N_NAME` of the module: header NAME of the pod's response. Empty where `$sluice_hides_N` is not.
const OF_POD: &str = "sluice_pod_";
const HIDES: &str = "sluice_hides_";
/// nginx has changed its value by then (`proxy_redirect`).
const REWRITTEN: &str = "refresh";
/// An empty line of these takes away the line before it, or the pod's.
const SINGLE: [&str; 2] = ["etag", "last-modified"];
/// Headers of pods that nginx sends to no client.
const NEVER: [&str; 6] = [
    "x-accel-buffering",
    "x-accel-charset",
    "x-accel-expires",
    "x-accel-limit-rate",
    "x-accel-redirect",
    "x-pad",
];

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

/// True if one replaces a header of pods that cannot be sent again where it does not.
pub(crate) fn is_unsupported(route: &HttpRoute, context: RenderContext<'_>) -> bool {
    let global = context.global();
    let own = base(route, global);
    let all: Vec<_> = variants(route, global).collect();
    let sets: Vec<_> = all.iter().map(hidden).collect();
    let replaced = Replaced::new(&hidden(&own), &sets);
    if all.iter().any(|it| !single(it).eq(single(&own))) {
        return true;
    }
    let mut names = replaced.names.iter();
    !replaced.names.is_empty() && context.settings.engine.is_kongs()
        || names.any(|name| name.as_variable().is_none() || name.is(REWRITTEN))
}

/// Lines of headers that have one line alone.
fn single(headers: &ResponseHeaders) -> impl Iterator<Item = (&Quoted, &Quoted, bool)> {
    let lines = headers.lines.iter();
    let single = lines.filter(|line| SINGLE.iter().any(|header| line.name.0.is(header)));
    single.map(|line| (&line.name.0, &line.value.0, line.always))
}

/// Headers of pods that only some responses replace.
struct Replaced {
    names: Vec<Quoted>,
}

impl Replaced {
    /// `own`: headers that are hidden where no condition holds. `sets`: the same of the conditions.
    fn new(own: &[Quoted], sets: &[Vec<Quoted>]) -> Self {
        let mut names: Vec<Quoted> = Vec::new();
        let all = || std::iter::once(own).chain(sets.iter().map(Vec::as_slice));
        for name in all().flatten() {
            let by_all = all().all(|set| has(set, name));
            if !by_all && !has(&names, name) {
                names.push(name.clone());
            }
        }
        Replaced { names }
    }

    /// Variables of the module that say what is hidden.
    fn values(&self, set: &[Quoted]) -> impl Iterator<Item = (String, Value)> {
        let all = self.names.iter().enumerate();
        all.map(|(number, name)| {
            let hides = if has(set, name) { "1" } else { "" };
            (format!("{HIDES}{number}"), value(hides))
        })
    }

    /// The lines of pods, for whoever is to get them.
    fn lines(&self) -> impl Iterator<Item = AddedLine> {
        let is_visible = |name: &Quoted| !NEVER.iter().any(|never| name.is(never));
        let all = self.names.iter().enumerate();
        let visible = all.filter(move |(_, name)| is_visible(name));
        visible.filter_map(|(number, name)| {
            let variable = format!("{OF_POD}{number}_{}", name.as_variable()?);
            let line = Text::default().variable(&variable).quoted();
            Some(added(name.clone(), line, true))
        })
    }
}

/// Names of headers have no case.
fn has(names: &[Quoted], name: &Quoted) -> bool {
    names.iter().any(|known| known.is_same_name(name))
}

/// With `Server`, which nginx hides although nobody says so.
fn hidden(headers: &ResponseHeaders) -> Vec<Quoted> {
    let mut hidden: Vec<_> = headers.hidden.iter().map(|name| name.0.clone()).collect();
    if headers.is_without_server() && !hidden.iter().any(|name| name.is(HIDDEN_BY_DEFAULT)) {
        hidden.push(word(HIDDEN_BY_DEFAULT).0);
    }
    hidden
}

impl ConditionalHeaders {
    /// With variables in place of those lines that differ. `None`: there are none, or nginx cannot send them.
    pub(crate) fn new(
        route: &HttpRoute,
        context: RenderContext<'_>,
        clients: &mut ResponseHeaders,
    ) -> Option<Self> {
        if route.header_variants.is_empty() || is_unsupported(route, context) {
            return None;
        }
        let all: Vec<ResponseHeaders> = variants(route, context.global()).collect();
        let kept = |it: &ResponseHeaders| it.expires.unwrap_or(Expires::Off);
        let own_kept = kept(clients);
        let varies = all.iter().any(|it| kept(it) != own_kept);
        let own_hidden = hidden(clients);
        let hidden: Vec<_> = all.iter().map(hidden).collect();
        let replaced = Replaced::new(&own_hidden, &hidden);
        let kept: Vec<_> = all.iter().map(kept).collect();
        let sets: Vec<Vec<HeaderLine>> = all.into_iter().map(|it| header_lines(it.lines)).collect();
        let own = header_lines(std::mem::take(&mut clients.lines));
        let differing = split(&own, &sets, &mut clients.lines);
        clients.lines.extend(replaced.lines());
        let all_values = |set: &[HeaderLine], kept: Expires, hidden: &[Quoted]| {
            let mut all = values(&differing, set);
            let expires = (EXPIRES.to_owned(), value(directive_of(kept)));
            all.extend(varies.then_some(expires));
            all.extend(replaced.values(hidden));
            all
        };
        let base = all_values(&own, own_kept, &own_hidden);
        let sets = sets.iter().zip(kept).zip(&hidden);
        let of_variants = route.header_variants.iter().zip(sets);
        let variants = of_variants
            .rev()
            .map(|(variant, ((set, kept), hidden))| Variant {
                conditions: variant.conditions.iter().map(If::new).collect(),
                all: "1".repeat(variant.conditions.len()),
                lines: all_values(set, kept, hidden),
            });
        let variants = variants.collect();
        let of_some = replaced.names.into_iter();
        let of_some = of_some.filter(|name| !has(&own_hidden, name));
        of_some.for_each(|name| clients.hide(Safe(name)));
        Some(ConditionalHeaders {
            base,
            expires: varies.then_some(EXPIRES),
            variants,
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
