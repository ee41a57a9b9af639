//! The system calls that a job may not make.
//!
//! This is a list of refused calls, not of allowed ones: builds and tests of any language must run.
//! The refused calls reach other processes, rarely used and often broken corners of the kernel, or
//! (in the fallback tier, where no namespace prevents it) the network and the host's other
//! processes and file attributes. Refused calls fail with EPERM; those that libraries try and can
//! do without fail with ENOSYS.

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use libc::c_long;
use seccompiler::{BpfProgram, SeccompCmpOp, SeccompRule};

use crate::helper::calls::attributes::{FCHMODAT2, SETS_ATTRIBUTES, SETS_ATTRIBUTES_HERE};
use crate::helper::calls::handed_over;
use crate::helper::filter::by_pid;
use crate::helper::filter::conditions::{
    Condition, Rules, all, any, bits, compare, equal, has_bit, program, text, when, when_not,
    when_pointer,
};
use crate::helper::filter::filter_table::{self, ALLOW, ASK_LISTENER, Call, RETURN};
use crate::sys;
use crate::tier::Confinement;

/// The compiled filter of a tier.
pub(crate) struct Filter {
    program: BpfProgram,
    /// Whether it hands calls to the supervisor ([`crate::helper::calls::handed_over`]).
    asks: bool,
}

/// Refused in both tiers, besides those that [`crate::helper::filter::by_pid`] lists.
const REFUSED: &[c_long] = &[
    // Keys, programs in the kernel, tracing.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Files by number instead of by name.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Refused in the fallback tier if Landlock has no scopes, which no namespace makes up for there.
const NETWORK_CALLS: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Refused in the fallback tier, where namespaces do not make them harmless: shared memory,
/// semaphores and message queues of the host.
const REFUSED_IN_FALLBACK: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_unshare,
];

/// Newer than libc's table: quotactl_fd, setxattrat, removexattrat, open_tree_attr, file_setattr
/// (same numbers on every architecture).
const QUOTACTL_FD: c_long = 443;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

/// Reported as missing, so that libraries use calls that can be checked: clone3 hides its flags
/// behind a pointer, and io_uring makes calls that no filter sees.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Reported as missing in the fallback tier; programs then copy the other attributes of a file.
const ABSENT_IN_FALLBACK: &[c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// `CLONE_NEW*`: mount, cgroup, uts, ipc, user, pid, net, time (sched.h).
const NAMESPACES: [u64; 8] = [
    0x2_0000,
    0x200_0000,
    0x400_0000,
    0x800_0000,
    0x1000_0000,
    0x2000_0000,
    0x4000_0000,
    0x80,
];
/// The time namespace's flag shares its bit with clone's exit signal, so only unshare accepts it.
const TIME_NAMESPACE: u64 = 0x80;

/// `TIOCSTI` and `TIOCLINUX`, which type into a terminal (asm-generic/ioctls.h).
const TYPING: [u64; 2] = [0x5412, 0x541C];

/// The requests of `ioctl` that the fallback tier allows, besides those of terminals: they query a
/// file, or copy into one that is open for writing. All others are refused, because each file
/// system has some that change a file opened only for reading: flags, versions, keys, extents.
const KNOWN_REQUESTS: [u64; 12] = [
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x5452,      // FIOASYNC
    0x5460,      // FIOQSIZE
    0x2,         // FIGETBSZ
    0x8008_6601, // FS_IOC_GETFLAGS
    0x8008_7601, // FS_IOC_GETVERSION
    0x801c_581f, // FS_IOC_FSGETXATTR
    0xc020_660b, // FS_IOC_FIEMAP
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0x8004_5200, // RNDGETENTCNT
];
/// The first and the last request of terminals, including `FIONREAD` and `FIONBIO`
/// (asm-generic/ioctls.h).
const TERMINALS: [u64; 2] = [0x5401, 0x544f];

/// `F_SETLEASE` and `F_SET_RW_HINT` (linux/fcntl.h): the first delays other processes that open the
/// file, the second changes its inode; a read-only descriptor suffices for both.
const HOLDING_UP: [u64; 2] = [1024, 1036];
/// `F_SETOWN` and `F_SETOWN_EX`, which can direct a signal at any process.
const DIRECTING_SIGNALS: [u64; 2] = [8, 15];

/// The bit of a mode that makes a program run as its owner, whichever user starts it.
const SET_USER_ID: u64 = 0o4000;
/// Calls that set a mode, with the index of that argument.
const SETS_MODE: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const SETS_MODE_HERE: &[(c_long, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const SETS_MODE_HERE: &[(c_long, u8)] = &[];
/// Calls that may create a file, with the indices of their flags and of the mode.
///
/// `openat2` is not among them: it has both behind a pointer, where no filter sees them. It is not
/// reported as missing either, since this program resolves paths by it alone, and jobs run and test
/// this program, too. What a job gains is a file below its writable roots, which are the run's own
/// folders: no job gets new privileges by it, and the bit is not stored with an agent's work.
const MAKES_WITH_MODE: &[(c_long, u8, u8)] = &[(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const MAKES_WITH_MODE_HERE: &[(c_long, u8, u8)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const MAKES_WITH_MODE_HERE: &[(c_long, u8, u8)] = &[];
/// The flags with which a file is created, with a name or without one (asm-generic/fcntl.h).
const MAKES_FILE: [u64; 2] = [0o100, 0o20_000_000];

/// Calls that open files, with the index of their flags.
const OPENS: &[(c_long, u8)] = &[(libc::SYS_openat, 2)];
#[cfg(target_arch = "x86_64")]
const OPENS_HERE: &[(c_long, u8)] = &[(libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS_HERE: &[(c_long, u8)] = &[];
/// The flags by which C libraries open shared memory, with those of them that are set: to create a
/// file, and not to follow a link to one. Folders, which are opened so much more often, are left
/// out.
const OPENS_SHARED_MEMORY: [(u64, u64); 2] = [
    (libc::O_CREAT as u64, libc::O_CREAT as u64),
    (
        (libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_PATH) as u64,
        libc::O_NOFOLLOW as u64,
    ),
];
#[cfg(target_arch = "x86_64")]
const LINKS_HERE: &[c_long] = &[libc::SYS_link, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const LINKS_HERE: &[c_long] = &[];

/// `MSG_FASTOPEN` (linux/socket.h), which sends the first bytes of a connection to an address.
const FAST_OPEN: u64 = 0x2000_0000;
/// The protocol of a socket that may be named besides the default.
const TCP: u64 = 6;
/// The levels and options that lead packets over other machines: `IP_OPTIONS`, and of IPv6
/// `IPV6_2292RTHDR`, `IPV6_2292PKTOPTIONS` and `IPV6_RTHDR` (linux/in.h, linux/in6.h).
const ROUTES: [(u64, u64); 4] = [(0, 4), (41, 5), (41, 6), (41, 57)];

/// The bit of a socket's type that distinguishes `SOCK_SEQPACKET` from `SOCK_STREAM` (linux/net.h).
const MESSAGES: u64 = 4;

/// Returns the filter of the tier that this process is a helper in, and of no other one. Copies of
/// the process have it without compiling it again. `scoped` is whether Landlock keeps signals and
/// abstract sockets inside.
pub(crate) fn of_process(
    confinement: Confinement,
    scoped: bool,
) -> Result<&'static Filter, String> {
    static COMPILED: OnceLock<Filter> = OnceLock::new();
    if let Some(filter) = COMPILED.get() {
        return Ok(filter);
    }
    let filter = compile(confinement, scoped)?;
    Ok(COMPILED.get_or_init(|| filter))
}

/// Compiles the filter of a tier. `scoped` is whether Landlock keeps signals and abstract sockets
/// inside.
fn compile(confinement: Confinement, scoped: bool) -> Result<Filter, String> {
    let rules = RulesOfTier::for_tier(confinement, scoped)?;
    Ok(Filter {
        program: filter_table::filter(rules.calls()?)?,
        asks: confinement == Confinement::Fallback,
    })
}

/// The rules of a tier for system calls. If a call is in several, the strictest applies.
struct RulesOfTier {
    /// Refused with EPERM if one of the call's rules matches, or if it has none.
    refused: Rules,
    /// Refused with ENOSYS.
    absent: BTreeSet<c_long>,
    /// Handed to the supervisor if one of the call's rules matches, or if it has none; otherwise
    /// allowed.
    asked: Rules,
}

impl RulesOfTier {
    fn for_tier(confinement: Confinement, scoped: bool) -> Result<Self, String> {
        let mut refused: Rules = [REFUSED, REFUSED_HERE, &[QUOTACTL_FD, OPEN_TREE_ATTR]]
            .concat()
            .into_iter()
            .map(always)
            .collect();
        refused.extend(by_pid::refused(confinement, scoped)?);
        refused.insert(libc::SYS_ioctl, any(equal(1, TYPING))?);
        refused.insert(libc::SYS_fcntl, any(equal(1, HOLDING_UP))?);
        refused.extend(lends_identity()?);
        refused.insert(
            libc::SYS_clone,
            any(bits(
                0,
                NAMESPACES
                    .into_iter()
                    .filter(|flag| *flag != TIME_NAMESPACE),
            ))?,
        );
        let mut absent: BTreeSet<c_long> = ABSENT.iter().copied().collect();
        let mut asked = Rules::new();
        match confinement {
            Confinement::Fallback => {
                refuse_in_fallback(&mut refused, scoped)?;
                absent.extend(ABSENT_IN_FALLBACK);
                asked.extend(asked_in_fallback(scoped)?);
            }
            _ => {
                refused.insert(libc::SYS_unshare, any(bits(0, NAMESPACES))?);
                refused.insert(libc::SYS_socket, other_families()?);
            }
        }
        Ok(Self {
            refused,
            absent,
            asked,
        })
    }

    fn calls(&self) -> Result<Vec<Call>, String> {
        let numbers: BTreeSet<c_long> = self
            .refused
            .keys()
            .chain(&self.absent)
            .chain(self.asked.keys())
            .copied()
            .collect();
        let mut calls = Vec::new();
        for number in numbers {
            calls.push(Call {
                number: u32::try_from(number).map_err(text)?,
                program: self.program(number)?,
            });
        }
        Ok(calls)
    }

    fn program(&self, number: c_long) -> Result<BpfProgram, String> {
        let otherwise = self.unless_refused(number)?;
        let refusal = filter_table::refusal(libc::EPERM);
        match self.refused.get(&number).map(Vec::as_slice) {
            None => Ok(otherwise),
            Some([]) => Ok(vec![filter_table::verdict(refusal)]),
            Some(rules) => filter_table::followed(conditional(number, rules, refusal)?, otherwise),
        }
    }

    /// Returns the program for a call that no rule refuses.
    fn unless_refused(&self, number: c_long) -> Result<BpfProgram, String> {
        if self.absent.contains(&number) {
            return Ok(vec![filter_table::verdict(filter_table::refusal(
                libc::ENOSYS,
            ))]);
        }
        match self.asked.get(&number).map(Vec::as_slice) {
            None => Ok(vec![filter_table::verdict(ALLOW)]),
            Some([]) => Ok(vec![filter_table::verdict(ASK_LISTENER)]),
            Some(rules) => conditional(number, rules, ASK_LISTENER),
        }
    }
}

/// Compiles a program that returns a verdict if one of the rules matches, and allows the call if
/// not.
fn conditional(number: c_long, rules: &[SeccompRule], verdict: u32) -> Result<BpfProgram, String> {
    let mut program = program([(number, rules.to_vec())].into(), libc::EPERM)?;
    // The compiler knows no action that asks a listener, so its refusing verdicts are replaced.
    for instruction in &mut program {
        if instruction.code == RETURN && instruction.k == filter_table::refusal(libc::EPERM) {
            instruction.k = verdict;
        }
    }
    Ok(program)
}

/// Returns the calls that the supervisor carries out: see [`crate::helper::calls::handed_over`].
fn asked_in_fallback(scoped: bool) -> Result<Rules, String> {
    let mut asked: Rules = [SETS_ATTRIBUTES, SETS_ATTRIBUTES_HERE]
        .concat()
        .into_iter()
        .map(always)
        .collect();
    let here = u64::from(libc::AT_FDCWD.cast_unsigned());
    for (call, flags) in OPENS.iter().chain(OPENS_HERE) {
        let [creates, by_name] =
            OPENS_SHARED_MEMORY.map(|(of, are)| compare(*flags, SeccompCmpOp::MaskedEq(of), are));
        asked.insert(*call, any([creates, by_name])?);
    }
    // Whole folders are removed by descriptors, one file after the other.
    asked.insert(libc::SYS_unlinkat, vec![all([when(0, here), when(2, 0)])?]);
    asked.insert(libc::SYS_linkat, any([when(0, here)])?);
    asked.extend(LINKS_HERE.iter().copied().map(always));
    if scoped {
        asked.extend([libc::SYS_bind, libc::SYS_connect, libc::SYS_listen].map(always));
    }
    Ok(asked)
}

fn refuse_in_fallback(refused: &mut Rules, signals_scoped: bool) -> Result<(), String> {
    refused.extend(REFUSED_IN_FALLBACK.iter().copied().map(always));
    refuse_network(refused, signals_scoped)?;
    refused
        .entry(libc::SYS_ioctl)
        .or_default()
        .extend(unknown_requests()?);
    refused.insert(libc::SYS_socketpair, unconnectable_pairs()?);
    if !signals_scoped {
        refused
            .entry(libc::SYS_fcntl)
            .or_default()
            .extend(any(equal(1, DIRECTING_SIGNALS))?);
    }
    Ok(())
}

/// Refuses the network in the fallback tier, except what the supervisor judges
/// ([`crate::helper::calls::sockets`]).
fn refuse_network(refused: &mut Rules, scoped: bool) -> Result<(), String> {
    // A datagram may name its destination, and so may the first bytes of a connection.
    refused.insert(libc::SYS_sendto, any([when_pointer(4)])?);
    if !scoped {
        refused.extend(NETWORK_CALLS.iter().copied().map(always));
        return Ok(());
    }
    refused.insert(libc::SYS_socket, other_sockets()?);
    refused.insert(libc::SYS_sendmsg, any(bits(2, [FAST_OPEN]))?);
    refused.insert(libc::SYS_sendmmsg, any(bits(3, [FAST_OPEN]))?);
    let mut routes = Vec::new();
    for (level, option) in ROUTES {
        routes.push(all([when(1, level), when(2, option)])?);
    }
    refused.insert(libc::SYS_setsockopt, routes);
    Ok(())
}

/// Returns rules that refuse all sockets but those of TCP and local ones with connections.
fn other_sockets() -> Result<Vec<SeccompRule>, String> {
    let local = libc::AF_UNIX.cast_unsigned().into();
    let mut refused = other_families()?;
    refused.extend(any(without_connection())?);
    // Only local sockets keep the limits of messages.
    refused.push(all([when_not(0, local), has_bit(1, MESSAGES)])?);
    refused.push(all([when_not(0, local), when_not(2, 0), when_not(2, TCP)])?);
    Ok(refused)
}

/// Returns conditions of which one holds for each type of a socket but `SOCK_STREAM` (1) and
/// `SOCK_SEQPACKET` (5), which have connections.
fn without_connection() -> [Condition; 3] {
    [(1, 0), (2, 2), (8, 8)].map(|(bit, is)| compare(1, SeccompCmpOp::MaskedEq(bit), is))
}

/// Returns rules that refuse socket pairs, except those of stream and seqpacket sockets, which are
/// like pipes. Others could be directed to a socket of the host by its name.
fn unconnectable_pairs() -> Result<Vec<SeccompRule>, String> {
    let local = libc::AF_UNIX.cast_unsigned().into();
    any([when_not(0, local)].into_iter().chain(without_connection()))
}

/// Returns rules that refuse all requests but the known ones and those of terminals.
fn unknown_requests() -> Result<Vec<SeccompRule>, String> {
    let [first, last] = TERMINALS;
    let mut refused = Vec::new();
    for (side, bound) in [(SeccompCmpOp::Lt, first), (SeccompCmpOp::Gt, last)] {
        let mut conditions = vec![compare(1, side, bound)];
        conditions.extend(KNOWN_REQUESTS.map(|request| when_not(1, request)));
        refused.push(all(conditions)?);
    }
    Ok(refused)
}

/// Returns rules that refuse to create a program that runs as its owner, who is root if root runs
/// jobs. In the fallback tier, the supervisor also checks the calls that set the mode of an
/// existing file.
fn lends_identity() -> Result<Rules, String> {
    let mut rules = Rules::new();
    for (call, mode) in SETS_MODE.iter().chain(SETS_MODE_HERE) {
        rules.insert(*call, any([has_bit(*mode, SET_USER_ID)])?);
    }
    for (call, flags, mode) in MAKES_WITH_MODE.iter().chain(MAKES_WITH_MODE_HERE) {
        let mut refused = Vec::new();
        for bit in MAKES_FILE {
            refused.push(all([has_bit(*flags, bit), has_bit(*mode, SET_USER_ID)])?);
        }
        rules.insert(*call, refused);
    }
    Ok(rules)
}

/// Returns rules that refuse all families of sockets but IPv4, IPv6 and local ones.
fn other_families() -> Result<Vec<SeccompRule>, String> {
    let known = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX]
        .map(|family| u64::from(family.cast_unsigned()));
    let last = u64::from(libc::AF_INET6.cast_unsigned());
    let mut refused = vec![compare(0, SeccompCmpOp::Gt, last)];
    for family in 0..last {
        if !known.contains(&family) {
            refused.push(when(0, family));
        }
    }
    any(refused)
}

fn always(call: c_long) -> (i64, Vec<SeccompRule>) {
    (call, Vec::new())
}

impl Filter {
    /// Restricts the calling thread and everything that it starts, permanently.
    pub(crate) fn apply(&self, supervisor: &UnixStream) -> Result<(), String> {
        if !self.asks {
            return seccompiler::apply_filter(&self.program).map_err(text);
        }
        let listener = sys::install_listening_filter(&self.program).map_err(text)?;
        handed_over::hand_over(&listener, supervisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the kernel's filter machine returns for a call (linux/bpf_common.h); supports
    /// the instructions that filters consist of.
    fn returned(program: &BpfProgram, number: u32, arguments: [u64; 6]) -> u32 {
        let mut words = vec![number, program[1].k, 0, 0];
        words.extend(
            arguments
                .iter()
                .flat_map(|argument| [*argument as u32, (*argument >> 32) as u32]),
        );
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                0x20 => loaded = words[step.k as usize / 4],
                0x54 => loaded &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(loaded == step.k),
                0x25 => at += jump(loaded > step.k),
                0x35 => at += jump(loaded >= step.k),
                0x45 => at += jump(loaded & step.k != 0),
                RETURN => return step.k,
                other => panic!("no instruction {other:#x}"),
            }
        }
    }

    /// Returns arguments around all values that rules check.
    fn arguments() -> Vec<u64> {
        let near = |value: u64| [value.wrapping_sub(1), value, value + 1, value | 1 << 32];
        let asked = [
            0,
            2,
            8,
            15,
            40,
            0o4000,
            0o4755,
            0o100,
            1024,
            1036,
            0x4_0000,
            0x1000_0000,
            0x80,
            0x5401,
            0x5412,
        ];
        let more = [0x541c, 0x544f, 0x8008_6601, 0x4008_6602, 0o20_200_000];
        asked.into_iter().chain(more).flat_map(near).collect()
    }

    #[test]
    fn one_filter_says_what_one_for_each_list_would() {
        let (full, fallback) = (Confinement::Full, Confinement::Fallback);
        for (confinement, scoped) in [
            (full, true),
            (full, false),
            (fallback, true),
            (fallback, false),
        ] {
            let rules = RulesOfTier::for_tier(confinement, scoped).unwrap();
            let listed = |calls: &BTreeSet<c_long>| {
                program(calls.iter().copied().map(always).collect(), 1).unwrap()
            };
            let refused = program(rules.refused.clone(), libc::EPERM).unwrap();
            let absent = listed(&rules.absent);
            let asked = program(rules.asked.clone(), libc::EPERM).unwrap();
            let filter = compile(confinement, scoped).unwrap().program;
            let mut verdicts = BTreeSet::new();
            for number in 0..600 {
                let judged = rules
                    .refused
                    .get(&number.into())
                    .is_some_and(|rules| !rules.is_empty());
                let arguments = if judged { arguments() } else { vec![0] };
                for (first, second) in arguments
                    .into_iter()
                    .flat_map(|one| [(one, 0), (0, one), (one, one)])
                {
                    let given = [first, second, second, first, first, second];
                    let says = |program| returned(program, number, given) != ALLOW;
                    let expected = match () {
                        () if says(&refused) => filter_table::refusal(libc::EPERM),
                        () if says(&absent) => filter_table::refusal(libc::ENOSYS),
                        () if says(&asked) => ASK_LISTENER,
                        () => ALLOW,
                    };
                    assert_eq!(
                        returned(&filter, number, given),
                        expected,
                        "{confinement:?} {number} {given:x?}"
                    );
                    verdicts.insert(expected);
                }
            }
            assert_eq!(
                verdicts.len(),
                if confinement == Confinement::Fallback {
                    4
                } else {
                    3
                }
            );
        }
    }

    /// Whatever the table of calls by a process says, the supervisor is out of reach, and the
    /// caller is not.
    #[test]
    fn no_call_of_the_table_changes_or_stops_the_supervisor() {
        let (full, fallback) = (Confinement::Full, Confinement::Fallback);
        let mut seen = BTreeSet::new();
        for entry in by_pid::TABLE {
            assert!(
                seen.insert(entry.call) && !entry.why.is_empty(),
                "{} is listed twice, or without reason",
                entry.call
            );
            for (tier, scoped) in [
                (full, true),
                (full, false),
                (fallback, true),
                (fallback, false),
            ] {
                let filter = compile(tier, scoped).unwrap().program;
                let number = u32::try_from(entry.call).unwrap();
                let allows = |first: u64, second: u64| {
                    returned(&filter, number, [first, second, second, 0, 0, 0]) == ALLOW
                };
                let foreign = if tier == full { by_pid::FIRST } else { 4_321 };
                let expected_of_others = match entry.may {
                    by_pid::Use::Never => false,
                    by_pid::Use::NeverWith(value) => {
                        assert!(!allows(value, 0) && allows(value + 1, 0), "{}", entry.call);
                        continue;
                    }
                    by_pid::Use::Changes { .. } => {
                        assert!(allows(0, 0), "{} of the caller", entry.call);
                        // A library of threads names them.
                        assert_eq!(allows(4_321, 0), tier == full, "{} of a thread", entry.call);
                        false
                    }
                    by_pid::Use::ChangesKind { of_user } => {
                        assert!(allows(0, 0) && !allows(of_user, 0), "{}", entry.call);
                        assert!(!allows(0, foreign) && !allows(1, foreign), "{}", entry.call);
                        continue;
                    }
                    by_pid::Use::Signals { own_group } => {
                        assert_eq!(
                            allows(0, 9),
                            own_group || scoped || tier == full,
                            "{}",
                            entry.call
                        );
                        scoped || tier == full
                    }
                    by_pid::Use::Harmless => true,
                };
                assert_eq!(
                    allows(foreign, foreign),
                    expected_of_others,
                    "{} {tier:?} {scoped}",
                    entry.call
                );
            }
        }
    }

    #[test]
    fn calls_are_found_in_few_steps_and_by_no_second_number() {
        let filter = compile(Confinement::Fallback, true).unwrap().program;
        assert!(filter.len() < 1_000, "{}", filter.len());
        if cfg!(target_arch = "x86_64") {
            let number = u32::try_from(libc::SYS_getpid).unwrap() | 0x4000_0000;
            assert_eq!(
                returned(&filter, number, [0; 6]),
                filter_table::refusal(libc::ENOSYS)
            );
        }
    }

    /// In the fallback tier, no namespace hides the sockets of the host, and Landlock those with a
    /// name only.
    #[test]
    fn no_datagram_can_name_a_socket_of_the_host() {
        let number = |call: c_long| u32::try_from(call).unwrap();
        let of = |family: i32, kind: i32, protocol: u64| {
            [
                u64::from(family.cast_unsigned()),
                u64::from(kind.cast_unsigned()),
                protocol,
                0,
                0,
                0,
            ]
        };
        let refused = filter_table::refusal(libc::EPERM);
        for scoped in [true, false] {
            let filter = compile(Confinement::Fallback, scoped).unwrap().program;
            let says = |call, arguments| returned(&filter, number(call), arguments);
            for datagram in [
                libc::SOCK_DGRAM,
                libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
                libc::SOCK_RAW,
            ] {
                for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] {
                    assert_eq!(
                        says(libc::SYS_socket, of(family, datagram, 0)),
                        refused,
                        "{family} {datagram}"
                    );
                }
                assert_eq!(
                    says(libc::SYS_socketpair, of(libc::AF_UNIX, datagram, 0)),
                    refused,
                    "{datagram}"
                );
            }
            // The control: connections are allowed, where the supervisor sees where they lead.
            assert_eq!(
                says(
                    libc::SYS_socketpair,
                    of(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)
                ),
                ALLOW
            );
            for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] {
                let stream = says(
                    libc::SYS_socket,
                    of(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0),
                );
                assert_eq!(stream == ALLOW, scoped, "{family}");
            }
            for call in [libc::SYS_bind, libc::SYS_connect, libc::SYS_listen] {
                assert_eq!(
                    says(call, [3, 0, 0, 0, 0, 0]),
                    if scoped { ASK_LISTENER } else { refused }
                );
            }
            let mptcp = 262;
            assert_eq!(
                says(
                    libc::SYS_socket,
                    of(libc::AF_INET, libc::SOCK_STREAM, mptcp)
                ),
                refused
            );
            assert_eq!(
                says(libc::SYS_sendmsg, [3, 0, FAST_OPEN, 0, 0, 0]) == refused,
                scoped
            );
        }
    }
}
