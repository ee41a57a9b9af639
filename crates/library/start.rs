//! How a program that uses the library starts.

/// Runs the sandbox's helper and ends, if this process was started as one. It has to be the first
/// line of `main`, before any thread is started; [`macro@crate::main`] calls it.
pub fn init() {
    orchestrate_coordinator::run_helper_if_asked();
}

/// What [`macro@crate::main`] calls: [`init`], and then a future on a runtime of its own.
pub fn block_on<F: Future>(start: impl FnOnce() -> F) -> F::Output {
    init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(start()),
        Err(error) => {
            // As tokio's own attribute does: without a runtime there is no program.
            #[expect(clippy::panic, reason = "there is nobody to return an error to")]
            {
                panic!("failed to start the tokio runtime: {error}")
            }
        }
    }
}
