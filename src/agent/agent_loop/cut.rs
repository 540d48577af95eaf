use crate::agent::tool::ToolOutput;
use crate::content::{ContentBlock, ContentKinds};

/// What a block costs beside its content, from the second one on: many small ones are much, too.
const BLOCK_BYTES: usize = 32;

/// The output with about `most` bytes of content, and only of kinds that the model reads. What is cut or left out is
/// marked, so that the model knows.
pub(in crate::agent) fn cut(output: ToolOutput, most: usize, kinds: ContentKinds) -> ToolOutput {
    let total = output.content.len();
    let mut left = most;
    let mut content = Vec::new();
    for (index, block) in output.content.into_iter().enumerate() {
        if index > 0 {
            left = left.saturating_sub(BLOCK_BYTES);
            if left == 0 {
                content
                    .push(ContentBlock::text(format!("\n[cut: {} more blocks are left out]", total - index)));
                break;
            }
        }
        content.push(shortened(readable(block, kinds), &mut left));
    }
    ToolOutput { content, ..output }
}

/// The block, or a mark in its place where the model cannot read it.
fn readable(block: ContentBlock, kinds: ContentKinds) -> ContentBlock {
    let kind = block.kind();
    if !kinds.contains(kind) {
        return ContentBlock::text(format!("[left out: {kind} content, which this model cannot read]"));
    }
    match block {
        // The log is immutable: it keeps the block as it is now.
        ContentBlock::Provider(live) => match live.freeze() {
            Ok(frozen) => ContentBlock::Provider(frozen),
            Err(error) => ContentBlock::text(format!("[left out: {error}]")),
        },
        block => block,
    }
}

/// As much of the block as fits into what is left, with a mark where that is not all.
fn shortened(mut block: ContentBlock, left: &mut usize) -> ContentBlock {
    let size = match &block {
        ContentBlock::Text(text) => text.text.len(),
        other => serde_json::to_vec(other).map_or(usize::MAX, |json| json.len()),
    };
    if let Some(rest) = left.checked_sub(size) {
        *left = rest;
        return block;
    }
    match &mut block {
        ContentBlock::Text(text) => {
            let kept = text.text.floor_char_boundary(*left);
            text.text = format!("{}\n[cut: {kept} of {size} bytes are shown]", &text.text[..kept]);
            *left = 0;
            block
        }
        other => ContentBlock::text(format!("[left out: {} content that is too large]", other.kind())),
    }
}
