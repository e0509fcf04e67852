//! [`html`]: Markdown of a model as inert HTML: markup in it is text, a picture is its name, and a link leads to a web
//! page if clicked, nowhere else.
use super::text::escaped;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// `markdown` as HTML.
pub(super) fn html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    Parser::new_ext(markdown, options).for_each(|event| writer.event(event));
    writer.html
}

#[derive(Default)]
struct Writer {
    html: String,
    is_head: bool,
    /// The closing tags of links and pictures that are open.
    links: Vec<String>,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.html.push_str(&escaped(&text));
            }
            Event::Code(code) => self.push(&format!("<code>{}</code>", escaped(&code))),
            Event::SoftBreak => self.push("\n"),
            Event::HardBreak => self.push("<br>"),
            Event::Rule => self.push("<hr>"),
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.html.push_str(&escaped(&text));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.push("<p>"),
            Tag::Heading { level, .. } => self.push(&format!("<h{}>", below(level))),
            Tag::BlockQuote(_) => self.push("<blockquote>"),
            Tag::CodeBlock(_) => self.push("<pre><code>"),
            Tag::List(None) => self.push("<ul>"),
            Tag::List(Some(first)) => self.push(&format!("<ol start=\"{first}\">")),
            Tag::Item => self.push("<li>"),
            Tag::Emphasis => self.push("<em>"),
            Tag::Strong => self.push("<strong>"),
            Tag::Strikethrough => self.push("<del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.push("<span class=\"picture\">picture: ");
                self.links.push(format!(" ({})</span>", escaped(&dest_url)));
            }
            Tag::Table(_) => self.push("<table>"),
            Tag::TableHead => {
                self.is_head = true;
                self.push("<thead><tr>");
            }
            Tag::TableRow => self.push("<tr>"),
            Tag::TableCell => self.push(if self.is_head { "<th scope=\"col\">" } else { "<td>" }),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.push("</p>"),
            TagEnd::Heading(level) => self.push(&format!("</h{}>", below(level))),
            TagEnd::BlockQuote(_) => self.push("</blockquote>"),
            TagEnd::CodeBlock => self.push("</code></pre>"),
            TagEnd::List(true) => self.push("</ol>"),
            TagEnd::List(false) => self.push("</ul>"),
            TagEnd::Item => self.push("</li>"),
            TagEnd::Emphasis => self.push("</em>"),
            TagEnd::Strong => self.push("</strong>"),
            TagEnd::Strikethrough => self.push("</del>"),
            TagEnd::Link | TagEnd::Image => {
                let close = self.links.pop().unwrap_or_default();
                self.push(&close);
            }
            TagEnd::Table => self.push("</tbody></table>"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.push("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.push("</tr>"),
            TagEnd::TableCell => self.push(if self.is_head { "</th>" } else { "</td>" }),
            _ => {}
        }
    }

    /// Of other schemes a person reads where it would lead.
    fn link(&mut self, url: &str) {
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        if matches!(scheme.as_deref(), Some("http" | "https")) {
            self.push(&format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">", escaped(url)));
            self.links.push("</a>".into());
        } else {
            self.links.push(format!(" ({})", escaped(url)));
        }
    }

    fn push(&mut self, html: &str) {
        self.html.push_str(html);
    }
}

/// The page's own headings stand above: a reply begins at the third level.
fn below(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn markdown_becomes_html_and_markup_in_it_text() {
        let table = [
            ("# A\n\nb *c* **d** `e`", "<h3>A</h3><p>b <em>c</em> <strong>d</strong> <code>e</code></p>"),
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
            ("a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>"),
            (
                "![cat](https://x.y/c.png)",
                "<p><span class=\"picture\">picture: cat (https://x.y/c.png)</span></p>",
            ),
            ("[a](javascript:alert(1))", "<p>a (javascript:alert(1))</p>"),
            ("[a](JaVaScRiPt:x)", "<p>a (JaVaScRiPt:x)</p>"),
            ("[a](data:text/html,x)", "<p>a (data:text/html,x)</p>"),
            (
                "[a](https://x.y/?q=\"'<)",
                "<p><a href=\"https://x.y/?q=&quot;&#39;&lt;\" rel=\"noopener noreferrer nofollow\">a</a></p>",
            ),
            ("```rs\" onload=\"x\n<i>\n```", "<pre><code>&lt;i&gt;\n</code></pre>"),
            ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
            (
                "|a|b|\n|-|-|\n|1|2|",
                "<table><thead><tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
            ),
        ];
        for (markdown, expected) in table {
            assert_eq!(html(markdown).trim_end(), expected, "{markdown}");
        }
    }
}
