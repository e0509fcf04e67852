//! [`HaftServer`]: serves Haft to other programs over MCP (Model Context Protocol): agents as tools, and optionally
//! Haft's own tools.
//!
//! A call is a turn in its own session, so it is journaled and can be undone like any other. Events are sent as
//! progress, a cancelled call is interrupted, and questions to the user are asked through the client (elicitation); if
//! the client cannot ask, approvals are refused.

mod agent;
mod client;
mod follow;
mod job;
mod own;
mod serve;

pub use agent::{AgentTool, Open};
pub use client::{Answered, Client};
pub use job::{Begin, Begun, JobTool};
pub use own::OwnTool;
pub use serve::{listen, over_http, over_stdio};

use futures::future::BoxFuture;
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use std::{borrow::Cow, sync::Arc};

/// A tool that the server offers.
pub trait Offer: Send + Sync {
    /// The definition of the tool, with a unique name.
    fn tool(&self) -> Tool;
    /// Runs a call. Errors are results with an error. The future is dropped if the client disconnects.
    fn call<'a>(&'a self, arguments: JsonObject, client: &'a Client) -> BoxFuture<'a, CallToolResult>;
}

/// A server with these offers. Cheap to clone.
#[derive(Clone)]
pub struct HaftServer {
    offers: Arc<[Arc<dyn Offer>]>,
}

impl HaftServer {
    /// Creates a server with these offers, in this order.
    pub fn new(offers: impl IntoIterator<Item = Arc<dyn Offer>>) -> Self {
        Self { offers: offers.into_iter().collect() }
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Offer>> {
        self.offers.iter().find(|offer| offer.tool().name == name)
    }
}

impl ServerHandler for HaftServer {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(own)
    }

    /// Since 2026-07-28, a server cannot ask during a call, which Haft's server must do.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.find(name).map(|offer| offer.tool())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offers.iter().map(|offer| offer.tool()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offer) = self.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let client = Client::new(context);
        Ok(offer.call(request.arguments.unwrap_or_default(), &client).await.into())
    }
}
