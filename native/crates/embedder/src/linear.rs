//! A linear map of the model: weights where the file has them, packed when first used.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::EmbedderError;
use crate::kernel::{Finish, Kernel, PairPanels, PairRows, Panels};
use crate::weights::{Tensor, Weights};

/// `y = W x + b`. Several maps of one input are one map with their outputs side by side.
pub(crate) struct Linear {
    parts: Vec<Tensor>,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
    packed: OnceLock<Packed>,
}

/// The weights as the kernel wants them.
enum Packed {
    Floats(Panels<f32>),
    Pairs(PairPanels),
}

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
        Ok(Self { parts, bias, inputs, outputs, packed: OnceLock::new() })
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
    pub fn apply(
        &self,
        (weights, kernel): (&Weights, &Kernel),
        from: &[f32],
        to: &mut [f32],
        rounded: &mut PairRows,
        finish: Finish<'_>,
    ) {
        match self.packed.get_or_init(|| self.pack(weights, kernel)) {
            Packed::Floats(panels) => {
                let rows = from.len() / self.inputs;
                kernel.matmul((from, self.inputs), rows, panels, (to, self.outputs), finish);
            }
            Packed::Pairs(panels) => {
                kernel.round(from, self.inputs, rounded);
                kernel.matmul_pairs(rounded, panels, (to, self.outputs), finish);
            }
        }
    }

    fn pack(&self, weights: &Weights, kernel: &Kernel) -> Packed {
        let parts: Vec<Cow<'_, [f32]>> =
            self.parts.iter().map(|part| weights.numbers(part)).collect();
        if let Some(panels) = kernel.pack_pairs(&parts, self.inputs) {
            return Packed::Pairs(panels);
        }
        let rows_each = self.outputs / parts.len();
        let mut panels = kernel.panels();
        panels.reshape(self.inputs, self.outputs);
        panels.fill_columns(|output| {
            &parts[output / rows_each][output % rows_each * self.inputs..][..self.inputs]
        });
        Packed::Floats(panels)
    }
}
