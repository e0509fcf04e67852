//! [`Worker`]: the thread that owns the model. It receives requests through a channel, and sends replies through
//! others.
//!
//! A context of llama.cpp should be used by one thread at a time, and computing a token blocks: neither fits an async
//! task.
use crate::{
    LocalError, Settings,
    evaluate::Evaluator,
    gguf::Header,
    prompt::Dialect,
    reply::{Outlet, Speaker, rejected},
    template::{self, Template},
};
use haft_core::{ProviderError, Request};
use llama_cpp_2::{
    llama_backend::LlamaBackend,
    model::{LlamaModel, params::LlamaModelParams},
    token::LlamaToken,
    vocab::LlamaVocab,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::UNIX_EPOCH,
};

/// Models with fewer parameters cannot follow a list of tools.
const SMALL_MODEL_PARAMETERS: u64 = 1_000_000_000;

/// A request, and the channel for its reply.
struct Job {
    request: Request,
    outlet: Outlet,
}

/// The thread of the model. It ends when this is dropped.
pub(crate) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    /// Set on drop, to abort loading the model.
    given_up: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread; the model is loaded at the first request.
    pub(crate) fn start(path: PathBuf, header: Header, settings: Settings) -> Result<Self, LocalError> {
        let (jobs, incoming) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let told = given_up.clone();
        let run = move || run(&path, &header, &settings, &told, &incoming);
        let thread =
            thread::Builder::new().name("haft-local-model".into()).spawn(run).map_err(LocalError::Thread)?;
        Ok(Self { jobs: Some(jobs), given_up, thread: Some(thread) })
    }

    /// Requests a reply.
    pub(crate) fn ask(&self, request: Request, outlet: Outlet) {
        let Some(jobs) = &self.jobs else { return };
        if let Err(mpsc::SendError(job)) = jobs.send(Job { request, outlet }) {
            let error =
                rejected("the thread that ran the model has ended; see standard error for why".into());
            let _nobody_listens = job.outlet.unbounded_send(Err(error));
        }
    }
}

impl Drop for Worker {
    /// Waits for the thread, because llama.cpp must not run while the process ends. Every stream holds the worker, so
    /// at this point all replies are canceled. The wait takes at most one batch, or, while the model is being loaded,
    /// one tensor.
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn run(
    path: &Path,
    header: &Header,
    settings: &Settings,
    given_up: &Arc<AtomicBool>,
    jobs: &mpsc::Receiver<Job>,
) {
    while let Ok(job) = jobs.recv() {
        if job.outlet.is_closed() {
            continue;
        }
        match load(path, given_up, settings.loading) {
            Ok(model) => return serve(path, header, settings, &model, job, jobs),
            Err(error) => {
                let _nobody_listens = job.outlet.unbounded_send(Err(unusable(&error)));
            }
        }
    }
}

fn serve(
    path: &Path,
    header: &Header,
    settings: &Settings,
    model: &LlamaModel,
    first: Job,
    jobs: &mpsc::Receiver<Job>,
) {
    let mut speaker = match speaker(path, header, settings, model) {
        Ok(speaker) => speaker,
        Err(problem) => {
            let error = LocalError::Load { path: path.into(), problem };
            let _nobody_listens = first.outlet.unbounded_send(Err(unusable(&error)));
            return;
        }
    };
    speaker.answer(&first.request, &first.outlet);
    drop(first);
    while let Ok(job) = jobs.recv() {
        if !job.outlet.is_closed() {
            speaker.answer(&job.request, &job.outlet);
        }
    }
}

/// The global state of llama.cpp, of which a process has one.
fn backend() -> Result<&'static LlamaBackend, String> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let started = BACKEND.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        // Standard error belongs to the program; relevant messages are returned as errors.
        backend.void_logs();
        Ok(backend)
    });
    started.as_ref().map_err(Clone::clone)
}

fn load(path: &Path, given_up: &Arc<AtomicBool>, loading: Option<fn(f32)>) -> Result<LlamaModel, LocalError> {
    let failed = |problem: String| LocalError::Load { path: path.into(), problem };
    let backend = backend().map_err(failed)?;
    if !path.exists() {
        return Err(failed("the file is gone".into()));
    }
    let given_up = given_up.clone();
    let tell = move |part| loading.into_iter().for_each(|loading| loading(part));
    let parameters = LlamaModelParams::default().with_progress_callback(move |part| {
        tell(part);
        !given_up.load(Ordering::Relaxed)
    });
    let loaded = LlamaModel::load_from_file(backend, path, &parameters);
    tell(1.0);
    loaded.map_err(|error| {
        failed(format!("llama.cpp does not accept it ({error}); its family may be newer than this program"))
    })
}

fn speaker<'model>(
    path: &Path,
    header: &Header,
    settings: &Settings,
    model: &'model LlamaModel,
) -> Result<Speaker<'model>, String> {
    let vocabulary = model.vocab();
    let source = settings.template.as_deref().or(header.template.as_deref());
    let text = |token: LlamaToken| piece(&vocabulary, token);
    let template = Template::new(source, &text(vocabulary.bos()), &text(vocabulary.eos()))
        .map_err(|error| format!("its chat template is not a template: {error:#}"))?;
    let dialect = Dialect::of(&template, is_small(header, settings));
    let evaluator = Evaluator::new(backend()?, model, settings, fingerprint(path))?;
    let control = vocabulary.tokens().filter(|token| vocabulary.is_control(*token)).map(text);
    let control = control.filter(|text| text.chars().count() > 1).collect();
    Ok(Speaker { model, evaluator, template, dialect, settings: settings.clone(), control })
}

/// Whether the model runs in small mode: with worked examples in place of a list of tools.
pub(crate) fn is_small(header: &Header, settings: &Settings) -> bool {
    let source = settings.template.as_deref().or(header.template.as_deref());
    let is_tiny = header.parameters < SMALL_MODEL_PARAMETERS && !header.split;
    settings.small.unwrap_or(is_tiny || !source.is_some_and(template::has_tools))
}

fn piece(vocabulary: &LlamaVocab<'_>, token: LlamaToken) -> String {
    // If a vocabulary lacks this token, its number is negative.
    if token.0 < 0 {
        return String::new();
    }
    String::from_utf8_lossy(&vocabulary.token_to_piece(token, true, None)).into_owned()
}

/// Identifies the file by its size and time, without reading its hundreds of megabytes.
fn fingerprint(path: &Path) -> String {
    let described = std::fs::metadata(path).map(|metadata| {
        let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{}-{}", metadata.len(), changed.unwrap_or_default().as_nanos())
    });
    format!("{}-{}", path.display(), described.unwrap_or_default())
}

fn unusable(error: &LocalError) -> ProviderError {
    rejected(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        choose::{Chooser, Sampling},
        four_tools, models,
        prompt::form_of,
        small::grammar::{Offer, reply_grammar},
        tagged::Syntax,
    };
    use haft_core::{ArgumentForm, CallForm, ToolSpec};
    use serde_json::json;

    /// llama.cpp refuses some grammars that are valid in its own notation, so it must be asked.
    #[test]
    fn the_grammars_made_here_are_accepted_by_llama_cpp() {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let folder = std::env::var_os("HAFT_MODELS").map_or(beside, PathBuf::from);
        let Ok(path) = models::find(models::DEFAULT, &folder) else { return };
        let vocabulary = LlamaModelParams::default().with_vocab_only(true);
        let model = LlamaModel::load_from_file(backend().unwrap(), path, &vocabulary).unwrap();
        let mut tools = four_tools();
        let nested = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "array", "items": {"type": "string", "maxLength": 400}, "minItems": 1},
            "b": {"type": "object", "properties": {"c": {"enum": ["x", 1]}, "d": {"type": ["integer", "null"]}}},
            "e": {"anyOf": [{"type": "number"}, {"type": "string", "minLength": 300}]}, "f": true, "ü \"": {}}});
        tools.push(ToolSpec {
            name: "odd-one".into(),
            description: "".into(),
            parameters: nested,
            examples: vec![].into(),
        });
        let wish = "Copy \"a b/c.txt\" to d[1].md, run `make`, then see https://x.y/z?q=1.";
        let offers = |are_shown: bool| {
            let most = if are_shown { usize::MAX } else { 0 };
            let offer = |place: usize| Offer {
                tool: &tools[place],
                shown: tools[place].examples.iter().take(most).collect(),
            };
            (0..tools.len()).map(offer).collect::<Vec<_>>()
        };
        let (bare, full) = (offers(false), offers(true));
        let tools: Arc<[ToolSpec]> = tools.clone().into();
        let [key, value, end] = ["<parameter=", ">\n", "\n</parameter>\n"].map(str::to_owned);
        let elements = CallForm {
            before: "<tool_call>\n<function=".into(),
            between: ">\n".into(),
            behind: "</function>\n</tool_call>".into(),
            arguments: ArgumentForm::Elements { key, value, end },
            ..form_of(Syntax::Tagged, &tools)
        };
        let tagged = form_of(Syntax::Tagged, &tools);
        let grammars = [
            reply_grammar(&tagged, &bare, true, ""),
            reply_grammar(&tagged, &bare, true, wish),
            reply_grammar(&tagged, &full, false, ""),
            reply_grammar(&tagged, &full, false, wish),
            reply_grammar(&form_of(Syntax::Bare, &tools), &full, true, wish),
            reply_grammar(&elements, &full, true, wish),
            reply_grammar(&tagged, &[], true, wish),
            form_of(Syntax::Tagged, &tools).call_grammar(),
            form_of(Syntax::Bare, &tools).call_grammar(),
            form_of(Syntax::Tagged, &tools).reply_grammar(),
            form_of(Syntax::Bare, &tools).reply_grammar(),
            elements.call_grammar(),
            elements.reply_grammar(),
        ];
        for grammar in grammars {
            let mut chooser = Chooser::new(Sampling::of(&Request::default(), 0.0, 0));
            assert!(chooser.bind(&model, &grammar, &[]), "{grammar}");
        }
    }
}
