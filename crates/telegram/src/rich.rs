//! [`Rich`]: text with styles, formatted as Telegram's HTML, and split into messages.
//!
//! Each message is formatted from its own runs, so that its HTML is well-formed wherever a text is cut: a code block
//! that does not fit ends in one message and is opened again in the next.

/// Maximum UTF-16 units of a message.
pub const LIMIT: usize = 4_096;

/// The style of a run of text. A run's styles are ordered from the outermost to the innermost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Quote,
    Link(String),
    Bold,
    Italic,
    Strike,
    Code,
    /// A code block, with its language if known.
    Pre(Option<String>),
}

/// Text with the same styles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    text: String,
    styles: Vec<Style>,
}

/// Text with styles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rich(Vec<Run>);

impl Rich {
    /// Text without styles.
    pub(super) fn plain_text(text: &str) -> Self {
        let mut rich = Self::default();
        rich.push(text, &[]);
        rich
    }

    /// Appends text.
    pub(super) fn push(&mut self, text: &str, styles: &[Style]) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.styles == styles => last.text += text,
            _ => self.0.push(Run { text: text.to_owned(), styles: styles.to_vec() }),
        }
    }

    /// Returns this text with more text appended.
    pub(super) fn with(mut self, text: &str, styles: &[Style]) -> Self {
        self.push(text, styles);
        self
    }

    /// Appends another text as a separate block, after `gap`.
    pub(super) fn block(&mut self, other: Self, gap: &str) {
        if !self.is_empty() && !other.is_empty() {
            self.push(gap, &[]);
        }
        other.0.into_iter().for_each(|run| self.push(&run.text, &run.styles));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has no styles at all.
    pub(super) fn is_plain(&self) -> bool {
        self.0.iter().all(|run| run.styles.is_empty())
    }

    /// Number of visible characters.
    pub(super) fn length(&self) -> usize {
        self.0.iter().map(|run| run.text.chars().count()).sum()
    }

    /// The text without styles.
    pub(super) fn plain(&self) -> String {
        self.0.iter().map(|run| run.text.as_str()).collect()
    }

    /// The text as Telegram's HTML, with all elements closed in the right order.
    pub(super) fn html(&self) -> String {
        let (mut html, mut open): (String, &[Style]) = (String::new(), &[]);
        for run in &self.0 {
            let common = common(open, &run.styles);
            open[common..].iter().rev().for_each(|style| html += closing(style));
            run.styles[common..].iter().for_each(|style| html += &opening(style));
            html += &escaped(&run.text);
            open = &run.styles;
        }
        open.iter().rev().for_each(|style| html += closing(style));
        html
    }

    /// Splits the text into pieces whose HTML has at most `limit` UTF-16 units each. It is cut between paragraphs,
    /// lines or words, and not inside a code block that fits into one piece.
    pub(super) fn split(&self, limit: usize) -> Vec<Self> {
        let (mut pieces, mut rest) = (Vec::new(), self.clone());
        loop {
            rest.trim_start('\n');
            let fit = rest.fitting(limit);
            if fit == rest.length() {
                pieces.push(rest);
                break;
            }
            if fit == 0 {
                // If the tags alone are longer than a piece, the text is shown without them.
                rest.0[0].styles.clear();
                if rest.fitting(limit) > 0 {
                    continue;
                }
            }
            let cut = rest.cut(fit.max(1), limit);
            let tail = rest.split_off(cut);
            rest.trim_end();
            pieces.push(std::mem::replace(&mut rest, tail));
            if matches!(rest.0.first(), Some(run) if !is_pre(run)) {
                rest.trim_start(' ');
            }
        }
        pieces.retain(|piece| !piece.plain().trim().is_empty());
        pieces
    }

    /// Number of characters from the beginning that fit.
    fn fitting(&self, limit: usize) -> usize {
        let (mut units, mut count, mut open): (usize, usize, &[Style]) = (0, 0, &[]);
        for run in &self.0 {
            let common = common(open, &run.styles);
            units += open[common..].iter().map(|style| closing(style).len()).sum::<usize>();
            units += run.styles[common..].iter().map(|style| width(&opening(style))).sum::<usize>();
            let end: usize = run.styles.iter().map(|style| closing(style).len()).sum();
            for c in run.text.chars() {
                units += escape(c).map_or(c.len_utf16(), str::len);
                if units + end > limit {
                    return count;
                }
                count += 1;
            }
            open = &run.styles;
        }
        count
    }

    /// Where to cut so that at most `fit` characters come before.
    fn cut(&self, fit: usize, limit: usize) -> usize {
        if let Some(start) = self.block_before(fit, limit) {
            return start;
        }
        let text: Vec<(char, bool)> =
            self.0.iter().flat_map(|run| run.text.chars().map(|c| (c, is_pre(run)))).take(fit + 1).collect();
        let last = |least: usize, fits: &dyn Fn(usize) -> bool| {
            (least.max(1)..text.len()).rev().find(|at| fits(*at))
        };
        let is = |at: usize, wanted: char| text[at].0 == wanted;
        let paragraph = last(fit / 2, &|at| is(at, '\n') && !text[at].1 && is(at - 1, '\n'));
        paragraph
            .or_else(|| last(fit / 2, &|at| is(at, '\n')))
            .or_else(|| last(1, &|at| is(at, ' ') || is(at, '\n')))
            .unwrap_or(fit)
    }

    /// The start of the code block that contains `fit`, if the block is worth moving as a whole.
    fn block_before(&self, fit: usize, limit: usize) -> Option<usize> {
        let mut start = 0;
        for run in &self.0 {
            let length = run.text.chars().count();
            if start < fit && fit < start + length {
                let fits = is_pre(run) && Self(vec![run.clone()]).fitting(limit) == length;
                return (fits && start > 0).then_some(start);
            }
            start += length;
        }
        None
    }

    fn split_off(&mut self, at: usize) -> Self {
        let (mut before, mut place) = (at, 0);
        while let Some(run) = self.0.get_mut(place) {
            let length = run.text.chars().count();
            if before < length {
                let byte = run.text.char_indices().nth(before).map_or(run.text.len(), |(byte, _)| byte);
                let text = run.text.split_off(byte);
                let rest = Run { text, styles: run.styles.clone() };
                let mut tail = self.0.split_off(place + 1);
                tail.insert(0, rest);
                self.0.retain(|run| !run.text.is_empty());
                return Self(tail);
            }
            before -= length;
            place += 1;
        }
        Self::default()
    }

    fn trim_start(&mut self, what: char) {
        while let Some(run) = self.0.first_mut() {
            let kept = run.text.trim_start_matches(what).len();
            run.text.drain(..run.text.len() - kept);
            match kept {
                0 => drop(self.0.remove(0)),
                _ => return,
            }
        }
    }

    fn trim_end(&mut self) {
        while let Some(run) = self.0.last_mut() {
            run.text.truncate(run.text.trim_end().len());
            match run.text.is_empty() {
                true => drop(self.0.pop()),
                false => return,
            }
        }
    }
}

fn is_pre(run: &Run) -> bool {
    matches!(run.styles.last(), Some(Style::Pre(_)))
}

fn common(a: &[Style], b: &[Style]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Length in UTF-16 units, as Telegram counts.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

fn opening(style: &Style) -> String {
    match style {
        Style::Quote => "<blockquote>".into(),
        Style::Link(url) => format!("<a href=\"{}\">", escaped(url)),
        Style::Bold => "<b>".into(),
        Style::Italic => "<i>".into(),
        Style::Strike => "<s>".into(),
        Style::Code => "<code>".into(),
        Style::Pre(None) => "<pre>".into(),
        Style::Pre(Some(language)) => format!("<pre><code class=\"language-{}\">", escaped(language)),
    }
}

fn closing(style: &Style) -> &'static str {
    match style {
        Style::Quote => "</blockquote>",
        Style::Link(_) => "</a>",
        Style::Bold => "</b>",
        Style::Italic => "</i>",
        Style::Strike => "</s>",
        Style::Code => "</code>",
        Style::Pre(None) => "</pre>",
        Style::Pre(Some(_)) => "</code></pre>",
    }
}

fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        _ => None,
    }
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut html, c| {
        match escape(c) {
            Some(escape) => html += escape,
            None => html.push(c),
        }
        html
    })
}
