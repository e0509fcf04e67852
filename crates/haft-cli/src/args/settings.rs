//! [`SettingsArgs`]: the options that the table of settings defines.
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use haft_app::config::{Choice, SETTINGS, Setting, Settings, Value};
use haft_core::Mode;

/// The settings that were given as options.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsArgs(pub(crate) Settings);

impl Args for SettingsArgs {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().filter(|setting| setting.has_flag).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in SETTINGS.iter().filter(|setting| setting.has_flag) {
            let typed = match setting.is_switch {
                true => matches.get_flag(setting.key).then_some("true"),
                false => matches.get_one::<String>(setting.key).map(String::as_str),
            };
            if let Some(word) = typed {
                self.0.set(setting.key, word).expect("the argument checked it");
            }
        }
        Ok(())
    }
}

fn argument(setting: &'static Setting) -> Arg {
    let argument = Arg::new(setting.key).long(setting.key.replace('_', "-")).help(setting.help);
    let argument = argument.value_name(setting.value).short(setting.short);
    match (setting.is_switch, (setting.choices)()) {
        (true, _) => argument.action(ArgAction::SetTrue),
        (false, choices) if choices.is_empty() => {
            argument.value_parser(|word: &str| (setting.check)(word).map(|()| word.to_owned()))
        }
        (false, choices) => argument.value_parser(one_of(choices)),
    }
}

fn one_of(choices: Vec<Choice>) -> PossibleValuesParser {
    let value = |(name, help): Choice| match help {
        "" => PossibleValue::new(name),
        help => PossibleValue::new(name).help(help),
    };
    PossibleValuesParser::new(choices.into_iter().map(value))
}

/// Parses a mode, for other options that take one.
pub(crate) fn mode() -> impl TypedValueParser<Value = Mode> {
    one_of(Mode::choices()).map(|name| Mode::named(&name).expect("no other value is possible"))
}
