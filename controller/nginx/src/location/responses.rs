//! Headers of a location's responses.

use sluice_ir::HttpRoute;

use crate::conf::{Text, Value, Word, value};
use crate::context::RenderContext;
use crate::location::conditional_headers::ConditionalHeaders;
use crate::location::cors::{self, CorsConf};
use crate::location::module::Module;
use crate::location::response_headers::{ResponseHeaders, directive_of};

/// Headers of responses, and the answer to a preflight.
pub(crate) struct Responses {
    pub(crate) cors: Option<CorsConf>,
    /// `None`: those that surround the location.
    pub(crate) headers: Option<ResponseHeaders>,
    /// How long they may be kept: a value of `expires`, or a variable with it.
    pub(crate) expires: Option<Value>,
    /// Lines that only some of them have.
    pub(crate) conditional: Option<ConditionalHeaders>,
}

impl Responses {
    /// Those of a location that forwards.
    pub(crate) fn of_pods(route: &HttpRoute, context: RenderContext<'_>, module: Module) -> Self {
        // Of what surrounds a location, only the directives of `proxy` are written there.
        let responses = Responses::new(route, context, module != Module::Proxy);
        Responses {
            headers: responses.headers.map(|headers| headers.sent_by(module)),
            ..responses
        }
    }

    /// Those of a location that leads elsewhere. `adds`: it has a line of its own, and inherits none.
    pub(crate) fn of_redirect(route: &HttpRoute, context: RenderContext<'_>, adds: bool) -> Self {
        Responses::new(route, context, adds)
    }

    fn new(route: &HttpRoute, context: RenderContext<'_>, is_whole: bool) -> Self {
        let global = context.global();
        let is_whole = is_whole || !route.header_variants.is_empty();
        let around = || is_whole.then(|| ResponseHeaders::for_server(global));
        let mut headers = ResponseHeaders::for_location(route, global).or_else(around);
        let conditional = headers
            .as_mut()
            .and_then(|headers| ConditionalHeaders::new(route, context, headers));
        Responses {
            cors: route.policy.cors.as_ref().and_then(cors::conf),
            expires: expires(headers.as_ref(), conditional.as_ref()),
            headers,
            conditional,
        }
    }

    /// Headers of pods that clients do not get.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Word> {
        self.headers.iter().flat_map(|headers| &headers.hidden)
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        let lines = self.headers.iter().flat_map(|headers| &headers.lines);
        let lines = lines.flat_map(|line| [&line.name, &line.value]);
        let cors = self.cors.iter().flat_map(|cors| {
            let values = cors.variables.iter().map(|(_, value)| value);
            cors.origins.iter().flatten().chain(values)
        });
        self.conditional.iter().all(ConditionalHeaders::fits)
            && lines.chain(cors).all(|word| word.0.fits())
    }
}

fn expires(
    headers: Option<&ResponseHeaders>,
    conditional: Option<&ConditionalHeaders>,
) -> Option<Value> {
    let variable = conditional.and_then(|conditional| conditional.expires);
    let variable = variable.map(|name| Text::default().variable(name).quoted());
    let own = headers.and_then(|headers| headers.expires);
    variable.or_else(|| Some(value(directive_of(own?))))
}
