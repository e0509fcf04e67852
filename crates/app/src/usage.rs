//! [`App::usage`]: tokens and costs by day, model and project, over all sessions.
use crate::{App, Failure, config::Settings, model, session};
use haft_core::{Price, SessionId, Usage};
use haft_engine::{Used, UsedRequest};
use jiff::{Span, Timestamp, Zoned, civil::Date, tz::TimeZone};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The usage of a day, a model, a project, or in total.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// `2026-11-23`, `openai/gpt-5`, `/home/me/project`.
    #[serde(skip)]
    pub key: String,
    /// Number of sessions that asked a model.
    pub sessions: usize,
    /// Number of requests to models.
    pub requests: u64,
    /// Number of tokens of all kinds.
    pub tokens: u64,
    /// The tokens by kind.
    #[serde(flatten)]
    pub usage: Usage,
    /// The cost of the requests with a known price, in US dollars; `None` if no price is known.
    pub cost_usd: Option<f64>,
    /// Tokens without a known price.
    pub unpriced_tokens: u64,
    #[serde(skip)]
    seen: BTreeSet<SessionId>,
}

impl Row {
    /// A row without any usage.
    #[must_use]
    pub fn unused(key: String) -> Self {
        Self { key, ..Self::default() }
    }

    /// The row as JSON, with its key under `name`.
    #[must_use]
    pub fn json(&self, name: &str) -> Value {
        let mut object = Map::from_iter([(name.to_owned(), Value::from(self.key.as_str()))]);
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            object.extend(fields);
        }
        Value::Object(object)
    }

    fn add(&mut self, session: &SessionId, usage: Usage, price: Option<Price>) {
        if self.seen.insert(session.clone()) {
            self.sessions += 1;
        }
        self.requests += 1;
        self.tokens += usage.total();
        self.usage += usage;
        match price {
            Some(price) => *self.cost_usd.get_or_insert_default() += price.cost(usage),
            None => self.unpriced_tokens += usage.total(),
        }
    }
}

/// The usage, summed by day, model and project.
#[derive(Debug, Default)]
pub struct Sums {
    /// The total.
    pub total: Row,
    /// By day, in order; days without usage are left out.
    pub days: Vec<Row>,
    /// By model: highest cost first, then most tokens.
    pub models: Vec<Row>,
    /// By project, sorted in the same way.
    pub projects: Vec<Row>,
}

impl App {
    /// The usage of all sessions since `first`, a time in the user's time zone. Computed from the journals each time.
    ///
    /// # Errors
    ///
    /// If the configuration, which may set prices, is invalid.
    pub fn usage(&self, first: &Zoned) -> Result<Sums, Failure> {
        let since = u64::try_from(first.timestamp().as_millisecond()).unwrap_or_default();
        let config = self.config(&session::workspace(None)?, &Settings::default())?;
        // Each model's price is looked up once.
        let mut known = HashMap::new();
        let price_of = |model: &str| {
            *known.entry(model.to_owned()).or_insert_with(|| model::card_of(&config, model).price)
        };
        Ok(Sums::of(&self.home().used(since), first.time_zone(), price_of))
    }
}

/// Maximum number of days for which days without usage are listed.
const MAX_GAP_DAYS: i32 = 62;

impl Sums {
    /// Returns the days from the first one with usage to `last`, including days without usage. If that is more than two
    /// months, days without usage are left out.
    #[must_use]
    pub fn every_day(&self, first: Date, last: Date) -> Vec<Row> {
        let begun = self.days.first().and_then(|row| row.key.parse::<Date>().ok()).unwrap_or(first);
        if (last - begun).get_days() > MAX_GAP_DAYS {
            return self.days.clone();
        }
        let all = begun.series(Span::new().days(1)).take_while(|day| *day <= last);
        all.map(|day| {
            let key = day.to_string();
            let known = self.days.iter().find(|row| row.key == key).cloned();
            known.unwrap_or_else(|| Row::unused(key))
        })
        .collect()
    }

    fn of(used: &[Used], zone: &TimeZone, mut price_of: impl FnMut(&str) -> Option<Price>) -> Self {
        let (mut total, mut days) = (Row::default(), BTreeMap::<String, Row>::new());
        let (mut models, mut projects) = (days.clone(), days.clone());
        for Used { session, asked_in, requests } in used {
            let project = asked_in.to_string_lossy();
            for UsedRequest { at, model, usage } in requests {
                let price = price_of(model);
                let day = day(*at, zone);
                for row in [
                    &mut total,
                    days.entry(day).or_default(),
                    models.entry(model.to_string()).or_default(),
                    projects.entry(project.as_ref().to_owned()).or_default(),
                ] {
                    row.add(session, *usage, price);
                }
            }
        }
        Self { total, days: listed(days), models: by_weight(models), projects: by_weight(projects) }
    }
}

fn day(at: u64, zone: &TimeZone) -> String {
    let moment = Timestamp::from_millisecond(i64::try_from(at).unwrap_or_default()).unwrap_or_default();
    moment.to_zoned(zone.clone()).date().to_string()
}

fn listed(rows: BTreeMap<String, Row>) -> Vec<Row> {
    rows.into_iter().map(|(key, row)| Row { key, ..row }).collect()
}

fn by_weight(rows: BTreeMap<String, Row>) -> Vec<Row> {
    let mut rows = listed(rows);
    let weight = |row: &Row| (row.cost_usd.unwrap_or_default(), row.tokens);
    rows.sort_by(|one, other| {
        let ((cost, tokens), (other_cost, other_tokens)) = (weight(one), weight(other));
        other_cost.total_cmp(&cost).then(other_tokens.cmp(&tokens)).then(one.key.cmp(&other.key))
    });
    rows
}
