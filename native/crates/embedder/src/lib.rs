//! Texts to vectors with BERT and XLM-RoBERTa models, on the CPU.
