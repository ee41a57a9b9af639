//! The conditions under which a filter refuses a system call.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The rules of calls, by number. Any rule of a call refuses it; an empty list refuses it always.
pub(crate) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A comparison with an argument of a call.
pub(crate) type Condition = Result<SeccompCondition, seccompiler::BackendError>;

/// Compares the lower half of an argument, which is all that the kernel takes of an `int`.
pub(crate) fn compare(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Holds if the lower half of an argument is this value.
pub(crate) fn when(argument: u8, value: u64) -> Condition {
    compare(argument, SeccompCmpOp::Eq, value)
}

/// Holds if the lower half of an argument is another value.
pub(crate) fn when_not(argument: u8, value: u64) -> Condition {
    compare(argument, SeccompCmpOp::Ne, value)
}

/// Holds if an argument is a pointer that is not null.
pub(crate) fn when_pointer(argument: u8) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
}

/// Holds if an argument has a bit.
pub(crate) fn has_bit(argument: u8, bit: u64) -> Condition {
    compare(argument, SeccompCmpOp::MaskedEq(bit), bit)
}

/// Returns one condition for each flag, which holds if the argument has it.
pub(crate) fn bits(argument: u8, flags: impl IntoIterator<Item = u64>) -> Vec<Condition> {
    flags
        .into_iter()
        .map(|flag| has_bit(argument, flag))
        .collect()
}

/// Returns one condition for each value.
pub(crate) fn equal<const N: usize>(argument: u8, values: [u64; N]) -> [Condition; N] {
    values.map(|value| when(argument, value))
}

/// Returns a rule that refuses only if all of the conditions hold.
pub(crate) fn all(conditions: impl IntoIterator<Item = Condition>) -> Result<SeccompRule, String> {
    let conditions: Result<Vec<_>, _> = conditions.into_iter().collect();
    SeccompRule::new(conditions.map_err(text)?).map_err(text)
}

/// Returns one rule for each condition, so that any of them refuses.
pub(crate) fn any(
    conditions: impl IntoIterator<Item = Condition>,
) -> Result<Vec<SeccompRule>, String> {
    conditions
        .into_iter()
        .map(|condition| SeccompRule::new(vec![condition.map_err(text)?]).map_err(text))
        .collect()
}

/// Compiles rules of which each refuses with an error number.
pub(crate) fn program(rules: Rules, errno: i32) -> Result<BpfProgram, String> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(text)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)
        .and_then(BpfProgram::try_from)
        .map_err(text)
}

/// Describes why a filter could not be made.
pub(crate) fn text(cause: impl std::fmt::Display) -> String {
    format!("seccomp: {cause}")
}
