//! What needs approval, and what commands may not read.
mod consent;
mod links;
mod promises;
mod roots;
mod secrets;
