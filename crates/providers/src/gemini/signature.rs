//! Gemini's thought signatures: how the journal keeps them, and how the calls of a message get theirs back. The chat
//! wire of Gemini keeps them in the same form, so either wire can continue with a conversation of the other.
use crate::{
    Wire,
    quirks::{Quirks, is_among},
};
use haft_core::Part;

/// In place of a signature on a call that another model made (ai.google.dev, guide "Thought signatures", 2026-11).
const PLACEHOLDER: &str = "skip_thought_signature_validator";

/// A signature, and the number of the call that it stood on, counted from 0; `None` where it stood on a text.
pub(crate) fn sign(call: Option<usize>, proof: &str) -> String {
    let place = call.map(|call| call.to_string()).unwrap_or_default();
    Wire::Gemini.mark(&format!("{place}:{proof}"))
}

/// What [`sign`] put together; `None` for the signatures of other wires.
pub(super) fn signed(signature: &str) -> Option<(Option<usize>, &str)> {
    let (place, proof) = Wire::Gemini.own(signature)?.split_once(':')?;
    Some((place.parse().ok(), proof))
}

/// The signature of each call among `parts`, in their order. Of the calls of one message `model` wants the first one signed.
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
