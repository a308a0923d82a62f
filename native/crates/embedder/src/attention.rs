//! Attention of the tokens of each text among themselves, head by head.
//!
//! Source: Vaswani et al. (2017), section 3.2: `softmax(Q K^T / sqrt d) V`. Texts lie one behind
//! the other without padding, so no mask is needed.

use crate::kernel::{Finish, Kernel, Panels};

/// Rows of scores that are made at once, so that they stay in the cache.
const TILES_AT_ONCE: usize = 4;

/// Room for one head of one text.
pub(crate) struct Room {
    keys: Panels<f32>,
    values: Panels<f32>,
    scores: Vec<f32>,
}

impl Room {
    /// No room yet; it grows with the texts.
    pub fn new(kernel: &Kernel) -> Self {
        Self { keys: kernel.panels(), values: kernel.panels(), scores: Vec::new() }
    }
}

/// Fills `context` with what each token attends to.
///
/// A row of `mixed` holds query, key and value of a token, each as wide as a row of `context`, and
/// each with its heads side by side.
pub(crate) fn attend(
    kernel: &Kernel,
    heads: usize,
    lengths: &[usize],
    mixed: &[f32],
    context: &mut [f32],
    room: &mut Room,
) {
    let tokens: usize = lengths.iter().sum();
    let width = context.len() / tokens;
    let mut first = 0;
    for &length in lengths {
        let mixed = &mixed[first * 3 * width..][..length * 3 * width];
        let context = &mut context[first * width..][..length * width];
        for head in 0..heads {
            attend_head(kernel, (head, width / heads), (mixed, context), width, room);
        }
        first += length;
    }
}

fn attend_head(
    kernel: &Kernel,
    (head, size): (usize, usize),
    (mixed, context): (&[f32], &mut [f32]),
    width: usize,
    room: &mut Room,
) {
    let length = context.len() / width;
    let (stride, at) = (3 * width, head * size);
    let scale = 1.0 / (size as f32).sqrt();
    // Whole panels of scores: those behind the text's length are of keys of zeros, and not read.
    let padded = kernel.whole_panels(length);
    let none = vec![0.0; size];
    room.keys.reshape(size, padded);
    room.keys.fill_columns(|token| match token < length {
        true => &mixed[token * stride + width + at..][..size],
        false => &none,
    });
    room.values.reshape(length, size);
    room.values.fill_rows(|token| &mixed[token * stride + 2 * width + at..][..size]);
    let rows_at_once = kernel.rows_at_once() * TILES_AT_ONCE;
    room.scores.resize(rows_at_once.min(length) * padded, 0.0);
    for from in (0..length).step_by(rows_at_once) {
        let rows = rows_at_once.min(length - from);
        let scores = &mut room.scores[..rows * padded];
        let queries = &mixed[from * stride + at..];
        kernel.matmul((queries, stride), rows, &room.keys, (scores, padded), Finish::Plain);
        kernel.softmax(scores, padded, length, scale);
        let out = &mut context[from * width + at..];
        kernel.matmul((scores, padded), rows, &room.values, (out, width), Finish::Plain);
    }
}
