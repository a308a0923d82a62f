//! A hash table of short byte strings, built in a millisecond and asked for longest prefixes.

/// Open addressing with linear probing; at most half of the slots are used.
pub(crate) struct Table {
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    used: usize,
    longest: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    start: u32,
    length: u32,
    value: u32,
}

/// No key has this length.
const FREE: Slot = Slot { start: 0, length: u32::MAX, value: 0 };

impl Table {
    /// Room for so many keys at first.
    pub fn with_room(keys: usize) -> Self {
        let slots = vec![FREE; (keys * 2).next_power_of_two().max(16)];
        Self { slots, bytes: Vec::with_capacity(keys * 8), used: 0, longest: 0 }
    }

    /// Puts a key in; the value of a key that is there already is replaced.
    pub fn insert(&mut self, key: &[u8], value: u32) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.place(key);
        if self.slots[at].length == FREE.length {
            self.used += 1;
            self.longest = self.longest.max(key.len());
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(key);
            self.slots[at] = Slot { start, length: key.len() as u32, value };
        }
        self.slots[at].value = value;
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        let slot = self.slots[self.place(key)];
        (slot.length != FREE.length).then_some(slot.value)
    }

    /// The longest key that `text` starts with: its length and value. The empty key is no answer.
    pub fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        let most = text.len().min(self.longest);
        (1..=most).rev().find_map(|length| Some((length, self.get(&text[..length])?)))
    }

    /// The slot of a key, or the free one where it belongs.
    fn place(&self, key: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) & mask;
        while self.slots[at].length != FREE.length && self.key(self.slots[at]) != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn key(&self, slot: Slot) -> &[u8] {
        &self.bytes[slot.start as usize..][..slot.length as usize]
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot.length != FREE.length {
                let at = self.place(&self.bytes[slot.start as usize..][..slot.length as usize]);
                self.slots[at] = slot;
            }
        }
    }
}

/// FNV-1a (Fowler, Noll, Vo), its high bits folded in: keys are short, and come from a file that
/// nobody gains by making slow.
fn hash(key: &[u8]) -> usize {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 29)) as usize
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn keys_are_found_after_growth_and_the_longest_wins() {
        let mut table = Table::with_room(1);
        let words: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
        for (value, word) in words.iter().enumerate() {
            table.insert(word.as_bytes(), value as u32);
        }
        assert!(words.iter().zip(0..).all(|(word, n)| table.get(word.as_bytes()) == Some(n)));
        assert_eq!(table.get(b"w1000"), None);
        assert_eq!(table.longest(b"w99x"), Some((3, 99)));
        assert_eq!(table.longest(b"x"), None);
    }

    #[test]
    fn the_last_value_of_a_key_holds_and_the_empty_key_matches_nothing() {
        let mut table = Table::with_room(4);
        table.insert(b"a", 1);
        table.insert(b"a", 2);
        table.insert(b"", 3);
        assert_eq!(table.get(b"a"), Some(2));
        assert_eq!(table.longest(b"b"), None);
    }
}
