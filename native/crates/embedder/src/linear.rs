//! A linear map of the model: weights where the file has them, packed when that is worth it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::EmbedderError;
use crate::kernel::{Finish, Kernel, PairPanels, PairRows, Panels};
use crate::weights::{Tensor, Weights};

/// `y = W x + b`. Several maps of one input are one map with their outputs side by side.
pub(crate) struct Linear {
    parts: Vec<Tensor>,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
    rows_seen: AtomicUsize,
    packed: OnceLock<Packed>,
}

/// Until a map was applied to so many rows, its weights are packed panel by panel and not kept:
/// a process that embeds one text then neither makes nor fills as much memory again.
const ROWS_BEFORE_KEEPING: usize = 512;
/// What a use counts at least, in rows: the fifth use keeps the weights however short its texts.
const ROWS_OF_A_USE_MIN: usize = 128;

impl Linear {
    /// The maps of these names, each from `inputs` to `outputs` numbers.
    pub fn open(
        weights: &Weights,
        names: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, EmbedderError> {
        let mut parts = Vec::new();
        let mut bias = Vec::new();
        for name in names {
            parts.push(weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(weights.vector(&format!("{name}.bias"), outputs)?);
        }
        let outputs = outputs * parts.len();
        Ok(Self {
            parts,
            bias,
            inputs,
            outputs,
            rows_seen: AtomicUsize::new(0),
            packed: OnceLock::new(),
        })
    }

    /// Numbers in a row of what comes out.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// What is added to each output.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Applies the map to each row of `from`; `rounded` is room for those rows.
    ///
    /// What comes out does not depend on whether the packed weights were kept.
    pub fn apply(
        &self,
        (weights, kernel): (&Weights, &Kernel),
        from: &[f32],
        to: &mut [f32],
        rounded: &mut PairRows,
        finish: Finish<'_>,
    ) {
        if kernel.has_pairs() {
            kernel.round(from, self.inputs, rounded);
        }
        let from = Rows { numbers: from, width: self.inputs, rounded };
        let counted = (from.numbers.len() / self.inputs).max(ROWS_OF_A_USE_MIN);
        let seen = self.rows_seen.fetch_add(counted, Ordering::Relaxed);
        let to_all = (&mut *to, self.outputs);
        if let Some(packed) = self.packed.get() {
            return packed.apply(kernel, &from, to_all, finish);
        }
        let source = Source::of(self, weights);
        if seen >= ROWS_BEFORE_KEEPING {
            let packed = self.packed.get_or_init(|| Packed::of(kernel, &source, 0..self.outputs));
            return packed.apply(kernel, &from, to_all, finish);
        }
        for first in (0..self.outputs).step_by(kernel.whole_panels(1)) {
            let columns = first..self.outputs.min(first + kernel.whole_panels(1));
            let packed = Packed::of(kernel, &source, columns.clone());
            let finish = finish.narrowed(columns);
            packed.apply(kernel, &from, (&mut to[first..], self.outputs), finish);
        }
    }
}

/// The weights in the file, a row an output.
struct Source<'a> {
    parts: Vec<Cow<'a, [f32]>>,
    outputs_each: usize,
    inputs: usize,
}

impl<'a> Source<'a> {
    fn of(linear: &Linear, weights: &'a Weights) -> Self {
        Self {
            parts: linear.parts.iter().map(|part| weights.numbers(part)).collect(),
            outputs_each: linear.outputs / linear.parts.len(),
            inputs: linear.inputs,
        }
    }

    fn row(&self, output: usize) -> &[f32] {
        let part = &self.parts[output / self.outputs_each];
        &part[output % self.outputs_each * self.inputs..][..self.inputs]
    }
}

/// Rows that go in, as they are and, if the kernel wants that, rounded.
struct Rows<'a> {
    numbers: &'a [f32],
    width: usize,
    rounded: &'a PairRows,
}

/// The weights of some outputs as the kernel wants them.
enum Packed {
    Floats(Panels<f32>),
    Pairs(PairPanels),
}

impl Packed {
    fn of(kernel: &Kernel, source: &Source<'_>, outputs: Range<usize>) -> Self {
        let shape = (source.inputs, outputs.len());
        let row = |column: usize| source.row(outputs.start + column);
        match kernel.pack_pairs(shape, row) {
            Some(panels) => Packed::Pairs(panels),
            None => {
                let mut panels = kernel.panels();
                panels.reshape(shape.0, shape.1);
                panels.fill_columns(row);
                Packed::Floats(panels)
            }
        }
    }

    fn apply(&self, kernel: &Kernel, from: &Rows<'_>, to: (&mut [f32], usize), finish: Finish<'_>) {
        match self {
            Packed::Floats(panels) => {
                let rows = from.numbers.len() / from.width;
                kernel.matmul((from.numbers, from.width), rows, panels, to, finish);
            }
            Packed::Pairs(panels) => kernel.matmul_pairs(from.rounded, panels, to, finish),
        }
    }
}
