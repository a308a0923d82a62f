//! WordPiece for plain ASCII text, without the 30 ms that loading the whole tokenizer costs.
//!
//! The rule is that of BERT's own tokenizer (Devlin et al., 2018, `tokenization.py`): words end at
//! white space, a punctuation mark is a word, a word is cut into the longest pieces the vocabulary
//! has. Text that is not plain is refused, and so are files that ask for anything else: then the
//! tokenizers crate does the work. Tests compare the two on 10^5 texts.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::table::Table;

/// The vocabulary and the few settings that matter for ASCII.
pub(crate) struct WordPiece {
    starts: Table,
    continuations: Table,
    unknown: u32,
    first: u32,
    last: u32,
    lowercase: bool,
    word_bytes_max: usize,
    specials: Vec<String>,
    largest: u32,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Model<'a> {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    #[serde(borrow)]
    vocab: Vocabulary<'a>,
}

impl WordPiece {
    /// Reads tokenizer.json; `None` where it asks for more than this rule.
    pub fn read(json: &[u8]) -> Option<Self> {
        let file: File<'_> = serde_json::from_slice(json).ok()?;
        let kind: Kind = serde_json::from_str(file.model.get()).ok()?;
        let same = |value: &Value, kind: &str| value.get("type").is_some_and(|found| found == kind);
        if kind.kind != "WordPiece"
            || !same(&file.normalizer, "BertNormalizer")
            || !same(&file.pre_tokenizer, "BertPreTokenizer")
        {
            return None;
        }
        let model: Model<'_> = serde_json::from_str(file.model.get()).ok()?;
        let (first, last) = frame(&file.post_processor)?;
        let mut starts = Table::with_room(model.vocab.0.len());
        let mut continuations = Table::with_room(model.vocab.0.len() / 2);
        let mut largest = file.added_tokens.iter().map(|added| added.id).max().unwrap_or(0);
        for (token, id) in &model.vocab.0 {
            largest = largest.max(*id);
            if !token.is_ascii() {
                continue;
            }
            // "##" alone or a word that starts with it can be both: text may hold it as well.
            starts.insert(token.as_bytes(), *id);
            if let Some(rest) = token.strip_prefix(&model.continuing_subword_prefix) {
                continuations.insert(rest.as_bytes(), *id);
            }
        }
        Some(Self {
            unknown: starts.get(model.unk_token.as_bytes())?,
            starts,
            continuations,
            first,
            last,
            lowercase: file.normalizer.get("lowercase")?.as_bool()?,
            word_bytes_max: model.max_input_chars_per_word,
            specials: file.added_tokens.into_iter().map(|added| added.content).collect(),
            largest,
        })
    }

    /// Text is lowercased in any case.
    pub fn lowercased(self) -> Self {
        Self { lowercase: true, ..self }
    }

    /// The largest id of a token.
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// The ids of `text` between those that begin and end every text; `None` if it is not plain.
    pub fn ids(&self, text: &str) -> Option<Vec<u32>> {
        if !self.is_plain(text) {
            return None;
        }
        let mut ids = Vec::with_capacity(text.len() / 4 + 2);
        ids.push(self.first);
        let space = |byte: &u8| byte.is_ascii_whitespace();
        for run in text.as_bytes().split(space) {
            let mut rest = run;
            while let Some(byte) = rest.first() {
                let end = if byte.is_ascii_punctuation() {
                    1
                } else {
                    rest.iter().position(u8::is_ascii_punctuation).unwrap_or(rest.len())
                };
                self.push_word(&rest[..end], &mut ids);
                rest = &rest[end..];
            }
        }
        ids.push(self.last);
        Some(ids)
    }

    /// Printable ASCII, tabs and line ends, with no special token spelled out.
    fn is_plain(&self, text: &str) -> bool {
        let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        text.as_bytes().iter().all(plain) && !self.spells_special(text)
    }

    fn spells_special(&self, text: &str) -> bool {
        self.specials.iter().any(|special| {
            let Some(head) = special.as_bytes().first() else { return true };
            let bytes = text.as_bytes();
            (0..bytes.len()).any(|at| {
                bytes[at].eq_ignore_ascii_case(head)
                    && bytes[at..]
                        .get(..special.len())
                        .is_some_and(|part| part.eq_ignore_ascii_case(special.as_bytes()))
            })
        })
    }

    fn push_word(&self, word: &[u8], ids: &mut Vec<u32>) {
        if word.len() > self.word_bytes_max {
            ids.push(self.unknown);
            return;
        }
        let lowered: Cow<'_, [u8]> =
            if self.lowercase { word.to_ascii_lowercase().into() } else { word.into() };
        let before = ids.len();
        let mut from = 0;
        while from < lowered.len() {
            let table = if from == 0 { &self.starts } else { &self.continuations };
            match table.longest(&lowered[from..]) {
                Some((length, id)) => {
                    ids.push(id);
                    from += length;
                }
                None => {
                    // One piece that is not there makes the whole word unknown.
                    ids.truncate(before);
                    ids.push(self.unknown);
                    return;
                }
            }
        }
    }
}

/// The tokens that begin and end every text, if there is one of each.
fn frame(processor: &Value) -> Option<(u32, u32)> {
    let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
    match processor.get("type")?.as_str()? {
        "BertProcessing" => {
            Some((id(processor.get("cls")?.get(1)?)?, id(processor.get("sep")?.get(1)?)?))
        }
        "TemplateProcessing" => {
            let [first, text, last] = processor.get("single")?.as_array()?.as_slice() else {
                return None;
            };
            text.get("Sequence")?;
            let special = |part: &Value| {
                let name = part.get("SpecialToken")?.get("id")?.as_str()?;
                let ids = processor.get("special_tokens")?.get(name)?.get("ids")?.as_array()?;
                if let [only] = ids.as_slice() { id(only) } else { None }
            };
            Some((special(first)?, special(last)?))
        }
        _ => None,
    }
}

/// The vocabulary as a list: a map would be built only to be thrown away.
struct Vocabulary<'a>(Vec<(Cow<'a, str>, u32)>);

impl<'de: 'a, 'a> Deserialize<'de> for Vocabulary<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Vocabulary<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of tokens to ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(1 << 15);
                while let Some((Text(token), id)) = map.next_entry::<Text<'de>, u32>()? {
                    entries.push((token, id));
                }
                Ok(Vocabulary(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A string that is borrowed unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
