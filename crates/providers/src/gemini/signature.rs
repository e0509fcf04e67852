//! [`sign`] and [`of_calls`]: Gemini's thought signatures: their form in the journal, and the signature of each call of
//! a message. Gemini's chat wire uses the same form, so either wire can continue a conversation of the other.
use crate::{
    Wire,
    quirks::{Quirks, is_among},
};
use haft_core::Part;

/// Replaces the signature of a call that another model made (ai.google.dev, guide "Thought signatures", 2026-11).
const PLACEHOLDER: &str = "skip_thought_signature_validator";

/// The journal's form of a signature: the proof, and the number of its call, counted from 0; `None` if it belongs to a
/// text.
pub(crate) fn sign(call: Option<usize>, proof: &str) -> String {
    let place = call.map(|call| call.to_string()).unwrap_or_default();
    Wire::Gemini.mark(&format!("{place}:{proof}"))
}

/// The reverse of [`sign`]; `None` for signatures of other wires.
pub(super) fn signed(signature: &str) -> Option<(Option<usize>, &str)> {
    let (place, proof) = Wire::Gemini.own(signature)?.split_once(':')?;
    Some((place.parse().ok(), proof))
}

/// The signature of each call among `parts`, in order. If `model` requires one, the first call gets a placeholder.
pub(crate) fn of_calls<'a>(parts: &'a [Part], model: &str, quirks: &Quirks) -> Vec<Option<&'a str>> {
    let mut signatures = vec![None; parts.iter().filter_map(Part::as_call).count()];
    for part in parts {
        let Part::Thinking { signature: Some(signature), .. } = part else { continue };
        if let Some((Some(place), proof)) = signed(signature)
            && let Some(of_call) = signatures.get_mut(place)
        {
            *of_call = Some(proof);
        }
    }
    if let Some(first) = signatures.first_mut()
        && is_among(model, quirks.models_with_signatures)
    {
        first.get_or_insert(PLACEHOLDER);
    }
    signatures
}
