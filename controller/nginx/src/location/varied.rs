//! Response headers under conditions. nginx sends no line whose value is empty, so the lines that not all responses have are
//! variables, which conditions set.

use askama::filters::Safe;
use sluice_ir::{GlobalConfig, HttpRoute};

use crate::conf::{Quoted, Text, Value};
use crate::location::direct_response::If;
use crate::location::headers::{Line, ResponseHeaders};

/// Name and value of a line.
type Texts = (Quoted, Quoted);

/// Variables of lines.
pub(crate) struct Varied {
    /// Values where no condition holds.
    pub(crate) base: Vec<(String, Value)>,
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

impl Varied {
    /// With variables in place of those lines that differ.
    pub(crate) fn new(
        route: &HttpRoute,
        global: &GlobalConfig,
        lines: &mut Vec<Line>,
    ) -> Option<Self> {
        if replaces(route, global) {
            return None;
        }
        let texts = |lines: Vec<Line>| -> Vec<Texts> {
            let all = lines.into_iter();
            all.map(|(name, value)| (name.0, value.0)).collect()
        };
        let sets: Vec<Vec<Texts>> = variants(route, global).map(|it| texts(it.lines)).collect();
        if sets.is_empty() {
            return None;
        }
        let own = texts(std::mem::take(lines));
        let mut all = own.clone();
        for line in sets.iter().flatten() {
            if !all.contains(line) {
                all.push(line.clone());
            }
        }
        let mut differing = Vec::new();
        for line in all {
            if own.contains(&line) && sets.iter().all(|set| set.contains(&line)) {
                lines.push((Safe(line.0), Safe(line.1)));
                continue;
            }
            let variable = format!("sluice_header_{}", differing.len());
            let value = Text::default().variable(&variable).quoted();
            lines.push((Safe(line.0.clone()), value));
            differing.push((variable, line));
        }
        let values = |set: &[Texts]| -> Vec<(String, Value)> {
            let one = |(variable, line): &(String, Texts)| {
                let value = match set.contains(line) {
                    true => Safe(line.1.clone()),
                    false => Text::default().quoted(),
                };
                (variable.clone(), value)
            };
            differing.iter().map(one).collect()
        };
        let variants = route.header_variants.iter().zip(&sets).rev();
        let variants = variants.map(|(variant, set)| Variant {
            conditions: variant.conditions.iter().map(If::new).collect(),
            all: "1".repeat(variant.conditions.len()),
            lines: values(set),
        });
        Some(Varied {
            base: values(&own),
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
