//! The resources of this machine.

use std::path::{Path, PathBuf};

/// The conventional location of the kernel's control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Returns how many bytes of memory this process and its descendants can have together: those of
/// the machine, or fewer if a control group limits them. Returns `None` if the kernel does not
/// report it.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    found(|path| std::fs::read_to_string(path).ok())
}

fn found(read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let machine = read(Path::new("/proc/meminfo"))?;
    let total = machine
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let mut most = total.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024;
    if let Some(own) = read(Path::new("/proc/self/cgroup")) {
        for path in own.lines().flat_map(limits) {
            // A group without a limit says `max`.
            if let Some(text) = read(&path)
                && let Ok(limit) = text.trim().parse()
            {
                most = most.min(limit);
            }
        }
    }
    Some(most)
}

/// Lists the files with the limits of the group in a line of `/proc/self/cgroup`, and of all groups
/// around it. A container sees its own group as the outermost.
fn limits(line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    let (root, file) = match controllers {
        "" => (PathBuf::from(GROUPS), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (Path::new(GROUPS).join("memory"), "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let around = Path::new(group.trim_start_matches('/')).ancestors();
    around.map(|group| root.join(group).join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_around_us_counts() {
        let with = |own: &str, files: &[(&str, &str)]| {
            found(|path| match path.to_str()? {
                "/proc/meminfo" => Some("MemTotal:  1000 kB\nMemFree: 1 kB\n".to_owned()),
                "/proc/self/cgroup" => Some(own.to_owned()),
                path => Some(files.iter().find(|(name, _)| *name == path)?.1.to_owned()),
            })
        };
        assert_eq!(with("", &[]), Some(1_024_000));
        let groups = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "5000\n"),
        ];
        assert_eq!(with("0::/a/b\n", &groups), Some(5000));
        assert_eq!(
            with("0::/\n", &[("/sys/fs/cgroup/memory.max", "7000\n")]),
            Some(7000)
        );
        let old = [("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "6000\n")];
        assert_eq!(with("5:cpu:/\n4:memory:/x\n", &old), Some(6000));
        assert_eq!(
            with(
                "4:memory:/\n",
                &[(
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n"
                )]
            ),
            Some(1_024_000)
        );
    }
}
