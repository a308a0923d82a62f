//! One layer of the encoder: attention, then two linear maps, each with residual and norm.
//!
//! Source: Vaswani et al., *Attention Is All You Need* (2017), section 3, in the order of BERT
//! (normalisation after the residual), as `BertLayer` of transformers computes it.

use crate::EmbedderError;
use crate::attention::{self, Room};
use crate::config::Config;
use crate::kernel::{Finish, Kernel, PairRows};
use crate::linear::Linear;
use crate::weights::Weights;

/// Gain and shift of a layer normalisation.
pub(crate) struct Norm {
    pub gain: Vec<f32>,
    pub shift: Vec<f32>,
    pub epsilon: f32,
}

impl Norm {
    /// The normalisation of this name.
    pub fn open(weights: &Weights, name: &str, config: &Config) -> Result<Self, EmbedderError> {
        Ok(Self {
            gain: weights.vector(&format!("{name}.weight"), config.width)?,
            shift: weights.vector(&format!("{name}.bias"), config.width)?,
            epsilon: config.epsilon,
        })
    }

    /// Normalises each row.
    pub fn apply(&self, kernel: &Kernel, rows: &mut [f32]) {
        kernel.normalise(rows, &self.gain, &self.shift, self.epsilon);
    }
}

/// The weights of one layer.
pub(crate) struct Layer {
    query_key_value: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

/// Room for what a layer computes on the way; used again for every layer and chunk.
#[derive(Default)]
pub(crate) struct Scratch {
    query_key_value: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    attention: Option<Room>,
    rounded: PairRows,
}

impl Layer {
    /// The weights of layer `number`.
    pub fn open(weights: &Weights, number: usize, config: &Config) -> Result<Self, EmbedderError> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let linear = |parts: &[&str], inputs, outputs| {
            let names: Vec<String> = parts.iter().map(|part| name(part)).collect();
            Linear::open(weights, &names, inputs, outputs)
        };
        let (width, inner) = (config.width, config.inner_width);
        Ok(Self {
            query_key_value: linear(
                &["attention.self.query", "attention.self.key", "attention.self.value"],
                width,
                width,
            )?,
            attended: linear(&["attention.output.dense"], width, width)?,
            attended_norm: Norm::open(weights, &name("attention.output.LayerNorm"), config)?,
            inner: linear(&["intermediate.dense"], width, inner)?,
            outer: linear(&["output.dense"], inner, width)?,
            outer_norm: Norm::open(weights, &name("output.LayerNorm"), config)?,
        })
    }

    /// Replaces the token vectors in `states`; `lengths` are the tokens of each text in it.
    pub fn apply(
        &self,
        (weights, kernel): (&Weights, &Kernel),
        heads: usize,
        lengths: &[usize],
        states: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let tokens: usize = lengths.iter().sum();
        let Scratch { query_key_value, context, inner, attention, rounded } = scratch;
        let mut run = |linear: &Linear, from: &[f32], to: &mut [f32], finish: Finish<'_>| {
            linear.apply((weights, kernel), from, to, rounded, finish);
        };
        let query_key_value = room(query_key_value, tokens * self.query_key_value.outputs());
        let context = room(context, states.len());
        let inner = room(inner, tokens * self.inner.outputs());

        let bias = self.query_key_value.bias();
        run(&self.query_key_value, states, query_key_value, Finish::Bias(bias));
        let attention = attention.get_or_insert_with(|| Room::new(kernel));
        attention::attend(kernel, heads, lengths, query_key_value, context, attention);
        run(&self.attended, context, states, Finish::BiasAdd(self.attended.bias()));
        self.attended_norm.apply(kernel, states);

        run(&self.inner, states, inner, Finish::BiasGelu(self.inner.bias()));
        run(&self.outer, inner, states, Finish::BiasAdd(self.outer.bias()));
        self.outer_norm.apply(kernel, states);
    }
}

/// The first `count` numbers of a buffer that grows when it must; what is in them is leftovers.
fn room(buffer: &mut Vec<f32>, count: usize) -> &mut [f32] {
    if buffer.len() < count {
        buffer.resize(count, 0.0);
    }
    &mut buffer[..count]
}
