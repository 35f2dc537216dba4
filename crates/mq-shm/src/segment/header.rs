//! The first page of a mapped segment, and what a process checks before it trusts the rest.

use crate::cell::CELL_PAYLOAD;
use crate::error::ShmError;
use crate::fastbox::{BOX_PAYLOAD, SLOTS};
use crate::large::ring::{BUFFER_BYTES, BUFFERS};
use crate::layout::{Geometry, RINGS};

/// How a segment begins: "mq shm" and two bytes that no text has.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"mq shm\x00\xff");
/// Must change with everything that two processes have to agree on.
pub(crate) const VERSION: u32 = 13;

/// Fields in storage order, each a little-endian 64-bit word.
const FIELDS: [&str; 10] = [
    "number of processes",
    "number of cells",
    "bytes of a cell",
    "slots of a fastbox",
    "bytes of a fastbox message",
    "rings of a process",
    "buffers of a ring",
    "bytes of a buffer",
    "bytes of the shared buffers of a process",
    "use by worlds only",
];

/// Bytes of the header.
pub(crate) const BYTES: usize = 8 * (2 + FIELDS.len());

fn fields(geometry: &Geometry) -> [u64; FIELDS.len()] {
    [
        u64::from(geometry.processes()),
        u64::from(geometry.cells()),
        CELL_PAYLOAD as u64,
        u64::from(SLOTS),
        BOX_PAYLOAD as u64,
        u64::from(RINGS),
        u64::from(BUFFERS),
        BUFFER_BYTES as u64,
        geometry.buffers(),
        u64::from(geometry.is_for_worlds()),
    ]
}

/// The header of a segment of this geometry, without its magic word, which is written last.
pub(crate) fn write(geometry: &Geometry) -> [u8; BYTES - 8] {
    let mut bytes = [0; BYTES - 8];
    let words = core::iter::once(u64::from(VERSION)).chain(fields(geometry));
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The geometry of the segment that begins with these bytes and is `length` bytes long.
pub(crate) fn read(bytes: &[u8; BYTES], length: u64, what: &str) -> Result<Geometry, ShmError> {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    if word(0) != MAGIC {
        return Err(ShmError::Foreign {
            what: what.into(),
            found: word(0),
        });
    }
    if word(1) != u64::from(VERSION) {
        return Err(ShmError::Version {
            what: what.into(),
            found: word(1),
            wanted: VERSION,
        });
    }
    let damaged = |field, found, wanted: String| ShmError::Damaged {
        what: what.into(),
        field,
        found,
        wanted,
    };
    let small = |at: usize| u32::try_from(word(at)).unwrap_or(u32::MAX);
    let geometry = Geometry::with_cells(small(2), small(3)).map_err(|error| match error {
        ShmError::Cells { .. } => damaged(FIELDS[1], word(3), error.to_string()),
        _ => damaged(FIELDS[0], word(2), error.to_string()),
    })?;
    let geometry = geometry
        .with_buffers(word(10))
        .map_err(|error| damaged(FIELDS[8], word(10), error.to_string()))?;
    let geometry = match word(11) {
        0 => geometry,
        1 => geometry.for_worlds(),
        other => return Err(damaged(FIELDS[9], other, "0 or 1 expected".into())),
    };
    for (at, (field, wanted)) in FIELDS.iter().zip(fields(&geometry)).enumerate() {
        if word(2 + at) != wanted {
            return Err(damaged(field, word(2 + at), format!("{wanted} expected")));
        }
    }
    if length < geometry.length() {
        let wanted = format!("at least {} expected", geometry.length());
        return Err(damaged("length", length, wanted));
    }
    Ok(geometry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(geometry: &Geometry) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..].copy_from_slice(&write(geometry));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let geometry = Geometry::with_cells(7, 9).unwrap();
        for geometry in [geometry, geometry.for_worlds()] {
            let read = read(&whole(&geometry), geometry.length(), "it").unwrap();
            assert_eq!(read, geometry);
        }
    }

    #[test]
    fn every_byte_matters() {
        let geometry = Geometry::with_cells(7, 9).unwrap();
        let length = geometry.length();
        for at in 0..BYTES {
            let mut bytes = whole(&geometry);
            bytes[at] ^= 0x55;
            let error = read(&bytes, length, "the thing");
            // The three numbers that a segment may choose are checked only against its length.
            match error {
                Ok(other) => assert!(other.length() <= length, "byte {at}: {other:?}"),
                Err(error) => assert!(error.to_string().contains("the thing"), "{error}"),
            }
        }
        assert!(read(&whole(&geometry), length - 1, "it").is_err());
        let mut bytes = whole(&geometry);
        bytes[12] = 1;
        let error = read(&bytes, length, "it").unwrap_err().to_string();
        let version = (1 << 32) + u64::from(VERSION);
        assert!(error.contains(&version.to_string()), "{error}");
    }
}
