//! The line of `status` that says what the worktrees of a run occupy on the disk.

use std::cmp::Reverse;

use orchestrate_coordinator::WorktreeSize;

use crate::show::output::one_line;

/// How many of the largest worktrees are named; the others are only counted.
const MAX_NAMED: usize = 4;
/// The name of the worktrees that belong to no task.
const OWN: &str = "checks and setup";

/// Renders the sizes, the largest first; empty without worktrees.
pub(crate) fn render(sizes: &[WorktreeSize]) -> String {
    let total = sum(sizes.iter());
    let own = sum(sizes.iter().filter(|size| size.task.is_none()));
    if total == 0 {
        return String::new();
    }
    let of_tasks = sizes
        .iter()
        .filter_map(|size| Some((one_line(size.task.as_ref()?.as_str(), 32), size.bytes)));
    let mut named: Vec<(String, u64)> = of_tasks
        .chain((own > 0).then(|| (OWN.to_owned(), own)))
        .collect();
    named.sort_by_key(|(_, bytes)| Reverse(*bytes));
    let unnamed = named.len().saturating_sub(MAX_NAMED);
    let mut parts: Vec<String> = named
        .iter()
        .take(MAX_NAMED)
        .map(|(name, bytes)| format!("{name} {}", megabytes(*bytes)))
        .collect();
    if unnamed > 0 {
        parts.push(format!("{unnamed} more"));
    }
    format!(
        "worktrees: {} on the disk ({})\n",
        megabytes(total),
        parts.join(", ")
    )
}

fn sum<'s>(sizes: impl Iterator<Item = &'s WorktreeSize>) -> u64 {
    sizes.map(|size| size.bytes).sum()
}

/// Returns a size in megabytes, with one decimal where it matters.
fn megabytes(bytes: u64) -> String {
    match bytes.div_ceil(100_000) {
        tenths @ 0..100 => format!("{}.{} MB", tenths / 10, tenths % 10),
        tenths => format!("{} MB", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_named() {
        let size = |task: Option<&str>, bytes| WorktreeSize {
            task: task.map(Into::into),
            path: "x".into(),
            bytes,
        };
        let table: [(&[WorktreeSize], &str); 3] = [
            (&[], ""),
            (
                &[size(Some("T1"), 4_096)],
                "worktrees: 0.1 MB on the disk (T1 0.1 MB)\n",
            ),
            (
                &[
                    size(Some("T1"), 1_000_000),
                    size(Some("T2"), 300_000_000),
                    size(Some("T3"), 2_000_000),
                    size(Some("T4"), 3_000_000),
                    size(None, 40_000_000),
                    size(None, 10_000_000),
                ],
                "worktrees: 356 MB on the disk (T2 300 MB, checks and setup 50 MB, T4 3.0 MB, T3 \
                 2.0 MB, 1 more)\n",
            ),
        ];
        for (sizes, expected) in table {
            assert_eq!(render(sizes), expected);
        }
    }
}
