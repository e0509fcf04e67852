//! The integration tests of `haft-local`: files of models, and a real one.
mod gguf;
mod model;
