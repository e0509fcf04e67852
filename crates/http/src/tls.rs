//! [`choose`]: the library for encrypted connections, chosen once for the process.
use std::sync::Once;

/// Chooses the library. Must be called before a client is created.
pub(crate) fn choose() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        let _another_was_first = rustls::crypto::ring::default_provider().install_default();
    });
}
