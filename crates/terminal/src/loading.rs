//! [`bar`]: shows how much of the embedded model is loaded.
use std::sync::atomic::{AtomicU8, Ordering};

/// Loaded part in percent; 100 if no model is loading.
static LOADED: AtomicU8 = AtomicU8::new(100);

/// Length of the bar in characters.
const BAR_LENGTH: usize = 20;

/// Sets how much of a model is loaded, from 0 to 1.
pub fn tell(part: f32) {
    LOADED.store((part.clamp(0.0, 1.0) * 100.0) as u8, Ordering::Relaxed);
}

/// The progress while a model is loading; `None` otherwise.
pub(crate) fn bar() -> Option<String> {
    let loaded = LOADED.load(Ordering::Relaxed);
    (loaded < 100).then(|| format!("loading the model {}", drawn(loaded.into())))
}

/// Draws a bar of `#` and blanks in brackets, followed by the percentage.
fn drawn(percent: usize) -> String {
    let signs = percent * BAR_LENGTH / 100;
    format!("[{}{}] {percent:>3} %", "#".repeat(signs), " ".repeat(BAR_LENGTH - signs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_there_only_while_something_is_loaded() {
        assert_eq!(bar(), None);
        tell(0.25);
        assert_eq!(bar().as_deref(), Some("loading the model [#####               ]  25 %"));
        tell(1.0);
        assert_eq!(bar(), None);
    }
}
