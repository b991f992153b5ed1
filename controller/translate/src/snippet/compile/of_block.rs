//! Directives that depend on the kind of block: settings that one kind alone has, and `rewrite`.

use super::checks::has_no_effect;
use super::{CompileOptions, Parts};
use crate::snippet::block::Block;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::policies::connections;
use crate::snippet::policies::proxy_pass::ProxyDirectives;
use crate::snippet::policies::upstream::{self, UpstreamOptions};
use crate::snippet::rewrite::options::RewriteOptions;
use crate::snippet::rewrite::responses::ONLY_OF_INGRESSES;
use crate::snippet::rewrite::rewrites::is_url;
use crate::snippet::syntax::tree::Directive;

impl Parts<'_> {
    /// True of a directive that a block of this kind alone has a setting for.
    pub(super) fn is_of_block(&self, words: &[&str]) -> bool {
        match (self.block, words) {
            (_, [name, ..]) if self.is_of_clients(name) => true,
            (Block::ProxiedLocation, words) => ProxyDirectives::know(words),
            (Block::Server, [name, ..]) => {
                !self.options.of_all_servers && connections::has_name(name)
            }
            (Block::Location, [name, ..]) => upstream::DIRECTIVES.contains(name),
            _ => false,
        }
    }

    /// Takes one of them.
    pub(super) fn add_of_block(&mut self, words: &[&str]) -> Option<()> {
        match self.block {
            _ if words.first().is_some_and(|name| self.is_of_clients(name)) => {
                connections::add(&mut self.connections, words)
            }
            Block::ProxiedLocation => self.proxy.add(words),
            Block::Server => connections::add(&mut self.connections, words),
            // A default that is said is none.
            _ if has_no_effect(words, self.block) => Some(()),
            _ => {
                let options = UpstreamOptions {
                    hosts: self.options.hosts,
                    speaks_grpc: self.options.headers.speaks_grpc,
                    data_plane: self.options.data_plane,
                };
                self.upstream.add(words, options)
            }
        }
    }

    /// It is not taken, and why, if that is known.
    pub(super) fn unsupported(&self, directive: &Directive) -> SnippetError {
        let words = directive.words();
        let is_read = directive.block.is_none() && !self.options.of_all_servers;
        let why = match words.as_slice() {
            _ if !is_read => None,
            words if self.is_of_block(words) => connections::beyond(words),
            words if self.block != Block::AuthRequest && connections::is_one(words) => {
                Some("only a server-snippet may have it, outside of its locations")
            }
            _ => None,
        };
        match why {
            Some(why) => directive.unsupported_for(why),
            None => directive.unsupported(),
        }
    }

    /// Takes a `rewrite`.
    pub(super) fn add_rewrite(&mut self, directive: &Directive) -> Result<(), SnippetErrors> {
        match directive.words().as_slice() {
            // It would decide which location is found.
            _ if self.options.of_all_servers => Err(directive.because(ONLY_OF_INGRESSES).into()),
            [_, _, to, flag] if refuses_rewrite(self.block, to, flag) => {
                Err(directive.unsupported().into())
            }
            [_, _, path] | [_, _, path, "break" | "last"]
                if self.block == Block::Server && path.starts_with('/') =>
            {
                self.responses.rewrite_in_server(directive)
            }
            _ => self.responses.add(directive),
        }
    }

    /// True of a timeout of clients that nginx may have for each location.
    fn is_of_clients(&self, name: &str) -> bool {
        let is_location = !matches!(self.block, Block::Server | Block::AuthRequest);
        is_location && !self.options.of_all_servers && connections::is_of_locations(name)
    }

    /// Notes a directive that locations inherit in nginx alone.
    pub(super) fn differs_in_server(&mut self, words: &[&str]) -> bool {
        let is_inherited = self.block == Block::Server && !self.options.of_all_servers;
        let difference = upstream::difference_of_server(words).filter(|_| is_inherited);
        self.headers.differences.extend(difference);
        difference.is_some()
    }
}

/// True of a `rewrite` that a block of a server cannot have. In a location only one that leads to pods says which path they get,
/// with `break`; a server looks for a path that begins with a slash.
fn refuses_rewrite(block: Block, to: &str, flag: &str) -> bool {
    let is_refused = match (block, flag) {
        (Block::LocationOfServer, "break" | "last") | (Block::ProxiedLocation, "last") => true,
        (Block::Server, "break" | "last") => !to.starts_with('/'),
        _ => false,
    };
    is_refused && !is_url(to)
}

/// In a server no location has set its constants yet.
pub(super) fn options_of(block: Block, options: CompileOptions<'_>) -> CompileOptions<'_> {
    CompileOptions {
        constants: options.constants.filter(|_| block != Block::Server),
        ..options
    }
}

/// Settings for its direct responses.
pub(super) fn rewrite_options(options: CompileOptions<'_>) -> RewriteOptions<'_> {
    RewriteOptions {
        headers: options.headers,
        comparable: options.comparable,
        hosts: options.hosts,
        of_all_servers: options.of_all_servers,
        constants: options.constants,
        data_plane: options.data_plane,
    }
}
