use super::*;
use crate::rich::{LIMIT, width};
use proptest::prelude::*;

fn html(markdown: &str) -> String {
    rich(markdown).html()
}

// A-83: what a model writes is shown as it means it
#[test]
fn markdown_becomes_what_telegram_can_show() {
    let table = [
        ("plain & <b>", "plain &amp; &lt;b&gt;"),
        ("**bold** and *italic* and ~~gone~~", "<b>bold</b> and <i>italic</i> and <s>gone</s>"),
        ("***both***", "<b><i>both</i></b>"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("**`x`**", "<code>x</code>"),
        ("# Head\ntext", "<b>Head</b>\n\ntext"),
        ("a\nb\n\nc", "a\nb\n\nc"),
        ("- a\n- b\n  - c\n- d", "• a\n• b\n  • c\n• d"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
        (
            "```rust\nfn a() {}\n\nb\n```\nend",
            "<pre><code class=\"language-rust\">fn a() {}\n\nb</code></pre>\n\nend",
        ),
        ("```\nx", "<pre>x</pre>"),
        ("```py\nx = \"<\"", "<pre><code class=\"language-py\">x = &quot;&lt;&quot;</code></pre>"),
        ("```a\"b\nx\n```", "<pre>x</pre>"),
        ("> a\n> b\n\nc", "<blockquote>a\nb</blockquote>\n\nc"),
        ("> **a** b", "<blockquote><b>a</b> b</blockquote>"),
        ("> a\n>\n> > b", "<blockquote>a\n\nb</blockquote>"),
        ("x\n\n> a\n\ny\n> b", "x\n\n<blockquote>a</blockquote>\n\ny\n\n<blockquote>b</blockquote>"),
        (">\n\nx", "x"),
        ("- a\n\n  ```\n  b\n  ```\n- c", "• a\n\n<pre>b</pre>\n\n• c"),
        ("[here](https://a.b/?x=1&y=\"2\")", "<a href=\"https://a.b/?x=1&amp;y=&quot;2&quot;\">here</a>"),
        // Such a link would mention a user, or lead into the app.
        ("[**x**](tg://user?id=1)", "<b>x</b> (tg://user?id=1)"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("![cat](https://a.b/c.png)", "<a href=\"https://a.b/c.png\">cat</a>"),
        ("| a | b |\n|---|---|\n| 1 | x<y |", "<pre>a | b\n--+----\n1 | x&lt;y</pre>"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("half **open", "half **open"),
        ("\u{1b}[2Jx\u{202e}", "[2Jx"),
    ];
    for (markdown, expected) in table {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

/// The text of HTML as a reader sees it; panics if a tag is not closed or closed in the wrong order.
fn seen(html: &str) -> String {
    let (mut seen, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some((text, after)) = rest.split_once('<') {
        seen += text;
        let (tag, after) = after.split_once('>').unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{html}"),
            None => open.push(tag.split(' ').next().unwrap()),
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?} stays open in {html}");
    seen += rest;
    assert!(!seen.contains('>'), "{html}");
    seen.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn check(markdown: &str, limit: usize) -> Vec<String> {
    let whole = rich(markdown);
    let pieces: Vec<String> = whole.split(limit).iter().map(Rich::html).collect();
    let together: String = pieces.iter().map(|piece| seen(piece)).collect();
    assert_eq!(bare(&together), bare(&whole.plain()), "{markdown}");
    assert_eq!(bare(&seen(&whole.html())), bare(&whole.plain()), "{markdown}");
    assert!(pieces.iter().all(|piece| width(piece) <= limit), "{markdown}");
    pieces
}

// A-86, D54
#[test]
fn a_long_text_is_cut_where_it_may_be() {
    let words = |count: usize| vec!["word"; count].join(" ");
    let table = [
        // Cut between paragraphs, then between lines, then between words.
        (format!("{}\n\n{}", words(10), words(10)), 60, vec![words(10), words(10)]),
        (format!("{}\n{}", words(10), words(10)), 60, vec![words(10), words(10)]),
        (words(20), 60, vec![words(12), words(8)]),
        // A word longer than a message is cut, a pair of surrogates is not.
        ("x".repeat(25), 10, vec!["x".repeat(10), "x".repeat(10), "x".repeat(5)]),
        ("😀".repeat(7), 9, vec!["😀".repeat(4), "😀".repeat(3)]),
        // Escaped characters count with their escapes.
        ("<".repeat(5), 9, vec!["&lt;&lt;".into(), "&lt;&lt;".into(), "&lt;".into()]),
    ];
    for (markdown, limit, expected) in table {
        assert_eq!(check(&markdown, limit), expected, "{markdown}");
    }
}

// A-86
#[test]
fn a_block_of_code_moves_as_a_whole_or_begins_anew() {
    let lines = |count: usize| (0..count).map(|n| format!("line {n}\n")).collect::<String>();
    let small = check(&format!("{}\n\n```rust\n{}```", "word ".repeat(20), lines(3)), 120);
    assert_eq!(small.len(), 2);
    assert!(small[1].starts_with("<pre><code class=\"language-rust\">line 0\n"), "{small:?}");
    let large = check(&format!("```rust\n{}```\n\nend", lines(40)), 150);
    assert!(large.len() > 2);
    for piece in &large[..large.len() - 1] {
        assert!(piece.starts_with("<pre><code class=\"language-rust\">line "), "{piece}");
        assert!(piece.contains("</code></pre>"), "{piece}");
    }
}

#[test]
fn a_link_that_is_too_long_is_told_as_text() {
    let url = format!("https://a.b/{}", "x".repeat(2_000));
    let pieces = check(&format!("[here]({url})"), LIMIT);
    assert_eq!(pieces, [format!("here ({url})")]);
    assert_eq!(check("[abc](https://a.b/long)", 12), ["abc"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    // A-86, D54: whatever a model writes, and wherever it is cut
    #[test]
    fn every_piece_is_whole_and_nothing_is_lost(
        markdown in r#"([ a-z<>&"*_`~#|\-\[\]().!\n\\]|```|\n\n|> |\| |- |1\. |😀|https://a\.b/|\]\(){0,200}"#,
        limit in 40usize..200,
    ) {
        check(&markdown, limit);
    }

    #[test]
    fn any_text_at_all(text in "\\PC{0,300}", limit in 10usize..100) {
        check(&text, limit);
    }
}
