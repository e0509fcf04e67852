//! The screen that `haft` opens, in a real terminal.
mod cards;
mod changes;
mod choices;
mod conversation;
mod notices;
mod panels;
