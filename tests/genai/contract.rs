//! The model contract, on vendors played in two protocols.

use subagent::ContentKinds;
use subagent::agent::{GenaiModel, Model, ModelRequest, ModelStream};
use subagent::testing::model_conformance::{ModelCase, ModelFixture, StagedModel, check};

use super::shape::{KEY, Shape};
use super::vendor::Vendor;

struct Played(Shape);

impl ModelFixture for Played {
    fn stage(&self, case: ModelCase) -> Option<StagedModel> {
        let answer = self.0.answer(case);
        if answer.is_none() && case != ModelCase::Unreachable {
            return None;
        }
        let mut vendor = Some(Vendor::new(answer));
        let url = vendor.as_ref()?.url();
        let ended = vendor.as_ref()?.ended();
        if case == ModelCase::Unreachable {
            // The listener must be closed before the call, not at some time after it.
            vendor = None;
        }
        let model = GenaiModel::builder(self.0.model())
            .base_url(if case == ModelCase::Unreachable { closed_port() } else { url })
            .key(KEY)
            .response_format(true)
            .build()
            .unwrap();
        Some(StagedModel::new(OnVendor { model, _vendor: vendor }).secret(KEY).ended(ended))
    }
}

/// An address at which nobody listens, with credentials in it.
fn closed_port() -> String {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://user:{KEY}@{address}/v1")
}

/// The model with its vendor, which answers as long as the model lives.
struct OnVendor {
    model: GenaiModel,
    _vendor: Option<Vendor>,
}

impl Model for OnVendor {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.model.stream(request)
    }

    fn content_kinds(&self) -> ContentKinds {
        self.model.content_kinds()
    }

    fn has_response_format(&self) -> bool {
        self.model.has_response_format()
    }
}

#[tokio::test]
async fn the_open_ai_protocol_keeps_the_model_contract() {
    let report = check(&Played(Shape::OpenAi)).await;
    assert!(report.is_conformant() && report.skipped().is_empty(), "{report}");
}

#[tokio::test]
async fn the_anthropic_protocol_keeps_the_model_contract() {
    let report = check(&Played(Shape::Anthropic)).await;
    assert!(report.is_conformant() && report.skipped().is_empty(), "{report}");
}
