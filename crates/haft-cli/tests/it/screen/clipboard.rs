//! A picture in the clipboard goes along with the prompt.

use crate::kit::{Place, Server, openai_text, terminal::Terminal};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::os::unix::fs::PermissionsExt;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";

/// A program of this name, in a folder of its own.
fn program(place: &Place, name: &str, text: &str) {
    let folder = place.path().join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn ctrl_v_attaches_the_picture_in_the_clipboard() {
    let place = Place::new();
    std::fs::write(place.path().join("clip.png"), PNG).unwrap();
    let server = Server::start(vec![openai_text("Seen.")]);
    place.configure(&format!("[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"k\"\n", server.address));
    let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
    terminal.say("export PATH=$PWD/../programs:$PATH; clear");
    // What the desktop does not run, and what holds a text, are passed over.
    program(&place, "wl-paste", "echo 'no compositor' >&2; exit 1");
    program(&place, "xclip", "echo text");
    terminal.haft(&place, "--model openai/gpt-4.1");
    terminal.see("what to do?");
    terminal.keys(&["C-v"]);
    terminal.see("there is no picture in the clipboard (wl-paste, xclip");
    program(
        &place,
        "xclip",
        "test \"$*\" = '-selection clipboard -target image/png -out' && cat ../clip.png",
    );
    terminal.keys(&["-l", "what is "]);
    terminal.keys(&["C-v"]);
    terminal.see("> what is [picture 1]");
    terminal.keys(&["Enter"]);
    terminal.see("Seen.");
    let asked = server.asked().iter().map(ToString::to_string).collect::<String>();
    assert!(asked.contains(&format!("data:image/png;base64,{}", STANDARD.encode(PNG))), "{asked}");
}

#[test]
fn a_pasted_path_of_a_picture_is_the_picture() {
    let place = Place::new();
    std::fs::write(place.path().join("clip.png"), PNG).unwrap();
    let server = Server::start(vec![openai_text("Seen.")]);
    place.configure(&format!("[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"k\"\n", server.address));
    let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
    terminal.haft(&place, "--model openai/gpt-4.1");
    terminal.see("what to do?");
    terminal.paste(&place, &place.path().join("clip.png").to_string_lossy());
    terminal.see("> [picture 1]");
    terminal.keys(&["Enter"]);
    terminal.see("Seen.");
    assert!(server.asked()[0].to_string().contains(&STANDARD.encode(PNG)));
}
