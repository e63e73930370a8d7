"""The names of the files a model comes as, and of those it is kept as."""

__all__ = [
    "BESIDE",
    "CONFIG_FILE",
    "FACTS_FILE",
    "GGUF",
    "INDEX_FILE",
    "ONE_FILE",
    "ORIGINAL",
    "TEMPLATE_FILE",
    "TOKENIZER_FILE",
]

GGUF = "model.gguf"
ORIGINAL = "original"  # the folder in which a model of several files is kept as it came

# What `save_pretrained` of transformers writes.
CONFIG_FILE, TOKENIZER_FILE = "config.json", "tokenizer.json"
ONE_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"
FACTS_FILE, TEMPLATE_FILE = "tokenizer_config.json", "chat_template.jinja"
BESIDE = (CONFIG_FILE, TOKENIZER_FILE, FACTS_FILE, TEMPLATE_FILE)  # the weights
