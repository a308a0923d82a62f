//! The scan of float16 rows: what counts, in what order, and what the codes cost.

use satchel_scan::{Matrix, ScanError, TWO_STAGES_FROM, scan_halves, to_codes, to_halves};

/// Numbers from a seed, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }

    fn row(&mut self, dims: usize) -> Vec<f32> {
        (0..dims).map(|_| self.next()).collect()
    }
}

fn packed(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn labels(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn plain<'a>(halves: &'a [u8], dims: usize, labels: &'a [u8], allowed: &'a [u8]) -> Matrix<'a> {
    Matrix { halves, dims, labels, allowed, codes: &[], scales: &[] }
}

#[test]
fn masked_rows_and_those_without_a_bit_do_not_count() {
    let (halves, _) = to_halves(&packed(&[1.0; 12]), 3).unwrap();
    let numbers = labels(&[-1, 0, 9, 1]);
    let query = packed(&[1.0; 3]);
    let rows = |allowed: &[u8]| -> Vec<usize> {
        let found = scan_halves(&plain(&halves, 3, &numbers, allowed), &query, 9, 0.0).unwrap();
        found.into_iter().map(|(row, _)| row).collect()
    };
    assert_eq!(rows(&[0b11]), [1, 3]);
    assert_eq!(rows(&[0b10]), [3]);
    assert_eq!(rows(&[0xff, 0xff]), [1, 2, 3]);
    assert_eq!(rows(&[]), [0_usize; 0]);
    let masked = labels(&[-1; 4]);
    let none = scan_halves(&plain(&halves, 3, &masked, &[0xff]), &query, 9, 0.0);
    assert_eq!(none, Ok(vec![]));
}

#[test]
fn equal_rows_come_by_number_and_the_margin_lets_more_in() {
    for dims in [1, 7, 16, 63, 64, 65, 384] {
        let mut numbers = Numbers(dims as u64 + 1);
        let row = numbers.row(dims);
        let (halves, _) = to_halves(&packed(&row.repeat(6_000)), dims).unwrap();
        let zeros = labels(&[0; 6_000]);
        let matrix = plain(&halves, dims, &zeros, &[1]);
        let found = scan_halves(&matrix, &packed(&row), 5, 0.0).unwrap();
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert!(found.iter().all(|one| (one.1 - 1.0).abs() < 1e-3));
    }
    let (halves, _) = to_halves(&packed(&[1.0, 0.0, 1.0, 0.3, 1.0, 0.9]), 2).unwrap();
    let zeros = labels(&[0; 3]);
    let found = |margin| {
        scan_halves(&plain(&halves, 2, &zeros, &[1]), &packed(&[9.0, 0.0]), 1, margin)
            .unwrap()
            .len()
    };
    assert_eq!((found(0.0), found(0.1), found(9.0)), (1, 2, 2));
}

#[test]
fn many_rows_are_shared_among_threads_and_all_are_seen() {
    let (dims, count) = (64, 200_000);
    let mut numbers = Numbers(5);
    let block = packed(&numbers.row(dims * 1_000));
    let (halves, _) = to_halves(&block, dims).unwrap();
    let halves = halves.repeat(count / 1_000);
    let zeros = labels(&vec![0; count]);
    let matrix = plain(&halves, dims, &zeros, &[1]);
    let found = scan_halves(&matrix, &block[..dims * 4], 150, 0.0).unwrap();
    let rows: Vec<usize> = found.iter().take(150).map(|one| one.0).collect();
    assert_eq!(rows, (0..150).map(|copy| copy * 1_000).collect::<Vec<_>>());
}

#[test]
fn the_codes_lose_less_than_one_of_a_hundred() {
    let (dims, count) = (32, TWO_STAGES_FROM + 5_000);
    for clusters in [1, 40] {
        let mut numbers = Numbers(clusters as u64 * 77 + 3);
        let centres: Vec<Vec<f32>> = (0..clusters).map(|_| numbers.row(dims)).collect();
        let spread = if clusters == 1 { 100.0 } else { 0.4 };
        let mut rows = Vec::with_capacity(count * dims);
        for row in 0..count {
            let centre = &centres[row * 31 % clusters];
            rows.extend(centre.iter().map(|number| number + spread * numbers.next()));
        }
        let (halves, _) = to_halves(&packed(&rows), dims).unwrap();
        let (codes, scales) = to_codes(&halves, dims).unwrap();
        let zeros = labels(&vec![0; count]);
        let exact = plain(&halves, dims, &zeros, &[1]);
        let coded = Matrix { codes: &codes, scales: &scales, ..exact };
        let mut hits = 0;
        for question in 0..20 {
            let near = rows[question * 1_000 * dims..][..dims].iter();
            let query: Vec<f32> = near.map(|number| number + 0.1 * numbers.next()).collect();
            let best = scan_halves(&exact, &packed(&query), 10, 0.0).unwrap();
            let found = scan_halves(&coded, &packed(&query), 82, 1e-3).unwrap();
            hits += best.iter().take(10).filter(|one| found.contains(one)).count();
        }
        assert!(hits >= 198, "{hits} of 200 with {clusters} clusters");
    }
}

#[test]
fn wrong_sizes_are_named() {
    let zeros = labels(&[0]);
    let query = packed(&[1.0, 0.0]);
    let error = |matrix: Matrix<'_>, margin| scan_halves(&matrix, &query, 1, margin).unwrap_err();
    assert_eq!(error(plain(&[0; 4], 0, &zeros, &[1]), 0.0), ScanError::DimsZero);
    assert!(matches!(
        error(plain(&[0; 5], 2, &zeros, &[1]), 0.0),
        ScanError::RowsSize { name: "halves", bytes: 5, dims: 2, .. }
    ));
    assert_eq!(
        error(plain(&[0; 4], 2, &[], &[1]), 0.0),
        ScanError::Size { name: "labels", bytes: 0, expected: 8 }
    );
    assert!(matches!(error(plain(&[0; 4], 2, &zeros, &[1]), f64::NAN), ScanError::Margin { .. }));
}
