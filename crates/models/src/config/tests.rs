//! Configurations of the three families, and what must be refused.

use super::*;

const BERT: &str = r#"{"model_type":"bert","hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,
    "intermediate_size":1536,"max_position_embeddings":512,"type_vocab_size":2,"vocab_size":30522,
    "layer_norm_eps":1e-12,"hidden_act":"gelu","position_embedding_type":"absolute","pad_token_id":0}"#;

fn parse(text: &str) -> Result<EncoderConfig, ModelError> {
    EncoderConfig::parse(Path::new("m/config.json"), text)
}

#[test]
fn bert_is_read() {
    let c = parse(BERT).expect("sound");
    assert_eq!((c.family, c.hidden, c.layers, c.heads, c.intermediate), (Family::Bert, 384, 6, 12, 1536));
    assert_eq!((c.max_tokens(), c.token_types, c.head_width(), c.stored), (512, 2, 32, DType::F32));
}

#[test]
fn roberta_positions_begin_after_padding() {
    let text = BERT
        .replace("\"bert\"", "\"xlm-roberta\"")
        .replace("512", "514")
        .replace("\"pad_token_id\":0", "\"dtype\":\"float16\"");
    let c = parse(&text).expect("sound");
    assert_eq!(
        (c.family, c.pad_id, c.first_position, c.max_tokens(), c.stored),
        (Family::Roberta, 1, 2, 512, DType::F16)
    );
}

#[test]
fn distilbert_has_its_own_words() {
    let text = r#"{"model_type":"distilbert","dim":32,"n_layers":2,"n_heads":4,"hidden_dim":64,"vocab_size":160,
        "max_position_embeddings":64,"activation":"relu"}"#;
    let c = parse(text).expect("sound");
    assert_eq!((c.token_types, c.activation, c.norm_eps), (0, Activation::Relu, 1e-12));
}

/// As transformers writes it into every file.
#[test]
fn no_pruned_heads_are_none() {
    assert!(parse(&BERT.replace("\"pad_token_id\":0", "\"pruned_heads\":{}")).is_ok());
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        (BERT.replace("\"bert\"", "\"gpt2\""), "model_type"),
        (BERT.replace("\"model_type\":\"bert\",", ""), "model_type"),
        (BERT.replace("\"hidden_size\":384,", ""), "hidden_size"),
        (BERT.replace("384", "\"384\""), "hidden_size"),
        (BERT.replace("384", "0"), "hidden_size"),
        (BERT.replace("384", "1e99"), "hidden_size"),
        (BERT.replace("30522", "18446744073709551615"), "vocab_size"),
        (BERT.replace(":12,", ":7,"), "num_attention_heads"),
        (BERT.replace("\"gelu\"", "\"maxout\""), "hidden_act"),
        (BERT.replace("\"absolute\"", "\"relative_key\""), "position_embedding_type"),
        (BERT.replace("\"pad_token_id\":0", "\"pad_token_id\":40000"), "pad_token_id"),
        (BERT.replace("\"pad_token_id\":0", "\"is_decoder\":true"), "is_decoder"),
        (BERT.replace("\"pad_token_id\":0", "\"pruned_heads\":{\"1\":[0, 2]}"), "pruned_heads"),
        (BERT.replace("\"pad_token_id\":0", "\"quantization_config\":{\"bits\":4}"), "quantization_config"),
        (BERT.replace("\"bert\"", "\"roberta\"").replace("512", "1"), "max_position_embeddings"),
        (BERT.replace("1e-12", "-1"), "layer_norm_eps"),
        ("[1]".to_owned(), "the whole file"),
    ];
    for (text, named) in cases {
        match parse(&text) {
            Err(ModelError::Field { file, field, problem, remedy }) => {
                assert_eq!((file.to_str(), field.as_str()), (Some("m/config.json"), named), "{text}");
                assert!(!problem.is_empty() && !remedy.is_empty());
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(parse("{"), Err(ModelError::Import(_))));
}
