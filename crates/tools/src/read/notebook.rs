//! [`as_text`]: converts notebooks (Jupyter, nbformat 4) to text: each cell, then its output.
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    source: Text,
    #[serde(default)]
    outputs: Vec<Output>,
}

/// An output of a cell: printed text, an error, or one value in several media types.
#[derive(Deserialize)]
struct Output {
    text: Option<Text>,
    data: Option<serde_json::Map<String, Value>>,
    ename: Option<String>,
    evalue: Option<String>,
}

/// A string or a list of strings: the format allows both.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Lines(Vec<String>),
}

impl Text {
    fn joined(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// The notebook as text; `None` if `content` is not a notebook.
pub(super) fn as_text(content: &[u8]) -> Option<String> {
    let notebook: Notebook = serde_json::from_slice(content).ok()?;
    let mut text = String::new();
    for (place, cell) in notebook.cells.into_iter().enumerate() {
        let _never_fails = writeln!(text, "# --- cell {} [{}]", place + 1, cell.cell_type);
        push_line(&mut text, &cell.source.joined());
        for output in cell.outputs.into_iter().map(printed).filter(|output| !output.is_empty()) {
            text.push_str("# --- output\n");
            push_line(&mut text, &output);
        }
    }
    Some(text)
}

fn push_line(text: &mut String, part: &str) {
    text.push_str(part.trim_end_matches('\n'));
    text.push('\n');
}

fn printed(output: Output) -> String {
    let Output { text, data, ename, evalue } = output;
    if let Some(text) = text {
        return text.joined();
    }
    if let Some(name) = ename {
        return format!("{name}: {}", evalue.unwrap_or_default());
    }
    let mut data = data.unwrap_or_default();
    let plain = data.remove("text/plain").and_then(|text| serde_json::from_value::<Text>(text).ok());
    let kinds: Vec<String> = data.keys().map(|kind| format!("[{kind}]")).collect();
    [plain.map(Text::joined).unwrap_or_default(), kinds.join(" ")].join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_what_they_printed_become_lines() {
        let notebook = serde_json::json!({"nbformat": 4, "metadata": {}, "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "words"], "metadata": {}},
            {"cell_type": "code", "source": "print(1)\nx", "execution_count": 1, "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["5"], "image/png": "iVBO"}},
                {"output_type": "error", "ename": "NameError", "evalue": "no y", "traceback": []},
                {"output_type": "display_data", "data": {}},
            ]},
        ]});
        let expected = "# --- cell 1 [markdown]\n# Title\nwords\n# --- cell 2 [code]\nprint(1)\nx\n# --- output\n1\n\
                        # --- output\n5\n[image/png]\n# --- output\nNameError: no y\n";
        assert_eq!(as_text(notebook.to_string().as_bytes()).unwrap(), expected);
        assert_eq!(as_text(b"{\"cells\": 3}"), None);
    }
}
