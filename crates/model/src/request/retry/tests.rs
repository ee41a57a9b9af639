use std::sync::Mutex;

use orchestrate_core::agent::conversation::Origin;
use orchestrate_core::{StopReason, TaskId, Usage};
use tokio::time::Instant;

use super::*;

const PATIENCE: Duration = Duration::from_secs(1800);

/// Fails with the given errors, then answers; records the times of the requests.
struct Failing {
    errors: Mutex<Vec<ModelError>>,
    asked: Mutex<Vec<Instant>>,
}

#[async_trait]
impl Model for Failing {
    async fn complete(
        &self,
        _request: &ModelRequest,
        _on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        self.asked.lock().unwrap().push(Instant::now());
        match self.errors.lock().unwrap().pop() {
            Some(error) => Err(error),
            None => Ok(reply()),
        }
    }
}

fn reply() -> ModelReply {
    ModelReply {
        text: "done".to_owned(),
        tool_calls: Vec::new(),
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        raw: None,
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "openai/m".to_owned(),
        system: String::new(),
        tools: [].into(),
        messages: Vec::new(),
        max_output_tokens: 1,
        origin: Origin {
            task: TaskId::new("T1"),
            turn: 1,
            returned: None,
        },
        answers: None,
    }
}

fn unavailable(status: u16, retry_after: Option<Duration>) -> ModelError {
    ModelError::Unavailable {
        model: "openai/m".to_owned(),
        endpoint: "http://h/v1".to_owned(),
        status,
        retry_after,
        message: "busy".to_owned(),
    }
}

fn truncated() -> ModelError {
    ModelError::Truncated {
        model: "openai/m".into(),
        endpoint: "http://h/v1".into(),
        problem: "cut".into(),
    }
}

fn rejected() -> ModelError {
    ModelError::Rejected {
        model: "openai/m".into(),
        endpoint: "http://h/v1".into(),
        status: 400,
        message: "no".into(),
    }
}

fn unreachable() -> ModelError {
    ModelError::Unreachable {
        model: "openai/m".to_owned(),
        endpoint: "http://h/v1".to_owned(),
        variable: "OPENAI_BASE_URL".to_owned(),
        cause: "connection refused".to_owned(),
    }
}

fn unauthorized() -> ModelError {
    ModelError::Unauthorized {
        model: "openai/m".to_owned(),
        endpoint: "http://h/v1".to_owned(),
        status: 401,
        key: "OPENAI_API_KEY".to_owned(),
        message: "no such key".to_owned(),
    }
}

fn patient(errors: Vec<ModelError>, account: &Arc<Account>) -> Retrying<Failing> {
    let errors = Mutex::new(errors.into_iter().rev().collect());
    Retrying::new(
        Failing {
            errors,
            asked: Mutex::default(),
        },
        Arc::default(),
        Arc::clone(account),
        PATIENCE,
    )
}

/// Returns the waits between attempts in milliseconds, and the final result.
fn run(errors: Vec<ModelError>) -> (Vec<u128>, Result<ModelReply, ModelError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let model = patient(errors, &Arc::default());
        let mut told = Vec::new();
        let result = model
            .complete(&request(), &mut |delta| match delta {
                Delta::Retry { attempt, .. } => told.push(attempt),
                _ => panic!(),
            })
            .await;
        let asked = model.inner.asked.lock().unwrap();
        let waits: Vec<u128> = asked
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis())
            .collect();
        assert_eq!(
            told,
            (1..=u32::try_from(waits.len()).unwrap()).collect::<Vec<_>>()
        );
        (waits, result)
    })
}

#[test]
fn the_providers_word_is_kept_up_to_a_limit() {
    let asked = [
        Some(Duration::ZERO),
        Some(Duration::from_secs(7)),
        Some(Duration::from_secs(3600)),
    ];
    let (waits, result) = run(asked.map(|after| unavailable(429, after)).into());
    assert_eq!(waits, [0, 7_000, 300_000]);
    assert_eq!(result.unwrap(), reply());
    // The control: where the provider says nothing, the same refusal is followed by a wait of our
    // own.
    let (waits, result) = run(vec![unavailable(429, None)]);
    assert!(matches!(waits.as_slice(), [500..=1_001]), "{waits:?}");
    assert_eq!(result.unwrap(), reply());
}

#[test]
fn own_waits_grow_with_chance_in_them_and_end_with_the_patience() {
    for (error, many) in [
        (unavailable as fn(u16, Option<Duration>) -> ModelError, 200),
        (|_, _| unreachable(), 200),
    ] {
        let (mut waits, result) = run((0..many).map(|_| error(503, None)).collect());
        assert_eq!(waits.iter().sum::<u128>(), PATIENCE.as_millis());
        waits.pop();
        for (at, wait) in waits.into_iter().enumerate() {
            let least = (500 << at.min(6)).min(32_000);
            assert!(
                (least..=2 * least + 1).contains(&wait),
                "wait {at} is {wait}"
            );
        }
        assert!(result.unwrap_err().is_outage());
    }
}

#[test]
fn an_outage_of_any_length_within_the_patience_costs_nothing_but_time() {
    // Of 12 seconds, and of five minutes.
    for attempts in [5, 14] {
        let (waits, result) = run((0..attempts).map(|_| unreachable()).collect());
        assert_eq!((waits.len(), result.unwrap()), (attempts, reply()));
    }
}

#[test]
fn an_outage_after_an_answer_is_waited_for_from_its_own_beginning() {
    // Two outages of 25 minutes, with a reply between them that breaks.
    let outage = || (0..5).map(|_| unavailable(503, Some(Duration::from_secs(300))));
    let (waits, result) = run(outage().chain([truncated()]).chain(outage()).collect());
    assert!(waits.iter().sum::<u128>() > PATIENCE.as_millis());
    assert_eq!((waits.len(), result.unwrap()), (11, reply()));
}

#[test]
fn an_account_that_is_rejected_is_not_asked_again_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let account: Arc<Account> = Arc::default();
        let first = patient(vec![unauthorized()], &account);
        let second = patient(Vec::new(), &account);
        let said = first.complete(&request(), &mut |_| {}).await.unwrap_err();
        let other = second.complete(&request(), &mut |_| {}).await.unwrap_err();
        assert!(
            said.blames_endpoint() && said.to_string().contains("OPENAI_API_KEY"),
            "{said}"
        );
        assert_eq!(
            (said.to_string(), second.inner.asked.lock().unwrap().len()),
            (other.to_string(), 0)
        );
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(
            second.complete(&request(), &mut |_| {}).await.unwrap(),
            reply()
        );
    });
}

#[test]
fn what_breaks_is_asked_a_few_times_and_what_is_refused_never() {
    let (waits, result) = run((0..20).map(|_| truncated()).collect());
    assert_eq!(waits.len(), BROKEN_RETRIES as usize);
    assert!(matches!(result, Err(ModelError::Truncated { .. })));
    // The control: after as many replies that break, a whole one is the answer.
    let (waits, result) = run((0..BROKEN_RETRIES).map(|_| truncated()).collect());
    assert_eq!(
        (waits.len(), result.unwrap()),
        (BROKEN_RETRIES as usize, reply())
    );
    let (waits, result) = run(vec![rejected()]);
    assert_eq!(waits, [0_u128; 0]);
    assert!(matches!(result, Err(ModelError::Rejected { .. })));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test joins the task")]
fn a_limit_of_one_agent_pauses_all() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let gate: Arc<RateGate> = Arc::default();
        let start = Instant::now();
        let errors = Mutex::new(vec![unavailable(429, Some(Duration::from_secs(5)))]);
        let limited = Failing {
            errors,
            asked: Mutex::default(),
        };
        let limited = Retrying::new(limited, Arc::clone(&gate), Arc::default(), PATIENCE);
        let other = Failing {
            errors: Mutex::default(),
            asked: Mutex::default(),
        };
        let other = Retrying::new(other, gate, Arc::default(), PATIENCE);
        let first =
            tokio::spawn(
                async move { limited.complete(&request(), &mut |_| {}).await.map(|_| ()) },
            );
        tokio::task::yield_now().await;
        other.complete(&request(), &mut |_| {}).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(5));
        first.await.unwrap().unwrap();
    });
}
