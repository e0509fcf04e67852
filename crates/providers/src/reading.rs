//! [`Reading`]: converts the bytes of a streamed reply to deltas. It limits bytes and events; time is limited
//! elsewhere.
use crate::{
    endpoint::Endpoint,
    frames::{FrameError, Frames},
    parser::{self, Fault, Parser},
    sse::{Event, Events, MAX_EVENT},
};
use haft_core::{Delta, ProviderError, UnreadableReply};
use std::mem;

/// Maximum bytes without content: comments, pings, empty events.
const MAX_IDLE_BYTES: usize = 2 * MAX_EVENT;
/// Maximum bytes of one reply, decompressed: 8 MB of text in events of a few letters each take some 600 MB.
const MAX_BYTES: usize = 1 << 30;

/// The format of the event stream, recognized by its first byte.
enum Framing {
    Unknown,
    /// Server-sent events.
    Text(Events),
    /// Amazon's event streams.
    Binary(Frames),
}

impl Framing {
    fn push(&mut self, chunk: &[u8], out: &mut Vec<Event>) -> Result<(), FrameError> {
        if let (Self::Unknown, Some(first)) = (&self, chunk.first()) {
            *self = match Frames::begin_with(*first) {
                true => Self::Binary(Frames::default()),
                false => Self::Text(Events::default()),
            };
        }
        match self {
            Self::Unknown => Ok(()),
            Self::Text(events) => Ok(events.push(chunk, out)?),
            Self::Binary(frames) => frames.push(chunk, out),
        }
    }

    fn finish(&mut self) -> Option<Event> {
        match self {
            Self::Text(events) => events.finish(),
            Self::Unknown | Self::Binary(_) => None,
        }
    }
}

/// Converts the bytes of one reply to deltas.
pub(crate) struct Reading {
    parser: Box<dyn Parser>,
    framing: Framing,
    events: Vec<Event>,
    broken: usize,
    has_said: bool,
    has_calls: bool,
    bytes: usize,
    idle_bytes: usize,
}

impl Reading {
    pub(crate) fn new(parser: Box<dyn Parser>) -> Self {
        Self {
            parser,
            framing: Framing::Unknown,
            events: Vec::new(),
            broken: 0,
            has_said: false,
            has_calls: false,
            bytes: 0,
            idle_bytes: 0,
        }
    }

    /// Adds a chunk, which may end anywhere.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        endpoint: &Endpoint,
        out: &mut Vec<Delta>,
    ) -> Result<(), ProviderError> {
        let mut events = mem::take(&mut self.events);
        let framed = self.framing.push(chunk, &mut events);
        let before = out.len();
        for event in events.drain(..) {
            self.event(&event, endpoint, out)?;
        }
        self.events = events;
        framed.map_err(|error| match error {
            FrameError::TooLong => endpoint.broken("the server sent an event of more than 16 MB"),
            FrameError::Broken => endpoint.broken("the server sent an event whose checksum is wrong"),
        })?;
        self.count(chunk.len(), out[before..].iter().any(is_progress));
        self.check_bytes(endpoint)
    }

    /// Reads a reply that was not streamed.
    pub(crate) fn whole(
        &mut self,
        body: &[u8],
        endpoint: &Endpoint,
        out: &mut Vec<Delta>,
    ) -> Result<(), ProviderError> {
        let read =
            parser::object(&String::from_utf8_lossy(body)).and_then(|body| self.parser.whole(body, out));
        self.note(out);
        self.bytes = body.len();
        self.settle(read, endpoint)
    }

    /// Whether only usage may follow.
    pub(crate) fn is_complete(&self) -> bool {
        self.parser.is_complete()
    }

    /// Whether the server says that the model thinks, without sending its thoughts.
    pub(crate) fn is_at_work(&self) -> bool {
        self.parser.is_at_work()
    }

    /// Whether nothing may follow.
    pub(crate) fn is_over(&self) -> bool {
        self.parser.is_over()
    }

    /// Emits the rest, with [`Delta::Stop`] at its end. Fails if the reply was cut off.
    pub(crate) fn finish(&mut self, endpoint: &Endpoint, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        if let Some(event) = self.framing.finish() {
            self.event(&event, endpoint, out)?;
        }
        let stop = self.parser.finish(out);
        if self.broken > 0 && (!self.has_said || self.has_calls) {
            // The lost part may have belonged to a call, and the rest of the call may still look complete.
            return Err(endpoint.broken_by("the server sent something that is not JSON", UnreadableReply));
        }
        if self.bytes == 0 {
            return Err(endpoint.broken("the server sent an empty response"));
        }
        let stop = stop.ok_or_else(|| endpoint.broken("the reply was cut off"))?;
        out.push(Delta::Stop(stop));
        Ok(())
    }

    /// The parser, for what the deltas do not contain.
    pub(crate) fn parser(&self) -> &dyn Parser {
        &*self.parser
    }

    fn event(
        &mut self,
        event: &Event,
        endpoint: &Endpoint,
        out: &mut Vec<Delta>,
    ) -> Result<(), ProviderError> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let before = out.len();
        let read = self.parser.event(event, out);
        self.note(&out[before..]);
        self.settle(read, endpoint)
    }

    fn note(&mut self, deltas: &[Delta]) {
        self.has_said |= deltas.iter().any(is_progress);
        self.has_calls |= deltas.iter().any(|delta| matches!(delta, Delta::CallStart { .. }));
    }

    fn settle(&mut self, read: Result<(), Fault>, endpoint: &Endpoint) -> Result<(), ProviderError> {
        match read {
            Ok(()) => {}
            Err(Fault::Broken) => self.broken += 1,
            Err(Fault::Complaint(complaint)) => return Err(complaint.sort(endpoint)),
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize, progress: bool) {
        self.bytes += bytes;
        self.idle_bytes = if progress { 0 } else { self.idle_bytes + bytes };
    }

    fn check_bytes(&self, endpoint: &Endpoint) -> Result<(), ProviderError> {
        if self.idle_bytes > MAX_IDLE_BYTES {
            return Err(endpoint.broken("the server sent more than 32 MB without content"));
        }
        if self.bytes > MAX_BYTES {
            return Err(endpoint.broken("the server sent more than 1 GB in one reply"));
        }
        Ok(())
    }
}

/// Whether the model has produced something; an empty piece, a token count or a ping is not progress.
pub(crate) fn is_progress(delta: &Delta) -> bool {
    match delta {
        Delta::Text(said) | Delta::Thinking(said) | Delta::CallArguments { json: said, .. } => {
            !said.is_empty()
        }
        Delta::CallStart { .. } | Delta::CallProblem { .. } | Delta::Signature(_) | Delta::Stop(_) => true,
        Delta::Usage(_) | Delta::Retrying { .. } => false,
    }
}
