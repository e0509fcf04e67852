//! The screen that `haft` opens, in a real terminal.
mod cards;
mod changes;
mod choices;
mod clipboard;
mod conversation;
mod links;
mod notices;
mod panels;
mod status_line;
mod themes;
