//! What outside conformance suites expect a server to have, behind Haft's own. Its first line of output is its address.
//!
//! Tools are offered as the product offers its own; prompts and resources, which the product has none of, stand beside.
#![expect(clippy::unwrap_used, reason = "a program for tests")]
#![expect(deprecated, reason = "the suites test what older revisions of the protocol have")]
mod contents;
mod tools;

use haft_mcp::server::{HaftServer, Offer, listen, over_http};
use rmcp::{RoleServer, ServerHandler, model::*, service::RequestContext};
use std::{borrow::Cow, io::Write, sync::Arc};

#[derive(Clone)]
struct Fixture(HaftServer);

type Context = RequestContext<RoleServer>;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools();
        let mut own = self.0.get_info();
        own.capabilities = capabilities.build();
        own
    }
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }
    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list_tools(page, context).await
    }
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call_tool(request, context).await
    }
    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        Ok(contents::completion())
    }
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(contents::prompts()))
    }
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = contents::prompt(&request.name, &request.arguments.unwrap_or_default());
        Ok(prompt.ok_or_else(|| ErrorData::invalid_params("there is no such prompt", None))?.into())
    }
    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(contents::resources()))
    }
    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(contents::templates()))
    }
    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = contents::resource(&request.uri);
        let found = contents.ok_or_else(|| ErrorData::resource_not_found("there is no such resource", None));
        Ok(ReadResourceResult::new(vec![found?]).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let tools = tools::all().into_iter().map(|tool| Arc::new(tool) as Arc<dyn Offer>);
    let listener = listen(([127, 0, 0, 1], 0).into()).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    over_http(Fixture(HaftServer::new(tools)), listener, None, std::future::pending()).await
}
