//! [`Knowledge`]: notes and skills of the user for agents. The end of the system prompt has the notes and the names of
//! the skills.
use haft_core::{Registry, Skill, clip};
use std::path::PathBuf;

/// Notes and skills for agents. The program that creates the engine reads them; they do not change while the engine
/// exists.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The notes, from the most general to those nearest to the workspace.
    pub notes: Vec<Note>,
    /// The skills, listed for agents that have `skill_tool`.
    pub skills: Vec<Skill>,
    /// The name of the tool that returns the text of a skill.
    pub skill_tool: String,
    /// Folders outside the workspace, links followed, that are read without an approval.
    pub readable: Vec<PathBuf>,
}

/// A file of notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the file, as models are shown it.
    pub file: String,
    /// Content of the file.
    pub text: String,
}

/// Maximum bytes of all notes together.
const MAX_NOTES_BYTES: usize = 32 << 10;

/// Maximum bytes of a skill's description that are shown.
const MAX_DESCRIPTION_BYTES: usize = 1_000;

/// The name of the element that a note is in.
const NOTE_ELEMENT: &str = "note";

const NOTES_HEADING: &str = "\n\n# Notes\n\nWhat people wrote down for work in this place. Where two notes differ, the later \
                     one holds; what the user says holds over both. They allow nothing that is not allowed anyway.\n";

/// Formats the notes, each in an element that its text cannot close; empty without notes. The longest notes are cut.
pub(crate) fn notes(notes: &[Note]) -> String {
    let notes: Vec<&Note> = notes.iter().filter(|note| !note.text.trim().is_empty()).collect();
    if notes.is_empty() {
        return String::new();
    }
    let most = longest(notes.iter().map(|note| note.text.trim().len()).collect(), MAX_NOTES_BYTES);
    notes.iter().fold(NOTES_HEADING.to_owned(), |all, note| all + &section(note, most))
}

/// The length to which texts must be cut to fit into `room` together. Only the longest texts are cut.
fn longest(mut lengths: Vec<usize>, mut room: usize) -> usize {
    lengths.sort_unstable();
    for (place, length) in lengths.iter().enumerate() {
        let share = room / (lengths.len() - place);
        if *length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

fn section(note: &Note, most: usize) -> String {
    let text = note.text.trim();
    let kept = clip::head(text, most);
    let cut = match text.len() - kept.len() {
        0 => String::new(),
        missing => format!("\n[{missing} bytes more: read the file to see them]"),
    };
    let file = attribute(&note.file);
    format!("\n<{NOTE_ELEMENT} file=\"{file}\">\n{}{cut}\n</{NOTE_ELEMENT}>\n", kept_inside(kept))
}

/// Escapes parts of `text` that look like the opening or closing tag of its element.
fn kept_inside(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (place, letter) in text.char_indices() {
        match letter == '<' && names_element(&text[place + 1..]) {
            true => kept.push_str("&lt;"),
            false => kept.push(letter),
        }
    }
    kept
}

/// Whether the text after a `<` makes it a tag of the element.
fn names_element(behind: &str) -> bool {
    let name = behind.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    name.as_bytes()
        .get(..NOTE_ELEMENT.len())
        .is_some_and(|name| name.eq_ignore_ascii_case(NOTE_ELEMENT.as_bytes()))
}

/// Escapes a name, so that it can end neither its quotes nor the line.
fn attribute(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || "\"<>".contains(c) { '_' } else { c }).collect()
}

/// A line for each skill; empty without skills, or if models are not shown the tool.
pub(crate) fn skills(knowledge: &Knowledge, tools: &Registry) -> String {
    let tool = &knowledge.skill_tool;
    if knowledge.skills.is_empty() || !tools.names().any(|name| name == tool) {
        return String::new();
    }
    let head = format!(
        "\n\n# Skills\n\nInstructions for kinds of tasks. When a task fits one, call `{tool}` with its name first.\n"
    );
    knowledge.skills.iter().fold(head, |all, skill| {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        all + &format!("\n- {}: {}", skill.name, clip::head(&description, MAX_DESCRIPTION_BYTES))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(file: &str, text: &str) -> Note {
        Note { file: file.into(), text: text.into() }
    }

    #[test]
    fn a_note_cannot_end_its_section() {
        let table = [
            ("plain", "plain"),
            ("a </note> b", "a &lt;/note> b"),
            ("</NOTE\n>", "&lt;/NOTE\n>"),
            ("< / note>", "&lt; / note>"),
            ("<note file=\"x\">", "&lt;note file=\"x\">"),
            ("1 < 2, <b>ü</b>, <", "1 < 2, <b>ü</b>, <"),
        ];
        for (text, expected) in table {
            let told = format!("{NOTES_HEADING}\n<note file=\"AGENTS.md\">\n{expected}\n</note>\n");
            assert_eq!(notes(&[note("AGENTS.md", text)]), told, "{text}");
        }
        assert!(notes(&[note("a\">\n<b", "x")]).contains("\n<note file=\"a____b\">\nx\n</note>"));
        assert_eq!((notes(&[]), notes(&[note("AGENTS.md", " \n")])), (String::new(), String::new()));
    }

    #[test]
    fn long_notes_are_cut_and_short_ones_stay() {
        let table = [
            (vec![], 10, usize::MAX),
            (vec![10], 10, usize::MAX),
            (vec![11], 10, 10),
            (vec![100, 2], 10, 8),
            (vec![3, 100, 100], 10, 3),
        ];
        for (lengths, room, expected) in table {
            assert_eq!(longest(lengths.clone(), room), expected, "{lengths:?}");
        }
        let long = "ä".repeat(MAX_NOTES_BYTES);
        let told = notes(&[note("own", "short"), note("AGENTS.md", &long)]);
        assert!(told.contains("\nshort\n") && told.len() < MAX_NOTES_BYTES + 600, "{}", told.len());
        assert!(
            told.ends_with("[32774 bytes more: read the file to see them]\n</note>\n"),
            "{}",
            &told[told.len() - 99..]
        );
    }
}
