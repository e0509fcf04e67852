//! [`of`]: model and reasoning effort as the editor lists them.
use super::{
    open::OpenSession,
    sdk::{
        Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption,
        SetSessionConfigOptionRequest, wrong,
    },
};
use haft_core::SessionSetup;

const MODEL: &str = "model";
const EFFORT: &str = "effort";
/// The choice without an effort: the model's default.
const DEFAULT_EFFORT: &str = "default";
/// Marks a provider whose model must be typed. Editors have no field for that, so such choices are left out.
const TYPED: char = '…';

/// The model, effort, agent and mode with which a session continues.
pub(super) struct Choice {
    pub(super) model: String,
    pub(super) effort: Option<String>,
}

impl From<SessionSetup> for Choice {
    fn from(SessionSetup { model, effort, .. }: SessionSetup) -> Self {
        Self { model, effort }
    }
}

/// The options of a session, with their current values.
pub(super) fn of(open: &OpenSession) -> Vec<SessionConfigOption> {
    let model = &open.engine.setup().model;
    let mut models: Vec<_> =
        open.host.models().into_iter().filter(|(spec, _)| !spec.ends_with(TYPED)).collect();
    if models.iter().all(|(spec, _)| *spec != model.spec) {
        models.insert(0, (model.spec.clone(), String::new()));
    }
    let models: Vec<_> = models
        .into_iter()
        .map(|(spec, about)| {
            let about = Some(about).filter(|about| !about.is_empty());
            SessionConfigSelectOption::new(spec.clone(), spec).description(about)
        })
        .collect();
    let models = SessionConfigOption::select(MODEL, "Model", model.spec.clone(), models)
        .category(SessionConfigOptionCategory::Model);
    let efforts = open.host.efforts(&model.spec);
    if efforts.is_empty() {
        return vec![models];
    }
    let names = [DEFAULT_EFFORT].into_iter().chain(efforts);
    let efforts: Vec<_> = names.map(|name| SessionConfigSelectOption::new(name, name)).collect();
    let effort = model.effort.clone().unwrap_or_else(|| DEFAULT_EFFORT.to_owned());
    let efforts = SessionConfigOption::select(EFFORT, "Reasoning effort", effort, efforts)
        .category(SessionConfigOptionCategory::ThoughtLevel);
    vec![models, efforts]
}

/// The choice in the editor's request.
pub(super) fn chosen(open: &OpenSession, asked: &SetSessionConfigOptionRequest) -> Result<Choice, Error> {
    let model = &open.engine.setup().model;
    let option = &*asked.config_id.0;
    let Some(value) = asked.value.as_value_id().map(|value| value.0.to_string()) else {
        return Err(wrong(format!("the option `{}` takes a text", option.escape_debug())));
    };
    match option {
        MODEL => Ok(Choice { model: value, effort: None }),
        EFFORT => {
            let effort = Some(value).filter(|effort| effort != DEFAULT_EFFORT);
            Ok(Choice { model: model.spec.clone(), effort })
        }
        _ => Err(wrong(format!(
            "there is no option `{}`; there are `model` and `effort`",
            option.escape_debug()
        ))),
    }
}
