use std::os::unix::fs::MetadataExt as _;

use orchestrate_core::policy::cache::CacheKey;

use super::*;
use crate::entry::Stream;
use crate::folder::{ABANDONED, UNFINISHED};

fn identity(key: &str) -> Identity {
    Identity {
        key: CacheKey::given(key),
        commit: "1a2b3c4".to_owned(),
        agent: "a".to_owned(),
    }
}

fn store(cache: &Cache, key: &str, text: &[u8]) -> bool {
    let mut recording = cache.record(&identity(key)).unwrap();
    recording.add(Stream::Output, text);
    recording.add(Stream::Errors, b"said\n");
    recording.keep().unwrap()
}

/// Returns the pieces of a result, if it is found.
fn found(cache: &Cache, identity: &Identity) -> Option<Vec<(Stream, Vec<u8>)>> {
    let Lookup::Hit(mut entry) = cache.look_up(identity).unwrap() else {
        return None;
    };
    let (mut pieces, mut piece) = (Vec::new(), Vec::new());
    while let Some(stream) = entry.next(&mut piece).unwrap() {
        pieces.push((stream, piece.clone()));
    }
    Some(pieces)
}

#[test]
fn what_was_stored_is_found_by_key_commit_and_agent() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    assert_eq!(found(&cache, &identity("k")), None);
    assert!(store(&cache, "k", b"\0one\n"));
    let expected = vec![
        (Stream::Output, b"\0one\n".to_vec()),
        (Stream::Errors, b"said\n".to_vec()),
    ];
    assert_eq!(found(&cache, &identity("k")), Some(expected));
    for other in [
        identity("l"),
        Identity {
            commit: "other".to_owned(),
            ..identity("k")
        },
        Identity {
            agent: "b".to_owned(),
            ..identity("k")
        },
    ] {
        assert_eq!(found(&cache, &other), None, "{other:?}");
    }
    let statistics = cache.statistics().unwrap();
    assert_eq!(
        (statistics.entries, statistics.hits, statistics.misses),
        (1, 1, 4)
    );
    assert_eq!(cache.clear().unwrap().entries, 1);
    let left = cache.statistics().unwrap();
    assert_eq!(
        left,
        Statistics {
            limit_bytes: LIMIT_BYTES,
            ..Statistics::default()
        }
    );
}

#[test]
fn only_its_owner_can_read_a_result() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    store(&cache, "k", b"secret");
    assert_eq!(
        cache.folder.path().metadata().unwrap().mode() & 0o777,
        0o700
    );
    for file in std::fs::read_dir(cache.folder.path()).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_damaged_entry_is_removed_and_said() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    let whole = {
        store(&cache, "k", b"one");
        std::fs::read(cache.folder.place(&identity("k"))).unwrap()
    };
    let damages = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    });
    let cuts = (0..whole.len()).map(|length| whole[..length].to_vec());
    for bytes in damages.chain(cuts) {
        let place = cache.folder.place(&identity("k"));
        std::fs::write(&place, bytes).unwrap();
        assert!(
            matches!(cache.look_up(&identity("k")).unwrap(), Lookup::Damaged(path) if path == place)
        );
        assert!(matches!(
            cache.look_up(&identity("k")).unwrap(),
            Lookup::Miss
        ));
    }
    // An entry of another key in its place is no result of this one.
    store(&cache, "other", b"two");
    std::fs::copy(
        cache.folder.place(&identity("other")),
        cache.folder.place(&identity("k")),
    )
    .unwrap();
    assert!(matches!(
        cache.look_up(&identity("k")).unwrap(),
        Lookup::Damaged(_)
    ));
}

#[test]
fn what_is_no_file_is_neither_waited_for_nor_followed_nor_counted() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    let place = cache.folder.place(&identity("k"));
    store(&cache, "other", b"two");
    let elsewhere = cache.folder.place(&identity("other"));
    let pipe = |path: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, path, Mode::RWXU).unwrap();
    let socket = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    let link = |path: &Path| std::os::unix::fs::symlink(&elsewhere, path).unwrap();
    let folder = |path: &Path| std::fs::create_dir_all(path.join("below")).unwrap();
    let makers: [&dyn Fn(&Path); 4] = [&pipe, &socket, &link, &folder];
    for make in makers {
        make(&place);
        assert!(
            matches!(cache.look_up(&identity("k")).unwrap(), Lookup::Damaged(path) if path == place)
        );
        assert!(matches!(
            cache.look_up(&identity("k")).unwrap(),
            Lookup::Miss
        ));
        make(&place);
        assert_eq!(cache.statistics().unwrap().entries, 1);
        assert_eq!(cache.clear().unwrap().entries, 1);
        assert!(place.symlink_metadata().is_err() && cache.statistics().unwrap().entries == 0);
        assert!(
            store(&cache, "other", b"two") && cache.folder.place(&identity("other")) == elsewhere
        );
    }
    let counts = cache.folder.path().join(COUNTS);
    std::fs::remove_file(&counts).unwrap();
    pipe(&counts);
    let error = cache.statistics().unwrap_err().to_string();
    assert!(error.ends_with("it is not a regular file"), "{error}");
}

#[test]
fn what_was_used_least_recently_makes_room() {
    let state = tempfile::tempdir().unwrap();
    let text = vec![b'x'; 1000];
    let cache = Cache::with_limit(state.path(), 10_000).unwrap();
    let keys: Vec<String> = (0..8).map(|number| format!("k{number}")).collect();
    keys.iter()
        .for_each(|key| assert!(store(&cache, key, &text)));
    // The first is used again, so the second and later ones have to go.
    assert!(found(&cache, &identity("k0")).is_some());
    ["a", "b", "c"]
        .iter()
        .for_each(|key| assert!(store(&cache, key, &text)));
    let left = |key: &str| cache.folder.place(&identity(key)).exists();
    assert!(
        left("k0") && left("a") && left("c") && !left("k1"),
        "{:?}",
        cache.statistics()
    );
    assert!(cache.statistics().unwrap().bytes <= 10_000);
    // What is too large is not stored, and pushes nothing out.
    assert!(!store(&cache, "large", &vec![b'x'; 2000]) && left("k0"));
}

#[test]
fn the_limit_holds_for_many_small_results_of_several_processes() {
    let state = tempfile::tempdir().unwrap();
    // Each of these looks for itself, as a process does.
    let caches: Vec<Cache> = (0..4)
        .map(|_| Cache::with_limit(state.path(), 100_000).unwrap())
        .collect();
    for number in 0..600 {
        let cache = &caches[number % caches.len()];
        assert!(store(cache, &format!("k{number}"), &[b'x'; 300]));
        let bytes = cache.statistics().unwrap().bytes;
        assert!(bytes <= 100_000, "{bytes} bytes after {number} results");
    }
    let left = caches[0].statistics().unwrap();
    assert!(
        left.bytes > 70_000 && found(&caches[0], &identity("k599")).is_some(),
        "{left:?}"
    );
}

#[test]
fn an_unfinished_entry_is_never_found_and_does_not_stay() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    let mut recording = cache.record(&identity("k")).unwrap();
    recording.add(Stream::Output, b"half");
    assert_eq!(found(&cache, &identity("k")), None);
    drop(recording);
    let left = cache.folder.path().join(format!("{UNFINISHED}left"));
    std::fs::write(&left, "").unwrap();
    let file = File::options().write(true).open(&left).unwrap();
    file.set_modified(SystemTime::now() - ABANDONED * 2)
        .unwrap();
    store(&cache, "l", b"whole");
    let names: Vec<_> = std::fs::read_dir(cache.folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().starts_with(UNFINISHED)),
        "{names:?}"
    );
}

#[test]
fn several_at_once_lose_no_count() {
    let state = tempfile::tempdir().unwrap();
    let cache = Cache::open(state.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for number in 0..10 {
                    let key = format!("k{}", number % 3);
                    if found(cache, &identity(&key)).is_none() {
                        store(cache, &key, format!("{thread}").as_bytes());
                    }
                }
            });
        }
    });
    let statistics = cache.statistics().unwrap();
    assert_eq!(
        (statistics.entries, statistics.hits + statistics.misses),
        (3, 40)
    );
}
