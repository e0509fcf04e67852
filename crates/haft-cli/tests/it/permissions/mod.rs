//! What needs approval, and what commands may not read.
mod consent;
mod promises;
mod roots;
mod secrets;
