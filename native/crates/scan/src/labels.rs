//! Which rows count: a number for each row, and a bit for each number.

const LABEL_BYTES: usize = size_of::<i64>();

/// A filter over the rows of a matrix.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    numbers: &'a [u8],
    allowed: &'a [u8],
}

impl<'a> Labels<'a> {
    /// Bytes of the labels of so many rows.
    pub fn bytes_of(rows: usize) -> usize {
        rows * LABEL_BYTES
    }

    /// `numbers` are int64, one a row; bit n of `allowed` says whether rows with number n count.
    pub fn new(numbers: &'a [u8], allowed: &'a [u8]) -> Self {
        Self { numbers, allowed }
    }

    /// The rows from `first` to `end` that count.
    pub fn pick(&self, first: usize, end: usize, picked: &mut Vec<usize>) {
        picked.clear();
        let numbers = &self.numbers[first * LABEL_BYTES..end * LABEL_BYTES];
        let (numbers, _) = numbers.as_chunks::<LABEL_BYTES>();
        for (row, number) in numbers.iter().enumerate() {
            if self.allows(i64::from_le_bytes(*number)) {
                picked.push(first + row);
            }
        }
    }

    /// How many of the first `rows` count.
    pub fn count(&self, rows: usize) -> usize {
        let (numbers, _) = self.numbers[..rows * LABEL_BYTES].as_chunks::<LABEL_BYTES>();
        numbers.iter().filter(|number| self.allows(i64::from_le_bytes(**number))).count()
    }

    fn allows(&self, number: i64) -> bool {
        // A negative number is a huge one without its sign.
        let byte = self.allowed.get((number as u64 >> 3) as usize);
        byte.is_some_and(|byte| byte >> (number & 7) & 1 == 1)
    }
}
