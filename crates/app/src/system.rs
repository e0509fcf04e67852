//! [`System`]: a system whose files for agents Haft reads, as a row of [`SYSTEMS`].

/// An agent system with folders of skills, commands and agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Haft itself.
    Haft,
    /// The folder `.agents`, which several systems share.
    Agents,
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

/// What a folder contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Skills: folders with a file `SKILL.md`.
    Skills,
    /// Commands: prompts that the user sends by their names.
    Commands,
    /// Agents: system prompts with a header.
    Agents,
}

/// The folders of a system.
pub(crate) struct SystemRow {
    pub(crate) system: System,
    /// The folder in a project.
    pub(crate) project: &'static str,
    /// The user's folder, below the home folder.
    pub(crate) person: &'static str,
    /// The variable that overrides the user's folder.
    pub(crate) variable: Option<&'static str>,
    /// The file of instructions in the user's folder.
    pub(crate) notes: &'static str,
    skills: &'static [&'static str],
    commands: &'static [&'static str],
    agents: &'static [&'static str],
}

/// The systems in the order in which they are read: the first file with a name is used. Sources, read 2026-11:
/// code.claude.com/docs/en/settings, developers.openai.com/codex, geminicli.com/docs, opencode.ai/docs.
pub(crate) static SYSTEMS: [SystemRow; 6] = [
    SystemRow {
        system: System::Haft,
        project: ".haft",
        person: ".config/haft",
        variable: None,
        notes: "AGENTS.md",
        skills: &["skills"],
        commands: &["commands"],
        agents: &["agents"],
    },
    SystemRow {
        system: System::Agents,
        project: ".agents",
        person: ".agents",
        variable: None,
        notes: "AGENTS.md",
        skills: &["skills"],
        commands: &["commands"],
        agents: &["agents"],
    },
    SystemRow {
        system: System::Claude,
        project: ".claude",
        person: ".claude",
        variable: Some("CLAUDE_CONFIG_DIR"),
        notes: "CLAUDE.md",
        skills: &["skills"],
        commands: &["commands"],
        agents: &["agents"],
    },
    SystemRow {
        system: System::Codex,
        project: ".codex",
        person: ".codex",
        variable: Some("CODEX_HOME"),
        notes: "AGENTS.md",
        skills: &["skills"],
        commands: &["prompts"],
        agents: &[],
    },
    SystemRow {
        system: System::Gemini,
        project: ".gemini",
        person: ".gemini",
        variable: None,
        notes: "GEMINI.md",
        skills: &["skills"],
        commands: &["commands"],
        agents: &["agents"],
    },
    SystemRow {
        system: System::OpenCode,
        project: ".opencode",
        person: ".config/opencode",
        variable: Some("OPENCODE_CONFIG_DIR"),
        notes: "AGENTS.md",
        skills: &["skills", "skill"],
        commands: &["commands", "command"],
        agents: &["agents", "agent"],
    },
];

impl SystemRow {
    /// The names of the folders with files of this kind.
    pub(crate) fn folders(&self, kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Skills => self.skills,
            Kind::Commands => self.commands,
            Kind::Agents => self.agents,
        }
    }
}

impl System {
    /// The file extension of commands.
    pub(crate) fn ending_of_commands(self) -> &'static str {
        match self {
            Self::Gemini => "toml",
            Self::Haft | Self::Agents | Self::Claude | Self::Codex | Self::OpenCode => "md",
        }
    }
}
