//! [`Framework`]: the test runners: the command of each, and the parser of its output.
use super::{cargo, go, javascript, pytest, report::Report, tap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Framework {
    Cargo,
    Go,
    Pytest,
    Vitest,
    Jest,
    Mocha,
    Node,
    /// Whatever the script `test` of `package.json` runs.
    Npm,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) framework: Framework,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
}

impl Command {
    /// For display. Not for a shell.
    pub(super) fn line(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        format!("{name} {}", self.arguments.join(" "))
    }
}

impl Framework {
    /// The command as policy rules name it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Cargo => "cargo test",
            Self::Go => "go test",
            Self::Pytest => "pytest",
            Self::Vitest => "vitest",
            Self::Jest => "jest",
            Self::Mocha => "mocha",
            Self::Node => "node --test",
            Self::Npm => "npm test",
        }
    }

    /// Whether its output is readable for people.
    pub(super) fn prints_words(self) -> bool {
        match self {
            Self::Cargo | Self::Pytest | Self::Node | Self::Npm => true,
            Self::Go | Self::Vitest | Self::Jest | Self::Mocha => false,
        }
    }

    /// `None` if the output is not what the runner prints.
    pub(super) fn parse(self, stdout: &str, stderr: &str) -> Option<Report> {
        match self {
            Self::Cargo => cargo::parse(stdout, stderr),
            Self::Go => go::parse(stdout, stderr),
            Self::Pytest => pytest::parse(stdout),
            Self::Vitest | Self::Jest => javascript::jest(stdout),
            Self::Mocha => javascript::mocha(stdout),
            Self::Node => tap::parse(stdout),
            Self::Npm => None,
        }
    }

    /// The arguments that run the tests in `path`, relative to its folder, whose names hold `filter`.
    pub(super) fn arguments(self, path: Option<&str>, filter: Option<&str>) -> Vec<String> {
        let joined = |option: &str| filter.map(|filter| format!("{option}={filter}"));
        let path = path.map(str::to_owned);
        let (fixed, more): (&[&str], [Option<String>; 2]) = match self {
            Self::Cargo => (&["test", "--no-fail-fast"], [filter.map(str::to_owned), None]),
            Self::Go => (&["test", "-json"], [joined("-run"), Some(path.unwrap_or_else(|| "./...".into()))]),
            Self::Pytest => {
                (&["-m", "pytest", "--tb=short", "-rfEs"], [filter.map(|f| format!("-k{f}")), path])
            }
            // Since version 5 it writes a file into the workspace unless it gets another place.
            Self::Vitest => {
                (&["run", "--reporter=json", "--outputFile=/dev/stdout"], [joined("--testNamePattern"), path])
            }
            Self::Jest => (&["--json", "--ci"], [joined("--testNamePattern"), path]),
            Self::Mocha => (&["--reporter=json"], [joined("--grep"), path]),
            Self::Node => (&["--test", "--test-reporter=tap"], [joined("--test-name-pattern"), path]),
            Self::Npm => (&["test"], [None, None]),
        };
        fixed.iter().map(|word| (*word).to_owned()).chain(more.into_iter().flatten()).collect()
    }
}
