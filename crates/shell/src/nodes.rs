//! [`children`], [`text`] and [`unescaped`]: the children and the text of nodes in a parsed line.
use tree_sitter::Node;

pub(crate) fn children<'a>(node: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    (0..node.child_count()).filter_map(move |place| node.child(place))
}

pub(crate) fn text<'a>(node: Node<'_>, line: &'a str) -> &'a str {
    line.get(node.byte_range()).unwrap_or_default()
}

/// `$'…'` without its escapes (bash(1), QUOTING).
pub(crate) fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        let Some(kind) = letters.next() else { break };
        let mut digits = |most: usize, radix: u32| {
            let taken = std::iter::from_fn(|| letters.next_if(|c| c.is_digit(radix)));
            taken.take(most).collect::<String>()
        };
        let coded = match kind {
            'x' => u32::from_str_radix(&digits(2, 16), 16).ok(),
            'u' => u32::from_str_radix(&digits(4, 16), 16).ok(),
            'U' => u32::from_str_radix(&digits(8, 16), 16).ok(),
            '0'..='7' => u32::from_str_radix(&format!("{kind}{}", digits(2, 8)), 8).ok(),
            'n' => Some(10),
            't' => Some(9),
            other => Some(u32::from(other)),
        };
        plain.extend(coded.and_then(char::from_u32));
    }
    plain
}
