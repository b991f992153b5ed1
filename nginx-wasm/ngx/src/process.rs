//! The process of the module.

use std::mem::zeroed;
use std::ptr::null_mut;
use std::thread::{Builder, JoinHandle};

use nginx_sys::{SIG_SETMASK, pthread_sigmask, sigfillset, sigset_t};

/// Starts a thread with all signals blocked: nginx's own thread must receive them, in `epoll_wait`.
///
/// # Errors
///
/// The system cannot create a thread.
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    // SAFETY: both sets are ours, and initialised by the calls. A new thread inherits the mask, and ours is restored.
    unsafe {
        let (mut all, mut before): (sigset_t, sigset_t) = (zeroed(), zeroed());
        sigfillset(&mut all);
        pthread_sigmask(SIG_SETMASK as i32, &all, &mut before);
        let thread = Builder::new().name(name.to_owned()).spawn(run);
        pthread_sigmask(SIG_SETMASK as i32, &before, null_mut());
        thread
    }
}
