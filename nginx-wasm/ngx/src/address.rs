//! Addresses of peers, in the form that nginx connects to.

use nginx_sys::{
    NGX_OK, ngx_addr_t, ngx_int_t, ngx_palloc, ngx_parse_addr_port, ngx_pool_t, ngx_str_t,
};

/// Parses `ip:port` to an address, with the name for logs and variables.
///
/// # Safety
///
/// The pool is live and the text's memory outlives it: `$upstream_addr` reads the name after the next try has begun.
pub(crate) unsafe fn parse_peer(
    pool: *mut ngx_pool_t,
    text: &[u8],
) -> Option<(ngx_addr_t, *mut ngx_str_t)> {
    // SAFETY: by contract; a zeroed `ngx_addr_t` is what nginx itself starts from, and the text is only read.
    unsafe {
        let mut address: ngx_addr_t = std::mem::zeroed();
        if ngx_parse_addr_port(pool, &mut address, text.as_ptr().cast_mut(), text.len())
            != NGX_OK as ngx_int_t
        {
            return None;
        }
        let name: *mut ngx_str_t = ngx_palloc(pool, size_of::<ngx_str_t>()).cast();
        if name.is_null() {
            return None;
        }
        name.write(ngx_str_t {
            len: text.len(),
            data: text.as_ptr().cast_mut(),
        });
        Some((address, name))
    }
}
