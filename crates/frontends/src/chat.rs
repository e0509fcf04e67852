//! A conversation line by line, without a full screen: what a pipe, a dumb terminal or a screen reader can follow.
mod reader;

use crate::{
    Exit,
    console::{self, Order},
    host::{Host, Opened, Wish},
    print::{self, Options},
    signals::Interrupts,
    view,
};
use haft_core::{Command, Mode, Part, Seq, undo};
use haft_engine::{Engine, Session};
use reader::Reader;
use std::io::{Write, stderr, stdout};

/// Talks until the person leaves: `exit`, or the end of the input.
pub async fn run(
    host: Host,
    opened: Opened,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let chat = &options.chat;
    let prompt = chat.prompt.clone().unwrap_or_else(|| "> ".into());
    let mut reader = Reader::new(&host)?;
    let mut talk = Talk { host, open: None, wish: Wish::default(), options, interrupts };
    talk.take(opened)?;
    print_now(chat.banner.as_deref().unwrap_or("`/help` tells what can be said, `exit` leaves.\n"))?;
    loop {
        let read = tokio::select! {
            read = reader::read(reader, prompt.clone()) => Some(read?),
            () = talk.interrupts.next() => None,
        };
        let Some((line, back)) = read else { break };
        reader = back;
        let Some(line) = line else { break };
        let said = line.trim();
        if said.eq_ignore_ascii_case("exit") || console::order(said) == Some(Order::Quit) {
            break;
        }
        talk.say(said).await?;
    }
    talk.leave().await;
    Ok(Exit::Success)
}

/// The entry that is recorded next.
pub fn next(session: &Session) -> Seq {
    session.entries().last().map_or(Seq(0), |entry| Seq(entry.seq.0 + 1))
}

struct Talk<'a> {
    host: Host,
    open: Option<(Engine, Session)>,
    wish: Wish,
    options: &'a Options,
    interrupts: &'a mut Interrupts,
}

impl Talk<'_> {
    async fn say(&mut self, said: &str) -> anyhow::Result<()> {
        match console::order(said) {
            Some(order) => self.order(order).await,
            None if said.is_empty() => Ok(()),
            None => {
                let meant = if said.starts_with('/') { (self.host.meant)(said) } else { Ok(said.to_owned()) };
                match meant {
                    Ok(prompt) => {
                        self.turn(Command::Prompt { parts: vec![Part::text(prompt)], channel: None }).await
                    }
                    Err(why) => note(&format!("error: {why}")),
                }
            }
        }
    }

    /// One turn, with the words of the profile around it.
    async fn turn(&mut self, command: Command) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return note("there is no session; `/new` begins one") };
        let chat = &self.options.chat;
        print_now(chat.reply.as_deref().unwrap_or_default())?;
        print::turn(session, command, next(session), self.options, self.interrupts).await?;
        print_now(if chat.reply.is_some() { "\n\n" } else { "\n" })?;
        Ok(())
    }

    async fn order(&mut self, order: Order) -> anyhow::Result<()> {
        match order {
            Order::Help => self.help(),
            Order::New => self.reopen(Wish { session: None, ..self.wish.clone() }).await,
            Order::Sessions(Some(id)) => self.reopen(Wish { session: Some(id), ..self.wish.clone() }).await,
            Order::Model(Some(spec)) => self.reopen(Wish { model: Some(spec), ..self.wish.clone() }).await,
            Order::Agent(Some(name)) => self.reopen(Wish { agent: Some(name), ..self.wish.clone() }).await,
            Order::Sessions(None) => self.sessions(),
            Order::Model(None) => list((self.host.models)(), "/model SPEC"),
            Order::Agent(None) => self.agents(),
            Order::Compact => self.turn(Command::Compact).await,
            Order::Continue => self.turn(Command::Continue).await,
            Order::Undo => self.undo().await,
            Order::Redo => self.redo().await,
            Order::Cost => self.cost(),
            Order::Mode(name) => self.mode(name.as_deref()),
            Order::Theme(_) | Order::Rewind | Order::Jobs | Order::Copy => {
                note("this needs the screen that `haft` opens in a terminal")
            }
            Order::Quit => Ok(()),
        }
    }

    fn take(&mut self, opened: Opened) -> anyhow::Result<()> {
        let Opened { engine, session, notices } = opened;
        self.wish.session = Some(session.id().0.clone());
        self.open = Some((engine, session));
        notices.iter().try_for_each(|notice| note(&format!("note: {notice}")))
    }

    /// The same again where the other one cannot be opened.
    async fn reopen(&mut self, wish: Wish) -> anyhow::Result<()> {
        self.leave().await;
        let before = std::mem::replace(&mut self.wish, wish.clone());
        match (self.host.open)(wish).await {
            Ok(opened) => {
                note(&format!(
                    "session {}, model {}",
                    opened.session.id(),
                    opened.engine.setup().model.spec
                ))?;
                self.take(opened)
            }
            Err(why) => {
                note(&format!("error: {why}"))?;
                self.wish.clone_from(&before);
                let opened = (self.host.open)(before).await.map_err(anyhow::Error::msg)?;
                self.take(opened)
            }
        }
    }

    async fn leave(&mut self) {
        if let Some((engine, session)) = self.open.take() {
            drop(session);
            engine.shut_down().await;
        }
    }

    fn help(&self) -> anyhow::Result<()> {
        let ours = console::ORDERS
            .iter()
            .map(|(name, argument, what)| (format!("/{name} {argument}"), (*what).to_owned()));
        let own = self.host.prompts.iter().map(|(name, what)| (format!("/{name}"), what.clone()));
        list(ours.chain(own).collect(), "exit")
    }

    fn sessions(&self) -> anyhow::Result<()> {
        let Some((engine, _)) = &self.open else { return Ok(()) };
        let setup = engine.setup();
        let own = setup.home.list().into_iter();
        let own = own.filter(|known| known.workspace == setup.workspace && known.delegated_by.is_none());
        list(own.map(|known| (known.id.0, known.title)).collect(), "/sessions ID")
    }

    fn agents(&self) -> anyhow::Result<()> {
        let Some((engine, _)) = &self.open else { return Ok(()) };
        let agents = engine.setup().agents.iter();
        list(agents.map(|agent| (agent.name.clone(), agent.description.clone())).collect(), "/agent NAME")
    }

    async fn undo(&mut self) -> anyhow::Result<()> {
        let to = self.open.as_ref().and_then(|(_, session)| undo::before_last_turn(&session.entries()));
        match to {
            Some(to) => self.move_files(Command::Rewind { to }).await,
            None => note("nothing to undo"),
        }
    }

    async fn redo(&mut self) -> anyhow::Result<()> {
        let last = self.open.as_ref().and_then(|(_, session)| undo::last_undo(&session.entries()));
        match last {
            Some(_) => self.move_files(Command::Redo).await,
            None => note("nothing to redo"),
        }
    }

    async fn move_files(&mut self, command: Command) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        for file in view::moved(session, command).await? {
            note(&file)?;
        }
        Ok(())
    }

    fn mode(&self, name: Option<&str>) -> anyhow::Result<()> {
        let Some((_, session)) = &self.open else { return Ok(()) };
        let known = Mode::ALL.into_iter().filter(|mode| *mode <= session.ceiling());
        match name.and_then(Mode::named).filter(|mode| *mode <= session.ceiling()) {
            Some(mode) => Ok(session.send(Command::SetMode { mode })?),
            None => {
                let known = known.map(Mode::name).collect::<Vec<_>>().join(", ");
                note(&format!("now `{}`; there are {known} (/mode NAME)", session.mode().name()))
            }
        }
    }

    fn cost(&self) -> anyhow::Result<()> {
        let Some((engine, session)) = &self.open else { return Ok(()) };
        let usage = view::usage(&session.entries());
        let cost = engine.setup().model.price.map(|price| format!("${:.4}", price.cost(usage)));
        let cost = cost.unwrap_or_else(|| "unknown".into());
        note(&format!("{} tokens in, {} out; cost: {cost}", usage.total() - usage.output, usage.output))
    }
}

fn list(rows: Vec<(String, String)>, how: &str) -> anyhow::Result<()> {
    rows.iter().try_for_each(|(name, what)| note(&format!("  {name:<28} {what}")))?;
    note(&format!("  ({how})"))
}

/// Beside the conversation: on standard error.
fn note(text: &str) -> anyhow::Result<()> {
    writeln!(stderr(), "{}", crate::safe::text(text))?;
    Ok(())
}

fn print_now(text: &str) -> std::io::Result<()> {
    write!(stdout(), "{text}")?;
    stdout().flush()
}
