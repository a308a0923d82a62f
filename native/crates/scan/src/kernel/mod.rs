//! The arithmetic of a scan, once for each instruction set, chosen when the process runs.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod fetch;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use std::sync::OnceLock;

/// Bytes of a float16 number.
pub const HALF_BYTES: usize = 2;

/// Scores rows of a matrix, whose numbers lie back to back: `scores[n]` for row `wanted[n]`.
///
/// # Safety
/// The processor has the kernel's instructions, and the matrix holds every wanted row of
/// `query.len()` numbers. `scores` is as long as `wanted`.
type Score<Q, S> = unsafe fn(matrix: &[u8], query: &[Q], wanted: &[usize], scores: &mut [S]);

/// The rules for one instruction set that this processor has.
pub struct Kernel {
    /// Its name, for the message of a test that fails.
    #[cfg_attr(not(test), allow(dead_code))]
    pub name: &'static str,
    halves: Score<f32, f32>,
    codes: Score<i8, i32>,
}

impl Kernel {
    /// The widest that this processor has.
    pub fn best() -> &'static Self {
        static BEST: OnceLock<&'static Kernel> = OnceLock::new();
        BEST.get_or_init(|| Self::all()[0])
    }

    /// All that this processor has, the widest first, the portable one last.
    pub fn all() -> Vec<&'static Self> {
        let mut found: Vec<&'static Self> = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_here() {
                found.push(&avx512::KERNEL);
            }
            if avx2::is_here() {
                found.push(&avx2::KERNEL);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if neon::is_here() {
            found.push(&neon::KERNEL);
        }
        found.push(&portable::KERNEL);
        found
    }

    /// Scalar products of float16 rows with the query, added in an order of the kernel's own.
    pub fn score_halves(&self, matrix: &[u8], query: &[f32], wanted: &[usize], scores: &mut [f32]) {
        check(matrix.len(), HALF_BYTES * query.len(), wanted, scores.len());
        // SAFETY: sizes were checked, and `all` gives only kernels that this processor can run.
        unsafe { (self.halves)(matrix, query, wanted, scores) };
    }

    /// Scalar products of int8 rows with the query; exact for up to 65,536 numbers in a row.
    pub fn score_codes(&self, matrix: &[u8], query: &[i8], wanted: &[usize], scores: &mut [i32]) {
        check(matrix.len(), query.len(), wanted, scores.len());
        // SAFETY: as above.
        unsafe { (self.codes)(matrix, query, wanted, scores) };
    }
}

fn check(bytes: usize, row_bytes: usize, wanted: &[usize], scores: usize) {
    let rows = bytes / row_bytes.max(1);
    assert!(wanted.iter().all(|row| *row < rows) && scores == wanted.len(), "rows beyond a matrix");
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::Kernel;

    proptest! {
        #[test]
        fn every_kernel_equals_the_portable_one(
            dims in 1_usize..200,
            shift in 0_usize..3,
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state % 2001) as f32 / 1000.0 - 1.0
            };
            let rows = 5;
            // Rows that do not begin at a multiple of anything.
            let mut halves = vec![0; shift];
            halves.extend((0..rows * dims).flat_map(|_| f16::from_f32(next()).to_le_bytes()));
            let query: Vec<f32> = (0..dims).map(|_| next()).collect();
            let codes: Vec<u8> = (0..rows * dims).map(|_| (next() * 127.0) as i8 as u8).collect();
            let coded: Vec<i8> = (0..dims).map(|_| (next() * 127.0) as i8).collect();
            let wanted = [4, 0, 2];
            let exact: Vec<f32> = wanted.iter().map(|row| {
                let row = &halves[shift + row * dims * 2..][..dims * 2];
                let numbers = row.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]));
                numbers.zip(&query).map(|(a, b)| a.to_f64() * f64::from(*b)).sum::<f64>() as f32
            }).collect();
            let whole: Vec<i32> = wanted.iter().map(|row| {
                let row = &codes[row * dims..][..dims];
                row.iter().zip(&coded).map(|(a, b)| i32::from(*a as i8) * i32::from(*b)).sum()
            }).collect();
            for kernel in Kernel::all() {
                let (mut scores, mut counts) = ([0.0; 3], [0; 3]);
                kernel.score_halves(&halves[shift..], &query, &wanted, &mut scores);
                for (score, exact) in scores.iter().zip(&exact) {
                    prop_assert!((score - exact).abs() < 1e-4, "{}: {score} {exact}", kernel.name);
                }
                kernel.score_codes(&codes, &coded, &wanted, &mut counts);
                prop_assert_eq!(&counts[..], &whole[..], "{}", kernel.name);
            }
        }
    }

    #[test]
    fn the_extremes_of_codes_do_not_overflow() {
        for dims in [1, 63, 64, 65, 4096, 65_536] {
            let (low, high) = (vec![-127_i8; dims], vec![127_i8 as u8; dims]);
            let exact = -(127 * 127 * dims as i32);
            for kernel in Kernel::all() {
                let mut counts = [0];
                kernel.score_codes(&high, &low, &[0], &mut counts);
                assert_eq!(counts, [exact], "{} {dims}", kernel.name);
            }
        }
    }

    #[test]
    #[should_panic(expected = "beyond a matrix")]
    fn a_row_beyond_the_matrix_is_not_read() {
        Kernel::best().score_halves(&[0; 8], &[1.0, 1.0], &[2], &mut [0.0]);
    }
}
