//! Combines the programs of many system calls into one filter, which finds a call by its number in
//! a few steps.
//!
//! The compiler of filters lists calls one after the other and knows one action for each program,
//! so it would take several programs. When a filter is installed, the kernel evaluates it for each
//! possible number and translates it to machine code, so a long list costs more than starting a
//! shell. Therefore each call is compiled alone, neighbours with the same rule are joined, and a
//! binary search is put before the programs. A compiled program returns on each of its paths, so it
//! can be placed anywhere.

use seccompiler::{BpfProgram, sock_filter};

/// Opcodes of instructions (linux/bpf_common.h).
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_NOT_LESS: u16 = 0x35;
pub(crate) const RETURN: u16 = 0x06;

/// The verdicts of a filter (linux/seccomp.h); an error number is added to `ERRNO`.
pub(crate) const ALLOW: u32 = 0x7fff_0000;
pub(crate) const ASK_LISTENER: u32 = 0x7fc0_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

/// The offsets of the number and the architecture in the input of a filter (linux/seccomp.h,
/// `struct seccomp_data`).
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// The bit of calls in x86-64's second, 32-bit-pointer numbering. No current program uses them, and
/// a rule for each of them would double every list.
const SECOND_NUMBERING: u32 = 0x4000_0000;

/// The rule for one system call.
pub(crate) struct Call {
    pub(crate) number: u32,
    /// The program that decides about the call; it returns on each path.
    pub(crate) program: BpfProgram,
}

/// Returns the verdict that refuses with an error number.
pub(crate) fn refusal(errno: i32) -> u32 {
    ERRNO | errno.cast_unsigned()
}

/// Returns the instruction that returns a verdict.
pub(crate) fn verdict(verdict: u32) -> sock_filter {
    instruction(RETURN, verdict, 0, 0)
}

/// Combines two programs: the second decides about what the first allows.
pub(crate) fn followed(mut first: BpfProgram, second: BpfProgram) -> Result<BpfProgram, String> {
    let length = first.len();
    for (at, step) in first.iter_mut().enumerate() {
        if step.code == RETURN && step.k == ALLOW {
            *step = instruction(JUMP, distance(length - at - 1)?, 0, 0);
        }
    }
    first.extend(second);
    Ok(first)
}

/// Combines the programs of calls, which must be sorted by number, into one filter. All other calls
/// are allowed.
pub(crate) fn filter(calls: Vec<Call>) -> Result<BpfProgram, String> {
    let mut filter = vec![
        instruction(LOAD, ARCHITECTURE_AT, 0, 0),
        instruction(JUMP_IF_EQUAL, architecture()?, 1, 0),
        verdict(KILL_PROCESS),
        instruction(LOAD, NUMBER_AT, 0, 0),
    ];
    if cfg!(target_arch = "x86_64") {
        filter.extend([
            instruction(JUMP_IF_NOT_LESS, SECOND_NUMBERING, 0, 1),
            verdict(refusal(libc::ENOSYS)),
        ]);
    }
    filter.extend(search(&ranges(calls))?);
    Ok(filter)
}

/// The rule for all numbers from `first` to the next range.
struct Range {
    first: u32,
    program: BpfProgram,
}

/// Divides all numbers into ranges with the same rule.
fn ranges(calls: Vec<Call>) -> Vec<Range> {
    let mut ranges = vec![Range::allowed_from(0)];
    for Call { number, program } in calls {
        // Replaces the range of allowed numbers that begins after the previous call.
        ranges.pop_if(|last| last.first == number);
        if ranges.last().is_none_or(|last| last.program != program) {
            ranges.push(Range {
                first: number,
                program,
            });
        }
        ranges.push(Range::allowed_from(number + 1));
    }
    ranges
}

impl Range {
    fn allowed_from(first: u32) -> Self {
        Self {
            first,
            program: vec![verdict(ALLOW)],
        }
    }
}

/// Returns a search for the range of the number that is loaded.
fn search(ranges: &[Range]) -> Result<BpfProgram, String> {
    let (before, after) = ranges.split_at(ranges.len() / 2);
    let Some(first) = after.first() else {
        return Ok(Vec::new());
    };
    if before.is_empty() {
        return Ok(first.program.clone());
    }
    let (lower, higher) = (search(before)?, search(after)?);
    let mut found = match u8::try_from(lower.len()) {
        Ok(over_lower) => vec![instruction(JUMP_IF_NOT_LESS, first.first, over_lower, 0)],
        // Only an unconditional jump reaches far enough.
        Err(_) => {
            vec![
                instruction(JUMP_IF_NOT_LESS, first.first, 0, 1),
                instruction(JUMP, distance(lower.len())?, 0, 0),
            ]
        }
    };
    found.extend(lower);
    found.extend(higher);
    Ok(found)
}

/// Returns over how many instructions an unconditional jump leads.
fn distance(instructions: usize) -> Result<u32, String> {
    u32::try_from(instructions).map_err(|_| "seccomp: the filter is too long".to_owned())
}

fn instruction(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Returns the kernel's number of this architecture (linux/audit.h), if filters can be compiled for
/// it.
fn architecture() -> Result<u32, String> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(0xc000_003e),
        "aarch64" => Ok(0xc000_00b7),
        "riscv64" => Ok(0xc000_00f3),
        other => Err(format!("seccomp: {other} is not supported")),
    }
}
