use crate::agent::tool::ToolOutput;
use crate::content::{ContentBlock, ContentKinds};

/// The output with at most `most` bytes of content, and only of kinds that the model reads. What is cut or left out
/// is marked, so that the model knows.
pub(in crate::agent) fn cut(mut output: ToolOutput, most: usize, kinds: ContentKinds) -> ToolOutput {
    let mut left = most;
    for block in &mut output.content {
        let kind = block.kind();
        if !kinds.contains(kind) {
            *block = ContentBlock::text(format!("[left out: {kind} content, which this model cannot read]"));
            continue;
        }
        if let ContentBlock::Provider(live) = block {
            // The log is immutable: it keeps the block as it is now.
            match live.freeze() {
                Ok(frozen) => *live = frozen,
                Err(error) => {
                    *block = ContentBlock::text(format!("[left out: {error}]"));
                    continue;
                }
            }
        }
        match block {
            ContentBlock::Text(text) if text.text.len() > left => {
                let total = text.text.len();
                let kept = text.text.floor_char_boundary(left);
                text.text = format!("{}\n[cut: {kept} of {total} bytes are shown]", &text.text[..kept]);
                left = 0;
            }
            ContentBlock::Text(text) => left -= text.text.len(),
            block => {
                let size = serde_json::to_vec(block).map_or(usize::MAX, |json| json.len());
                match left.checked_sub(size) {
                    Some(rest) => left = rest,
                    None => {
                        *block = ContentBlock::text(format!("[left out: {kind} content that is too large]"));
                    }
                }
            }
        }
    }
    output
}
