//! New ids, made without a lock: every run needs one.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

/// The latest stamp: 48 bits of milliseconds, and 12 bits that count within one.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// A hash with a secret key of the operating system's: what it makes of a stamp, no one can guess.
static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A UUID of version 7 that sorts after all before it: its stamp, then 62 bits that no other process has.
pub(crate) fn uuid() -> Uuid {
    let stamp = next_stamp();
    let random = KEYED.hash_one(stamp);
    let (millis, count) = (u128::from(stamp >> 12), u128::from(stamp & 0xfff));
    Uuid::from_u128(millis << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | u128::from(random >> 2))
}

/// The time, or what comes after the latest stamp where that many were made in one millisecond or the clock went back.
fn next_stamp() -> u64 {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let now = u64::try_from(millis).unwrap_or(u64::MAX) << 12;
    let mut latest = LATEST.load(Ordering::Relaxed);
    loop {
        let next = now.max(latest.wrapping_add(1));
        match LATEST.compare_exchange_weak(latest, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return next,
            Err(later) => latest = later,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_of_many_threads_are_unique_and_sort_by_their_making() {
        let mine = || (0..20_000).map(|_| uuid()).collect::<Vec<_>>();
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(mine)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|ids| ids.is_sorted()));
        assert_eq!(made.iter().flatten().collect::<HashSet<_>>().len(), 80_000);
    }

    #[test]
    fn an_id_is_a_uuid_of_version_7_with_the_time_of_its_making() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let id = uuid();
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        let millis = id.as_u128() >> 80;
        assert!((before..before + 60_000).contains(&millis), "{millis} is not shortly after {before}");
    }

    #[test]
    fn the_random_part_differs_between_ids() {
        let ids: HashSet<_> = (0..1000).map(|_| uuid().as_u128() << 64).collect();
        assert_eq!(ids.len(), 1000);
    }
}
