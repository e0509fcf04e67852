//! What is read in DeepSeek up to V3.1.
use crate::kit::check;

#[test]
fn the_name_stands_before_or_after_the_separator() {
    let begin = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
    let end = "<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    let fenced =
        format!("<think>t</think>a{begin}function<｜tool▁sep｜>look\n```json\n{{\"lines\":1}}\n```{end}");
    let short = format!("{begin}look<｜tool▁sep｜>{{}}{end}b");
    let wrong = format!("{begin}look{{}}<｜tool▁call▁end｜>");
    let cut = format!("{begin}look<｜tool▁sep｜>{{\"a\":");
    let table = [
        (fenced.as_str(), "~t~a«look {\"lines\":1}»"),
        (short.as_str(), "«look {}»b"),
        (wrong.as_str(), "<｜tool▁call▁begin｜>look{}<｜tool▁call▁end｜>!"),
        (cut.as_str(), "«look {\"a\":»"),
    ];
    check("deepseek_r1", &table);
    check("deepseek_v31", &table);
    check("deepseek_v3", &table[..2]);
    check("deepseek_v3", &[("a</think>b", "a</think>b")]);
}
