//! [`html`]: draws tokens and money over the rounds of a session. A table has the same numbers for people who cannot
//! see it.
use super::text::{dollars, escaped, grouped};
use haft::kernel::{Entry, Fact, Price, Usage};
use std::sync::Arc;

/// In the drawing's own units; the page stretches it.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 200.0;

/// What the rounds of a session took, in order.
pub(super) fn rounds(entries: &[Arc<Entry>]) -> Vec<Usage> {
    let usage = |entry: &Arc<Entry>| match &entry.fact {
        Fact::Replied { usage, .. } => Some(*usage),
        _ => None,
    };
    entries.iter().filter_map(usage).collect()
}

/// A figure; nothing where no server counted.
pub(super) fn html(rounds: &[Usage], price: Option<Price>) -> String {
    let most = rounds.iter().map(Usage::total).max().unwrap_or_default();
    if most == 0 {
        return String::new();
    }
    let cost = |price: Price| rounds.iter().map(|usage| price.cost(*usage)).collect::<Vec<f64>>();
    let costs = price.map(cost).filter(|costs| costs.iter().sum::<f64>() > 0.0);
    let bars: String =
        rounds.iter().enumerate().map(|(place, usage)| bar(place, rounds.len(), *usage, most)).collect();
    let line = costs.as_deref().map(line).unwrap_or_default();
    let (drawn, total) = match &costs {
        Some(costs) => (
            " and money",
            format!("<span class=\"key money\">cost so far, to {}</span>", dollars(costs.iter().sum())),
        ),
        None => ("", String::new()),
    };
    format!(
        "<figure class=\"plot\"><figcaption><h2>Tokens{drawn} by round</h2><p class=\"keys\"><span class=\"key cached\">read from cache</span><span class=\"key input\">read</span><span class=\"key output\">written</span>{total}</p></figcaption>\
         <div class=\"field\"><span class=\"top\" aria-hidden=\"true\">{} tokens</span><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">{bars}{line}</svg></div>\
         <p class=\"axis\" aria-hidden=\"true\"><span>round 1</span><span>{}</span></p>{}</figure>",
        grouped(most),
        rounds.len(),
        table(rounds, costs.as_deref())
    )
}

fn bar(place: usize, count: usize, usage: Usage, most: u64) -> String {
    let slot = WIDTH / count as f64;
    let (left, width) = (slot * (place as f64 + 0.1), (slot * 0.8).min(80.0));
    let left = left + (slot * 0.8 - width) / 2.0;
    let scale = HEIGHT / most as f64;
    let parts =
        [("cached", usage.cache_read), ("input", usage.input + usage.cache_write), ("output", usage.output)];
    let mut bottom = HEIGHT;
    let mut drawn = String::new();
    for (class, tokens) in parts.into_iter().filter(|(_, tokens)| *tokens > 0) {
        let height = tokens as f64 * scale;
        bottom -= height;
        drawn += &format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{bottom:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }
    drawn
}

/// The sum so far, from nothing at the beginning to all at the end.
fn line(costs: &[f64]) -> String {
    let total: f64 = costs.iter().sum();
    let slot = WIDTH / costs.len() as f64;
    let mut sum = 0.0;
    let points = costs.iter().enumerate().map(|(place, cost)| {
        sum += cost;
        format!("{:.1},{:.1}", slot * (place as f64 + 0.5), HEIGHT - sum / total * HEIGHT)
    });
    let points: Vec<String> = std::iter::once(format!("0,{HEIGHT}")).chain(points).collect();
    format!("<polyline class=\"money\" points=\"{}\"/>", points.join(" "))
}

fn table(rounds: &[Usage], costs: Option<&[f64]>) -> String {
    let mut sum = 0.0;
    let rows = rounds.iter().enumerate().map(|(place, usage)| {
        let cost = costs.map(|costs| {
            sum += costs[place];
            format!("<td>{}</td><td>{}</td>", dollars(costs[place]), dollars(sum))
        });
        let Usage { input, output, cache_read, cache_write } = usage;
        let [read, cached, written] = [input + cache_write, *cache_read, *output].map(grouped);
        format!(
            "<tr><th scope=\"row\">{}</th><td>{cached}</td><td>{read}</td><td>{written}</td>{}</tr>",
            place + 1,
            cost.unwrap_or_default()
        )
    });
    let money = costs.map_or("", |_| "<th scope=\"col\">cost</th><th scope=\"col\">so far</th>");
    let head = format!(
        "<tr><th scope=\"col\">round</th><th scope=\"col\">from cache</th><th scope=\"col\">read</th><th scope=\"col\">written</th>{money}</tr>"
    );
    format!(
        "<details><summary>{}</summary><table class=\"numbers\"><thead>{head}</thead><tbody>{}</tbody></table></details>",
        escaped("The same in numbers"),
        rows.collect::<String>()
    )
}
