//! Tests of `budget.rs`, through the public names.
use haft_core::Usage;
use haft_core::*;

fn spent(tokens: u64, usd: f64) -> Spending {
    let usage = Usage { input: tokens, ..Usage::default() };
    Spending { requests: 3, usage, usd, seconds: 10, ..Spending::default() }
}

#[test]
fn a_reply_is_as_long_as_the_budget_allows() {
    let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
    let none = Budget::default();
    let over = |what, spent, limit| Err(Reached { what, spent, limit });
    let table = [
        ("no limit", none, spent(9_999, 9.0), Ok(4_000)),
        ("room enough", Budget { tokens: Some(20_000), ..none }, spent(5_000, 0.0), Ok(4_000)),
        ("a shorter reply", Budget { tokens: Some(8_000), ..none }, spent(5_000, 0.0), Ok(2_000)),
        (
            "none that is worth it",
            Budget { tokens: Some(6_100), ..none },
            spent(5_000, 0.0),
            over(Resource::Tokens, 5_000.0, 6_100.0),
        ),
        ("money for 1,000 tokens", Budget { usd: Some(1.01875), ..none }, spent(0, 1.0), Ok(1_000)),
        ("no money", Budget { usd: Some(1.001), ..none }, spent(0, 1.0), over(Resource::Usd, 1.0, 1.001)),
        ("requests", Budget { requests: Some(3), ..none }, spent(0, 0.0), over(Resource::Requests, 3.0, 3.0)),
        ("time", Budget { seconds: Some(10), ..none }, spent(0, 0.0), over(Resource::Seconds, 10.0, 10.0)),
    ];
    for (what, budget, spent, expected) in table {
        assert_eq!(budget.reply(&spent, Some(&price), 1_000, 4_000), expected, "{what}");
    }
    let free = Budget { usd: Some(0.5), ..none };
    assert_eq!(free.reply(&spent(0, 0.0), Some(&Price::FREE), 1_000, 4_000), Ok(4_000));
}

#[test]
fn tokens_have_four_prices() {
    let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
    let usage = Usage { input: 1_000_000, output: 100_000, cache_read: 1_000_000, cache_write: 100_000 };
    assert!((price.cost(usage) - 5.175).abs() < 1e-9);
    assert!((Price { cache_read: None, cache_write: None, ..price }.cost(usage) - 7.8).abs() < 1e-9);
}
