//! Locations of a server, and what is in them.

use super::checks::check_rewrites;
use super::{CompileOptions, Parts, compile_directives};
use crate::snippet::block::Block;
use crate::snippet::compiled::Compiled;
use crate::snippet::difference::Difference;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::headers::changes::HeaderOptions;
use crate::snippet::locations::internal::{self, is_internal};
use crate::snippet::locations::named;
use crate::snippet::locations::{LocationPath, MAX_LOCATIONS};
use crate::snippet::policies::proxy_pass::ProxyPass;
use crate::snippet::syntax::tree::Directive;
use crate::support::DataPlane;

impl Parts<'_> {
    pub(super) fn proxy_pass(
        &mut self,
        all: &[Directive],
        location: Option<&LocationPath>,
    ) -> Result<Option<ProxyPass>, SnippetError> {
        let mut directives = all.iter().filter(|it| it.name() == "proxy_pass");
        let (Some(directive), Some(location)) = (directives.next(), location) else {
            return Ok(None);
        };
        let proxy = std::mem::take(&mut self.proxy);
        let differs = proxy
            .has_connect_timeout
            .then_some(Difference::ConnectTimeout);
        self.headers.differences.extend(differs);
        let is_on_envoy = self.options.data_plane != Some(DataPlane::Nginx);
        let is_delayed = (is_on_envoy && proxy.is_delayed()).then_some(Difference::RateAfter);
        self.headers.differences.extend(is_delayed);
        let changes = std::mem::take(&mut self.responses.path_changes);
        let proxy = proxy.finish(location, changes);
        proxy.map(Some).ok_or_else(|| directive.unsupported())
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.block == Block::Server && named::is_name(name)
    }

    pub(super) fn add_named(
        &mut self,
        name: &str,
        block: &[Directive],
        directive: &Directive,
    ) -> Result<(), SnippetErrors> {
        let location = compile_directives(block, Block::LocationOfServer, None, self.options)?;
        self.headers.differences.extend(&location.differences);
        let location = location.into_named_location(name).ok_or_else(|| {
            let reason = "a named location may have one return without conditions, and headers";
            SnippetError::new(directive.line, reason)
        })?;
        if self.named.iter().any(|other| other.name == location.name) {
            return Err(SnippetError::new(directive.line, "duplicate location").into());
        }
        self.named.push(location);
        directive.at_most(self.named.len(), MAX_LOCATIONS, "locations")?;
        Ok(())
    }

    pub(super) fn add_location(&mut self, directive: &Directive) -> Result<(), SnippetErrors> {
        let words = directive.words();
        let words = words.get(1..).unwrap_or_default();
        let unsupported = || match LocationPath::why_unsupported(words) {
            Some(why) => directive.unsupported_for(&why),
            None => directive.unsupported(),
        };
        let mut errors = SnippetErrors::default();
        let path = LocationPath::parse(words);
        let path = errors.take(path.ok_or_else(unsupported))?;
        let compiled = self.location(directive, path.as_ref());
        let compiled = errors.take(compiled)?;
        errors.check()?;
        let compiled = compiled.unwrap_or_default();
        self.headers.differences.extend(&compiled.differences);
        if compiled.proxy.is_some() && self.options.of_all_servers {
            let reason = "proxy_pass is supported only in snippets of an Ingress";
            return Err(SnippetError::new(directive.line, reason).into());
        }
        let block = directive.block.as_deref().unwrap_or_default();
        self.has_internal |= is_internal(block);
        let written = directive.words().join(" ");
        let location = path.and_then(|path| compiled.into_location(path, written));
        let mut location = location.ok_or_else(unsupported)?;
        location.takes_bare_form = block.iter().any(|it| it.name() == "proxy_pass");
        let mut others = self.locations.iter();
        if others.any(|other| other.path.is_duplicate_of(&location.path)) {
            return Err(SnippetError::new(directive.line, "duplicate location").into());
        }
        self.locations.push(location);
        directive.at_most(self.locations.len(), MAX_LOCATIONS, "locations")?;
        Ok(())
    }

    fn location(
        &self,
        directive: &Directive,
        path: Option<&LocationPath>,
    ) -> Result<Compiled, SnippetErrors> {
        let all = directive.block.as_deref().unwrap_or_default();
        match is_internal(all) {
            true => internal::check(all).map(|()| Compiled::default()),
            false => location(all, path, self.options),
        }
    }
}

/// The block of a location of a server.
fn location(
    all: &[Directive],
    path: Option<&LocationPath>,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    let block = match all.iter().any(|it| it.name() == "proxy_pass") {
        true => Block::ProxiedLocation,
        false => Block::LocationOfServer,
    };
    let options = CompileOptions {
        of_all_servers: false,
        constants: None,
        // As no annotation applies to it, nobody is asked for a password.
        headers: HeaderOptions {
            knows_users: false,
            ..options.headers
        },
        ..options
    };
    let compiled = compile_directives(all, block, path, options)?;
    check_rewrites(&compiled.direct_responses, path.into_iter(), all)?;
    Ok(compiled)
}
