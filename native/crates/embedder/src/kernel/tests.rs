//! Every kernel this processor has gives what plain loops in f64 give, for odd sizes too.

use proptest::prelude::*;

use super::{Finish, Kernel, PairRows, Panels};

fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// erf by its Taylor series, in f64: `2/sqrt(pi) * sum of (-1)^n z^(2n+1) / (n! (2n+1))`.
fn erf(z: f64) -> f64 {
    if z.abs() > 5.0 {
        return z.signum();
    }
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

fn gelu(x: f64) -> f64 {
    x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

fn panels(kernel: &Kernel, weights: &[f32], depth: usize, columns: usize) -> Panels<f32> {
    let mut panels = kernel.panels();
    panels.reshape(depth, columns);
    panels.fill_columns(|column| &weights[column * depth..][..depth]);
    panels
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn products_are_right(
        rows in 1_usize..40,
        depth in 1_usize..70,
        columns in 1_usize..80,
        gap in 0_usize..5,
        finish in 0_u8..4,
        seed: u64,
    ) {
        let (a_stride, out_stride) = (depth + gap, columns + gap);
        let a = numbers(seed, rows * a_stride);
        let weights = numbers(seed ^ 1, columns * depth);
        let bias = numbers(seed ^ 2, columns);
        let before = numbers(seed ^ 3, rows * out_stride);
        for kernel in Kernel::all() {
            let packed = panels(kernel, &weights, depth, columns);
            let how = match finish {
                0 => Finish::Plain,
                1 => Finish::Bias(&bias),
                2 => Finish::BiasGelu(&bias),
                _ => Finish::BiasAdd(&bias),
            };
            let mut out = before.clone();
            kernel.matmul((&a, a_stride), rows, &packed, (&mut out, out_stride), how);
            for (at, found) in out.iter().enumerate() {
                let (row, column) = (at / out_stride, at % out_stride);
                if column >= columns {
                    prop_assert_eq!(*found, before[at], "{} wrote behind a row", kernel.name);
                    continue;
                }
                let sum: f64 = (0..depth)
                    .map(|k| {
                        f64::from(a[row * a_stride + k]) * f64::from(weights[column * depth + k])
                    })
                    .sum();
                let biased = sum + f64::from(bias[column]);
                let expected = match finish {
                    0 => sum,
                    1 => biased,
                    2 => gelu(biased),
                    _ => f64::from(before[at]) + biased,
                };
                prop_assert!(
                    (expected - f64::from(*found)).abs() < 2e-5,
                    "{}: {} and not {} at {},{}", kernel.name, found, expected, row, column
                );
            }
        }
    }

    #[test]
    fn products_in_pairs_are_near(
        rows in 1_usize..40,
        depth in 1_usize..130,
        columns in 1_usize..80,
        size in -8_i32..8,
        seed: u64,
    ) {
        let a: Vec<f32> =
            numbers(seed, rows * depth).iter().map(|x| x * 10_f32.powi(size)).collect();
        let weights = numbers(seed ^ 1, columns * depth);
        let bias = numbers(seed ^ 2, columns);
        for kernel in Kernel::all() {
            let column = |index: usize| &weights[index * depth..][..depth];
            let Some(packed) = kernel.pack_pairs((depth, columns), column) else { continue };
            let mut rounded = PairRows::default();
            kernel.round(&a, depth, &mut rounded);
            let mut out = vec![0.0; rows * columns];
            kernel.matmul_pairs(&rounded, &packed, (&mut out, columns), Finish::Bias(&bias));
            for (at, found) in out.iter().enumerate() {
                let (row, column) = (&a[at / columns * depth..][..depth], at % columns);
                let weight = &weights[column * depth..][..depth];
                let exact = |one: &[f32], two: &[f32]| -> f64 {
                    one.iter().zip(two).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
                };
                let expected = exact(row, weight) + f64::from(bias[column]);
                // Each number of both sides is off by half a step or less, 32767 of which or more
                // make a side's length: Cauchy and Schwarz again.
                let lengths = exact(row, row).sqrt() * exact(weight, weight).sqrt();
                let bound = lengths * (depth as f64).sqrt() / 32_000.0 + 1e-6;
                prop_assert!(
                    (expected - f64::from(*found)).abs() < bound,
                    "{}: {} and not {}, {} long", kernel.name, found, expected, lengths
                );
            }
        }
    }

    #[test]
    fn rows_packed_as_they_lie_give_the_same(
        depth in 1_usize..40, columns in 1_usize..80, seed: u64,
    ) {
        let matrix = numbers(seed, depth * columns);
        let transposed: Vec<f32> =
            (0..columns * depth).map(|at| matrix[at % depth * columns + at / depth]).collect();
        let a = numbers(seed ^ 1, 3 * depth);
        for kernel in Kernel::all() {
            let mut one = vec![0.0; 3 * columns];
            let mut two = one.clone();
            let mut packed = kernel.panels();
            packed.reshape(depth, columns);
            packed.fill_rows(|row| &matrix[row * columns..][..columns]);
            kernel.matmul((&a, depth), 3, &packed, (&mut one, columns), Finish::Plain);
            let packed = panels(kernel, &transposed, depth, columns);
            kernel.matmul((&a, depth), 3, &packed, (&mut two, columns), Finish::Plain);
            prop_assert_eq!(&one, &two);
        }
    }

    #[test]
    fn softmax_is_right(
        columns in 1_usize..70, gap in 0_usize..4, seed: u64, scale in 0.1_f32..40.0,
    ) {
        let stride = columns + gap;
        let given = numbers(seed, 3 * stride);
        for kernel in Kernel::all() {
            let mut found = given.clone();
            kernel.softmax(&mut found, stride, columns, scale);
            for (row, found) in given.chunks(stride).zip(found.chunks(stride)) {
                let powers: Vec<f64> =
                    row[..columns].iter().map(|x| f64::from(x * scale).exp()).collect();
                let sum: f64 = powers.iter().sum();
                for (power, found) in powers.iter().zip(found) {
                    prop_assert!((power / sum - f64::from(*found)).abs() < 4e-6, "{}", kernel.name);
                }
                prop_assert_eq!(&row[columns..], &found[columns..]);
            }
        }
    }

    #[test]
    fn layers_are_normalised(width in 1_usize..70, seed: u64) {
        let given = numbers(seed, 2 * width);
        let (gain, shift) = (numbers(seed ^ 1, width), numbers(seed ^ 2, width));
        for kernel in Kernel::all() {
            let mut found = given.clone();
            kernel.normalise(&mut found, &gain, &shift, 1e-5);
            for (row, found) in given.chunks(width).zip(found.chunks(width)) {
                let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / width as f64;
                let square = |x: &f32| (f64::from(*x) - mean).powi(2);
                let variance = row.iter().map(square).sum::<f64>() / width as f64;
                for at in 0..width {
                    let unit = (f64::from(row[at]) - mean) / (variance + 1e-5).sqrt();
                    let expected = unit * f64::from(gain[at]) + f64::from(shift[at]);
                    prop_assert!((expected - f64::from(found[at])).abs() < 1e-4, "{}", kernel.name);
                }
            }
        }
    }
}

#[test]
fn gelu_is_right_over_its_whole_range() {
    let steps: Vec<f32> = (-4000..=4000).map(|step| step as f32 / 400.0).collect();
    for kernel in Kernel::all() {
        let packed = panels(kernel, &[1.0], 1, 1);
        let mut found = vec![0.0; steps.len()];
        let bias = [0.0];
        kernel.matmul((&steps, 1), steps.len(), &packed, (&mut found, 1), Finish::BiasGelu(&bias));
        for (x, found) in steps.iter().zip(&found) {
            let error = (gelu(f64::from(*x)) - f64::from(*found)).abs();
            assert!(error < 3e-6, "{}: GELU({x}) is off by {error}", kernel.name);
        }
    }
}

#[test]
fn a_row_is_the_same_number_for_number_in_any_company() {
    let (depth, columns) = (48, 64);
    let a = numbers(7, 33 * depth);
    let weights = numbers(8, columns * depth);
    for kernel in Kernel::all() {
        let packed = panels(kernel, &weights, depth, columns);
        let mut all = vec![0.0; 33 * columns];
        kernel.matmul((&a, depth), 33, &packed, (&mut all, columns), Finish::Plain);
        for (row, together) in a.chunks(depth).zip(all.chunks(columns)) {
            let mut alone = vec![0.0; columns];
            kernel.matmul((row, depth), 1, &packed, (&mut alone, columns), Finish::Plain);
            assert_eq!(alone, together, "{}", kernel.name);
        }
    }
}

#[test]
fn the_largest_sums_in_pairs_do_not_overflow() {
    for kernel in Kernel::all() {
        for depth in [1, 2, 3, 384, 1536, 4096] {
            for value in [1e-13_f32, 1.0, 1e15] {
                let ones = vec![value; depth];
                let minus = vec![-1.0; depth];
                let Some(packed) = kernel.pack_pairs((depth, 1), |_| &minus) else { continue };
                let mut rounded = PairRows::default();
                kernel.round(&ones, depth, &mut rounded);
                let mut out = [0.0];
                kernel.matmul_pairs(&rounded, &packed, (&mut out, 1), Finish::Plain);
                let ratio = f64::from(out[0]) / (f64::from(value) * depth as f64);
                assert!((ratio + 1.0).abs() < 3e-3, "{}: {depth} times {value}", kernel.name);
            }
        }
    }
}

#[test]
fn rows_in_pairs_show_what_is_no_number_and_bear_zeros() {
    for kernel in Kernel::all() {
        let Some(packed) = kernel.pack_pairs((20, 1), |_| &[1.0; 20]) else { continue };
        for (value, expected) in
            [(f32::NAN, None), (f32::INFINITY, None), (0.0, Some(0.0)), (1e-30, Some(0.0))]
        {
            let mut row = [0.0; 20];
            row[3] = value;
            let mut rounded = PairRows::default();
            kernel.round(&row, 20, &mut rounded);
            let mut out = [1.0];
            kernel.matmul_pairs(&rounded, &packed, (&mut out, 1), Finish::Plain);
            let found = Some(out[0]).filter(|found| found.is_finite());
            assert_eq!(found, expected, "{}: {value}", kernel.name);
        }
    }
}

#[test]
fn softmax_bears_large_numbers() {
    for kernel in Kernel::all() {
        let mut row = vec![3e4_f32; 9];
        row[4] = -3e38;
        kernel.softmax(&mut row, 9, 9, 1.0);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{}: {row:?}", kernel.name);
        assert!(row[4] < 1e-30, "{}: {row:?}", kernel.name);
    }
}

#[test]
fn softmax_does_not_hide_what_is_no_number() {
    for kernel in Kernel::all() {
        for at in [0, 15, 16, 20] {
            let mut row = vec![0.5_f32; 21];
            row[at] = f32::NAN;
            kernel.softmax(&mut row, 21, 21, 1.0);
            assert!(row.iter().all(|share| share.is_nan()), "{}: {at}", kernel.name);
        }
    }
}
