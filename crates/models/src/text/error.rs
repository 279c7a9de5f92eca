//! What can be wrong with a vocabulary, a template, a sampler's options or its logits.

/// Why text does not become tokens, a conversation does not become text, or logits do not become a token.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum TextError {
    /// A kind of tokenizer that is not supported yet.
    #[error("`tokenizer.ggml.model` is `{model}`, which is not supported yet; take a model with one of: {}", known.join(", "))]
    TokenizerModel {
        /// The kind that the file names.
        model: String,
        /// The kinds that are supported.
        known: &'static [&'static str],
    },
    /// Rules for cutting text into words that are not known.
    #[error("`tokenizer.ggml.pre` is `{pre}`, which is not known; known are: {}", known.join(", "))]
    PreTokenizer {
        /// The rules that the file names.
        pre: String,
        /// The rules that are known.
        known: Vec<&'static str>,
    },
    /// Lists of a vocabulary that do not fit together.
    #[error("`{field}` {problem}; the file is damaged: get it again")]
    Vocabulary {
        /// The key in the file.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A token that cannot be in a vocabulary.
    #[error("`tokenizer.ggml.tokens`: token {id}, `{token}`, {problem}; the file is damaged: get it again")]
    Token {
        /// Its id.
        id: usize,
        /// Its text.
        token: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A merge that the vocabulary cannot make.
    #[error("`tokenizer.ggml.merges`: merge {rank}, `{merge}`, {problem}; the file is damaged: get it again")]
    Merge {
        /// Its place in the list.
        rank: usize,
        /// The two tokens, as the file has them.
        merge: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A folder's file of its tokenizer that cannot be used.
    #[error("{file}: {problem}; {remedy}")]
    TokenizerFile {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A text that could not be turned into tokens.
    #[error("the text does not become tokens: {problem}")]
    Encode {
        /// What is wrong.
        problem: String,
    },
    /// A chat template that is not a Jinja template.
    #[error(
        "the chat template{}: {problem}; it is damaged or uses what this version of Jinja lacks",
        line_of(line)
    )]
    TemplateSyntax {
        /// The line, from 1, where known.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A chat template that refused the conversation by `raise_exception`.
    #[error("the chat template{} refuses the conversation: {message}", line_of(line))]
    TemplateRefused {
        /// The line, from 1, where known.
        line: Option<usize>,
        /// What the template says.
        message: String,
    },
    /// A chat template that asks for the date, which was not given.
    #[error(
        "the chat template{} asks for today's date; give it with `--date`, in the library with `ChatSettings::date` or `ChatTemplate::on`",
        line_of(line)
    )]
    TemplateDate {
        /// The line, from 1, where known.
        line: Option<usize>,
    },
    /// A chat template that failed on the conversation.
    #[error("the chat template{} fails on this conversation: {problem}", line_of(line))]
    TemplateRender {
        /// The line, from 1, where known.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A chat template that asks for more work or memory than a conversation can need.
    #[error(
        "the chat template{} does not end within {fuel} steps; it loops or grows without need",
        line_of(line)
    )]
    TemplateEndless {
        /// The line, from 1, where known.
        line: Option<usize>,
        /// Steps that were allowed.
        fuel: u64,
    },
    /// A chat template longer than any is.
    #[error("the chat template has {bytes} bytes, {limit} are read")]
    TemplateLength {
        /// Its bytes.
        bytes: usize,
        /// The most that are read.
        limit: usize,
    },
    /// A tag of a chat template longer than any is.
    #[error("a tag of the chat template has {bytes} bytes beside its strings, {limit} are read")]
    TemplateTag {
        /// Its bytes without string literals.
        bytes: usize,
        /// The most that are read.
        limit: usize,
    },
    /// A chat template could not be read or rendered on a thread of its own.
    #[error("the chat template: {problem}")]
    TemplateThread {
        /// What is wrong.
        problem: String,
    },
    /// A list of chat templates that is none.
    #[error("`chat_template` of `tokenizer_config.json` {problem}; the file is damaged: get it again")]
    Templates {
        /// What is wrong with it.
        problem: String,
    },
    /// A chat template that the model does not have.
    #[error("the model has no chat template `{name}`; it has: {}", known.join(", "))]
    TemplateName {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An argument for a chat template that cannot be one.
    #[error("the template's argument `{name}` {problem}")]
    TemplateArgument {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// What a chat template writes depends on the text of control tokens in a message.
    #[error(
        "a message has the text of control tokens and the chat template looks at it; take it out of the message"
    )]
    TemplateMessage,
    /// A role with the text of a control token in it.
    #[error("the role `{role}` makes a control token; roles are names as user and assistant")]
    Role {
        /// The role, in short.
        role: String,
    },
    /// A conversation that uses every character by which messages could be marked.
    #[error("the conversation has all 65,534 characters of the private plane 16; leave some out")]
    Unmarkable,
    /// A day that no calendar has.
    #[error("{year}-{month}-{day} is not a day; give year 1 to 9999, month 1 to 12, and a day of that month")]
    Date {
        /// The year.
        year: u16,
        /// The month, from 1.
        month: u8,
        /// The day of the month, from 1.
        day: u8,
    },
    /// A sampling option out of its range.
    #[error("sampling option `{option}` is {value}; it must be {range}")]
    Sampling {
        /// Its name.
        option: &'static str,
        /// What was given.
        value: f32,
        /// What it may be.
        range: &'static str,
    },
    /// A bias of a token that the model does not have.
    #[error("the bias names token {id}; the model has {count} tokens")]
    Bias {
        /// The token.
        id: u32,
        /// How many there are.
        count: usize,
    },
    /// A logit that is no number a token can be drawn by.
    #[error(
        "the logit of token {token} is {value}; the model's numbers overflowed or its weights are damaged"
    )]
    Logit {
        /// The token.
        token: usize,
        /// NaN or plus infinity.
        value: f32,
    },
    /// No token can be drawn.
    #[error("{count} logits leave no token to draw; give at least one that is not minus infinity")]
    NoToken {
        /// How many there were.
        count: usize,
    },
}

pumice_types::debug_as_display!(TextError);

fn line_of(line: &Option<usize>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}
