//! Follows a run to its end: events to the display, signals to the run, the report to standard
//! output.
//!
//! Used by `run`, `resume` and every command that takes a run over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_coordinator::{
    Coordinator, CoordinatorError, LiveItem, Run, Shutdown, ShutdownLevel, kernel_limits,
    program_warnings,
};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::run::{EXIT_INTERRUPTED, EXIT_OK};
use orchestrate_core::{Report, RunId, RunState, shell_word};
use orchestrate_journal::Store;
use orchestrate_plan::Skipped;
use orchestrate_settings::{Loaded, Resolved, SandboxDemand};
use tokio::runtime::Runtime;

use crate::error::CommandError;
use crate::follow::display::{Display, Format, Style};
use crate::follow::planned::{Made, STANDARD_OUTPUT};
use crate::follow::requests::{Listener, Requests};
use crate::follow::signals::Signals;
use crate::json::{Envelope, LineAnswer, Output, RunReport};
use crate::show::run_argument::Named;
use crate::show::terminal::Terminal;
use crate::show::{next, output, table};

/// How many events are read at once: enough for any burst, but few enough to stay responsive.
const FACTS_AT_ONCE: usize = 512;
/// How long a killed run may take to record its end, even on a busy disk; its processes die at
/// once, or together with this one.
const KILL_PATIENCE: Duration = Duration::from_secs(3);

/// The status of a run that was killed before it could record its end.
const INTERRUPTED: &str = "interrupted";
/// What `--verbose` logs: our own crates, without the internals of dependencies.
const LOGGED: &str = "orchestrate=info,orchestrate_coordinator=info,orchestrate_tools=info,\
                      orchestrate_model=info,orchestrate_git=info,orchestrate_sandbox=info,\
                      orchestrate_journal=info";

/// Creates the program's async runtime.
pub(crate) fn runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(format!("failed to start the runtime: {error}")))
}

/// Fails if the run was started without a sandbox, but one is required now.
pub(crate) fn require_sandbox(loaded: &Loaded, run: &RunId) -> Result<(), CommandError> {
    match SandboxDemand::find(&loaded.switches_given) {
        Some(demand) if demand.is_strict && loaded.run.no_sandbox => {
            let message = format!(
                "run {run} was started with --no-sandbox, but {} demands the full tier of the \
                 sandbox",
                demand.by
            );
            Err(CommandError::usage(message)
                .hint("unset RALPH_SANDBOX_MODE and ORCHESTRATE_SANDBOX_MODE"))
        }
        _ => Ok(()),
    }
}

/// Returns the style that the settings ask for.
pub(crate) fn style(resolved: &Resolved, terminal: Terminal) -> Style {
    let format = match resolved.text("output_format").as_deref() {
        Some("json") => Format::Json,
        Some("stream-json") => Format::StreamJson,
        Some("markers") => Format::Markers,
        _ => Format::Text,
    };
    Style {
        format,
        quiet: resolved.is_on("quiet"),
        verbose: resolved.is_on("verbose"),
        terminal,
    }
}

/// Follows a run to its end, and warns meanwhile of the project's programs that its commands start
/// otherwise than the user's shell: asking them takes longer than a run may be delayed.
pub(crate) async fn warning_of_programs<T>(
    coordinator: &Coordinator,
    loaded: &Loaded,
    style: Style,
    followed: impl Future<Output = T>,
) -> T {
    if style.quiet {
        return followed.await;
    }
    let warnings = program_warnings(coordinator, loaded);
    tokio::pin!(followed);
    tokio::pin!(warnings);
    tokio::select! {
        biased;
        ended = &mut followed => return ended,
        warnings = &mut warnings => output::warnings(warnings),
    }
    followed.await
}

/// Writes the libraries' log to standard error if the style is verbose.
pub(crate) fn log(style: Style) {
    if style.verbose {
        let logger = tracing_subscriber::fmt()
            .with_env_filter(LOGGED)
            .with_ansi(false)
            .with_writer(|| output::Log);
        // It fails only if a logger is installed already, which serves as well.
        let _ = logger.try_init();
    }
}

/// Describes how commands are confined, and which of the user's variables demands that.
pub(crate) fn tier(coordinator: &Coordinator, variables: &BTreeMap<String, String>) -> String {
    let mut text = format!("sandbox tier: {}", coordinator.confinement());
    if kernel_limits().is_ok() {
        text += ", each command in a control group";
    }
    let demand = SandboxDemand::find(variables).filter(|demand| demand.is_strict);
    text.extend(demand.map(|demand| format!(", as {} demands", demand.by)));
    let forbids = coordinator.sandbox_forbids();
    text.extend(forbids.map(|forbidden| format!("\nin this tier, {forbidden}")));
    text
}

/// A run that has ended, with its report.
pub(crate) struct Followed {
    pub(crate) report: Report,
    /// The lines of the plan or of the document that look like work and are not run.
    pub(crate) not_run_lines: Vec<Skipped>,
    pub(crate) store: Store,
    style: Style,
    /// The number of its newest event.
    seq: u64,
    /// Whether standard output is still read, or the error of a failed write to it.
    is_heard: Result<bool, CommandError>,
}

/// Follows a run to its end, handling signals and what a listener hears on standard input, and
/// leaves printing the report to the caller. Events up to the number `begun` are not shown.
pub(crate) async fn to_its_end(
    run: Run,
    style: Style,
    begun: u64,
    listener: Option<Listener>,
) -> Result<Followed, CommandError> {
    let (id, store) = (run.id().clone(), run.store().clone());
    let mut news = News {
        store: store.clone(),
        run: id.clone(),
        seen: begun,
    };
    let mut display = Display::new(style);
    // Later markers refer to what was recorded before.
    display.pass_over(&store.events(&id, 0, usize::try_from(begun).unwrap_or(usize::MAX))?);
    if style.terminal.github && !style.quiet {
        display.note(&format!("::group::orchestrate {id}"));
    }
    let requests = listener.map(|listener| Requests::read(listener, store.clone(), id.clone()));
    let ended = attend(run, requests.transpose()?, &mut display, &mut news).await?;
    news.pass_on(&mut display)?;
    let is_heard = display.end();
    if style.terminal.github && !style.quiet {
        output::note("::endgroup::");
    }
    let report = match ended {
        Ended::ByItself(ended) => ended.map_err(|error| of_end(error, &id))?,
        Ended::Killed(code) => killed(store.state(&id)?, code),
    };
    Ok(Followed {
        report,
        not_run_lines: Vec::new(),
        store,
        style,
        seq: news.seen,
        is_heard,
    })
}

/// Returns the error of a run that could not continue.
fn of_end(error: CoordinatorError, run: &RunId) -> CommandError {
    let has_begun = !matches!(error, CoordinatorError::RedBase(_));
    let error = CommandError::from(error);
    if !has_begun {
        return error;
    }
    error.hint(format!(
        "recorded work is kept; `orchestrate resume {run}` continues from it"
    ))
}

/// How a run has ended.
enum Ended {
    /// By itself, with its result.
    ByItself(Box<Result<Report, CoordinatorError>>),
    /// By a signal or a request that killed it, with its exit code and without a result.
    Killed(u8),
}

/// Returns the report of a killed run, whose status must not be `running`.
fn killed(state: RunState, exit_code: u8) -> Report {
    let standing = Standing {
        state: Arc::new(state),
        is_live: false,
    };
    Report {
        status: INTERRUPTED.to_owned(),
        exit_code: Some(exit_code),
        ..standing.report()
    }
}

/// Waits for the run to end, showing its events and passing on signals and requests.
async fn attend(
    run: Run,
    mut requests: Option<Requests>,
    display: &mut Display,
    news: &mut News,
) -> Result<Ended, CommandError> {
    let mut signals = Signals::listen()?;
    let (mut state, mut live) = (run.watch(), run.live());
    let running = run.running_checks();
    let (shutdown, closing) = (run.shutdown(), run.closing());
    let waiting = run.wait();
    tokio::pin!(waiting);
    let (mut open, mut told, mut is_news) = (true, false, true);
    let mut ticks = display.ticks();
    loop {
        if std::mem::replace(&mut is_news, true) {
            // The state first: an event that is recorded while others are shown is then another
            // change.
            let newest: Arc<RunState> = Arc::clone(&state.borrow_and_update());
            news.show(display, &newest);
        }
        tokio::select! {
            _ = ticks.tick() => {
                display.checks(&running.now());
                is_news = false;
            }
            ended = &mut waiting => {
                if !told {
                    tell_of_stop(&shutdown, display);
                }
                let last: Arc<RunState> = Arc::clone(&state.borrow());
                news.show(display, &last);
                if let Some(requests) = &mut requests
                    && let Some(answered) = requests.current().await
                {
                    display.answered(&last.run_id, answered);
                }
                return Ok(Ended::ByItself(Box::new(ended)));
            }
            changed = state.changed(), if open => open = changed.is_ok(),
            answered = next_answer(&mut requests) => {
                match answered {
                    Some(answered) => {
                        // After the events that the request has led to.
                        let newest: Arc<RunState> = Arc::clone(&state.borrow_and_update());
                        news.show(display, &newest);
                        display.answered(&newest.run_id, answered);
                    }
                    None => {
                        requests = None;
                        closing.close();
                    }
                }
                is_news = false;
            }
            Ok(live) = live.recv() => {
                if let LiveItem::Retry(retry) = &live.item {
                    display.retry(retry);
                }
                is_news = false;
            }
            () = shutdown.reached(ShutdownLevel::Drain), if !told => {
                told = true;
                tell_of_stop(&shutdown, display);
            }
            () = shutdown.reached(ShutdownLevel::Kill) => {
                if !told {
                    tell_of_stop(&shutdown, display);
                }
                let ended = tokio::time::timeout(KILL_PATIENCE, &mut waiting).await;
                let code = || shutdown.asked_exit_code().unwrap_or(EXIT_INTERRUPTED);
                return Ok(match ended {
                    Ok(ended) => Ended::ByItself(Box::new(ended)),
                    Err(_) => Ended::Killed(code()),
                });
            }
            request = signals.next() => {
                if request.hung_up {
                    display.hang_up();
                }
                display.note(request.words);
                told = true;
                shutdown.ask(request.level, request.exit_code);
            }
        }
    }
}

/// Waits for the next answer to a request; `None` once there are no more. Never resolves without
/// requests.
async fn next_answer(requests: &mut Option<Requests>) -> Option<LineAnswer> {
    match requests {
        Some(requests) => requests.next().await,
        None => std::future::pending().await,
    }
}

/// Prints that another process requested the stop, if one did; a limit of the run is reported
/// elsewhere.
fn tell_of_stop(shutdown: &Shutdown, display: &mut Display) {
    if shutdown.asked_exit_code().is_some() {
        display.note("stopping, as `orchestrate stop` requested; recorded work is kept");
    }
}

/// The events that have not been shown.
struct News {
    store: Store,
    run: RunId,
    seen: u64,
}

impl News {
    /// Shows the events, and then a state that is no newer.
    fn show(&mut self, display: &mut Display, state: &RunState) {
        // Events that cannot be read now are read after the next change; at the run's end this is
        // an error.
        let _ = self.pass_on(display);
        display.state(state);
    }

    fn pass_on(&mut self, display: &mut Display) -> Result<(), CommandError> {
        loop {
            let facts = self.store.events(&self.run, self.seen, FACTS_AT_ONCE)?;
            let Some(last) = facts.last() else {
                return Ok(());
            };
            self.seen = last.seq;
            display.facts(&facts);
            if facts.len() < FACTS_AT_ONCE {
                return Ok(());
            }
        }
    }
}

impl Followed {
    /// Takes the plan that the run has made for its report, and shows what became of the document.
    pub(crate) fn take_plan(&mut self, made: &Made, directory: &Path) {
        if !self.style.quiet {
            output::note(made.comparison().trim_end());
        }
        if let Some(path) = &made.file {
            let shown = path.strip_prefix(directory).unwrap_or(path);
            self.report.plan_file = Some(shown.display().to_string());
        }
        self.report.answer = Some(made.rewritten.plan.clone());
        self.not_run_lines = made.not_run();
    }

    /// Returns its current state, with what was recorded since it ended.
    pub(crate) fn state(&self) -> Result<RunState, CommandError> {
        Ok(self.store.state(&self.report.run_id)?)
    }

    /// Prints the report in the requested format, and returns its exit code.
    pub(crate) fn print(self) -> Result<u8, CommandError> {
        let (report, state, branches) =
            (&self.report, &self.state()?, self.style.terminal.branches);
        let run = &state.run_id;
        let is_heard = self.is_heard.map_err(|error| {
            error.hint(format!(
                "`orchestrate status {run}` shows how the run ended"
            ))
        })?;
        let of_start = || RunReport {
            not_run_lines: self.not_run_lines.clone(),
            ..RunReport::from(report.clone())
        };
        let has_made_plan = state.settings.plan_file.is_some() && report.exit_code == Some(EXIT_OK);
        let render = |report: &Report| match has_made_plan {
            true => table::render_plan(report),
            false => table::render(report, branches),
        };
        match self.style.format {
            _ if !is_heard => {}
            // Standard output carries the plan only.
            Format::Text if state.settings.plan_file.as_deref() == Some(STANDARD_OUTPUT) => {
                let mut report = report.clone();
                if let Some(plan) = report.answer.take() {
                    output::result(&plan)?;
                }
                if !self.style.quiet {
                    output::note(render(&report).trim_end());
                }
            }
            Format::Text => {
                let named = Named::new(&self.store, run)?;
                let mut next = next::commands(named, run, &report.actions(state));
                if let Some(plan) = report.plan_file.as_ref().map(shell_word) {
                    next = vec![
                        format!("orchestrate check {plan}"),
                        format!("orchestrate run {plan}"),
                    ];
                }
                let (unread, next) = (table::unread(state.unread()), next::render(&next));
                output::result(&(render(report) + &unread + &next))?;
            }
            // Standard output has markers only.
            Format::Markers if !self.style.quiet => output::note(render(report).trim_end()),
            Format::Markers => {}
            Format::Json => {
                let output = Output::run(of_start());
                output::json(&Envelope::at(state.updated_ms, Some(run), output))?
            }
            Format::StreamJson => output::json(&last_line(of_start(), state, self.seq))?,
        }
        Ok(report.exit_code.unwrap_or(EXIT_OK))
    }
}

/// Returns the last line of a stream: the object that the JSON format prints alone, with the number
/// that every line of a stream has.
pub(crate) fn last_line(report: RunReport, state: &RunState, seq: u64) -> Envelope<Output> {
    let seq = Some(seq);
    let output = Output::run(RunReport { seq, ..report });
    Envelope::at(state.updated_ms, Some(&state.run_id), output)
}
