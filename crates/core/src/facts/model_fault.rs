//! [`ModelFault`]: why a model could not answer, where another model could.
use serde::{Deserialize, Serialize};

/// Why a model could not answer a request that another model could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// The vendor is overloaded.
    Overloaded,
    /// The account's rate limit on requests or tokens is reached.
    RateLimited,
    /// The quota of the account's plan is used up, until the time that the vendor names.
    QuotaExhausted,
    /// The account has no credit left.
    CreditExhausted,
    /// The key was rejected, or the account is not authorized.
    AccessDenied,
    /// The vendor's content policy: the model did not answer this conversation.
    Refused,
    /// The vendor has a fault, or cannot be reached.
    Unavailable,
}

impl ModelFault {
    /// Returns whether the fault lasts until the user resolves it.
    pub fn is_lasting(self) -> bool {
        match self {
            Self::CreditExhausted | Self::AccessDenied => true,
            Self::Overloaded | Self::RateLimited | Self::QuotaExhausted => false,
            Self::Refused | Self::Unavailable => false,
        }
    }

    /// Returns its name in journals and in telemetry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::CreditExhausted => "credit_exhausted",
            Self::AccessDenied => "access_denied",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the fault as a text for the user that follows the name of the model: `is overloaded`.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Overloaded => "is overloaded",
            Self::RateLimited => "is at its rate limit",
            Self::QuotaExhausted => "has no quota left",
            Self::CreditExhausted => "has no credit left",
            Self::AccessDenied => "denied access",
            Self::Refused => "refused to answer",
            Self::Unavailable => "is not available",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ModelFault;

    #[test]
    fn a_name_is_that_of_the_journal() {
        for fault in [
            ModelFault::Overloaded,
            ModelFault::RateLimited,
            ModelFault::QuotaExhausted,
            ModelFault::CreditExhausted,
            ModelFault::AccessDenied,
            ModelFault::Refused,
            ModelFault::Unavailable,
        ] {
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.name());
        }
    }
}
