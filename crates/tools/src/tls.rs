//! The one provider of cryptography that all connections share.
use std::sync::Once;

/// Must be called before the first secure connection.
pub(crate) fn provide() {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _another_was_first = rustls::crypto::ring::default_provider().install_default();
    });
}
