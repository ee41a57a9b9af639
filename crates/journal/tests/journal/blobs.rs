//! Blobs are stored once, small ones in the database and large ones as files, and checked when
//! read.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrate_journal::{Batch, Blob, INLINE_BYTES, Journal, JournalError};
use tempfile::tempdir;

use crate::support::{run, started, store};

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(shelves) = fs::read_dir(folder.join("blobs")) else {
        return Vec::new();
    };
    shelves
        .flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[test]
fn an_id_is_the_hash_of_the_content() {
    assert_eq!(
        Blob::new("abc").id().as_str(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn blobs_are_stored_once_and_only_large_ones_as_files() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let sizes = [0, 1, INLINE_BYTES, INLINE_BYTES + 1];
    let blobs = sizes.map(|size| Blob::new(vec![1; size]));
    let batch = blobs
        .iter()
        .cloned()
        .fold(Batch::from(started()), Batch::with_blob);
    let journal = Journal::create(&store, &run(), batch).unwrap();
    let again = blobs
        .iter()
        .cloned()
        .fold(Batch::default(), Batch::with_blob);
    assert_eq!(journal.append_blocking(again).unwrap(), Vec::<u64>::new());
    for blob in &blobs {
        assert_eq!(store.blob(blob.id()).unwrap(), blob.bytes());
    }
    let hash = blobs[3].id().as_str();
    assert_eq!(
        files(folder.path()),
        [folder
            .path()
            .join("blobs")
            .join(&hash[..2])
            .join(&hash[2..])]
    );
    let rows: i64 = rusqlite::Connection::open(store.database())
        .unwrap()
        .query_row("SELECT count(*) FROM blobs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 4);
}

#[test]
fn a_changed_file_is_found_out() {
    let folder = tempdir().unwrap();
    let store = store(folder.path());
    let blob = Blob::new(vec![1; INLINE_BYTES + 1]);
    let batch = Batch::from(started()).with_blob(blob.clone());
    let _journal = Journal::create(&store, &run(), batch).unwrap();
    fs::write(&files(folder.path())[0], vec![2; INLINE_BYTES + 1]).unwrap();
    assert!(matches!(
        store.blob(blob.id()),
        Err(JournalError::DamagedBlob { .. })
    ));
    assert!(matches!(
        store.blob(Blob::new("other").id()),
        Err(JournalError::NoSuchBlob(_))
    ));
}
