//! Reads objects by their ids from a folder that an agent may have filled with anything.
//!
//! Nothing there is believed: links are not followed, only plain files are read, nothing is mapped
//! into memory, every length is bounded, and an object counts only if its bytes have the id that
//! was asked for. Alternates are not looked at, so nothing outside of the folder is read. No code
//! of git's or libgit2's reads these files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use flate2::bufread::ZlibDecoder;
use git2::{ObjectType, Oid};

use crate::files::openat;

/// The length of an id in bytes.
pub(super) const ID: usize = 20;
/// How much one object, and the differences that lead to it, may hold.
const MOST_OBJECT: u64 = 64 << 20;
/// How much the objects of one import may hold together, with all steps on the way to them.
const MOST_BYTES: u64 = 1 << 30;
/// How many objects one import may read.
const MOST_OBJECTS: usize = 200_000;
/// How many packs are looked at.
const MOST_PACKS: usize = 200;
/// How much the indexes of the packs may hold together.
const MOST_INDEXED: u64 = 128 << 20;
/// How many differences an object of a pack may be away from a whole one; git itself makes 50.
const MOST_DELTAS: usize = 256;
/// The longest head of an object: its kind and its length.
const HEAD: usize = 32;
/// Where the ids begin in the index of a pack: after two numbers and a table of 256.
const IDS: usize = 8 + 256 * 4;

/// An object.
pub(super) struct Object {
    pub(super) kind: ObjectType,
    pub(super) bytes: Vec<u8>,
}

/// Why an object cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is not there.
    Missing,
    /// Its bytes are not those of an object with this id.
    Corrupt,
    /// It, or everything together, holds too much.
    TooLarge,
}

/// The objects of an agent's own git directory.
pub(super) struct PrivateObjects {
    folder: Option<OwnedFd>,
    packs: Vec<Pack>,
    bytes_left: u64,
    objects_left: usize,
}

/// A pack, with the whole of its index.
struct Pack {
    index: Vec<u8>,
    count: usize,
    file: File,
}

impl PrivateObjects {
    /// Opens those of a git directory. A folder that is missing, or is no folder, has none.
    pub(super) fn open(git_dir: &OwnedFd) -> PrivateObjects {
        let folder = openat::open_folder(git_dir, b"objects").ok();
        let packs = match &folder {
            Some(folder) => open_packs(folder),
            None => Vec::new(),
        };
        PrivateObjects {
            folder,
            packs,
            bytes_left: MOST_BYTES,
            objects_left: MOST_OBJECTS,
        }
    }

    /// Returns those of a git directory that is not there.
    pub(super) fn none() -> PrivateObjects {
        PrivateObjects {
            folder: None,
            packs: Vec::new(),
            bytes_left: 0,
            objects_left: 0,
        }
    }

    /// Reads an object.
    pub(super) fn read(&mut self, id: Oid) -> Result<Object, Unreadable> {
        if self.folder.is_none() {
            return Err(Unreadable::Missing);
        }
        let Some(left) = self.objects_left.checked_sub(1) else {
            return Err(Unreadable::TooLarge);
        };
        self.objects_left = left;
        let object = match self.loose(id)? {
            Some(object) => object,
            None => self.packed(id)?,
        };
        match Oid::hash_object(object.kind, &object.bytes) {
            Ok(found) if found == id => Ok(object),
            _ => Err(Unreadable::Corrupt),
        }
    }

    /// Counts bytes that are made, whether they are needed or not.
    fn take(&mut self, bytes: u64) -> Result<(), Unreadable> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or(Unreadable::TooLarge)?;
        Ok(())
    }

    fn loose(&mut self, id: Oid) -> Result<Option<Object>, Unreadable> {
        let name = id.to_string();
        let (fan, rest) = name.split_at(2);
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let Ok(fan) = openat::open_folder(folder, fan.as_bytes()) else {
            return Ok(None);
        };
        let packed = match openat::read(&fan, rest.as_bytes(), MOST_OBJECT) {
            Ok(Some((packed, _))) => packed,
            Ok(None) => return Err(Unreadable::TooLarge),
            Err(_) => return Ok(None),
        };
        let most = MOST_OBJECT.min(self.bytes_left) + HEAD as u64;
        let mut inflated = ZlibDecoder::new(packed.as_slice()).take(most);
        let mut bytes = Vec::new();
        let read = inflated.read_to_end(&mut bytes);
        // What is damaged has been made, too.
        self.take(bytes.len() as u64)?;
        read.map_err(|_| Unreadable::Corrupt)?;
        let end = bytes
            .iter()
            .take(HEAD)
            .position(|byte| *byte == 0)
            .ok_or(Unreadable::Corrupt)?;
        let body = bytes.split_off(end + 1);
        bytes.truncate(end);
        let head = String::from_utf8(bytes).map_err(|_| Unreadable::Corrupt)?;
        let (kind, length) = head.split_once(' ').ok_or(Unreadable::Corrupt)?;
        let kind = kind_of(ObjectType::from_str(kind))?;
        if length.parse() != Ok(body.len()) {
            return Err(Unreadable::Corrupt);
        }
        Ok(Some(Object { kind, bytes: body }))
    }

    fn packed(&mut self, id: Oid) -> Result<Object, Unreadable> {
        for at in 0..self.packs.len() {
            if let Some(offset) = self.packs.get(at).and_then(|pack| pack.offset(id)) {
                return self.object_at(at, offset);
            }
        }
        Err(Unreadable::Missing)
    }

    /// Reads the object at a place in a pack: what it is a difference to first.
    fn object_at(&mut self, pack: usize, offset: u64) -> Result<Object, Unreadable> {
        let (mut offset, mut deltas) = (offset, Vec::new());
        let mut held = 0;
        let kind = loop {
            if deltas.len() > MOST_DELTAS {
                return Err(Unreadable::Corrupt);
            }
            let found = self.packs.get(pack).ok_or(Unreadable::Missing)?;
            let entry = found.entry(offset)?;
            self.take(entry.length as u64)?;
            let found = self.packs.get(pack).ok_or(Unreadable::Missing)?;
            let bytes = found.inflate(&entry)?;
            held += bytes.len() as u64;
            if held > MOST_OBJECT {
                return Err(Unreadable::TooLarge);
            }
            deltas.push(bytes);
            match entry.base {
                Base::Whole(kind) => break kind,
                Base::At(base) => offset = base,
            }
        };
        let mut bytes = deltas.pop().ok_or(Unreadable::Corrupt)?;
        while let Some(delta) = deltas.pop() {
            bytes = apply(&bytes, &delta)?;
            self.take(bytes.len() as u64)?;
        }
        Ok(Object { kind, bytes })
    }
}

/// What the bytes of an entry of a pack are.
enum Base {
    /// An object of this kind.
    Whole(ObjectType),
    /// A difference to the object at this place of the same pack.
    At(u64),
}

/// An entry of a pack.
struct Entry {
    base: Base,
    length: usize,
    /// Where its compressed bytes begin.
    begins: u64,
}

impl Pack {
    /// Finds an object.
    fn offset(&self, id: Oid) -> Option<u64> {
        let id = id.as_bytes();
        let first = usize::from(*id.first()?);
        let before = match first.checked_sub(1) {
            Some(before) => self.number(8 + before * 4)?,
            None => 0,
        };
        let (mut low, mut high) = (before, self.number(8 + first * 4)?.min(self.count));
        while low < high {
            let middle = low + (high - low) / 2;
            let from = IDS + middle * ID;
            match self.index.get(from..from + ID)?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset_of(middle),
            }
        }
        None
    }

    /// Returns the place of the object with this number.
    fn offset_of(&self, at: usize) -> Option<u64> {
        let offsets = IDS + self.count * (ID + 4);
        let offset = self.number(offsets + at * 4)?;
        let Some(large) = offset.checked_sub(1 << 31) else {
            return u64::try_from(offset).ok();
        };
        let from = offsets + self.count * 4 + large * 8;
        let bytes = self.index.get(from..from + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    fn number(&self, from: usize) -> Option<usize> {
        let bytes = self.index.get(from..from + 4)?;
        usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok()
    }

    /// Reads the head of an entry.
    fn entry(&self, offset: u64) -> Result<Entry, Unreadable> {
        let mut head = [0; HEAD + ID];
        let read = self
            .file
            .read_at(&mut head, offset)
            .map_err(|_| Unreadable::Corrupt)?;
        let mut bytes = head.iter().take(read).copied();
        let mut next = || bytes.next().ok_or(Unreadable::Corrupt);
        let mut byte = next()?;
        let (kind, mut length, mut shift) = ((byte >> 4) & 7, u64::from(byte & 15), 4);
        while byte & 0x80 != 0 {
            byte = next()?;
            if shift > 40 {
                return Err(Unreadable::TooLarge);
            }
            length |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        if length > MOST_OBJECT {
            return Err(Unreadable::TooLarge);
        }
        let base = match kind {
            1 => Base::Whole(ObjectType::Commit),
            2 => Base::Whole(ObjectType::Tree),
            3 => Base::Whole(ObjectType::Blob),
            4 => Base::Whole(ObjectType::Tag),
            6 => {
                byte = next()?;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    if back > u64::MAX >> 9 {
                        return Err(Unreadable::Corrupt);
                    }
                    back = ((back + 1) << 7) | u64::from(byte & 0x7f);
                }
                let before = offset.checked_sub(back).filter(|before| *before < offset);
                Base::At(before.ok_or(Unreadable::Corrupt)?)
            }
            7 => {
                let mut id = [0; ID];
                for place in &mut id {
                    *place = next()?;
                }
                let id = Oid::from_bytes(&id).map_err(|_| Unreadable::Corrupt)?;
                Base::At(self.offset(id).ok_or(Unreadable::Missing)?)
            }
            _ => return Err(Unreadable::Corrupt),
        };
        let used = read - bytes.len();
        Ok(Entry {
            base,
            length: usize::try_from(length).map_err(|_| Unreadable::TooLarge)?,
            begins: offset + used as u64,
        })
    }

    fn inflate(&self, entry: &Entry) -> Result<Vec<u8>, Unreadable> {
        let from = From {
            file: &self.file,
            at: entry.begins,
        };
        let limit = entry.length as u64 + 1;
        let mut bytes = Vec::new();
        ZlibDecoder::new(BufReader::new(from))
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|_| Unreadable::Corrupt)?;
        if bytes.len() == entry.length {
            Ok(bytes)
        } else {
            Err(Unreadable::Corrupt)
        }
    }
}

/// The bytes of a file from a place on.
struct From<'f> {
    file: &'f File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Opens the packs that can be read; objects that are only in another one count as missing.
fn open_packs(objects: &OwnedFd) -> Vec<Pack> {
    let mut packs = Vec::new();
    let Ok(folder) = openat::open_folder(objects, b"pack") else {
        return packs;
    };
    let mut left = MOST_INDEXED;
    for (name, _) in openat::list(&folder).into_iter().flatten() {
        let Some(stem) = name.strip_suffix(b".idx") else {
            continue;
        };
        if packs.len() == MOST_PACKS {
            break;
        }
        let Ok(Some((index, _))) = openat::read(&folder, &name, left) else {
            continue;
        };
        let Ok(file) = openat::open_plain(&folder, &[stem, b".pack"].concat()) else {
            continue;
        };
        left = left.saturating_sub(index.len() as u64);
        packs.extend(pack(index, file));
    }
    packs
}

/// Returns a pack if its index is one of the second version, which git has made since 2007.
fn pack(index: Vec<u8>, file: File) -> Option<Pack> {
    if !index.starts_with(b"\xfftOc\0\0\0\x02") {
        return None;
    }
    let mut pack = Pack {
        index,
        count: 0,
        file,
    };
    pack.count = pack.number(IDS - 4)?;
    // Then no place in it is out of reach of a number.
    let whole = pack.count.checked_mul(ID + 4 + 4)?.checked_add(IDS)?;
    (whole <= pack.index.len()).then_some(pack)
}

/// Applies a difference of a pack.
fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut steps = delta.iter().copied();
    let from = length(&mut steps)?;
    let to = length(&mut steps)?;
    if from != base.len() as u64 {
        return Err(Unreadable::Corrupt);
    }
    if to > MOST_OBJECT {
        return Err(Unreadable::TooLarge);
    }
    let to = usize::try_from(to).map_err(|_| Unreadable::TooLarge)?;
    let mut made = Vec::new();
    while let Some(step) = steps.next() {
        if step & 0x80 != 0 {
            let mut numbers = [0_usize; 7];
            for (bit, number) in numbers.iter_mut().enumerate() {
                if step & (1 << bit) != 0 {
                    *number = usize::from(steps.next().ok_or(Unreadable::Corrupt)?);
                }
            }
            let [a, b, c, d, e, f, g] = numbers;
            let offset = a | b << 8 | c << 16 | d << 24;
            let size = match e | f << 8 | g << 16 {
                0 => 0x10000,
                size => size,
            };
            let copied = base.get(offset..offset + size);
            made.extend_from_slice(copied.ok_or(Unreadable::Corrupt)?);
        } else if step == 0 {
            return Err(Unreadable::Corrupt);
        } else {
            let before = made.len();
            made.extend(steps.by_ref().take(usize::from(step)));
            if made.len() - before != usize::from(step) {
                return Err(Unreadable::Corrupt);
            }
        }
        if made.len() > to {
            return Err(Unreadable::Corrupt);
        }
    }
    if made.len() == to {
        Ok(made)
    } else {
        Err(Unreadable::Corrupt)
    }
}

/// Reads a length of a difference.
fn length(bytes: &mut impl Iterator<Item = u8>) -> Result<u64, Unreadable> {
    let (mut length, mut shift) = (0, 0);
    loop {
        let byte = bytes.next().ok_or(Unreadable::Corrupt)?;
        if shift > 40 {
            return Err(Unreadable::TooLarge);
        }
        length |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
}

fn kind_of(kind: Option<ObjectType>) -> Result<ObjectType, Unreadable> {
    match kind {
        Some(
            kind @ (ObjectType::Commit | ObjectType::Tree | ObjectType::Blob | ObjectType::Tag),
        ) => Ok(kind),
        _ => Err(Unreadable::Corrupt),
    }
}
