//! The kernels, each compiled for its instruction set, and which of them this processor can run.

use super::{FloatRules, Kernel, PairRules};

/// The rules in `f32` compiled for `$features`: a tile takes `$rows` by `$vectors` registers.
macro_rules! floats {
    ($module:ident, $lanes:ty, $rows:literal x $vectors:literal $(, $features:literal)?) => {
        mod $module {
            use crate::kernel::FloatRules;
            use crate::kernel::lanes::Lanes;
            use crate::kernel::matmul::{self, Floats, Product};
            use crate::kernel::rows;

            $(#[target_feature(enable = $features)])?
            unsafe fn matmul(product: &Product<'_, Floats<'_>>) {
                // SAFETY: the caller has checked the sizes; this function has the features.
                unsafe { matmul::matmul::<$lanes, _, $rows, $vectors>(product) };
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn softmax(numbers: &mut [f32], stride: usize, columns: usize, scale: f32) {
                for row in numbers.chunks_exact_mut(stride) {
                    // SAFETY: this function has the features.
                    unsafe { rows::softmax::<$lanes>(&mut row[..columns], scale) };
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn normalise(numbers: &mut [f32], gain: &[f32], shift: &[f32], epsilon: f32) {
                for row in numbers.chunks_exact_mut(gain.len()) {
                    // SAFETY: the caller has checked the sizes; this function has the features.
                    unsafe { rows::normalise::<$lanes>(row, gain, shift, epsilon) };
                }
            }

            pub(super) const RULES: FloatRules = FloatRules {
                panel_width: <$lanes>::COUNT * $vectors,
                rows_at_once: $rows,
                matmul,
                softmax,
                normalise,
            };
        }
    };
}

/// The rules in pairs, in tiles of the same shape as those in `f32`.
#[cfg(target_arch = "x86_64")]
macro_rules! pairs {
    ($module:ident, $pairs:ty, $rows:literal x $vectors:literal, $features:literal) => {
        mod $module {
            use std::marker::PhantomData;

            use crate::kernel::matmul::{self, Product};
            use crate::kernel::pairs::{self, PairLanes, Pairs, PairsIn};
            use crate::kernel::{PairRows, PairRules};

            #[target_feature(enable = $features)]
            unsafe fn matmul(product: &Product<'_, Pairs<'_>>) {
                let product = Product {
                    sides: PairsIn::<$pairs>(&product.sides, PhantomData),
                    rows: product.rows,
                    out: product.out,
                    out_stride: product.out_stride,
                    finish: product.finish,
                };
                // SAFETY: the caller has checked the sizes; this function has the features.
                unsafe {
                    matmul::matmul::<<$pairs as PairLanes>::Float, _, $rows, $vectors>(&product)
                };
            }

            #[target_feature(enable = $features)]
            unsafe fn round(row: &[f32], index: usize, to: &mut PairRows) {
                // SAFETY: this function has the features.
                unsafe { pairs::round::<$pairs>(row, index, to) };
            }

            pub(super) const RULES: PairRules = PairRules { matmul, round };
        }
    };
}

#[cfg(target_arch = "x86_64")]
floats!(avx512, crate::kernel::avx512::Avx512, 14 x 2, "avx512f");
#[cfg(target_arch = "x86_64")]
pairs!(vnni, crate::kernel::vnni::Vnni, 14 x 2, "avx512f,avx512vnni");
#[cfg(target_arch = "x86_64")]
floats!(avx2, crate::kernel::avx2::Avx2, 6 x 2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
pairs!(avx2_pairs, crate::kernel::avx2_pairs::Avx2Pairs, 6 x 2, "avx2,fma");
#[cfg(target_arch = "aarch64")]
floats!(neon, crate::kernel::neon::Neon, 6 x 4, "neon");
floats!(portable, crate::kernel::portable::Portable, 4 x 2);

const fn kernel(name: &'static str, floats: FloatRules, pairs: Option<PairRules>) -> Kernel {
    Kernel { name, floats, pairs }
}

#[cfg(target_arch = "x86_64")]
static AVX512_VNNI: Kernel = kernel("avx512-vnni", avx512::RULES, Some(vnni::RULES));
#[cfg(target_arch = "x86_64")]
static AVX512: Kernel = kernel("avx512", avx512::RULES, None);
#[cfg(target_arch = "x86_64")]
static AVX2: Kernel = kernel("avx2", avx2::RULES, Some(avx2_pairs::RULES));
#[cfg(target_arch = "aarch64")]
static NEON: Kernel = kernel("neon", neon::RULES, None);
static PORTABLE: Kernel = kernel("portable", portable::RULES, None);

impl Kernel {
    /// The kernels that this processor can run, fastest first; the portable one is always there.
    pub fn all() -> Vec<&'static Kernel> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                if is_x86_feature_detected!("avx512vnni") {
                    found.push(&AVX512_VNNI);
                }
                found.push(&AVX512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(&AVX2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            found.push(&NEON);
        }
        found.push(&PORTABLE);
        found
    }
}
