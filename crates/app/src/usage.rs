//! [`App::usage`]: tokens and money by day, model and project, over all sessions.
use crate::{App, Failure, config::Settings, model, session};
use haft_core::{Price, SessionId, Usage};
use haft_engine::{Used, UsedRequest};
use jiff::{Span, Timestamp, Zoned, civil::Date, tz::TimeZone};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a day, a model, a project, or all of them used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// `2026-11-23`, `openai/gpt-5`, `/home/me/project`.
    #[serde(skip)]
    pub key: String,
    /// Sessions that asked a model.
    pub sessions: usize,
    /// Requests to models.
    pub requests: u64,
    /// All tokens.
    pub tokens: u64,
    /// The tokens by kind.
    #[serde(flatten)]
    pub usage: Usage,
    /// The cost of what has a price; `None` if nothing has.
    pub cost_usd: Option<f64>,
    /// Tokens whose price is not known.
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

/// The usage, summed in three ways.
#[derive(Debug, Default)]
pub struct Sums {
    /// All of it.
    pub total: Row,
    /// In order; days on which nothing was used are left out.
    pub days: Vec<Row>,
    /// What cost most first, then what used most tokens.
    pub models: Vec<Row>,
    /// In the same order.
    pub projects: Vec<Row>,
}

impl App {
    /// What all sessions have used since `first`, a moment in the person's time zone. Computed from the journals each
    /// time.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid: it may have prices.
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

/// More days than these are listed only if something was used.
const MAX_GAP_DAYS: i32 = 62;

impl Sums {
    /// Returns the days from the first one that used something to `last`, with those on which nothing was used; without
    /// them if there are more than two months.
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
