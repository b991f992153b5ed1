//! Web application firewall of a location.

use sluice_ir::HttpRoute;

use crate::conf::{Value, Word};
use crate::context::RenderContext;
use crate::expression::expression;
use crate::waf::{self, Around};

/// Directives of ModSecurity's module.
pub(crate) struct WafConf {
    pub(crate) files: Vec<Word>,
    pub(crate) transaction_id: Option<Value>,
}

impl WafConf {
    /// `None`: it has no firewall, or nginx has no module for it.
    pub(crate) fn new(route: &HttpRoute, context: RenderContext<'_>) -> Option<Self> {
        let waf = route.policy.waf.as_ref()?;
        context.settings.modsecurity.as_ref()?;
        let id = waf.transaction_id.as_ref();
        let around = Around {
            sharing: &context.shared().waf,
            place: &context.place,
            everywhere: context.global().waf.as_ref(),
        };
        Some(WafConf {
            files: waf::of_location(waf, around, context.settings),
            transaction_id: id.map(|id| expression(id).quoted()),
        })
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        self.transaction_id.iter().all(|id| id.0.fits())
    }
}
