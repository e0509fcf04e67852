//! Tab on the screen: what a server offers for its prompts, their arguments and its resources.
use super::mentions::{place_with_peer, prompted};
use crate::kit::{Place, terminal::Terminal};

/// A screen whose one server is called `peer`.
fn screen(place: &Place, model: &str) -> Option<Terminal> {
    let terminal = Terminal::open(place, (90, 30))?;
    terminal.haft(place, &format!("--model {model}"));
    terminal.see("what to do?");
    Some(terminal)
}

fn types(terminal: &Terminal, text: &str) {
    terminal.keys(&["-l", text]);
    terminal.see(text);
}

// H-62
#[test]
fn tab_completes_prompts_their_arguments_and_resources() {
    let Some((place, model)) = place_with_peer() else { return };
    let Some(terminal) = screen(&place, &model) else { return };
    types(&terminal, "/peer:gr");
    terminal.keys(&["Tab"]);
    terminal.see("/peer:greet");
    types(&terminal, "A");
    terminal.keys(&["Tab"]);
    let offered = terminal.see("❯ Ada");
    assert!(offered.contains("Alan") && !offered.contains("waiting"), "{offered}");
    types(&terminal, "l");
    terminal.no_longer_see("Ada");
    terminal.keys(&["Tab"]);
    terminal.see("/peer:greet Alan");
    // The server is told of the name.
    terminal.keys(&["Tab"]);
    terminal.see("/peer:greet Alan alan and warm");
    terminal.keys(&["Enter"]);
    terminal.see("done");
    assert_eq!(prompted(&place), ["Greet Alan in a alan and warm way."]);
    types(&terminal, "sum up @peer:note://b");
    terminal.keys(&["Tab"]);
    terminal.see("@peer:note://by/");
    terminal.keys(&["BSpace"]);
    types(&terminal, "w");
    terminal.keys(&["Tab"]);
    terminal.see("sum up @peer:note://by/waiting");
    terminal.keys(&["C-c"]);
    types(&terminal, "@peer:note://");
    terminal.keys(&["Tab"]);
    let offered = terminal.see("note://one");
    assert!(offered.contains("note://by/"), "{offered}");
}

// H-62
#[test]
fn the_screen_goes_on_while_a_server_thinks_and_drops_what_comes_late() {
    let Some((place, model)) = place_with_peer() else { return };
    let Some(terminal) = screen(&place, &model) else { return };
    types(&terminal, "/peer:greet wait");
    terminal.keys(&["Tab"]);
    terminal.see("asking the MCP server");
    types(&terminal, "x");
    place.write("go", "");
    terminal.no_longer_see("asking the MCP server");
    let screen = terminal.see("/peer:greet waitx");
    assert!(!screen.contains("waiting"), "{screen}");
    terminal.keys(&["Tab"]);
    terminal.see("no completions");
}
