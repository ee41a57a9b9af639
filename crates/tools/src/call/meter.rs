//! Adds up what one call uses, on whichever thread and in whichever process.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::collections::Mutex;
use orchestrate_core::event::ResourceUsage;
use orchestrate_sandbox::Usage;
use rustix::time::{ClockId, clock_gettime};

/// The usage of one call. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Used>>);

/// What the call has used so far. The processor time is exact, so that many short steps add up.
#[derive(Debug, Default)]
struct Used {
    cpu: Duration,
    usage: ResourceUsage,
}

impl Meter {
    /// Adds bytes of files that the tool read.
    pub(crate) fn add_read(&self, bytes: u64) {
        let mut used = self.0.lock();
        used.usage.read_bytes = used.usage.read_bytes.saturating_add(bytes);
    }

    /// Adds bytes of the call's text that others may have chosen. To add none says that they were
    /// counted.
    pub(crate) fn add_outside(&self, bytes: u64) {
        let mut used = self.0.lock();
        used.usage.outside_bytes = Some(
            used.usage
                .outside_bytes
                .unwrap_or_default()
                .saturating_add(bytes),
        );
    }

    /// Takes back such bytes, which the call's text does not contain after all.
    pub(crate) fn take_back_outside(&self, bytes: u64) {
        let mut used = self.0.lock();
        used.usage.outside_bytes = used
            .usage
            .outside_bytes
            .map(|counted| counted.saturating_sub(bytes));
    }

    /// Adds what the processes of a command used; commands run one after the other.
    pub(crate) fn add_command(&self, of_command: &Usage) {
        self.add_used(of_command.cpu, &command_usage(of_command));
    }

    /// Adds what another tool used that answered for this one.
    pub(crate) fn add(&self, other: &Meter) {
        let (cpu, usage) = {
            let used = other.0.lock();
            (used.cpu, used.usage)
        };
        self.add_used(cpu, &usage);
        let mut used = self.0.lock();
        // What another tool has not counted is not known.
        used.usage.outside_bytes = match (used.usage.outside_bytes, usage.outside_bytes) {
            (Some(own), Some(of_other)) => Some(own.saturating_add(of_other)),
            (Some(own), None) if own > 0 => Some(own),
            _ => None,
        };
    }

    fn add_used(&self, cpu: Duration, other: &ResourceUsage) {
        let mut used = self.0.lock();
        used.cpu = used.cpu.saturating_add(cpu);
        let usage = &mut used.usage;
        usage.peak_memory_bytes = usage.peak_memory_bytes.max(other.peak_memory_bytes);
        usage.processes = usage.processes.max(other.processes);
        usage.read_bytes = usage.read_bytes.saturating_add(other.read_bytes);
        usage.written_bytes = usage.written_bytes.saturating_add(other.written_bytes);
    }

    /// Does some work, and adds the processor time that it takes on this thread.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = thread_time();
        let result = work();
        let taken = thread_time().saturating_sub(before);
        let mut used = self.0.lock();
        used.cpu = used.cpu.saturating_add(taken);
        result
    }

    /// Returns what the call used until now.
    pub(crate) fn usage(&self) -> ResourceUsage {
        let used = self.0.lock();
        ResourceUsage {
            cpu_ms: milliseconds(used.cpu),
            ..used.usage
        }
    }
}

/// Returns what a command used, in the form in which a call's usage is recorded.
pub fn command_usage(usage: &Usage) -> ResourceUsage {
    ResourceUsage {
        cpu_ms: milliseconds(usage.cpu),
        peak_memory_bytes: usage.peak_memory_bytes,
        processes: usage.peak_processes,
        read_bytes: usage.read_bytes,
        written_bytes: usage.written_bytes,
        ..ResourceUsage::default()
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the processor time that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    whole.saturating_add(Duration::from_nanos(
        u64::try_from(time.tv_nsec).unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_work_add_up() {
        let meter = Meter::default();
        let of_command = |millis: u64, peak, processes| Usage {
            cpu: Duration::from_micros(millis * 1000),
            peak_memory_bytes: peak,
            peak_processes: processes,
            read_bytes: 5,
            written_bytes: 7,
        };
        meter.add_command(&of_command(1_000_000, 30, 2));
        meter.add_command(&of_command(2_000_000, 20, 3));
        let shared = meter.clone();
        shared.add_read(100);
        let of_another = Meter::default();
        of_another.add(&meter);
        let usage = of_another.usage();
        let expected = ResourceUsage {
            cpu_ms: 3_000_000,
            peak_memory_bytes: 30,
            processes: 3,
            read_bytes: 110,
            written_bytes: 14,
            ..ResourceUsage::default()
        };
        assert_eq!(usage, expected);
    }

    #[test]
    fn what_others_may_have_chosen_is_known_only_if_each_tool_has_counted_it() {
        let counted = |bytes: u64| {
            let meter = Meter::default();
            meter.add_outside(bytes);
            meter
        };
        let table = [
            (counted(3), counted(4), Some(7)),
            (counted(3), Meter::default(), Some(3)),
            (counted(0), Meter::default(), None),
            (Meter::default(), counted(4), None),
            (Meter::default(), Meter::default(), None),
        ];
        for (own, other, expected) in table {
            own.add(&other);
            assert_eq!(own.usage().outside_bytes, expected);
        }
        let taken_back = counted(5);
        taken_back.take_back_outside(5);
        assert_eq!(taken_back.usage().outside_bytes, Some(0));
    }

    #[test]
    fn work_is_timed_by_what_it_computes() {
        let meter = Meter::default();
        let until = thread_time() + Duration::from_millis(20);
        let steps = meter.timed(|| {
            std::iter::repeat_with(thread_time)
                .take_while(|time| *time < until)
                .count()
        });
        assert!(steps > 0);
        assert!(meter.usage().cpu_ms >= 19, "{:?}", meter.usage());
    }
}
